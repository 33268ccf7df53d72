//! What tasks get through: a clock that jumps, a database that goes away or breaks off, a full disk, a flood.
//!
//! Deaths of processes are in `crash.rs`; what plain changes and calls survive is in `survival.rs`.

mod clock;
mod commit;
mod flood;
mod full;
mod many;
mod restarted;

use std::collections::BTreeMap;
use std::time::Duration;

use haft_testkit::{Client, Upstream};
use serde_json::{Value, json};

use crate::survival::within;
use crate::tasks::{make, task};

/// Whatever was accepted has ended by then, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(40);

/// A tool of each effect, and its method.
const TOOLS: [(&str, &str); 3] = [("reads", "GET"), ("sets", "PUT"), ("writes", "POST")];

/// Makes a tool of each effect.
async fn make_tools(api: &Client, upstream: &Upstream) {
    for (name, method) in TOOLS {
        let url = upstream.url(&format!("/{name}"));
        let tool = json!({"name": name, "description": "d", "url": url, "method": method, "retryDelay": 1});
        make(api, tool).await;
    }
}

/// The task once it has ended.
async fn ended(api: &Client, id: &str) -> Value {
    within(PATIENCE, &format!("task {id} has ended"), async || task(api, id).await["endedAt"].is_string())
        .await;
    task(api, id).await
}

/// How often each write was sent, by its key.
fn writes(upstream: &Upstream) -> BTreeMap<String, usize> {
    let mut sent = BTreeMap::new();
    for seen in upstream.seen().iter().filter(|seen| seen.method == "POST") {
        *sent.entry(seen.header("idempotency-key").expect("a key").to_owned()).or_default() += 1;
    }
    sent
}

/// A task of one of [`TOOLS`] ended as it may, and if it was a write, it was sent once.
fn check(ended: &Value, writes: &BTreeMap<String, usize>) {
    let times = writes.get(ended["id"].as_str().expect("an id")).copied().unwrap_or_default();
    let is_right = match (ended["toolName"].as_str(), ended["status"].as_str()) {
        (Some("writes"), Some("succeeded")) => times == 1,
        (Some("writes"), Some("unknown")) => times <= 1,
        (_, status) => status == Some("succeeded"),
    };
    assert!(is_right, "sent {times} times: {ended}");
    assert_eq!(ended["result"]["success"], ended["status"] == "succeeded", "{ended}");
}

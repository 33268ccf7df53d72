//! Tasks under faults of their environment: clock jumps, broken database connections, a full disk, a flood.
//!
//! Process crashes are in `crash.rs`; the faults that plain changes and calls survive are in `survival.rs`.

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

/// Time limit for an accepted task to end, also on a busy machine.
const END_TIMEOUT: Duration = Duration::from_secs(40);

/// A tool of each effect, with its HTTP method.
const TOOLS: [(&str, &str); 3] = [("reads", "GET"), ("sets", "PUT"), ("writes", "POST")];

/// Creates a tool of each effect.
async fn make_tools(api: &Client, upstream: &Upstream) {
    for (name, method) in TOOLS {
        let url = upstream.url(&format!("/{name}"));
        let tool = json!({"name": name, "description": "d", "url": url, "method": method, "retryDelay": 1});
        make(api, tool).await;
    }
}

/// Waits until the task has ended and returns it.
async fn ended(api: &Client, id: &str) -> Value {
    within(END_TIMEOUT, &format!("task {id} has ended"), async || task(api, id).await["endedAt"].is_string())
        .await;
    task(api, id).await
}

/// Returns the number of times that each write was sent, by idempotency key.
fn writes(upstream: &Upstream) -> BTreeMap<String, usize> {
    let mut sent = BTreeMap::new();
    for seen in upstream.seen().iter().filter(|seen| seen.method == "POST") {
        *sent.entry(seen.header("idempotency-key").expect("a key").to_owned()).or_default() += 1;
    }
    sent
}

/// Asserts that a task of one of [`TOOLS`] succeeded. A write may also be `unknown`, and is sent at most
/// once.
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

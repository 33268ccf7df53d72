//! HTTP APIs that take a job on and answer later: asked again, or heard when they call back. Without code, and
//! without anybody waiting in memory.

mod callbacks;
mod polls;

use haft_testkit::{Client, Reply, Seen, Upstream, json_reply};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::tasks::make;

/// What an upstream says of a job that is under way.
fn under_way() -> Value {
    json!({"status": "running", "percent": 40})
}

/// What it says in the end.
fn over() -> Value {
    json!({"status": "succeeded", "result": {"answer": 42}})
}

/// An upstream that takes jobs on, and whose jobs are over when they were asked for so often.
async fn worker(looks: usize, ends: Value) -> Upstream {
    let asked = AtomicUsize::new(0);
    Upstream::start(move |seen| match seen.method.as_str() {
        "POST" => json_reply(202, &json!({"id": "job 7", "status": "queued"})),
        _ if asked.fetch_add(1, Ordering::SeqCst) + 1 < looks => json_reply(200, &under_way()),
        _ => json_reply(200, &ends),
    })
    .await
}

/// A tool that gives jobs to an upstream, and asks for them every tenth of a second.
async fn make_polling(api: &Client, upstream: &Upstream, name: &str, more: Value) {
    let mut poll = json!({"url": "/jobs/{{id}}", "status": "status", "result": "result",
                          "progress": "percent", "interval": 0.1});
    for (field, value) in more.as_object().expect("an object") {
        poll[field] = value.clone();
    }
    let tool = json!({"name": name, "description": "Works long.", "url": upstream.url("/jobs"),
                      "method": "POST", "config": {"poll": poll, "params": {"n": "{{n}}"},
                      "headers": {"X-Key": "secret://key"}}});
    make(api, tool).await;
}

pub(crate) fn posts(upstream: &Upstream) -> Vec<Seen> {
    upstream.seen().into_iter().filter(|seen| seen.method == "POST").collect()
}

/// Where a request says that one may call back.
pub(crate) fn callback_in(seen: &Seen) -> String {
    seen.json()["notify"].as_str().expect("an address").to_owned()
}

pub(crate) async fn bring(url: &str, body: &Value) -> Reply {
    let (origin, path) = url.split_at(url.find("/api").expect("a path"));
    Client::anonymous(origin).post(path, body).await
}

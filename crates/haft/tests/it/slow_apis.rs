//! HTTP APIs that accept a job and deliver its result later, by polling or by callback: without code, and
//! without a request that waits in memory.

mod callbacks;
mod polls;

use haft_testkit::{Client, RecordedRequest, TestResponse, Upstream, json_reply};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::tasks::make;

/// The state of a running job.
fn running_job() -> Value {
    json!({"status": "running", "percent": 40})
}

/// The state of a finished job.
fn finished_job() -> Value {
    json!({"status": "succeeded", "result": {"answer": 42}})
}

/// An upstream that accepts jobs. A job ends with the state `ends` at the given number of polls.
async fn worker(poll_count: usize, ends: Value) -> Upstream {
    let asked = AtomicUsize::new(0);
    Upstream::start(move |seen| match seen.method.as_str() {
        "POST" => json_reply(202, &json!({"id": "job 7", "status": "queued"})),
        _ if asked.fetch_add(1, Ordering::SeqCst) + 1 < poll_count => json_reply(200, &running_job()),
        _ => json_reply(200, &ends),
    })
    .await
}

/// Creates a tool that starts jobs at an upstream, and polls them every 100 ms.
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

pub(crate) fn posts(upstream: &Upstream) -> Vec<RecordedRequest> {
    upstream.seen().into_iter().filter(|seen| seen.method == "POST").collect()
}

/// Returns the callback address that a request contains.
pub(crate) fn callback_in(seen: &RecordedRequest) -> String {
    seen.json()["notify"].as_str().expect("an address").to_owned()
}

pub(crate) async fn send_callback(url: &str, body: &Value) -> TestResponse {
    let (origin, path) = url.split_at(url.find("/api").expect("a path"));
    Client::anonymous(origin).post(path, body).await
}

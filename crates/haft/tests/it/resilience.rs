//! The server under hostile clients, full disks and internal panics: the log, background tasks, connections,
//! logins and the data directory.

mod connections;
mod data_directory;
mod log_output;
mod sign_in;
mod supervision;
mod unread_bodies;

use haft_testkit::{Client, eventually};
use serde_json::json;

/// Returns the value of a metric with its labels. Returns `None` if the page does not have it.
async fn metric(api: &Client, name: &str) -> Option<u64> {
    let (status, _, page) = api.download("/metrics").await;
    assert_eq!(status, 200);
    let page = String::from_utf8(page).expect("text");
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    Some(line.parse().expect("a number"))
}

/// Makes calls and asserts that they succeed.
async fn call_often(api: &Client, times: usize) {
    for _ in 0..times {
        let body = json!({"arguments": {"expression": "6 * 7"}});
        let reply = api.post("/api/tools/calculator/execute", &body).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
}

/// Makes a call in the background and waits for its result.
async fn task_in_background(api: &Client) {
    let body = json!({"arguments": {"expression": "6 * 7"}, "options": {"mode": "async"}});
    let accepted = api.post("/api/tools/calculator/execute", &body).await;
    assert_eq!(accepted.status, 202, "{}", accepted.body);
    let path = format!("/api/tasks/{}", accepted.data()["taskId"].as_str().expect("an id"));
    let is_done = async || api.get(&path).await.data()["status"] == "succeeded";
    eventually("the task is done", is_done).await;
}

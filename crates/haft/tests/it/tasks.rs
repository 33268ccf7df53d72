//! Calls as tasks, over REST: accepted at once, executed, waited for, cancelled, retried.

use std::time::{Duration, Instant};

use haft_testkit::{Client, TestResponse, Upstream, eventually, http_response, json_reply};
use serde_json::{Value, json};

use crate::http_tools::start;

pub(crate) async fn make(api: &Client, tool: Value) {
    let made = api.post("/api/tools", &tool).await;
    assert_eq!(made.status, 201, "{}", made.body);
}

pub(crate) fn mock(name: &str, more: Value) -> Value {
    let mut tool = json!({"name": name, "description": "Answers.", "type": "mock",
                          "config": {"answers": [{"data": {"n": 1}}]}});
    for (field, value) in more.as_object().expect("an object") {
        tool[field] = value.clone();
    }
    tool
}

pub(crate) async fn execute(api: &Client, tool: &str, body: Value) -> TestResponse {
    api.post(&format!("/api/tools/{tool}/execute"), &body).await
}

/// Returns the id of an accepted task.
pub(crate) fn accepted_task(reply: &TestResponse) -> String {
    assert_eq!(reply.status, 202, "{}", reply.body);
    reply.data()["taskId"].as_str().expect("an id").to_owned()
}

pub(crate) async fn task(api: &Client, id: &str) -> Value {
    let reply = api.get(&format!("/api/tasks/{id}")).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.data().clone()
}

/// Waits until the task has a status, and returns the task.
pub(crate) async fn wait_for_status(api: &Client, id: &str, status: &str) -> Value {
    eventually(&format!("task {id} is {status}"), async || task(api, id).await["status"] == status).await;
    task(api, id).await
}

async fn post(api: &Client, path: &str) -> TestResponse {
    api.post(path, &json!({})).await
}

#[tokio::test]
async fn background_call_is_accepted_at_once_and_executed() {
    let (_server, api) = start(&[]).await;
    make(&api, mock("later", json!({"async": true}))).await;
    make(&api, mock("now", json!({}))).await;
    let asked = execute(&api, "now", json!({"options": {"mode": "async", "callId": "mine"}})).await;
    let id = accepted_task(&asked);
    assert_eq!(asked.data()["callId"], "mine");
    let done = wait_for_status(&api, &id, "succeeded").await;
    assert_eq!((&done["toolName"], &done["callId"]), (&json!("now"), &json!("mine")));
    assert_eq!(done["result"]["data"], json!({"n": 1}));
    assert_eq!(done["result"]["success"], true);
    assert!(done["endedAt"].is_string() && done["startedAt"].is_string());
    // A tool may prefer tasks, and its caller may still wait.
    let id = accepted_task(&execute(&api, "later", json!({})).await);
    wait_for_status(&api, &id, "succeeded").await;
    let waited = execute(&api, "later", json!({"options": {"mode": "sync"}})).await;
    assert_eq!(waited.status, 200, "{}", waited.body);
    // The call is logged like any other.
    eventually("the call is logged", async || api.get("/api/tool-calls/mine").await.status == 200).await;
    let listed = api.get("/api/tasks?status=succeeded&tool=now").await;
    assert_eq!(listed.data()["items"].as_array().expect("a list").len(), 1);
    assert_eq!(api.get("/api/tasks?status=nope").await.status, 400);
    assert_eq!(api.get("/api/tasks/nope").await.status, 404);
    let wrong = execute(&api, "later", json!({"arguments": 7})).await;
    assert_eq!(wrong.status, 400, "an invalid call is refused at once: {}", wrong.body);
}

#[tokio::test]
async fn slow_call_becomes_a_task_and_is_sent_once() {
    let (_server, api) = start(&[]).await;
    let upstream = Upstream::start_async(async |_| {
        tokio::time::sleep(Duration::from_millis(700)).await;
        json_reply(200, &json!({"slow": true}))
    })
    .await;
    let url = format!("http://{}/", upstream.address);
    make(&api, json!({"name": "slow", "description": "d", "url": url, "method": "POST"})).await;
    let started = Instant::now();
    let id = accepted_task(&execute(&api, "slow", json!({"options": {"asyncAfter": 0.1}})).await);
    assert!(started.elapsed() < Duration::from_millis(650), "{:?}", started.elapsed());
    let done = wait_for_status(&api, &id, "succeeded").await;
    assert_eq!(done["result"]["data"], json!({"slow": true}));
    assert_eq!(upstream.seen().len(), 1, "the running call is continued and not repeated");
    let quick = execute(&api, "slow", json!({"options": {"asyncAfter": 30}})).await;
    assert_eq!((quick.status, &quick.data()["data"]), (200, &json!({"slow": true})));
}

#[tokio::test]
async fn task_is_cancelled_and_retried() {
    let (_server, api) = start(&[]).await;
    let upstream = Upstream::start_async(async |_| {
        tokio::time::sleep(Duration::from_secs(20)).await;
        json_reply(200, &json!({}))
    })
    .await;
    let url = format!("http://{}/", upstream.address);
    make(&api, json!({"name": "reads", "description": "d", "url": url})).await;
    make(&api, json!({"name": "writes", "description": "d", "url": url, "method": "POST"})).await;
    for (tool, ends) in [("reads", "cancelled"), ("writes", "unknown")] {
        let before = upstream.seen().len();
        let id = accepted_task(&execute(&api, tool, json!({"options": {"mode": "async"}})).await);
        eventually("it was sent", async || upstream.seen().len() > before).await;
        let asked = post(&api, &format!("/api/tasks/{id}/cancel")).await;
        assert_eq!(asked.status, 200, "{}", asked.body);
        let ended = wait_for_status(&api, &id, ends).await;
        assert_eq!(ended["result"]["success"], false, "{ended}");
        let again = post(&api, &format!("/api/tasks/{id}/cancel")).await;
        assert_eq!(again.status, 409, "{}", again.body);
    }
    // A task that has not started ends at once, and starts when it is retried.
    make(&api, mock("quick", json!({}))).await;
    let id = accepted_task(&execute(&api, "quick", json!({"options": {"delay": 600}})).await);
    let waiting = task(&api, &id).await;
    assert_eq!(waiting["status"], "queued");
    assert!(waiting["dueAt"].is_string(), "{waiting}");
    let ended = post(&api, &format!("/api/tasks/{id}/cancel")).await;
    assert_eq!(ended.data()["status"], "cancelled");
    assert_eq!(post(&api, &format!("/api/tasks/{id}/retry")).await.status, 200);
    let done = wait_for_status(&api, &id, "succeeded").await;
    assert_eq!(done["result"]["data"], json!({"n": 1}));
    assert_eq!(post(&api, &format!("/api/tasks/{id}/retry")).await.status, 409);
}

#[tokio::test]
async fn unknown_outcome_is_resolved_by_a_user() {
    let (_server, api) = start(&[]).await;
    let upstream = Upstream::start_async(async |_| {
        tokio::time::sleep(Duration::from_secs(20)).await;
        json_reply(200, &json!({}))
    })
    .await;
    let url = format!("http://{}/", upstream.address);
    make(&api, json!({"name": "writes", "description": "d", "url": url, "method": "POST"})).await;
    let mut ids = Vec::new();
    for n in 1..=2 {
        let id = accepted_task(&execute(&api, "writes", json!({"options": {"mode": "async"}})).await);
        eventually("it was sent", async || upstream.seen().len() >= n).await;
        post(&api, &format!("/api/tasks/{id}/cancel")).await;
        wait_for_status(&api, &id, "unknown").await;
        ids.push(id);
    }
    let path = |n: usize| format!("/api/tasks/{}/resolve", ids[n]);
    let bad = api.post(&path(0), &json!({"status": "perhaps"})).await;
    assert_eq!(bad.status, 400, "{}", bad.body);
    let done = api.post(&path(0), &json!({"status": "succeeded", "data": {"order": 7}})).await;
    assert_eq!(done.status, 200, "{}", done.body);
    assert_eq!(
        (&done.data()["status"], &done.data()["result"]["data"]),
        (&json!("succeeded"), &json!({"order": 7}))
    );
    let failed = api.post(&path(1), &json!({"status": "failed"})).await;
    assert_eq!(failed.data()["status"], "failed");
    assert_eq!(failed.data()["result"]["error"]["kind"], "Execution");
    let changes = api.get("/api/changes?what=task").await;
    let actions: Vec<&Value> =
        changes.data()["items"].as_array().expect("a list").iter().map(|item| &item["action"]).collect();
    assert_eq!(actions.iter().filter(|action| **action == "resolved").count(), 2, "{actions:?}");
}

#[tokio::test]
async fn rate_limited_task_waits_and_task_without_retries_left_fails() {
    let (_server, api) = start(&[]).await;
    let upstream = Upstream::start(|seen| match seen.target.as_str() {
        "/busy" => http_response(429, &[], "slow down"),
        _ => http_response(500, &[], "broken"),
    })
    .await;
    let url = |path: &str| format!("http://{}{path}", upstream.address);
    make(
        &api,
        json!({"name": "busy", "description": "d", "url": url("/busy"), "retryDelay": 1, "retryCount": 0}),
    )
    .await;
    make(
        &api,
        json!({"name": "broken", "description": "d", "url": url("/x"), "retryDelay": 1, "retryCount": 1}),
    )
    .await;
    let id = accepted_task(&execute(&api, "busy", json!({"options": {"mode": "async"}})).await);
    let waits = wait_for_status(&api, &id, "waiting").await;
    assert_eq!(waits["waitingFor"], "retry");
    assert!(waits["dueAt"].is_string());
    let id = accepted_task(&execute(&api, "broken", json!({"options": {"mode": "async"}})).await);
    let failed = wait_for_status(&api, &id, "failed").await;
    assert_eq!((&failed["deadLetter"], &failed["result"]["error"]["kind"]), (&json!(true), &json!("Server")));
    assert_eq!(failed["result"]["attempts"], 2);
    let dead = api.get("/api/tasks?deadLetter=true").await;
    assert_eq!(dead.data()["items"].as_array().expect("a list").len(), 1);
}

#[tokio::test]
async fn queue_has_a_limit_and_priorities() {
    let (_server, api) = start(&[("HAFT_TASK_QUEUE", "3"), ("HAFT_TASK_PLACES", "1")]).await;
    let upstream = Upstream::start_async(async |_| {
        tokio::time::sleep(Duration::from_millis(300)).await;
        json_reply(200, &json!({}))
    })
    .await;
    let url = format!("http://{}/{{{{n}}}}", upstream.address);
    make(&api, json!({"name": "slow", "description": "d", "url": url})).await;
    let send = async |n: u32, priority: i32| {
        let options = json!({"mode": "async", "priority": priority});
        execute(&api, "slow", json!({"arguments": {"n": n.to_string()}, "options": options})).await
    };
    let first = accepted_task(&send(0, 0).await);
    wait_for_status(&api, &first, "running").await;
    for (n, priority) in [(1, 0), (2, 0), (3, 9)] {
        accepted_task(&send(n, priority).await);
    }
    let full = send(4, 0).await;
    assert_eq!((full.status, full.body["error"]["kind"].as_str()), (429, Some("RateLimit")), "{}", full.body);
    assert!(full.header("retry-after").is_some());
    eventually("all were called", async || upstream.seen().len() == 4).await;
    let order: Vec<String> = upstream.seen().iter().map(|seen| seen.target.clone()).collect();
    assert_eq!(order, ["/0", "/3", "/1", "/2"], "the urgent one comes first");
}

#[tokio::test]
async fn tasks_delayed_by_a_concurrency_limit_continue_without_polling() {
    let (_server, api) = start(&[]).await;
    make(&api, mock("single", json!({"effect": "read", "maxConcurrency": 1}))).await;
    // All at once, so that no later task wakes the waiting ones. With one poll a second, this would take
    // longer than the timeout of the test.
    let many = (0..60).map(|_| execute(&api, "single", json!({"options": {"mode": "async"}})));
    for accepted in futures_util::future::join_all(many).await {
        accepted_task(&accepted);
    }
    eventually("all are done", async || {
        let left = api.get("/api/tasks?status=queued,running").await;
        left.data()["items"].as_array().expect("a list").is_empty()
    })
    .await;
}

#[tokio::test]
async fn rate_limited_write_is_repeated_with_the_same_key() {
    let (_server, api) = start(&[]).await;
    let seen = std::sync::atomic::AtomicUsize::new(0);
    let upstream = Upstream::start(move |_| match seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => http_response(429, &[], "slow down"),
        _ => json_reply(200, &json!({"written": true})),
    })
    .await;
    let url = format!("http://{}/", upstream.address);
    make(&api, json!({"name": "writes", "description": "d", "url": url, "method": "POST", "retryCount": 0}))
        .await;
    let id = accepted_task(&execute(&api, "writes", json!({"options": {"mode": "async"}})).await);
    let waits = wait_for_status(&api, &id, "waiting").await;
    assert_eq!(waits["waitingFor"], "retry", "{waits}");
    let done = wait_for_status(&api, &id, "succeeded").await;
    assert_eq!(done["result"]["data"], json!({"written": true}));
    let keys: Vec<_> =
        upstream.seen().iter().map(|seen| seen.header("idempotency-key").map(str::to_owned)).collect();
    assert!(keys.len() == 2 && keys[0].is_some() && keys[0] == keys[1], "one key: {keys:?}");
}

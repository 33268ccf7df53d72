//! Calls as tasks, over REST: taken on at once, carried out, waited for, cancelled, tried again.

use std::time::{Duration, Instant};

use haft_testkit::{Client, Reply, Upstream, eventually, json_reply, reply};
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

pub(crate) async fn execute(api: &Client, tool: &str, body: Value) -> Reply {
    api.post(&format!("/api/tools/{tool}/execute"), &body).await
}

/// The id of a task that was taken on.
pub(crate) fn taken(reply: &Reply) -> String {
    assert_eq!(reply.status, 202, "{}", reply.body);
    reply.data()["taskId"].as_str().expect("an id").to_owned()
}

pub(crate) async fn task(api: &Client, id: &str) -> Value {
    let reply = api.get(&format!("/api/tasks/{id}")).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.data().clone()
}

/// The task once it stands so.
pub(crate) async fn standing(api: &Client, id: &str, status: &str) -> Value {
    eventually(&format!("task {id} is {status}"), async || task(api, id).await["status"] == status).await;
    task(api, id).await
}

async fn post(api: &Client, path: &str) -> Reply {
    api.post(path, &json!({})).await
}

#[tokio::test]
async fn a_call_in_the_background_is_answered_at_once_and_done() {
    let (_server, api) = start(&[]).await;
    make(&api, mock("later", json!({"async": true}))).await;
    make(&api, mock("now", json!({}))).await;
    let asked = execute(&api, "now", json!({"options": {"mode": "async", "callId": "mine"}})).await;
    let id = taken(&asked);
    assert_eq!(asked.data()["callId"], "mine");
    let done = standing(&api, &id, "succeeded").await;
    assert_eq!((&done["toolName"], &done["callId"]), (&json!("now"), &json!("mine")));
    assert_eq!(done["result"]["data"], json!({"n": 1}));
    assert_eq!(done["result"]["success"], true);
    assert!(done["endedAt"].is_string() && done["startedAt"].is_string());
    // A tool may want it, and its caller not.
    let id = taken(&execute(&api, "later", json!({})).await);
    standing(&api, &id, "succeeded").await;
    let waited = execute(&api, "later", json!({"options": {"mode": "sync"}})).await;
    assert_eq!(waited.status, 200, "{}", waited.body);
    // The call is on record like any other.
    eventually("the call is on record", async || api.get("/api/tool-calls/mine").await.status == 200).await;
    let listed = api.get("/api/tasks?status=succeeded&tool=now").await;
    assert_eq!(listed.data()["items"].as_array().expect("a list").len(), 1);
    assert_eq!(api.get("/api/tasks?status=nope").await.status, 400);
    assert_eq!(api.get("/api/tasks/nope").await.status, 404);
    let wrong = execute(&api, "later", json!({"arguments": 7})).await;
    assert_eq!(wrong.status, 400, "what cannot be called is said at once: {}", wrong.body);
}

#[tokio::test]
async fn a_slow_call_turns_into_a_task_and_is_sent_once() {
    let (_server, api) = start(&[]).await;
    let upstream = Upstream::start_async(async |_| {
        tokio::time::sleep(Duration::from_millis(700)).await;
        json_reply(200, &json!({"slow": true}))
    })
    .await;
    let url = format!("http://{}/", upstream.address);
    make(&api, json!({"name": "slow", "description": "d", "url": url, "method": "POST"})).await;
    let begun = Instant::now();
    let id = taken(&execute(&api, "slow", json!({"options": {"asyncAfter": 0.1}})).await);
    assert!(begun.elapsed() < Duration::from_millis(650), "{:?}", begun.elapsed());
    let done = standing(&api, &id, "succeeded").await;
    assert_eq!(done["result"]["data"], json!({"slow": true}));
    assert_eq!(upstream.seen().len(), 1, "the call that ran is the one that counts");
    let quick = execute(&api, "slow", json!({"options": {"asyncAfter": 30}})).await;
    assert_eq!((quick.status, &quick.data()["data"]), (200, &json!({"slow": true})));
}

#[tokio::test]
async fn a_task_is_cancelled_and_tried_again() {
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
        let id = taken(&execute(&api, tool, json!({"options": {"mode": "async"}})).await);
        eventually("it was sent", async || upstream.seen().len() > before).await;
        let asked = post(&api, &format!("/api/tasks/{id}/cancel")).await;
        assert_eq!(asked.status, 200, "{}", asked.body);
        let ended = standing(&api, &id, ends).await;
        assert_eq!(ended["result"]["success"], false, "{ended}");
        let again = post(&api, &format!("/api/tasks/{id}/cancel")).await;
        assert_eq!(again.status, 409, "{}", again.body);
    }
    // One that has not begun ends at once, and begins when it is tried again.
    make(&api, mock("quick", json!({}))).await;
    let id = taken(&execute(&api, "quick", json!({"options": {"delay": 600}})).await);
    let waiting = task(&api, &id).await;
    assert_eq!(waiting["status"], "queued");
    assert!(waiting["dueAt"].is_string(), "{waiting}");
    let ended = post(&api, &format!("/api/tasks/{id}/cancel")).await;
    assert_eq!(ended.data()["status"], "cancelled");
    assert_eq!(post(&api, &format!("/api/tasks/{id}/retry")).await.status, 200);
    let done = standing(&api, &id, "succeeded").await;
    assert_eq!(done["result"]["data"], json!({"n": 1}));
    assert_eq!(post(&api, &format!("/api/tasks/{id}/retry")).await.status, 409);
}

#[tokio::test]
async fn what_nobody_knows_is_resolved_by_a_person() {
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
        let id = taken(&execute(&api, "writes", json!({"options": {"mode": "async"}})).await);
        eventually("it was sent", async || upstream.seen().len() >= n).await;
        post(&api, &format!("/api/tasks/{id}/cancel")).await;
        standing(&api, &id, "unknown").await;
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
async fn better_times_are_waited_for() {
    let (_server, api) = start(&[]).await;
    let upstream = Upstream::start(|seen| match seen.target.as_str() {
        "/busy" => reply(429, &[], "slow down"),
        _ => reply(500, &[], "broken"),
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
    let id = taken(&execute(&api, "busy", json!({"options": {"mode": "async"}})).await);
    let waits = standing(&api, &id, "waiting").await;
    assert_eq!(waits["waitingFor"], "retry");
    assert!(waits["dueAt"].is_string());
    let id = taken(&execute(&api, "broken", json!({"options": {"mode": "async"}})).await);
    let failed = standing(&api, &id, "failed").await;
    assert_eq!((&failed["deadLetter"], &failed["result"]["error"]["kind"]), (&json!(true), &json!("Server")));
    assert_eq!(failed["result"]["attempts"], 2);
    let dead = api.get("/api/tasks?deadLetter=true").await;
    assert_eq!(dead.data()["items"].as_array().expect("a list").len(), 1);
}

#[tokio::test]
async fn a_queue_has_an_end_and_priorities() {
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
    let first = taken(&send(0, 0).await);
    standing(&api, &first, "running").await;
    for (n, priority) in [(1, 0), (2, 0), (3, 9)] {
        taken(&send(n, priority).await);
    }
    let full = send(4, 0).await;
    assert_eq!((full.status, full.body["error"]["kind"].as_str()), (429, Some("RateLimit")), "{}", full.body);
    assert!(full.header("retry-after").is_some());
    eventually("all were called", async || upstream.seen().len() == 4).await;
    let order: Vec<String> = upstream.seen().iter().map(|seen| seen.target.clone()).collect();
    assert_eq!(order, ["/0", "/3", "/1", "/2"], "the urgent one comes first");
}

#[tokio::test]
async fn what_a_limit_keeps_back_goes_on_as_soon_as_it_may() {
    let (_server, api) = start(&[]).await;
    make(&api, mock("single", json!({"effect": "read", "maxConcurrency": 1}))).await;
    // All at once, so that nobody is woken by the next that comes. Whoever looked for them once a second would take
    // longer than anybody waits here.
    let many = (0..60).map(|_| execute(&api, "single", json!({"options": {"mode": "async"}})));
    for accepted in futures_util::future::join_all(many).await {
        taken(&accepted);
    }
    eventually("all are done", async || {
        let left = api.get("/api/tasks?status=queued,running").await;
        left.data()["items"].as_array().expect("a list").is_empty()
    })
    .await;
}

#[tokio::test]
async fn a_write_that_was_told_to_come_later_comes_later_and_is_known() {
    let (_server, api) = start(&[]).await;
    let seen = std::sync::atomic::AtomicUsize::new(0);
    let upstream = Upstream::start(move |_| match seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => reply(429, &[], "slow down"),
        _ => json_reply(200, &json!({"written": true})),
    })
    .await;
    let url = format!("http://{}/", upstream.address);
    make(&api, json!({"name": "writes", "description": "d", "url": url, "method": "POST", "retryCount": 0}))
        .await;
    let id = taken(&execute(&api, "writes", json!({"options": {"mode": "async"}})).await);
    let waits = standing(&api, &id, "waiting").await;
    assert_eq!(waits["waitingFor"], "retry", "{waits}");
    let done = standing(&api, &id, "succeeded").await;
    assert_eq!(done["result"]["data"], json!({"written": true}));
    let keys: Vec<_> =
        upstream.seen().iter().map(|seen| seen.header("idempotency-key").map(str::to_owned)).collect();
    assert!(keys.len() == 2 && keys[0].is_some() && keys[0] == keys[1], "one key: {keys:?}");
}

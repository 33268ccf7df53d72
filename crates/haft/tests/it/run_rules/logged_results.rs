//! A crash between the call log and the journal: tasks and chat turns use the logged results, and each call
//! is logged once.

use std::sync::Arc;

use haft_testkit::{
    Client, FakeDialect, ModelReply, ModelServer, RecordedModelRequest, TestStorage, Upstream, eventually,
    json_reply,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::items;
use crate::chat::{Desk, user};
use crate::survival::locked::Holder;
use crate::survival::{Settings, skipped};
use crate::tasks::{accepted_task, execute, make, task, wait_for_status};

/// More bytes of a result than the log stores.
const TOO_LONG: usize = 20 << 10;

/// Replies when it has a permit: by path, or with the body of the request.
async fn upstream(may_answer: Arc<Semaphore>) -> Upstream {
    Upstream::start_async(move |seen| {
        let may_answer = may_answer.clone();
        async move {
            let _answering = may_answer.acquire().await.expect("open");
            match seen.target.as_str() {
                "/large" => json_reply(200, &json!({"text": "x".repeat(TOO_LONG)})),
                "/refused" => json_reply(400, &json!({"error": "no such account"})),
                "/echo" => json_reply(200, &seen.json()),
                _ => json_reply(200, &json!({"done": true})),
            }
        }
    })
    .await
}

/// The calls of these tests: name, method, path and arguments.
fn calls() -> [(&'static str, &'static str, &'static str, Value); 6] {
    [
        ("write", "POST", "/write", json!({})),
        ("large_write", "POST", "/large", json!({})),
        ("refused", "POST", "/refused", json!({})),
        ("masked", "POST", "/echo", json!({"text": "it is s3cr3t-value"})),
        ("read", "GET", "/read", json!({})),
        ("large_read", "GET", "/large", json!({})),
    ]
}

/// Creates a tool for each of the calls.
async fn make_tools(api: &Client, upstream: &Upstream) {
    assert!(api.put("/api/secrets/key", &json!({"value": "s3cr3t-value"})).await.status < 300);
    for (name, method, path, _) in calls() {
        let tool = json!({"name": name, "description": "d", "url": upstream.url(path), "method": method,
                          "headers": {"X-Key": "secret://key"}, "inputSchema": {"type": "object"}});
        make(api, tool).await;
    }
}

/// Asserts that a call has the right result after the crash.
fn check_result(name: &str, result: &Value) {
    match name {
        "write" | "read" => assert_eq!(result["data"], json!({"done": true}), "{result}"),
        "large_read" => assert_eq!(result["data"]["text"].as_str().map(str::len), Some(TOO_LONG)),
        "refused" => {
            assert_eq!(result["success"], false);
            assert_eq!(result["error"]["details"]["status"], 400, "{result}");
        }
        _ => {
            assert_eq!((&result["success"], &result["data"]["resultLost"]), (&json!(true), &json!(true)));
            let message = result["data"]["message"].as_str().expect("a text");
            assert!(message.starts_with(&format!("{name} succeeded, but")), "{message}");
        }
    }
}

/// Asserts that each call was sent and logged once. A read whose logged result was cut is made again and
/// logged twice.
async fn check_sent_and_logged(api: &Client, upstream: &Upstream, ids: &[(&str, Value)]) {
    let sent = |path: &str, method: &str| {
        upstream.seen().iter().filter(|seen| seen.target == path && seen.method == method).count()
    };
    assert_eq!(upstream.seen().len(), ids.len() + 1);
    assert_eq!((sent("/large", "GET"), sent("/large", "POST")), (2, 1));
    // Log entries are written in order, so the log is complete when it has this call.
    assert_eq!(execute(api, "read", json!({"options": {"callId": "last"}})).await.status, 200);
    eventually("the last call is in the log", async || rows(api, &json!("last")).await == 1).await;
    for (name, id) in ids {
        let expected = if *name == "large_read" { 2 } else { 1 };
        assert_eq!(rows(api, id).await, expected, "{name}");
    }
}

/// Counts the log entries of a call.
async fn rows(api: &Client, call: &Value) -> usize {
    let rows = items(&api.get("/api/tool-calls?limit=100").await);
    rows.iter().filter(|row| row["callId"] == *call).count()
}

#[tokio::test]
async fn task_uses_the_logged_result_after_a_crash() {
    let place = TestStorage::new();
    if place.is_postgres() {
        return skipped("the call log and the journal are one database on PostgreSQL");
    }
    let settings = Settings::of(&place);
    let (server, api) = settings.start().await;
    let may_answer = Arc::new(Semaphore::new(0));
    let upstream = upstream(may_answer.clone()).await;
    make_tools(&api, &upstream).await;
    let mut tasks = Vec::new();
    for (name, _, _, arguments) in calls() {
        // An unrelated call of the tool that has the same call id.
        let before = json!({"arguments": arguments, "options": {"callId": name, "dryRun": true}});
        assert_eq!(execute(&api, name, before).await.status, 200);
        let body = json!({"arguments": arguments, "options": {"mode": "async", "callId": name}});
        tasks.push((name, accepted_task(&execute(&api, name, body).await)));
    }
    eventually("all are sent", async || upstream.seen().len() == tasks.len()).await;
    let Some(holder) = Holder::of(&place.directory.join("haft.db")) else { return };
    may_answer.add_permits(Semaphore::MAX_PERMITS / 2);
    for (name, _) in &tasks {
        eventually("the call is in the log", async || rows(&api, &json!(name)).await == 1).await;
    }
    server.kill().await;
    drop(holder);
    let (_server, api) = settings.start().await;
    for (name, id) in &tasks {
        let ends = if *name == "refused" { "failed" } else { "succeeded" };
        let ended = wait_for_status(&api, id, ends).await;
        assert_eq!(ended["result"]["callId"], *name, "{ended}");
        check_result(name, &ended["result"]);
    }
    let ids: Vec<(&str, Value)> = tasks.iter().map(|(name, _)| (*name, json!(name))).collect();
    check_sent_and_logged(&api, &upstream, &ids).await;
    assert_eq!(task(&api, &tasks[0].1).await["deadLetter"], false);
}

#[tokio::test]
async fn chat_turn_uses_logged_results_of_its_calls_after_a_crash() {
    let may_answer = Arc::new(Semaphore::new(0));
    let upstream = upstream(may_answer.clone()).await;
    let model = ModelServer::start(async |asked: RecordedModelRequest| match asked.results().len() {
        0 => ModelReply::calls(calls().map(|(name, _, _, arguments)| (name, arguments))),
        _ => ModelReply::says("Done."),
    });
    let desk = Desk::with(model.await, upstream).await;
    if desk.place.is_postgres() {
        return skipped("the call log and the journal are one database on PostgreSQL");
    }
    make_tools(&desk.api, &desk.weather).await;
    let agent = desk.agent(FakeDialect::Openai, &calls().map(|(name, ..)| name), json!({})).await;
    let body = json!({"agentId": agent, "messages": [user("Call all of them.")], "detach": true});
    let begun = desk.api.post("/api/chat", &body).await;
    assert_eq!(begun.status, 202, "{}", begun.body);
    let path = format!("/api/conversations/{}", begun.data()["conversationId"].as_str().expect("an id"));
    let made = async |api: &Client| {
        let turn = api.get(&path).await.data()["turns"][0].clone();
        turn["steps"][0]["calls"].as_array().cloned().unwrap_or_default()
    };
    eventually("all are sent and in the journal", async || {
        desk.weather.seen().len() == calls().len() && made(&desk.api).await.len() == calls().len()
    })
    .await;
    let name_and_id = |call: &Value| {
        let name = calls().map(|(name, ..)| name).into_iter().find(|name| call["name"] == *name);
        (name.expect("a name"), call["callId"].clone())
    };
    let ids: Vec<(&str, Value)> = made(&desk.api).await.iter().map(name_and_id).collect();
    let Some(holder) = Holder::of(&desk.place.directory.join("haft.db")) else { return };
    may_answer.add_permits(Semaphore::MAX_PERMITS / 2);
    for (_, id) in &ids {
        eventually("the call is in the log", async || rows(&desk.api, id).await == 1).await;
    }
    desk.server.kill().await;
    drop(holder);
    let (_server, api) = desk.settings.start().await;
    eventually("the turn ends", async || api.get(&path).await.data()["turns"][0]["finishReason"] == "stop")
        .await;
    let ended = made(&api).await;
    assert_eq!(ended.iter().map(name_and_id).collect::<Vec<_>>(), ids);
    for (call, (name, id)) in ended.iter().zip(&ids) {
        assert_eq!(call["result"]["callId"], *id, "{call}");
        check_result(name, &call["result"]);
    }
    check_sent_and_logged(&api, &desk.weather, &ids).await;
}

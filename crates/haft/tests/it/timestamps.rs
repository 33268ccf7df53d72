//! Every timestamp that leaves the server has three fraction digits: in routes, events, webhooks and exports.

use std::collections::BTreeSet;

use haft_testkit::{Client, Upstream, eventually, json_reply};
use serde_json::{Value, json};

use crate::agents::{make, stranger};
use crate::artifacts::upload;
use crate::http_tools::start;
use crate::tasks::{accepted_task, execute, mock, wait_for_status};

/// Events of every source of the stream.
const EVENTS: [&str; 5] =
    ["tool.created", "tool.call.completed", "task.ended", "approval.asked", "alert.fired"];

const DAY: u64 = 24 * 60 * 60 * 1000;

/// Returns true if a text has a form in which `0` stands for any digit.
fn fits(text: &str, form: &str) -> bool {
    let is_same = |(letter, wanted): (u8, u8)| match wanted {
        b'0' => letter.is_ascii_digit(),
        _ => letter == wanted,
    };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(is_same)
}

/// Returns true if a text is a timestamp in UTC with three fraction digits.
pub(crate) fn has_milliseconds(text: &str) -> bool {
    fits(text, "0000-00-00T00:00:00.000Z")
}

/// Returns the milliseconds from one timestamp to a later one of the same day or the next.
pub(crate) fn milliseconds_between(from: &Value, to: &Value) -> u64 {
    let of_day = |at: &Value| {
        let text = at.as_str().expect("a timestamp");
        assert!(has_milliseconds(text), "{text}");
        let part = |start: usize, end: usize| text[start..end].parse::<u64>().expect("digits");
        ((part(11, 13) * 60 + part(14, 16)) * 60 + part(17, 19)) * 1000 + part(20, 23)
    };
    (of_day(to) + DAY - of_day(from)) % DAY
}

/// Returns all timestamps within a value, of any precision.
fn timestamps(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => {
            let is_timestamp = text.get(..19).is_some_and(|start| fits(start, "0000-00-00T00:00:00"));
            is_timestamp.then_some(text.as_str()).into_iter().collect()
        }
        Value::Array(items) => items.iter().flat_map(timestamps).collect(),
        Value::Object(fields) => fields.values().flat_map(timestamps).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[track_caller]
fn check(what: &str, value: &Value) {
    let found = timestamps(value);
    assert!(!found.is_empty(), "{what} has no timestamp: {value}");
    assert!(found.iter().all(|text| has_milliseconds(text)), "{what}: {found:?}");
}

async fn check_route(api: &Client, path: &str) {
    let reply = api.get(path).await;
    assert_eq!(reply.status, 200, "{path}: {}", reply.body);
    check(path, &reply.body);
}

async fn check_post(api: &Client, path: &str, body: &Value) {
    let reply = api.post(path, body).await;
    assert!((200..300).contains(&reply.status), "{path}: {}", reply.body);
    check(path, &reply.body);
}

/// Creates a conversation in which one tool was called.
async fn conversation(api: &Client) -> String {
    let script = json!([{"toolCalls": [{"name": "echo", "arguments": {}}]}, {"text": "Done."}]);
    let provider = json!({"name": "teller", "kind": "scripted", "script": script});
    make(api, "/api/providers", &provider).await;
    let agent = json!({"name": "clerk", "toolIds": ["echo"], "config": {"provider": "teller"}});
    make(api, "/api/agents", &agent).await;
    let question = json!({
        "agentId": "clerk", "messages": [{"role": "user", "content": "Call it."}], "stream": true,
    });
    let events = api.post_for_events("/api/chat", &question).await.all().await;
    assert_eq!(events.last().map(|event| event.name.as_str()), Some("done"), "{events:?}");
    check("turn.start", &events[0].data);
    events[0].data["conversationId"].as_str().expect("an id").to_owned()
}

/// Creates a task that has ended, a delayed task, and a task that waits for an approval. Returns the id of
/// the last.
async fn tasks(api: &Client) -> String {
    make(api, "/api/tools", &mock("asks", json!({"policy": "ask"}))).await;
    let ended = accepted_task(&execute(api, "echo", json!({"options": {"mode": "async"}})).await);
    wait_for_status(api, &ended, "succeeded").await;
    let delayed = accepted_task(&execute(api, "echo", json!({"options": {"delay": 600}})).await);
    let asked = accepted_task(&execute(api, "asks", json!({})).await);
    wait_for_status(api, &asked, "waiting").await;
    let approval = format!("/api/approvals/{asked}");
    eventually("the approval is pending", async || api.get(&approval).await.status == 200).await;
    for id in [&ended, &delayed, &asked] {
        check_route(api, &format!("/api/tasks/{id}")).await;
    }
    asked
}

#[tokio::test]
async fn routes_events_and_webhooks_show_three_fraction_digits() {
    let listener = Upstream::start(|_| json_reply(200, &json!({}))).await;
    let (server, api) = start(&[("HAFT_ALERT_INTERVAL", "100")]).await;
    let mut stream = api.events("/api/events").await;
    assert_eq!(stream.event().await.name, "ready");

    make(&api, "/api/tools", &mock("echo", json!({}))).await;
    let conversation = conversation(&api).await;
    let approval = tasks(&api).await;
    assert_eq!(api.put("/api/secrets/key", &json!({"value": "v"})).await.status, 200);
    let token = json!({"name": "short", "expiresAt": "2090-01-01T00:00:00.123456789Z"});
    check_post(&api, "/api/tokens", &token).await;
    let artifact = upload(&api, "note.txt", "text/plain", b"A note.").await;
    let artifact = artifact["id"].as_str().expect("an id");
    let bob = stranger(&server, &api).await;
    let space = make(&bob, "/api/spaces", &json!({"name": "team"})).await;
    let space = format!("/api/spaces/{}", space["id"].as_str().expect("an id"));
    let invited = bob.put(&format!("{space}/members/admin"), &json!({"role": "viewer"})).await;
    assert_eq!(invited.status, 202, "{}", invited.body);
    check("an invitation", &invited.body);

    let broken = json!({
        "retryCount": 0, "config": {"answers": [{"error": {"kind": "Execution", "message": "it broke"}}]},
    });
    make(&api, "/api/tools", &mock("broken", broken)).await;
    let alert = json!({
        "name": "Broken fails", "metric": "errorRate", "tool": "broken", "above": 0.5,
        "webhook": listener.url("/hook"),
    });
    let alert = make(&api, "/api/alerts", &alert).await;
    let alert = format!("/api/alerts/{}", alert["id"].as_str().expect("an id"));
    for _ in 0..2 {
        execute(&api, "broken", json!({})).await;
    }
    eventually("the webhook is called", async || !listener.seen().is_empty()).await;
    check("the webhook", &listener.seen()[0].json());

    let called = execute(&api, "echo", json!({})).await;
    let call = format!("/api/tool-calls/{}", called.data()["callId"].as_str().expect("an id"));
    eventually("the call is logged", async || api.get(&call).await.status == 200).await;

    let conversation = format!("/api/conversations/{conversation}");
    for path in [
        "/api/me",
        "/api/tools",
        "/api/tools/echo",
        "/api/tools/echo/versions",
        "/api/tools/echo/versions/1",
        "/api/agents",
        "/api/agents/clerk",
        "/api/providers",
        "/api/providers/teller",
        "/api/secrets",
        "/api/tokens",
        "/api/users",
        "/api/spaces",
        "/api/invitations",
        "/api/alerts",
        &alert,
        "/api/artifacts",
        "/api/tasks",
        "/api/approvals",
        &format!("/api/approvals/{approval}"),
        "/api/tool-calls",
        &call,
        "/api/conversations",
        &conversation,
        &format!("{conversation}/tool-context"),
        &format!("{conversation}/export"),
        "/api/changes",
        "/api/changes?of=server",
        "/api/stats?window=1h",
    ] {
        check_route(&api, path).await;
    }
    for path in [&space, &format!("{space}/invitations")] {
        check_route(&bob, path).await;
    }
    for path in [format!("/api/artifacts/{artifact}/link"), format!("/api/approvals/{approval}/link")] {
        check_post(&api, &path, &json!({})).await;
    }

    let mut awaited = BTreeSet::from(EVENTS);
    while !awaited.is_empty() {
        let event = stream.event().await;
        if event.name != "conversation.changed" {
            check(&event.name, &event.data);
        }
        awaited.remove(event.name.as_str());
    }
}

//! Events of tasks: their end and their approval requests, also after a reconnect.

use std::collections::BTreeSet;

use haft_testkit::{Client, EventStream, TestStorage};
use serde_json::json;

use crate::http_tools::start;
use crate::survival::Settings;
use crate::tasks::{accepted_task, execute, make, mock, wait_for_status};

/// Reads events until all these tasks have ended, and returns the cursor of the last event.
async fn read_until_ended(stream: &mut EventStream, mut remaining: BTreeSet<String>) -> String {
    let mut cursor = String::new();
    while !remaining.is_empty() {
        let event = stream.event().await;
        assert_eq!((event.name.as_str(), &event.data["type"]), ("task.ended", &json!("task.ended")));
        remaining.remove(event.data["taskId"].as_str().expect("an id"));
        cursor = event.place.expect("an id");
    }
    cursor
}

async fn listen(api: &Client, path: &str) -> EventStream {
    let mut stream = api.events(path).await;
    assert_eq!(stream.event().await.name, "ready");
    stream
}

async fn queue(api: &Client, count: usize) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for _ in 0..count {
        ids.insert(accepted_task(&execute(api, "quick", json!({"options": {"mode": "async"}})).await));
    }
    for id in &ids {
        wait_for_status(api, id, "succeeded").await;
    }
    ids
}

#[tokio::test]
async fn end_and_approval_request_of_a_task_are_emitted() {
    let (_server, api) = start(&[]).await;
    make(&api, mock("quick", json!({}))).await;
    make(&api, mock("asks", json!({"policy": "ask"}))).await;
    make(&api, mock("fails", json!({"retryCount": 0, "config": {"answers": [{"error": {"kind": "Execution", "message": "no"}}]}}))).await;
    let mut stream = listen(&api, "/api/events?types=task.*,approval.*").await;
    let id =
        accepted_task(&execute(&api, "fails", json!({"options": {"mode": "async", "callId": "one"}})).await);
    let ended = stream.event().await;
    assert_eq!((ended.name.as_str(), &ended.data["taskId"]), ("task.ended", &json!(id)));
    assert_eq!((&ended.data["status"], &ended.data["deadLetter"]), (&json!("failed"), &json!(true)));
    assert_eq!((&ended.data["toolName"], &ended.data["callId"]), (&json!("fails"), &json!("one")));
    assert!(ended.data.get("result").is_none() && ended.data.get("arguments").is_none(), "{}", ended.data);
    let id = accepted_task(&execute(&api, "asks", json!({"arguments": {"a": 1}})).await);
    let asked = stream.event().await;
    assert_eq!((asked.name.as_str(), &asked.data["taskId"]), ("approval.asked", &json!(id)));
    assert!(asked.data["expiresAt"].is_string(), "{}", asked.data);
    assert_eq!(api.post(&format!("/api/approvals/{id}"), &json!({"decision": "approve"})).await.status, 200);
    let mut names = BTreeSet::new();
    for _ in 0..2 {
        names.insert(stream.event().await.name);
    }
    assert_eq!(names, BTreeSet::from(["approval.approved".to_owned(), "task.ended".to_owned()]));
    // Streams can be filtered by tool and by type.
    let mut of_quick = api.events("/api/events?types=task.ended&tool=quick").await;
    let mut of_none = api.events("/api/events?types=tool.updated").await;
    assert_eq!(
        (of_quick.event().await.name, of_none.event().await.place.expect("an id").contains('.')),
        ("ready".to_owned(), false)
    );
    accepted_task(&execute(&api, "fails", json!({"options": {"mode": "async"}})).await);
    let id = accepted_task(&execute(&api, "quick", json!({"options": {"mode": "async"}})).await);
    assert_eq!(of_quick.event().await.data["taskId"], json!(id));
}

#[tokio::test]
async fn reconnected_client_receives_all_missed_ends_of_tasks() {
    let place = TestStorage::new();
    let settings = Settings::of(&place);
    let (server, api) = settings.start().await;
    make(&api, mock("quick", json!({}))).await;
    let mut stream = listen(&api, "/api/events?types=task.ended").await;
    let first = queue(&api, 3).await;
    let cursor = read_until_ended(&mut stream, first).await;
    drop(stream);
    let missed = queue(&api, 5).await;
    server.kill().await;
    let (_server, api) = settings.start().await;
    let again = format!("/api/events?types=task.ended&lastEventId={cursor}");
    read_until_ended(&mut listen(&api, &again).await, missed).await;
    // A stream without a cursor starts with new events.
    let mut stream = listen(&api, "/api/events?types=task.ended").await;
    let next = queue(&api, 1).await;
    let event = stream.event().await;
    assert!(next.contains(event.data["taskId"].as_str().expect("an id")), "{next:?}: {}", event.data);
}

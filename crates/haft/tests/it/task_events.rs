//! What is told of tasks: that one has ended, and that a person is asked; also to who was away meanwhile.

use std::collections::BTreeSet;

use haft_testkit::{Client, EventStream, Place};
use serde_json::json;

use crate::http_tools::start;
use crate::survival::Settings;
use crate::tasks::{execute, make, mock, standing, taken};

/// Listens until all these tasks were told of; where it stands then.
async fn hear(stream: &mut EventStream, mut wanted: BTreeSet<String>) -> String {
    let mut place = String::new();
    while !wanted.is_empty() {
        let event = stream.event().await;
        assert_eq!((event.name.as_str(), &event.data["type"]), ("task.ended", &json!("task.ended")));
        wanted.remove(event.data["taskId"].as_str().expect("an id"));
        place = event.place.expect("an id");
    }
    place
}

async fn listen(api: &Client, path: &str) -> EventStream {
    let mut stream = api.events(path).await;
    assert_eq!(stream.event().await.name, "ready");
    stream
}

async fn queue(api: &Client, count: usize) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for _ in 0..count {
        ids.insert(taken(&execute(api, "quick", json!({"options": {"mode": "async"}})).await));
    }
    for id in &ids {
        standing(api, id, "succeeded").await;
    }
    ids
}

#[tokio::test]
async fn a_task_that_ends_and_one_that_asks_are_told_of() {
    let (_server, api) = start(&[]).await;
    make(&api, mock("quick", json!({}))).await;
    make(&api, mock("asks", json!({"policy": "ask"}))).await;
    make(&api, mock("fails", json!({"retryCount": 0, "config": {"answers": [{"error": {"kind": "Execution", "message": "no"}}]}}))).await;
    let mut stream = listen(&api, "/api/events?types=task.*,approval.*").await;
    let id = taken(&execute(&api, "fails", json!({"options": {"mode": "async", "callId": "one"}})).await);
    let told = stream.event().await;
    assert_eq!((told.name.as_str(), &told.data["taskId"]), ("task.ended", &json!(id)));
    assert_eq!((&told.data["status"], &told.data["deadLetter"]), (&json!("failed"), &json!(true)));
    assert_eq!((&told.data["toolName"], &told.data["callId"]), (&json!("fails"), &json!("one")));
    assert!(told.data.get("result").is_none() && told.data.get("arguments").is_none(), "{}", told.data);
    let id = taken(&execute(&api, "asks", json!({"arguments": {"a": 1}})).await);
    let asked = stream.event().await;
    assert_eq!((asked.name.as_str(), &asked.data["taskId"]), ("approval.asked", &json!(id)));
    assert!(asked.data["expiresAt"].is_string(), "{}", asked.data);
    assert_eq!(api.post(&format!("/api/approvals/{id}"), &json!({"decision": "approve"})).await.status, 200);
    let mut names = BTreeSet::new();
    for _ in 0..2 {
        names.insert(stream.event().await.name);
    }
    assert_eq!(names, BTreeSet::from(["approval.approved".to_owned(), "task.ended".to_owned()]));
    // Of one tool, or of none.
    let mut of_quick = api.events("/api/events?types=task.ended&tool=quick").await;
    let mut of_none = api.events("/api/events?types=tool.updated").await;
    assert_eq!(
        (of_quick.event().await.name, of_none.event().await.place.expect("an id").contains('.')),
        ("ready".to_owned(), false)
    );
    taken(&execute(&api, "fails", json!({"options": {"mode": "async"}})).await);
    let id = taken(&execute(&api, "quick", json!({"options": {"mode": "async"}})).await);
    assert_eq!(of_quick.event().await.data["taskId"], json!(id));
}

#[tokio::test]
async fn who_was_away_hears_of_all_that_ended_meanwhile() {
    let place = Place::new();
    let settings = Settings::of(&place);
    let (server, api) = settings.start().await;
    make(&api, mock("quick", json!({}))).await;
    let mut stream = listen(&api, "/api/events?types=task.ended").await;
    let first = queue(&api, 3).await;
    let known = hear(&mut stream, first).await;
    drop(stream);
    let missed = queue(&api, 5).await;
    server.kill().await;
    let (_server, api) = settings.start().await;
    let again = format!("/api/events?types=task.ended&lastEventId={known}");
    hear(&mut listen(&api, &again).await, missed).await;
    // Who does not say where it stood hears of what comes.
    let mut stream = listen(&api, "/api/events?types=task.ended").await;
    let next = queue(&api, 1).await;
    let event = stream.event().await;
    assert!(next.contains(event.data["taskId"].as_str().expect("an id")), "{next:?}: {}", event.data);
}

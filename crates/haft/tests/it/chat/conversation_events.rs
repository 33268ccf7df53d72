//! `conversation.*` events on the event stream: each user receives those of the user's conversations only.

use std::sync::Arc;

use axum::http::Method;
use haft_testkit::{Client, EventStream, FakeDialect, ModelReply, RecordedModelRequest};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{Desk, user};

const PATH: &str = "/api/events?types=conversation.*";

async fn subscribe(api: &Client) -> EventStream {
    let mut stream = api.events(PATH).await;
    assert_eq!(stream.event().await.name, "ready");
    stream
}

/// Reads events until the conversation has this status.
async fn until(stream: &mut EventStream, id: &Value, status: &str) {
    loop {
        let event = stream.event().await;
        assert_eq!((event.name.as_str(), event.place), ("conversation.changed", None));
        assert_eq!(&event.data["conversationId"], id, "no other conversation");
        if event.data["status"] == status {
            return;
        }
    }
}

#[tokio::test]
async fn users_receive_events_of_their_own_conversations_only() {
    let gate = Arc::new(Semaphore::new(0));
    let held = gate.clone();
    let desk = Desk::new(move |request: RecordedModelRequest| {
        let held = held.clone();
        async move {
            match request.user_text() {
                "wait" => ModelReply::says("Yes.").hold_until(held),
                _ => ModelReply::says("At once."),
            }
        }
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let other = crate::agents::stranger(&desk.server, &desk.api).await;
    let (mut own, mut theirs) = (subscribe(&desk.api).await, subscribe(&other).await);
    let started = desk
        .api
        .post("/api/chat", &json!({"agentId": agent, "messages": [user("wait")], "detach": true}))
        .await;
    let id = started.data()["conversationId"].clone();
    until(&mut own, &id, "running").await;
    gate.add_permits(100);
    until(&mut own, &id, "idle").await;
    let path = format!("/api/conversations/{}", id.as_str().expect("an id"));
    assert_eq!(desk.api.send_json(Method::PATCH, &path, &json!({"title": "Another"})).await.status, 200);
    until(&mut own, &id, "idle").await;
    // A turn that ends at once emits an event, too.
    let body = json!({"conversationId": id, "messages": [user("now")]});
    assert_eq!(desk.api.post("/api/chat", &body).await.status, 200);
    until(&mut own, &id, "idle").await;
    assert_eq!(desk.api.delete(&path).await.status, 200);
    until(&mut own, &id, "deleted").await;
    // The other user receives events of the other conversation, and none before.
    let started = other.post("/api/chat", &json!({"messages": [user("mine")]})).await;
    assert_eq!(started.status, 200, "{}", started.body);
    until(&mut theirs, &started.data()["conversationId"], "idle").await;
}

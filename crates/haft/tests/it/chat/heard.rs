//! What is told of conversations to whoever listens to events: to nobody but whose they are.

use std::sync::Arc;

use axum::http::Method;
use haft_testkit::{AskedModel, Client, Dialect, EventStream, ModelReply};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{Desk, user};

const PATH: &str = "/api/events?types=conversation.*";

async fn listen(api: &Client) -> EventStream {
    let mut stream = api.events(PATH).await;
    assert_eq!(stream.event().await.name, "ready");
    stream
}

/// Listens until a conversation stands so.
async fn until(stream: &mut EventStream, id: &Value, status: &str) {
    loop {
        let event = stream.event().await;
        assert_eq!((event.name.as_str(), event.place), ("conversation.changed", None));
        assert_eq!(&event.data["conversationId"], id, "no other");
        if event.data["status"] == status {
            return;
        }
    }
}

#[tokio::test]
async fn ones_own_conversations_are_told_of_and_nobody_elses() {
    let gate = Arc::new(Semaphore::new(0));
    let held = gate.clone();
    let desk = Desk::new(move |asked: AskedModel| {
        let held = held.clone();
        async move {
            match asked.user_text() {
                "wait" => ModelReply::says("Yes.").hold(held),
                _ => ModelReply::says("At once."),
            }
        }
    })
    .await;
    let agent = desk.agent(Dialect::Openai, &[], json!({})).await;
    let other = crate::agents::stranger(&desk.server, &desk.api).await;
    let (mut own, mut theirs) = (listen(&desk.api).await, listen(&other).await);
    let begun = desk
        .api
        .post("/api/chat", &json!({"agentId": agent, "messages": [user("wait")], "detach": true}))
        .await;
    let id = begun.data()["conversationId"].clone();
    until(&mut own, &id, "running").await;
    gate.add_permits(100);
    until(&mut own, &id, "idle").await;
    let path = format!("/api/conversations/{}", id.as_str().expect("an id"));
    assert_eq!(desk.api.send_json(Method::PATCH, &path, &json!({"title": "Another"})).await.status, 200);
    until(&mut own, &id, "idle").await;
    // A turn that takes no time is told of, too.
    let body = json!({"conversationId": id, "messages": [user("now")]});
    assert_eq!(desk.api.post("/api/chat", &body).await.status, 200);
    until(&mut own, &id, "idle").await;
    assert_eq!(desk.api.delete(&path).await.status, 200);
    until(&mut own, &id, "deleted").await;
    // The stranger hears of their own, and of nothing before it.
    let begun = other.post("/api/chat", &json!({"messages": [user("mine")]})).await;
    assert_eq!(begun.status, 200, "{}", begun.body);
    until(&mut theirs, &begun.data()["conversationId"], "idle").await;
}

//! Conversations: list, read, continue, edit, rename, export, delete; and access by their owner only.

use axum::http::Method;
use haft_testkit::{FakeDialect, ModelReply, RecordedModelRequest};
use serde_json::{Value, json};

use super::{Desk, final_text, user};

async fn desk_with_echo_model() -> Desk {
    Desk::new(async |request: RecordedModelRequest| {
        let users: Vec<&str> = request
            .messages
            .iter()
            .filter(|message| message.role == haft_testkit::MessageRole::User)
            .map(|message| message.text.as_str())
            .collect();
        match request.user_text() {
            "fail" => ModelReply::status(401, None),
            _ => ModelReply::says(users.join("|")),
        }
    })
    .await
}

async fn say(desk: &Desk, id: &Value, text: &str, more: Value) -> haft_testkit::TestResponse {
    let mut body = json!({"conversationId": id, "messages": [user(text)]});
    for (field, value) in more.as_object().expect("an object") {
        body[field] = value.clone();
    }
    desk.api.post("/api/chat", &body).await
}

#[tokio::test]
async fn conversation_is_continued_and_edited() {
    let desk = desk_with_echo_model().await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let first = desk.ask(&agent, "one").await;
    let id = first.data()["conversationId"].clone();
    assert_eq!(final_text(&say(&desk, &id, "two", json!({})).await), "one|two");
    let third = say(&desk, &id, "three", json!({})).await;
    assert_eq!((final_text(&third), &third.data()["turn"]), ("one|two|three", &json!(3)));
    // Editing the second message removes all later turns.
    let edited = say(&desk, &id, "2", json!({"replaces": 2})).await;
    assert_eq!((final_text(&edited), &edited.data()["turn"]), ("one|2", &json!(4)));
    assert_eq!(final_text(&say(&desk, &id, "three", json!({})).await), "one|2|three");
    let read = desk.api.get(&format!("/api/conversations/{}", id.as_str().expect("an id"))).await;
    let turns = read.data()["turns"].as_array().expect("turns");
    let numbers: Vec<&Value> = turns.iter().map(|turn| &turn["turn"]).collect();
    assert_eq!(numbers, [&json!(1), &json!(4), &json!(5)]);
    assert_eq!(say(&desk, &id, "x", json!({"replaces": 9})).await.status, 400);
    assert_eq!(say(&desk, &id, "x", json!({"agentId": "nobody"})).await.status, 404);
    desk.check();
}

#[tokio::test]
async fn cached_conversation_is_private_and_gone_after_deletion() {
    let desk = desk_with_echo_model().await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let id = desk.ask(&agent, "one").await.data()["conversationId"].clone();
    let stranger = crate::agents::stranger(&desk.server, &desk.api).await;
    let theirs = json!({"conversationId": id, "messages": [user("mine?")]});
    assert_eq!(stranger.post("/api/chat", &theirs).await.status, 404);
    assert_eq!(final_text(&say(&desk, &id, "two", json!({})).await), "one|two");
    assert_eq!(stranger.post("/api/chat", &theirs).await.status, 404);
    // Concurrent messages are all answered, several of them possibly in one turn.
    let several = futures_util::future::join_all((3..9).map(|n| {
        let (desk, id) = (&desk, &id);
        async move { say(desk, id, &n.to_string(), json!({})).await }
    }));
    for reply in several.await {
        assert!(final_text(&reply).starts_with("one|two|"), "{}", reply.body);
    }
    let mut texts: Vec<String> =
        final_text(&say(&desk, &id, "10", json!({})).await).split('|').map(str::to_owned).collect();
    texts[2..8].sort_unstable();
    assert_eq!(texts, ["one", "two", "3", "4", "5", "6", "7", "8", "10"], "each of them once");
    let path = format!("/api/conversations/{}", id.as_str().expect("an id"));
    assert_eq!(desk.api.send(Method::DELETE, &path, Vec::new()).await.status, 200);
    let requests = desk.model.seen().len();
    assert_eq!(say(&desk, &id, "still there?", json!({})).await.status, 404);
    assert_eq!(desk.model.seen().len(), requests, "no request to the model");
    desk.check();
}

#[tokio::test]
async fn failed_turn_is_continued() {
    let desk = desk_with_echo_model().await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let first = desk.ask(&agent, "fail").await;
    assert_eq!(first.status, 502, "{}", first.body);
    let id = first.data()["conversationId"].as_str().expect("an id").to_owned();
    let path = format!("/api/conversations/{id}/continue");
    let again = desk.api.post(&path, &json!({})).await;
    assert_eq!(again.status, 502, "the model is requested again: {}", again.body);
    let body = json!({"messages": [user("better")]});
    assert_eq!(final_text(&desk.api.post(&path, &body).await), "fail|better");
    let nothing = desk.api.post(&path, &json!({})).await;
    assert_eq!((nothing.status, nothing.kind()), (409, "Conflict"), "{}", nothing.body);
}

#[tokio::test]
async fn conversations_are_listed_renamed_exported_and_deleted() {
    let desk = desk_with_echo_model().await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let long = "a question that is rather long ".repeat(8);
    let mut ids = Vec::new();
    for text in ["first question", long.as_str(), "third question"] {
        ids.push(desk.ask(&agent, text).await.data()["conversationId"].as_str().expect("an id").to_owned());
    }
    let page = desk.api.get("/api/conversations?limit=2").await;
    let items = page.data()["items"].as_array().expect("a list").clone();
    assert_eq!((items.len(), &items[0]["title"]), (2, &json!("third question")));
    assert!(
        items[1]["title"].as_str().is_some_and(|title| title.ends_with('…') && title.chars().count() <= 80)
    );
    let cursor = page.data()["nextCursor"].as_str().expect("more");
    let rest = desk.api.get(&format!("/api/conversations?limit=2&cursor={cursor}")).await;
    assert_eq!(rest.data()["items"][0]["id"], json!(ids[0]));
    assert_eq!(rest.data()["nextCursor"], Value::Null);
    let found = desk.api.get("/api/conversations?q=THIRD").await;
    assert_eq!(found.data()["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        desk.api.get(&format!("/api/conversations?agent={agent}")).await.data()["items"]
            .as_array()
            .map(Vec::len),
        Some(3)
    );
    assert_eq!(desk.api.get("/api/conversations?agent=nobody").await.data()["items"], json!([]));

    let path = format!("/api/conversations/{}", ids[0]);
    let named = desk.api.send_json(Method::PATCH, &path, &json!({"title": " Weather "})).await;
    assert_eq!((named.status, &named.data()["title"]), (200, &json!("Weather")), "{}", named.body);
    for bad in [json!({"title": ""}), json!({"title": 7}), json!({"name": "x"})] {
        assert_eq!(desk.api.send_json(Method::PATCH, &path, &bad).await.status, 400, "{bad}");
    }
    let (status, headers, bytes) = desk.api.download(&format!("{path}/export?format=markdown")).await;
    let text = String::from_utf8(bytes).expect("text");
    assert_eq!(status, 200);
    assert!(text.contains("# Weather") && text.contains("first question"), "{text}");
    assert!(headers["content-disposition"].to_str().is_ok_and(|value| value.starts_with("attachment")));
    let (status, _, bytes) = desk.api.download(&format!("{path}/export")).await;
    let exported: Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!((status, &exported["turns"][0]["message"]["content"]), (200, &json!("first question")));
    assert_eq!(desk.api.get(&format!("{path}/export?format=pdf")).await.status, 400);

    assert_eq!(desk.api.delete(&path).await.status, 200);
    assert_eq!(desk.api.delete(&path).await.status, 404);
    assert_eq!(desk.api.get(&path).await.status, 404);
    assert_eq!(
        desk.api.get("/api/tasks").await.data()["items"],
        json!([]),
        "conversations are not listed as tasks"
    );
    assert_eq!(desk.api.get(&format!("/api/tasks/{}", ids[1])).await.status, 404);
}

#[tokio::test]
async fn idempotency_key_returns_the_first_response() {
    let desk = desk_with_echo_model().await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let keyed = desk.api.with("idempotency-key", "order-1");
    let body = json!({"agentId": agent, "messages": [user("one")]});
    let (first, again) = tokio::join!(keyed.post("/api/chat", &body), keyed.post("/api/chat", &body));
    assert_eq!((first.status, first.data()), (200, again.data()), "{} {}", first.body, again.body);
    assert_eq!(desk.model.seen().len(), 1);
    let other = keyed.post("/api/chat", &json!({"agentId": agent, "messages": [user("two")]})).await;
    assert_eq!(other.status, 409, "{}", other.body);
    let keyed = desk.api.with("idempotency-key", "order-2");
    let id = first.data()["conversationId"].clone();
    let body = json!({"conversationId": id, "messages": [user("two")]});
    let second = keyed.post("/api/chat", &body).await;
    let again = keyed.post("/api/chat", &body).await;
    assert_eq!((final_text(&second), second.data()), ("one|two", again.data()));
    assert_eq!(desk.model.seen().len(), 2);
    // The replay does not look for the replaced turn, which is gone.
    let keyed = desk.api.with("idempotency-key", "order-3");
    let body = json!({"conversationId": id, "replaces": 2, "messages": [user("three")]});
    let third = keyed.post("/api/chat", &body).await;
    let again = keyed.post("/api/chat", &body).await;
    assert_eq!(
        (third.status, final_text(&third), third.data()),
        (200, "one|three", again.data()),
        "{}",
        again.body
    );
    assert_eq!(desk.model.seen().len(), 3);
    let other = json!({"conversationId": id, "replaces": 2, "messages": [user("four")]});
    assert_eq!(keyed.post("/api/chat", &other).await.status, 409);
}

#[tokio::test]
async fn images_and_earlier_messages_reach_the_model() {
    let desk = Desk::new(async |request: RecordedModelRequest| {
        let images: usize = request.messages.iter().map(|message| message.images).sum();
        ModelReply::says(format!(
            "{images} images, {} messages, {}",
            request.messages.len(),
            request.system.unwrap_or_default()
        ))
    })
    .await;
    for dialect in super::DIALECTS {
        let agent = desk.agent(dialect, &[], json!({})).await;
        let body = json!({"agentId": agent, "messages": [
            {"role": "system", "content": "Answer in German."},
            user("Hello."),
            {"role": "assistant", "content": "Hello!"},
            {"role": "user", "content": [
                {"type": "text", "text": "Describe this image."},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
            ]},
        ]});
        let reply = desk.api.post("/api/chat", &body).await;
        assert_eq!(
            final_text(&reply),
            "1 images, 3 messages, You are a clerk.\n\nAnswer in German.",
            "{dialect:?}"
        );
    }
    desk.check();
}

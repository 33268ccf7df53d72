//! An Ollama that is not configured: it is discovered, and used like any other provider.

use haft_testkit::{FakeDialect, ModelReply, ModelServer, OLLAMA_CONTEXT, RecordedModelRequest, TestStorage};
use serde_json::{Value, json};

use crate::chat::{final_text, tools_of, user};
use crate::survival::Settings;
use crate::v1::{COMPLETIONS, body, streamed_text};

/// Calls a tool, and writes the result.
async fn clerk(asked: RecordedModelRequest) -> ModelReply {
    match asked.results().first() {
        None if asked.tools.is_empty() => ModelReply::says("Hello."),
        None => ModelReply::calls([("string", json!({"operation": "upper", "text": "rome"}))]),
        Some(result) => ModelReply::says(format!("It is {}", result.content)),
    }
}

#[tokio::test]
async fn running_ollama_is_used_without_any_configuration() {
    let (model, place) = (ModelServer::start(clerk).await, TestStorage::new());
    let settings = Settings::of(&place).with("HAFT_FIND_OLLAMA", &model.base(FakeDialect::Ollama));
    let (_server, api) = settings.start().await;
    let listed = api.get("/api/providers").await;
    let shown = &listed.data()["items"][0];
    assert_eq!(
        (&shown["name"], &shown["kind"], &shown["source"]),
        (&json!("ollama"), &json!("ollama"), &json!("found")),
        "{}",
        listed.body
    );
    let tools = tools_of(&api, &["string"]).await;
    for (name, tools) in [("plain", Vec::new()), ("clerk", tools)] {
        let made = api.post("/api/agents", &json!({"name": name, "toolIds": tools})).await;
        assert_eq!(made.status, 201, "{}", made.body);
    }
    let reply = api.post("/api/chat", &json!({"agentId": "plain", "messages": [user("Hi.")]})).await;
    assert_eq!(final_text(&reply), "Hello.");
    let asked = model.seen().pop().expect("a question");
    assert_eq!((asked.model.as_str(), asked.key), ("test-large", None), "the first model in its list");
    assert_eq!(asked.body["options"], json!({"num_ctx": OLLAMA_CONTEXT}));

    let reply = api.post("/api/chat", &json!({"agentId": "clerk", "messages": [user("Rome?")]})).await;
    assert!(final_text(&reply).contains("ROME"), "{}", reply.body);

    let question = body("clerk", &json!([user("Rome?")]), &json!({"stream": true}));
    let events = api.post_for_events(COMPLETIONS, &question).await.all().await;
    assert!(streamed_text(&events).contains("ROME"), "{}", streamed_text(&events));
    let last = events.iter().rev().find_map(|event| event.data["choices"][0]["finish_reason"].as_str());
    assert_eq!(last, Some("stop"));
    assert_eq!(events.last().map(|event| &event.data), Some(&Value::from("[DONE]")));
    assert_eq!(model.refused(), Vec::<String>::new());
}

//! `POST /api/conversations/{id}/continue`: continues a turn that ended early, without a new user message.

use std::sync::Arc;

use haft_testkit::{FakeDialect, MessageRole, ModelReply, RecordedModelRequest, TestResponse};
use serde_json::json;
use tokio::sync::Semaphore;

use super::{DIALECTS, Desk, final_text, user};

/// Continues a conversation. Returns the response and the first request to the model.
async fn continue_turn(desk: &Desk, id: &str) -> (TestResponse, RecordedModelRequest) {
    let before = desk.model.seen().len();
    let reply = desk.api.post(&format!("/api/conversations/{id}/continue"), &json!({})).await;
    let requests = desk.model.seen();
    assert!(requests.len() > before, "no request to the model: {} {:?}", reply.body, desk.model.refused());
    (reply, requests[before].clone())
}

/// Asserts that the request contains the earlier text as the model's own message, and that it is not the last
/// message for dialects that require a user message or tool results at the end.
fn check_request(request: &RecordedModelRequest, text: &str) {
    let own =
        request.messages.iter().rfind(|message| message.role == MessageRole::Assistant).expect("a message");
    assert_eq!(own.text.trim_end(), text.trim_end(), "{:?}", request.dialect);
    if request.dialect != FakeDialect::Openai {
        let last = request.messages.last().expect("a message");
        assert!(
            matches!(last.role, MessageRole::User | MessageRole::Tool),
            "{:?}: {:?}",
            request.dialect,
            request.messages
        );
    }
}

#[tokio::test]
async fn turn_is_continued_after_the_last_step() {
    let desk = Desk::new(async |request: RecordedModelRequest| {
        // Counts results, not messages: some dialects merge two consecutive messages of the model.
        let results: usize = request.messages.iter().map(|message| message.results.len()).sum();
        match (request.tool_choice.as_deref(), results) {
            (Some("none"), _) => ModelReply::says("So far I know of one."),
            (_, 0) => ModelReply::calls([("weather", json!({"city": "Rome"}))]),
            (_, 1) => ModelReply::calls([("weather", json!({"city": "Oslo"}))]),
            (_, _) => ModelReply::says("Now I know of two."),
        }
    })
    .await;
    for dialect in DIALECTS {
        let agent = desk.agent(dialect, &["weather"], json!({"maxSteps": 1})).await;
        let reply = desk.ask(&agent, "Rome and Oslo?").await;
        assert_eq!(final_text(&reply), "So far I know of one.", "{dialect:?}");
        assert_eq!(reply.data()["finishReason"], "max_steps", "{dialect:?}");
        let id = reply.data()["conversationId"].as_str().expect("an id").to_owned();
        // Allows more steps.
        let path = format!("/api/agents/{agent}");
        let mut config = desk.api.get(&path).await.data()["config"].clone();
        config["maxSteps"] = json!(4);
        let patched = crate::agents::patch(&desk.api, &path, &json!({"config": config})).await;
        assert_eq!(patched.status, 200, "{}", patched.body);

        let (reply, request) = continue_turn(&desk, &id).await;
        check_request(&request, "So far I know of one.");
        assert_eq!(final_text(&reply), "Now I know of two.", "{dialect:?}");
        let data = reply.data();
        assert_eq!((&data["finishReason"], &data["turn"]), (&json!("stop"), &json!(2)), "{dialect:?}");
        let read = desk.api.get(&format!("/api/conversations/{id}")).await;
        assert_eq!(read.data()["turns"][1]["input"], json!([]), "{dialect:?}: no user message");
        let nothing = desk.api.post(&format!("/api/conversations/{id}/continue"), &json!({})).await;
        assert_eq!(nothing.status, 409, "{}", nothing.body);
    }
    assert_eq!(desk.weather.seen().len(), 2 * DIALECTS.len(), "no call is repeated");
    desk.check();
}

#[tokio::test]
async fn cancelled_response_is_continued() {
    let permits = Arc::new(Semaphore::new(0));
    let held = permits.clone();
    let desk = Desk::new(move |request: RecordedModelRequest| {
        let held = held.clone();
        async move {
            match (request.previous_responses(), request.results().len()) {
                (0, _) => ModelReply::calls([("weather", json!({"city": "Rome"}))]),
                (1, 1) => ModelReply::says("one two three four five six").hold_until(held),
                (_, _) => ModelReply::says("seven"),
            }
        }
    })
    .await;
    for dialect in DIALECTS {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        let body = json!({"agentId": agent, "messages": [user("Count.")], "detach": true});
        let started = desk.api.post("/api/chat", &body).await;
        let id = started.data()["conversationId"].as_str().expect("an id").to_owned();
        let mut stream = desk.api.events(&format!("/api/conversations/{id}/events")).await;
        permits.add_permits(4);
        stream.until("message.delta").await;
        let stopped = desk.api.post(&format!("/api/conversations/{id}/cancel"), &json!({})).await;
        assert_eq!(stopped.status, 200, "{}", stopped.body);
        let done = stream.until("done").await.pop().map(|event| event.data["finishReason"].clone());
        assert_eq!(done, Some(json!("cancelled")), "{dialect:?}");
        let read = desk.api.get(&format!("/api/conversations/{id}")).await;
        let text = read.data()["turns"][0]["message"]["content"].as_str().expect("a text").to_owned();
        assert!(!text.is_empty() && "one two three four five six".starts_with(&text), "{dialect:?}: {text}");
        // Removes the remaining permits, so that the next dialect starts with none.
        permits.forget_permits(1000);

        let (reply, request) = continue_turn(&desk, &id).await;
        check_request(&request, &text);
        assert_eq!((final_text(&reply), &reply.data()["turn"]), ("seven", &json!(2)), "{dialect:?}");
        assert_eq!(reply.data()["toolCalls"].as_array().map(Vec::len), Some(0), "{dialect:?}");
    }
    assert_eq!(desk.weather.seen().len(), DIALECTS.len(), "the finished call is not repeated");
    desk.check();
}

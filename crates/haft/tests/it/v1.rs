//! `/v1` end to end: requests of OpenAI clients, and their responses.

mod client_tools;
mod completions;
mod conversations;
mod errors;
mod responses;

use haft_testkit::{Client, SseEvent, TestResponse};
use serde_json::{Value, json};

pub(crate) const COMPLETIONS: &str = "/v1/chat/completions";
pub(crate) const RESPONSES: &str = "/v1/responses";

/// A function of the client.
pub(crate) fn function(name: &str) -> Value {
    json!({"type": "function", "function": {
        "name": name, "description": "Known to the client alone.",
        "parameters": {"type": "object", "properties": {"of": {"type": "string"}}},
    }})
}

pub(crate) async fn complete(api: &Client, model: &str, messages: &Value, more: &Value) -> TestResponse {
    api.post(COMPLETIONS, &body(model, messages, more)).await
}

pub(crate) fn body(model: &str, messages: &Value, more: &Value) -> Value {
    let mut body = json!({"model": model, "messages": messages});
    for (name, value) in more.as_object().expect("an object") {
        body[name] = value.clone();
    }
    body
}

/// Returns the only choice of a successful response.
#[track_caller]
pub(crate) fn choice(reply: &TestResponse) -> &Value {
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(reply.body["object"], "chat.completion");
    &reply.body["choices"][0]
}

/// Joins the text of a stream of chunks.
pub(crate) fn streamed_text(events: &[SseEvent]) -> String {
    let pieces = events.iter().filter_map(|event| event.data["choices"][0]["delta"]["content"].as_str());
    pieces.collect()
}

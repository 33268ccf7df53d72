//! `/v1` end to end: what a client in OpenAI's form sends, and what it gets.

mod client_tools;
mod completions;
mod errors;
mod kept;
mod responses;

use haft_testkit::{Client, Event, Reply};
use serde_json::{Value, json};

pub(crate) const COMPLETIONS: &str = "/v1/chat/completions";
pub(crate) const RESPONSES: &str = "/v1/responses";

/// A function of the client's.
pub(crate) fn function(name: &str) -> Value {
    json!({"type": "function", "function": {
        "name": name, "description": "Known to the client alone.",
        "parameters": {"type": "object", "properties": {"of": {"type": "string"}}},
    }})
}

pub(crate) async fn complete(api: &Client, model: &str, messages: &Value, more: &Value) -> Reply {
    api.post(COMPLETIONS, &body(model, messages, more)).await
}

pub(crate) fn body(model: &str, messages: &Value, more: &Value) -> Value {
    let mut body = json!({"model": model, "messages": messages});
    for (name, value) in more.as_object().expect("an object") {
        body[name] = value.clone();
    }
    body
}

/// The one choice of an answer that worked.
#[track_caller]
pub(crate) fn choice(reply: &Reply) -> &Value {
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(reply.body["object"], "chat.completion");
    &reply.body["choices"][0]
}

/// All words of a stream of chunks.
pub(crate) fn words(events: &[Event]) -> String {
    let pieces = events.iter().filter_map(|event| event.data["choices"][0]["delta"]["content"].as_str());
    pieces.collect()
}

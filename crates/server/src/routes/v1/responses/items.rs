//! What a response holds: thoughts, messages and calls, each with an id of its own.

use haft_agent::Turn;
use haft_core::RunId;
use serde_json::{Value, json};

use crate::routes::v1::completions::{ClientCall, client_calls};
use crate::routes::v1::ids::MessagePlace;

/// The words of one step.
pub(super) fn message(id: &str, text: &str) -> Value {
    json!({
        "type": "message", "id": id, "status": "completed", "role": "assistant", "content": [text_part(text)],
    })
}

/// The same before there are words.
pub(super) fn begun_message(id: &str) -> Value {
    json!({"type": "message", "id": id, "status": "in_progress", "role": "assistant", "content": []})
}

pub(super) fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

/// What is said in place of an answer in the form that was asked for.
pub(super) fn refusal(id: &str, text: &str) -> Value {
    let content = [refusal_part(text)];
    json!({"type": "message", "id": id, "status": "completed", "role": "assistant", "content": content})
}

pub(super) fn refusal_part(text: &str) -> Value {
    json!({"type": "refusal", "refusal": text})
}

/// What a model thought, which is shown as a summary of it.
pub(super) fn thought(id: &str, text: &str) -> Value {
    json!({"type": "reasoning", "id": id, "status": "completed", "summary": [summary_part(text)]})
}

/// The same before there are thoughts.
pub(super) fn begun_thought(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "status": "in_progress", "summary": []})
}

pub(super) fn summary_part(text: &str) -> Value {
    json!({"type": "summary_text", "text": text})
}

/// A call that the client is to carry out.
pub(super) fn call(call: &ClientCall) -> Value {
    json!({
        "type": "function_call", "id": call.at.item(), "call_id": call.at.id(), "name": call.name,
        "arguments": call.arguments, "status": "completed",
    })
}

pub(super) fn begun_call(of: &ClientCall) -> Value {
    let mut begun = call(of);
    begun["arguments"] = json!("");
    begun["status"] = json!("in_progress");
    begun
}

/// All of a turn that has ended.
pub(super) fn of(run: RunId, turn: &Turn) -> Vec<Value> {
    let place = |step: u32| MessagePlace { run, turn: turn.turn, step };
    let mut items: Vec<Value> = Vec::new();
    for step in &turn.steps {
        let (place, answer) = (place(step.step), &step.response);
        let thoughts = answer.reasoning.as_ref().map(|thought| thought.text.as_str()).unwrap_or_default();
        if !thoughts.is_empty() {
            items.push(thought(&place.thought(), thoughts));
        }
        if !answer.user_text().is_empty() {
            items.push(message(&place.id(), answer.user_text()));
        }
        items.extend(answer.refusal().map(|text| refusal(&place.id(), text)));
    }
    if let Some(text) = turn.text_beyond_steps() {
        let after = turn.steps.last().map_or(1, |last| last.step + 1);
        items.push(message(&place(after).id(), text));
    }
    items.extend(client_calls(run, turn).iter().map(call));
    items
}

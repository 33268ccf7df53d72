//! What a response holds: messages and calls, each with an id of its own.

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
    let id = |step: u32| MessagePlace { run, turn: turn.turn, step }.id();
    let spoken = turn.steps.iter().filter(|step| !step.answer.text.is_empty());
    let mut items: Vec<Value> = spoken.map(|step| message(&id(step.step), &step.answer.text)).collect();
    if let (Some(end), Some(last)) = (&turn.end, turn.steps.last())
        && !end.text.is_empty()
        && last.answer.text != end.text
    {
        items.push(message(&id(last.step + 1), &end.text));
    }
    items.extend(client_calls(run, turn).iter().map(call));
    items
}

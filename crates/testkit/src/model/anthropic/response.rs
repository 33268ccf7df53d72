//! Builds Anthropic responses: events of a stream, or one message.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use crate::model::dialect::FakeDialect;
use crate::model::model_reply::{CallPart, ModelReply, ReplyPart, StopReason};
use crate::model::request::RecordedModelRequest;
use crate::model::response_body::Frame;

/// Prefix of the signatures that this server creates.
const SIGNATURE: &str = "EqQBCgIYAhIkZmFrZQ";

/// Returns the signature of a thinking block.
fn signature(thought: &str) -> String {
    let mut hasher = DefaultHasher::new();
    thought.hash(&mut hasher);
    format!("{SIGNATURE}{:016x}", hasher.finish())
}

/// Returns false if a signature of this server does not match its thinking block. Other signatures pass.
pub(super) fn is_valid_signature(thought: &str, signed: &str) -> bool {
    !signed.starts_with(SIGNATURE) || signed == signature(thought)
}

pub(in crate::model) fn frames(request: &RecordedModelRequest, reply: &ModelReply) -> Vec<Frame> {
    let (input, output) = reply.usage.unwrap_or_default();
    let mut message = message(request);
    message["usage"] = json!({"input_tokens": input, "output_tokens": 1});
    let mut frames = vec![event(json!({"type": "message_start", "message": message}))];
    for (number, part) in reply.parts.iter().enumerate() {
        let (block, deltas) = match part {
            ReplyPart::Text(text) => {
                let pieces = reply.text_pieces(text).into_iter();
                let deltas = pieces.map(|text| json!({"type": "text_delta", "text": text})).collect();
                (json!({"type": "text", "text": ""}), deltas)
            }
            ReplyPart::Reasoning(text) => {
                let pieces = reply.text_pieces(text).into_iter();
                let deltas = pieces.map(|text| json!({"type": "thinking_delta", "thinking": text}));
                let signed = json!({"type": "signature_delta", "signature": signature(text)});
                let block = json!({"type": "thinking", "thinking": "", "signature": ""});
                (block, deltas.chain([signed]).collect())
            }
            ReplyPart::Call(call) => {
                let pieces = reply.argument_pieces(&call.arguments).into_iter();
                let pieces = [String::new()].into_iter().chain(pieces);
                let deltas = pieces.map(|text| json!({"type": "input_json_delta", "partial_json": text}));
                (tool_use(call, json!({})), deltas.collect::<Vec<Value>>())
            }
        };
        frames.push(event(json!({"type": "content_block_start", "index": number, "content_block": block})));
        if number == 0 {
            frames.push(event(json!({"type": "ping"})));
        }
        frames.extend(deltas.into_iter().map(|delta| {
            event(json!({"type": "content_block_delta", "index": number, "delta": delta})).fragment()
        }));
        frames.push(event(json!({"type": "content_block_stop", "index": number})));
    }
    if let Some(message) = reply.error() {
        frames.push(Frame::named("error", &FakeDialect::Anthropic.error(529, message)));
        return frames;
    }
    let delta = json!({"stop_reason": reason(reply), "stop_sequence": null});
    frames.push(event(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": output}})));
    frames.push(event(json!({"type": "message_stop"})));
    frames
}

pub(in crate::model) fn whole(request: &RecordedModelRequest, reply: &ModelReply) -> Value {
    let (input, output) = reply.usage.unwrap_or_default();
    let mut document = message(request);
    let content = reply.parts.iter().map(|part| match part {
        ReplyPart::Text(text) => json!({"type": "text", "text": text}),
        ReplyPart::Reasoning(text) => {
            json!({"type": "thinking", "thinking": text, "signature": signature(text)})
        }
        // Arguments that are no object cannot be represented here.
        ReplyPart::Call(call) => tool_use(call, call.object().unwrap_or_else(|| json!({}))),
    });
    document["content"] = content.collect();
    document["stop_reason"] = reason(reply).into();
    document["usage"] = json!({"input_tokens": input, "output_tokens": output});
    document
}

/// Builds an event that is named after its type.
fn event(data: Value) -> Frame {
    Frame::named(data["type"].as_str().unwrap_or_default(), &data)
}

fn message(request: &RecordedModelRequest) -> Value {
    json!({
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL", "type": "message", "role": "assistant",
        "model": request.model, "content": [], "stop_reason": null, "stop_sequence": null,
    })
}

fn tool_use(call: &CallPart, input: Value) -> Value {
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
}

fn reason(reply: &ModelReply) -> &'static str {
    match reply.stop_reason {
        StopReason::Length => "max_tokens",
        StopReason::Filtered | StopReason::Refused => "refusal",
        StopReason::Complete if reply.has_calls() => "tool_use",
        StopReason::Complete => "end_turn",
    }
}

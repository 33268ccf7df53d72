//! An answer as Anthropic gives it: events of a message, or a whole one.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use crate::model::asked::AskedModel;
use crate::model::dialect::Dialect;
use crate::model::flow::Frame;
use crate::model::reply::{Ending, ModelReply, Said, SaidCall};

/// How what it signs begins.
const SIGNATURE: &str = "EqQBCgIYAhIkZmFrZQ";

/// By which it knows a thought again.
fn signature(thought: &str) -> String {
    let mut hasher = DefaultHasher::new();
    thought.hash(&mut hasher);
    format!("{SIGNATURE}{:016x}", hasher.finish())
}

/// Whether it signed a thought so. What it never signed is somebody else's to judge.
pub(super) fn is_own(thought: &str, signed: &str) -> bool {
    !signed.starts_with(SIGNATURE) || signed == signature(thought)
}

pub(in crate::model) fn frames(asked: &AskedModel, reply: &ModelReply) -> Vec<Frame> {
    let (input, output) = reply.usage.unwrap_or_default();
    let mut message = message(asked);
    message["usage"] = json!({"input_tokens": input, "output_tokens": 1});
    let mut frames = vec![event(json!({"type": "message_start", "message": message}))];
    for (number, said) in reply.said.iter().enumerate() {
        let (block, deltas) = match said {
            Said::Text(text) => {
                let pieces = reply.text_pieces(text).into_iter();
                let deltas = pieces.map(|text| json!({"type": "text_delta", "text": text})).collect();
                (json!({"type": "text", "text": ""}), deltas)
            }
            Said::Reasoning(text) => {
                let pieces = reply.text_pieces(text).into_iter();
                let deltas = pieces.map(|text| json!({"type": "thinking_delta", "thinking": text}));
                let signed = json!({"type": "signature_delta", "signature": signature(text)});
                let block = json!({"type": "thinking", "thinking": "", "signature": ""});
                (block, deltas.chain([signed]).collect())
            }
            Said::Call(call) => {
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
        frames.push(Frame::named("error", &Dialect::Anthropic.error(529, message)));
        return frames;
    }
    let delta = json!({"stop_reason": reason(reply), "stop_sequence": null});
    frames.push(event(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": output}})));
    frames.push(event(json!({"type": "message_stop"})));
    frames
}

pub(in crate::model) fn whole(asked: &AskedModel, reply: &ModelReply) -> Value {
    let (input, output) = reply.usage.unwrap_or_default();
    let mut document = message(asked);
    let content = reply.said.iter().map(|said| match said {
        Said::Text(text) => json!({"type": "text", "text": text}),
        Said::Reasoning(text) => json!({"type": "thinking", "thinking": text, "signature": signature(text)}),
        // Whole calls cannot hold what is no object.
        Said::Call(call) => tool_use(call, call.object().unwrap_or_else(|| json!({}))),
    });
    document["content"] = content.collect();
    document["stop_reason"] = reason(reply).into();
    document["usage"] = json!({"input_tokens": input, "output_tokens": output});
    document
}

/// An event, which has its type for a name.
fn event(data: Value) -> Frame {
    Frame::named(data["type"].as_str().unwrap_or_default(), &data)
}

fn message(asked: &AskedModel) -> Value {
    json!({
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL", "type": "message", "role": "assistant",
        "model": asked.model, "content": [], "stop_reason": null, "stop_sequence": null,
    })
}

fn tool_use(call: &SaidCall, input: Value) -> Value {
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
}

fn reason(reply: &ModelReply) -> &'static str {
    match reply.ending {
        Ending::Length => "max_tokens",
        Ending::Filtered | Ending::Refused => "refusal",
        Ending::Own if reply.has_calls() => "tool_use",
        Ending::Own => "end_turn",
    }
}

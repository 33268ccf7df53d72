//! Builds Ollama responses: one document per line, calls never in fragments.

use serde_json::{Value, json};

use crate::model::dialect::FakeDialect;
use crate::model::model_reply::{CallPart, ModelReply, ReplyPart, StopReason};
use crate::model::request::RecordedModelRequest;
use crate::model::response_body::Frame;

pub(in crate::model) fn frames(request: &RecordedModelRequest, reply: &ModelReply) -> Vec<Frame> {
    let line = |message: Value| Frame::line(&document(request, message, None)).fragment();
    let mut frames = Vec::new();
    for part in &reply.parts {
        match part {
            ReplyPart::Text(text) => frames.extend(
                reply
                    .text_pieces(text)
                    .iter()
                    .map(|text| line(json!({"role": "assistant", "content": text}))),
            ),
            ReplyPart::Reasoning(text) => frames.extend(
                reply
                    .text_pieces(text)
                    .iter()
                    .map(|text| line(json!({"role": "assistant", "content": "", "thinking": text}))),
            ),
            ReplyPart::Call(call) => frames.push(line(match call_json(call) {
                Some(call) => json!({"role": "assistant", "content": "", "tool_calls": [call]}),
                None => json!({"role": "assistant", "content": call.arguments}),
            })),
        }
    }
    frames.push(Frame::line(&match reply.error() {
        Some(message) => FakeDialect::Ollama.error(500, message),
        None => document(request, json!({"role": "assistant", "content": ""}), Some(reply)),
    }));
    frames
}

pub(in crate::model) fn whole(request: &RecordedModelRequest, reply: &ModelReply) -> Value {
    let unparsed = reply.call_parts().filter(|call| call.object().is_none());
    let unparsed: String = unparsed.map(|call| call.arguments.as_str()).collect();
    let mut message = json!({"role": "assistant", "content": reply.whole_text() + &unparsed});
    let thoughts = reply.whole_reasoning();
    if !thoughts.is_empty() {
        message["thinking"] = thoughts.into();
    }
    let calls: Vec<Value> = reply.call_parts().filter_map(call_json).collect();
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    document(request, message, Some(reply))
}

/// Builds a call. Returns `None` if Ollama's parser would leave it in the text.
fn call_json(call: &CallPart) -> Option<Value> {
    let mut document = json!({"function": {"name": call.name, "arguments": call.object()?}});
    if let Some(id) = &call.id {
        document["id"] = id.as_str().into();
    }
    Some(document)
}

/// Builds a line. It is the last line if `ended` is given.
fn document(request: &RecordedModelRequest, message: Value, ended: Option<&ModelReply>) -> Value {
    let mut document = json!({
        "model": request.model, "created_at": "2026-11-16T05:00:00.1Z",
        "message": message, "done": ended.is_some(),
    });
    let Some(reply) = ended else { return document };
    document["done_reason"] = match reply.stop_reason {
        StopReason::Length => "length".into(),
        StopReason::Complete | StopReason::Filtered | StopReason::Refused => "stop".into(),
    };
    if let Some((input, output)) = reply.usage {
        document["prompt_eval_count"] = input.into();
        document["eval_count"] = output.into();
    }
    document
}

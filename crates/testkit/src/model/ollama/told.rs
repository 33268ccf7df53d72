//! An answer as Ollama gives it: a document on each line, calls always whole.

use serde_json::{Value, json};

use crate::model::asked::AskedModel;
use crate::model::dialect::Dialect;
use crate::model::flow::Frame;
use crate::model::reply::{Ending, ModelReply, Said, SaidCall};

pub(in crate::model) fn frames(asked: &AskedModel, reply: &ModelReply) -> Vec<Frame> {
    let line = |message: Value| Frame::line(&document(asked, message, None)).fragment();
    let mut frames = Vec::new();
    for said in &reply.said {
        match said {
            Said::Text(text) => frames.extend(
                reply
                    .text_pieces(text)
                    .iter()
                    .map(|text| line(json!({"role": "assistant", "content": text}))),
            ),
            Said::Reasoning(text) => frames.extend(
                reply
                    .text_pieces(text)
                    .iter()
                    .map(|text| line(json!({"role": "assistant", "content": "", "thinking": text}))),
            ),
            Said::Call(call) => frames.push(line(match written(call) {
                Some(call) => json!({"role": "assistant", "content": "", "tool_calls": [call]}),
                None => json!({"role": "assistant", "content": call.arguments}),
            })),
        }
    }
    frames.push(Frame::line(&match reply.error() {
        Some(message) => Dialect::Ollama.error(500, message),
        None => document(asked, json!({"role": "assistant", "content": ""}), Some(reply)),
    }));
    frames
}

pub(in crate::model) fn whole(asked: &AskedModel, reply: &ModelReply) -> Value {
    let unread = reply.said_calls().filter(|call| call.object().is_none());
    let unread: String = unread.map(|call| call.arguments.as_str()).collect();
    let mut message = json!({"role": "assistant", "content": reply.whole_text() + &unread});
    let thoughts = reply.whole_reasoning();
    if !thoughts.is_empty() {
        message["thinking"] = thoughts.into();
    }
    let calls: Vec<Value> = reply.said_calls().filter_map(written).collect();
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    document(asked, message, Some(reply))
}

/// A call that its parser understands; what it does not stays text.
fn written(call: &SaidCall) -> Option<Value> {
    let mut written = json!({"function": {"name": call.name, "arguments": call.object()?}});
    if let Some(id) = &call.id {
        written["id"] = id.as_str().into();
    }
    Some(written)
}

/// A line, which is the last one if it says how the answer ended.
fn document(asked: &AskedModel, message: Value, ended: Option<&ModelReply>) -> Value {
    let mut document = json!({
        "model": asked.model, "created_at": "2026-11-16T05:00:00.1Z",
        "message": message, "done": ended.is_some(),
    });
    let Some(reply) = ended else { return document };
    document["done_reason"] = match reply.ending {
        Ending::Length => "length".into(),
        Ending::Own | Ending::Filtered | Ending::Refused => "stop".into(),
    };
    if let Some((input, output)) = reply.usage {
        document["prompt_eval_count"] = input.into();
        document["eval_count"] = output.into();
    }
    document
}

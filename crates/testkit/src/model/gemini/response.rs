//! Builds Gemini responses: pieces of content, calls never in fragments.

use serde_json::{Value, json};

use crate::model::dialect::FakeDialect;
use crate::model::model_reply::{CallPart, ModelReply, ReplyPart, StopReason};
use crate::model::request::RecordedModelRequest;
use crate::model::response_body::Frame;

/// The thought signature that the server adds to calls.
const SIGNATURE: &str = "ZmFrZS1zaWduYXR1cmU=";

pub(in crate::model) fn frames(request: &RecordedModelRequest, reply: &ModelReply) -> Vec<Frame> {
    let event = |parts: Vec<Value>| Frame::event(&piece(request, reply, parts, None)).fragment();
    let mut frames = Vec::new();
    let mut calls = Calls { is_signed: false, together: Vec::new() };
    for part in reply.parts.iter().filter(|part| is_included(request, part)) {
        if let ReplyPart::Call(call) = part {
            calls.add(request, call);
            continue;
        }
        if !calls.together.is_empty() {
            frames.push(event(std::mem::take(&mut calls.together)));
        }
        match part {
            ReplyPart::Text(text) => {
                frames.extend(reply.text_pieces(text).iter().map(|text| event(vec![json!({"text": text})])));
            }
            ReplyPart::Reasoning(text) => frames.extend(
                reply
                    .text_pieces(text)
                    .iter()
                    .map(|text| event(vec![json!({"text": text, "thought": true})])),
            ),
            ReplyPart::Call(_) => {}
        }
    }
    if !calls.together.is_empty() {
        frames.push(event(calls.together));
    }
    frames.push(Frame::event(&match reply.error() {
        Some(message) => FakeDialect::Gemini.error(503, message),
        None => piece(request, reply, vec![json!({"text": ""})], Some(reason(reply))),
    }));
    frames
}

pub(in crate::model) fn whole(request: &RecordedModelRequest, reply: &ModelReply) -> Value {
    let mut calls = Calls { is_signed: false, together: Vec::new() };
    let mut parts = Vec::new();
    for part in reply.parts.iter().filter(|part| is_included(request, part)) {
        match part {
            ReplyPart::Text(text) => parts.push(json!({"text": text})),
            ReplyPart::Reasoning(text) => parts.push(json!({"text": text, "thought": true})),
            ReplyPart::Call(call) => {
                calls.add(request, call);
                parts.append(&mut calls.together);
            }
        }
    }
    let document = piece(request, reply, parts, Some(reason(reply)));
    // A stream without server-sent events is a JSON list.
    if request.stream { json!([document]) } else { document }
}

/// Returns false for reasoning, unless the request includes thoughts.
fn is_included(request: &RecordedModelRequest, part: &ReplyPart) -> bool {
    let includes_thoughts = &request.body["generationConfig"]["thinkingConfig"]["includeThoughts"];
    !matches!(part, ReplyPart::Reasoning(_)) || *includes_thoughts == true
}

/// Calls that are sent in one piece.
struct Calls {
    is_signed: bool,
    together: Vec<Value>,
}

impl Calls {
    /// Adds a call. Ignores a call whose arguments are no object, like the real server.
    fn add(&mut self, request: &RecordedModelRequest, call: &CallPart) {
        let Some(arguments) = call.object() else { return };
        let mut function = json!({"name": call.name, "args": arguments});
        if let Some(id) = &call.id {
            function["id"] = id.as_str().into();
        }
        let mut part = json!({"functionCall": function});
        // Models that sign add a signature to the first call of a response.
        if request.model.starts_with("gemini-3") && !self.is_signed {
            part["thoughtSignature"] = SIGNATURE.into();
            self.is_signed = true;
        }
        self.together.push(part);
    }
}

fn piece(
    request: &RecordedModelRequest,
    reply: &ModelReply,
    parts: Vec<Value>,
    reason: Option<&str>,
) -> Value {
    let mut candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
    let mut usage =
        reply.usage.map(|(input, _)| json!({"promptTokenCount": input, "totalTokenCount": input}));
    if let Some(reason) = reason {
        candidate["finishReason"] = reason.into();
        usage = reply.usage.map(|(input, output)| {
            let total = input + output;
            json!({"promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": total})
        });
    }
    let mut piece = json!({"candidates": [candidate], "modelVersion": request.model, "responseId": "r1"});
    if let Some(usage) = usage {
        piece["usageMetadata"] = usage;
    }
    piece
}

fn reason(reply: &ModelReply) -> &'static str {
    match reply.stop_reason {
        StopReason::Length => "MAX_TOKENS",
        StopReason::Filtered | StopReason::Refused => "SAFETY",
        StopReason::Complete if reply.call_parts().any(|call| call.object().is_none()) => {
            "MALFORMED_FUNCTION_CALL"
        }
        StopReason::Complete => "STOP",
    }
}

//! An answer as Gemini gives it: pieces of content, calls always whole.

use serde_json::{Value, json};

use crate::model::asked::AskedModel;
use crate::model::dialect::Dialect;
use crate::model::flow::Frame;
use crate::model::reply::{Ending, ModelReply, Said, SaidCall};

/// By which it knows its calls again.
const SIGNATURE: &str = "ZmFrZS1zaWduYXR1cmU=";

pub(in crate::model) fn frames(asked: &AskedModel, reply: &ModelReply) -> Vec<Frame> {
    let event = |parts: Vec<Value>| Frame::event(&piece(asked, reply, parts, None)).fragment();
    let mut frames = Vec::new();
    let mut calls = Calls { is_signed: false, together: Vec::new() };
    for said in reply.said.iter().filter(|said| is_told(asked, said)) {
        if let Said::Call(call) = said {
            calls.add(asked, call);
            continue;
        }
        if !calls.together.is_empty() {
            frames.push(event(std::mem::take(&mut calls.together)));
        }
        match said {
            Said::Text(text) => {
                frames.extend(reply.text_pieces(text).iter().map(|text| event(vec![json!({"text": text})])));
            }
            Said::Reasoning(text) => frames.extend(
                reply
                    .text_pieces(text)
                    .iter()
                    .map(|text| event(vec![json!({"text": text, "thought": true})])),
            ),
            Said::Call(_) => {}
        }
    }
    if !calls.together.is_empty() {
        frames.push(event(calls.together));
    }
    frames.push(Frame::event(&match reply.error() {
        Some(message) => Dialect::Gemini.error(503, message),
        None => piece(asked, reply, vec![json!({"text": ""})], Some(reason(reply))),
    }));
    frames
}

pub(in crate::model) fn whole(asked: &AskedModel, reply: &ModelReply) -> Value {
    let mut calls = Calls { is_signed: false, together: Vec::new() };
    let mut parts = Vec::new();
    for said in reply.said.iter().filter(|said| is_told(asked, said)) {
        match said {
            Said::Text(text) => parts.push(json!({"text": text})),
            Said::Reasoning(text) => parts.push(json!({"text": text, "thought": true})),
            Said::Call(call) => {
                calls.add(asked, call);
                parts.append(&mut calls.together);
            }
        }
    }
    let document = piece(asked, reply, parts, Some(reason(reply)));
    // What is asked for as a stream, and is none, is a list.
    if asked.stream { json!([document]) } else { document }
}

/// What it thought it tells only those who want to know.
fn is_told(asked: &AskedModel, said: &Said) -> bool {
    let wants = &asked.body["generationConfig"]["thinkingConfig"]["includeThoughts"];
    !matches!(said, Said::Reasoning(_)) || *wants == true
}

/// Calls that come at once.
struct Calls {
    is_signed: bool,
    together: Vec<Value>,
}

impl Calls {
    /// A call that the server cannot read is not given at all.
    fn add(&mut self, asked: &AskedModel, call: &SaidCall) {
        let Some(arguments) = call.object() else { return };
        let mut function = json!({"name": call.name, "args": arguments});
        if let Some(id) = &call.id {
            function["id"] = id.as_str().into();
        }
        let mut part = json!({"functionCall": function});
        // The first of an answer's calls is signed, by the models that sign.
        if asked.model.starts_with("gemini-3") && !self.is_signed {
            part["thoughtSignature"] = SIGNATURE.into();
            self.is_signed = true;
        }
        self.together.push(part);
    }
}

fn piece(asked: &AskedModel, reply: &ModelReply, parts: Vec<Value>, reason: Option<&str>) -> Value {
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
    let mut piece = json!({"candidates": [candidate], "modelVersion": asked.model, "responseId": "r1"});
    if let Some(usage) = usage {
        piece["usageMetadata"] = usage;
    }
    piece
}

fn reason(reply: &ModelReply) -> &'static str {
    match reply.ending {
        Ending::Length => "MAX_TOKENS",
        Ending::Filtered | Ending::Refused => "SAFETY",
        Ending::Own if reply.said_calls().any(|call| call.object().is_none()) => "MALFORMED_FUNCTION_CALL",
        Ending::Own => "STOP",
    }
}

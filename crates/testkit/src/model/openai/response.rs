//! Builds OpenAI responses: chunks of a stream, or one completion.

use serde_json::{Value, json};

use crate::model::dialect::FakeDialect;
use crate::model::model_reply::{CallPart, ModelReply, ReplyPart, StopReason};
use crate::model::request::RecordedModelRequest;
use crate::model::response_body::Frame;

pub(in crate::model) fn frames(request: &RecordedModelRequest, reply: &ModelReply) -> Vec<Frame> {
    let counts = request.body["stream_options"]["include_usage"] == true;
    let chunk = |choices: Value, usage: Option<Value>| {
        let mut chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_760_000_000,
            "model": request.model, "choices": choices,
        });
        // If usage was requested, every chunk before the last has a null usage.
        if counts {
            chunk["usage"] = usage.into();
        }
        Frame::event(&chunk)
    };
    let piece = |delta: Value, reason: Option<&str>| {
        chunk(json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason}]), None)
    };
    let mut frames = vec![piece(json!({"role": "assistant", "content": ""}), None)];
    let mut calls = 0;
    for part in &reply.parts {
        match part {
            ReplyPart::Text(text) => frames.extend(
                reply
                    .text_pieces(text)
                    .iter()
                    .map(|text| piece(json!({reply.text_field(): text}), None).fragment()),
            ),
            ReplyPart::Reasoning(text) => frames.extend(
                reply
                    .text_pieces(text)
                    .iter()
                    .map(|text| piece(json!({"reasoning_content": text}), None).fragment()),
            ),
            ReplyPart::Call(call) => {
                let function = json!({"name": call.name, "arguments": ""});
                let start = json!({"index": calls, "id": call.id, "type": "function", "function": function});
                frames.push(piece(json!({"tool_calls": [start]}), None).fragment());
                frames.extend(reply.argument_pieces(&call.arguments).iter().map(|arguments| {
                    let more = json!({"index": calls, "function": {"arguments": arguments}});
                    piece(json!({"tool_calls": [more]}), None).fragment()
                }));
                calls += 1;
            }
        }
    }
    if let Some(message) = reply.error() {
        frames.push(Frame::event(&FakeDialect::Openai.error(500, message)));
        return frames;
    }
    frames.push(piece(json!({}), Some(reason(reply))));
    if let Some(usage) = usage(reply).filter(|_| counts) {
        frames.push(chunk(json!([]), Some(usage)));
    }
    frames.push(Frame { bytes: b"data: [DONE]\n\n".to_vec(), is_fragment: false });
    frames
}

pub(in crate::model) fn whole(request: &RecordedModelRequest, reply: &ModelReply) -> Value {
    let text = reply.whole_text();
    let content = if text.is_empty() { Value::Null } else { text.into() };
    let mut message = json!({"role": "assistant", "content": null, "refusal": null});
    message[reply.text_field()] = content;
    let thoughts = reply.whole_reasoning();
    if !thoughts.is_empty() {
        message["reasoning_content"] = thoughts.into();
    }
    if reply.has_calls() {
        message["tool_calls"] = reply.call_parts().map(call).collect();
    }
    let choice = json!({"index": 0, "message": message, "logprobs": null, "finish_reason": reason(reply)});
    let mut document = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_760_000_000,
        "model": request.model, "choices": [choice],
    });
    if let Some(usage) = usage(reply) {
        document["usage"] = usage;
    }
    document
}

fn call(call: &CallPart) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments});
    json!({"id": call.id, "type": "function", "function": function})
}

fn reason(reply: &ModelReply) -> &'static str {
    match reply.stop_reason {
        StopReason::Length => "length",
        StopReason::Filtered => "content_filter",
        StopReason::Complete if reply.has_calls() => "tool_calls",
        StopReason::Complete | StopReason::Refused => "stop",
    }
}

fn usage(reply: &ModelReply) -> Option<Value> {
    let (input, output) = reply.usage?;
    Some(json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output}))
}

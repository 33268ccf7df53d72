//! A turn as a `chat.completion`.

use haft_agent::{Finish, Turn};
use haft_core::RunId;
use haft_engine::now;
use haft_llm::{EndReason, Usage};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::routes::v1::ids::CallPlace;
use crate::routes::v1::warn;

/// What is the same in all parts of an answer.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) run: RunId,
    id: String,
    created: i64,
    model: String,
}

impl Head {
    /// The model is called as the client called it.
    pub(super) fn new(run: RunId, model: String) -> Self {
        // One run may give several answers.
        let id = format!("chatcmpl-{}", Uuid::now_v7().simple());
        Self { run, id, created: now().as_second(), model }
    }

    pub(super) fn completion(&self, turn: &Turn) -> Value {
        let calls = client_calls(self.run, turn);
        let text = turn.end.as_ref().map(|end| end.text.as_str()).unwrap_or_default();
        let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { json!(text) };
        let mut message = json!({"role": "assistant", "content": content, "refusal": null});
        if let Some(thoughts) = thoughts(turn) {
            message["reasoning_content"] = json!(thoughts);
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls.iter().map(ClientCall::shown).collect();
        }
        let mut completion = json!({
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": [{
                "index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(turn),
            }],
            "usage": usage(turn),
        });
        warn(&mut completion, turn);
        completion
    }

    /// A part of it, with the one choice that there is.
    pub(super) fn chunk(&self, delta: &Value, finish: Option<&str>) -> Value {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
        self.part(json!([choice]))
    }

    pub(super) fn part(&self, choices: Value) -> Value {
        json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
        })
    }
}

fn thoughts(turn: &Turn) -> Option<String> {
    let last = turn.steps.last()?.answer.reasoning.as_ref()?;
    (!last.text.is_empty()).then(|| last.text.clone())
}

/// A call that the client is to carry out.
pub(in crate::routes::v1) struct ClientCall {
    pub(in crate::routes::v1) at: CallPlace,
    pub(in crate::routes::v1) name: String,
    pub(in crate::routes::v1) arguments: String,
}

impl ClientCall {
    fn shown(&self) -> Value {
        let function = json!({"name": self.name, "arguments": self.arguments});
        json!({"id": self.at.id(), "type": "function", "function": function})
    }
}

/// The calls that wait for the client; those of the agent's own tools have run.
pub(in crate::routes::v1) fn client_calls(run: RunId, turn: &Turn) -> Vec<ClientCall> {
    use haft_agent::CallState;
    let is_waiting = turn.end.as_ref().is_some_and(|end| end.finish == Finish::ToolCalls);
    let Some(last) = turn.steps.last().filter(|_| is_waiting) else { return Vec::new() };
    let waiting = last.calls.iter().enumerate().filter(|(_, call)| call.state == CallState::Running);
    let call = |(place, call): (usize, &haft_agent::StepCall)| {
        let written = last.answer.calls.iter().find(|written| written.id == call.call_id.as_str());
        let arguments = written.map(|written| written.arguments.clone()).unwrap_or_default();
        let arguments = if arguments.trim().is_empty() { "{}".to_owned() } else { arguments };
        let at = CallPlace { run, turn: turn.turn, step: last.step, place };
        ClientCall { at, name: call.name.clone(), arguments }
    };
    waiting.map(call).collect()
}

pub(in crate::routes::v1) fn finish_reason(turn: &Turn) -> &'static str {
    let Some(end) = &turn.end else { return "stop" };
    match end.finish {
        Finish::ToolCalls => "tool_calls",
        Finish::ToolStop | Finish::Cancelled | Finish::Error => "stop",
        // Of an answer for which there was no more time, there is only the beginning.
        Finish::MaxSteps if turn.untold().is_some() => "length",
        Finish::Stop | Finish::MaxSteps => match turn.steps.last().map(|step| step.answer.end) {
            Some(EndReason::Length) => "length",
            Some(EndReason::Filtered) => "content_filter",
            Some(EndReason::Stop | EndReason::ToolCalls | EndReason::Malformed | EndReason::Other) | None => {
                "stop"
            }
        },
    }
}

pub(super) fn usage(turn: &Turn) -> Value {
    let Usage { input, output, cached, reasoning } = turn.usage();
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input + output,
        "prompt_tokens_details": {"cached_tokens": cached.unwrap_or_default()},
        "completion_tokens_details": {"reasoning_tokens": reasoning.unwrap_or_default()},
    })
}

//! A turn as a `chat.completion`.

use haft_agent::{FinishReason, Turn};
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
        let refusal = turn.refusal();
        let is_silent = refusal.is_some() || (text.is_empty() && !calls.is_empty());
        let content = if is_silent { Value::Null } else { json!(text) };
        let mut message = json!({"role": "assistant", "content": content, "refusal": refusal});
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
                "index": 0, "message": message, "logprobs": logprobs(turn), "finish_reason": finish_reason(turn),
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

    /// A chunk of nothing but how likely the tokens before it were.
    pub(super) fn logprobs(&self, logprobs: Value) -> Value {
        let choice = json!({"index": 0, "delta": {}, "logprobs": logprobs, "finish_reason": null});
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

/// Returns the log probabilities of the last response, or null if the request did not ask for them.
pub(super) fn logprobs(turn: &Turn) -> Value {
    let last = turn.steps.last().map(|step| &step.response.logprobs).filter(|logprobs| !logprobs.is_empty());
    last.map_or(Value::Null, |logprobs| json!({"content": logprobs, "refusal": null}))
}

fn thoughts(turn: &Turn) -> Option<String> {
    let last = turn.steps.last()?.response.reasoning.as_ref()?;
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
    let is_waiting = turn.end.as_ref().is_some_and(|end| end.finish == FinishReason::ToolCalls);
    let Some(last) = turn.steps.last().filter(|_| is_waiting) else { return Vec::new() };
    let waiting = last.calls.iter().enumerate().filter(|(_, call)| call.state == CallState::Running);
    let call = |(place, call): (usize, &haft_agent::StepCall)| {
        let written = last.response.calls.iter().find(|written| written.id == call.call_id.as_str());
        let is_from_text = written.is_some_and(|written| written.is_from_text);
        let arguments = written.map(|written| written.arguments.clone()).unwrap_or_default();
        let arguments = if arguments.trim().is_empty() { "{}".to_owned() } else { arguments };
        let at = CallPlace { run, turn: turn.turn, step: last.step, place, is_from_text };
        ClientCall { at, name: call.name.clone(), arguments }
    };
    waiting.map(call).collect()
}

pub(in crate::routes::v1) fn finish_reason(turn: &Turn) -> &'static str {
    let Some(end) = turn.end.as_ref().filter(|_| turn.refusal().is_none()) else { return "stop" };
    match end.finish {
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::ToolStop | FinishReason::Cancelled | FinishReason::Error => "stop",
        // The time ran out in the middle of a response, or before it.
        FinishReason::MaxSteps if turn.text_beyond_steps().is_some() || !has_final_response(turn) => "length",
        FinishReason::Stop | FinishReason::MaxSteps => {
            match turn.steps.last().map(|step| step.response.end) {
                Some(EndReason::Length) => "length",
                Some(EndReason::Filtered) => "content_filter",
                Some(
                    EndReason::Stop
                    | EndReason::ToolCalls
                    | EndReason::Refused
                    | EndReason::Malformed
                    | EndReason::Other,
                )
                | None => "stop",
            }
        }
    }
}

/// Returns true if the last step of a turn is a response without calls.
fn has_final_response(turn: &Turn) -> bool {
    turn.steps.last().is_some_and(|step| step.calls.is_empty())
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

#[cfg(test)]
mod tests {
    use haft_agent::{CallState, FormatCheck, StepCall, StoredResponse, TurnEnd, TurnSetup, TurnStep};
    use jiff::Timestamp;

    use super::*;

    fn step(end: EndReason, has_call: bool, format: Option<FormatCheck>) -> TurnStep {
        let written = json!({
            "text": "{\"a\": 1", "end": end, "model": "p/m", "at": Timestamp::UNIX_EPOCH, "ms": 1, "format": format,
        });
        let response: StoredResponse = serde_json::from_value(written).expect("an answer");
        let call = StepCall {
            call_id: Uuid::nil().into(),
            name: "look".to_owned(),
            arguments: json!({}),
            task: None,
            state: CallState::Running,
        };
        TurnStep { step: 1, response, calls: has_call.then_some(call).into_iter().collect() }
    }

    fn turn(finish: FinishReason, steps: Vec<TurnStep>) -> Turn {
        let setup = json!({"from": 0, "to": 0, "at": Timestamp::UNIX_EPOCH});
        let setup: TurnSetup = serde_json::from_value(setup).expect("a setup");
        let text = steps.last().map(|step| step.response.user_text().to_owned()).unwrap_or_default();
        let end = TurnEnd {
            finish,
            text,
            error: None,
            warnings: Vec::new(),
            usage: Usage::default(),
            at: Timestamp::UNIX_EPOCH,
        };
        Turn { turn: 1, setup, input: Vec::new(), steps, end: Some(end) }
    }

    #[test]
    fn finish_reason_differs_between_cut_filtered_and_refused_responses() {
        let refused = || Some(FormatCheck::Refused("I will not.".to_owned()));
        let beside_calls = || Some(FormatCheck::BesideCalls);
        for (finish, steps, expected) in [
            (FinishReason::Stop, vec![step(EndReason::Stop, false, Some(FormatCheck::Fits))], "stop"),
            (FinishReason::Stop, vec![step(EndReason::Length, false, Some(FormatCheck::Cut))], "length"),
            (
                FinishReason::Stop,
                vec![step(EndReason::Filtered, false, Some(FormatCheck::Cut))],
                "content_filter",
            ),
            (FinishReason::Stop, vec![step(EndReason::Refused, false, refused())], "stop"),
            (FinishReason::Stop, vec![step(EndReason::Refused, false, None)], "stop"),
            (FinishReason::MaxSteps, vec![step(EndReason::Stop, false, None)], "stop"),
            // Out of time before the last answer, with a response format and without one.
            (FinishReason::MaxSteps, vec![step(EndReason::ToolCalls, true, beside_calls())], "length"),
            (FinishReason::MaxSteps, vec![step(EndReason::ToolCalls, true, None)], "length"),
            (FinishReason::MaxSteps, Vec::new(), "length"),
            (FinishReason::ToolCalls, vec![step(EndReason::ToolCalls, true, None)], "tool_calls"),
        ] {
            let turn = turn(finish, steps);
            assert_eq!(finish_reason(&turn), expected, "{:?}", turn.steps);
        }
    }
}

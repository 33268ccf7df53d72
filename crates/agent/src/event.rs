//! The events of a turn, for its followers.

use haft_core::CallId;
use haft_core::timestamp::rfc3339;
use haft_llm::Usage;
use serde_json::{Value, json};

use crate::inbox::{ChatMessage, InboxMessage, ToolResultsMessage, TurnRequest, UserMessage};
use crate::transcript::{CallState, CallTask, FinishReason, StepCall, Turn};

/// An event of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatEvent {
    /// The input of the turn in its API form.
    TurnStart {
        input: Vec<Value>,
        message_ids: Vec<String>,
        replaces: Option<u32>,
    },
    Text {
        step: u32,
        text: String,
    },
    Reasoning {
        step: u32,
        text: String,
    },
    /// The text of the step so far is withdrawn.
    MessageReset {
        step: u32,
    },
    Call {
        step: u32,
        call_id: CallId,
        name: String,
        arguments: Value,
    },
    Pending {
        step: u32,
        call_id: CallId,
        name: String,
        task: CallTask,
    },
    /// A `ToolExecutionResult` in its API form.
    Result {
        step: u32,
        call_id: CallId,
        name: String,
        result: Value,
    },
    Warning {
        message: String,
    },
    MessageDone {
        text: String,
    },
    Usage(Usage),
    Error(Value),
    Done {
        finish: FinishReason,
        steps: u32,
    },
}

impl ChatEvent {
    pub fn name(&self) -> &'static str {
        match self {
            Self::TurnStart { .. } => "turn.start",
            Self::Text { .. } => "message.delta",
            Self::Reasoning { .. } => "reasoning.delta",
            Self::MessageReset { .. } => "message.reset",
            Self::Call { .. } => "tool.call",
            Self::Pending { .. } => "tool.pending",
            Self::Result { .. } => "tool.result",
            Self::Warning { .. } => "warning",
            Self::MessageDone { .. } => "message.done",
            Self::Usage(_) => "usage",
            Self::Error(_) => "error",
            Self::Done { .. } => "done",
        }
    }

    /// Returns true if it is the last event of its turn.
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Done { .. })
    }

    /// Returns the fields of the event, with its conversation and turn.
    pub fn data(&self, conversation: &str, turn: u32) -> Value {
        let mut data = match self {
            Self::TurnStart { input, replaces, .. } => {
                let mut data = json!({"conversationId": conversation, "input": input});
                if let Some(replaces) = replaces {
                    data["replaces"] = json!(replaces);
                }
                data
            }
            Self::Text { step, text } | Self::Reasoning { step, text } => json!({"step": step, "text": text}),
            Self::MessageReset { step } => json!({"step": step}),
            Self::Call { step, call_id, name, arguments } => {
                json!({"step": step, "callId": call_id, "name": name, "arguments": arguments})
            }
            Self::Pending { step, call_id, name, task } => json!({
                "step": step, "callId": call_id, "name": name, "taskId": task.task_id, "reason": task.reason,
            }),
            Self::Result { step, call_id, name, result } => {
                let mut data = result.clone();
                data["step"] = json!(step);
                data["callId"] = json!(call_id);
                data["name"] = json!(name);
                data
            }
            Self::Warning { message } => json!({"message": message}),
            Self::MessageDone { text } => json!({"message": {"role": "assistant", "content": text}}),
            Self::Usage(usage) => json!(usage),
            Self::Error(error) => error.clone(),
            Self::Done { finish, steps } => {
                json!({"conversationId": conversation, "finishReason": finish.as_str(), "steps": steps})
            }
        };
        data["turn"] = json!(turn);
        data
    }

    /// Returns the events of a turn that the journal contains.
    pub fn of(turn: &Turn) -> Vec<Self> {
        let mut events = vec![Self::start(turn)];
        for step in &turn.steps {
            let number = step.step;
            events.extend(
                step.response.warnings.iter().map(|message| Self::Warning { message: message.clone() }),
            );
            if let Some(reasoning) =
                step.response.reasoning.as_ref().filter(|thought| !thought.text.is_empty())
            {
                events.push(Self::Reasoning { step: number, text: reasoning.text.clone() });
            }
            if !step.response.user_text().is_empty() {
                events.push(Self::Text { step: number, text: step.response.user_text().to_owned() });
            }
            events.extend(step.calls.iter().map(|call| Self::called(number, call)));
            events.extend(step.calls.iter().filter_map(|call| Self::pending(number, call)));
            // In the order of the calls, up to the first missing result: a later replay must only append events.
            let is_complete = |call: &&StepCall| turn.end.is_some() || !call.is_awaited();
            let come = step.calls.iter().take_while(is_complete);
            events.extend(come.filter_map(|call| Self::arrived(number, call)));
        }
        if let Some(end) = &turn.end {
            events.extend(Self::ended(turn, end));
        }
        events
    }

    /// The final events of a turn whose conversation failed in the middle of it.
    pub fn conversation_failed(error: &Value) -> Vec<Self> {
        vec![Self::Error(error.clone()), Self::Done { finish: FinishReason::Error, steps: 0 }]
    }

    pub(crate) fn start(turn: &Turn) -> Self {
        let input = turn.input.iter().flat_map(message_json).collect();
        let message_ids = turn.input.iter().filter_map(|message| message.id().map(str::to_owned)).collect();
        Self::TurnStart { input, message_ids, replaces: turn.setup.replaces }
    }

    pub(crate) fn called(step: u32, call: &StepCall) -> Self {
        let StepCall { call_id, name, arguments, .. } = call.clone();
        Self::Call { step, call_id, name, arguments }
    }

    /// Returns the event of a call that became a task.
    pub(crate) fn pending(step: u32, call: &StepCall) -> Option<Self> {
        let (call_id, name) = (call.call_id.clone(), call.name.clone());
        call.task.clone().map(|task| Self::Pending { step, call_id, name, task })
    }

    /// Returns the event of a call that has a result.
    pub(crate) fn arrived(step: u32, call: &StepCall) -> Option<Self> {
        let (call_id, name) = (call.call_id.clone(), call.name.clone());
        match &call.state {
            CallState::Running | CallState::Awaited(_) | CallState::Pending(_) => None,
            CallState::Done(result) => {
                Some(Self::Result { step, call_id, name, result: Value::clone(result) })
            }
        }
    }

    pub(crate) fn ended(turn: &Turn, end: &crate::transcript::TurnEnd) -> Vec<Self> {
        let mut events: Vec<Self> =
            end.warnings.iter().map(|message| Self::Warning { message: message.clone() }).collect();
        if end.error.is_none() || !end.text.is_empty() {
            events.push(Self::MessageDone { text: end.text.clone() });
        }
        events.push(Self::Usage(end.usage));
        events.extend(end.error.clone().map(Self::Error));
        events.push(Self::Done { finish: end.finish, steps: steps_of(turn) });
        events
    }
}

pub(crate) fn steps_of(turn: &Turn) -> u32 {
    u32::try_from(turn.steps.len()).unwrap_or(u32::MAX)
}

/// Returns an inbox message in its API form.
pub fn message_json(inbox_message: &InboxMessage) -> Vec<Value> {
    match inbox_message {
        InboxMessage::User(UserMessage { id, messages, asked, .. })
        | InboxMessage::ToolResults(ToolResultsMessage { id, messages, asked, .. }) => {
            messages.iter().map(|message| chat_message_json(message, id, asked)).collect()
        }
        InboxMessage::Continue(_) => Vec::new(),
        InboxMessage::TaskEnded(ended) => {
            let name = ended.output["toolName"].clone();
            vec![json!({
                "role": "task", "taskId": ended.run, "callId": ended.name, "name": name, "result": ended.output,
            })]
        }
    }
}

fn chat_message_json(message: &ChatMessage, id: &str, asked: &TurnRequest) -> Value {
    let content = message.content_json();
    let mut fields =
        json!({"role": message.role, "content": content, "messageId": id, "at": rfc3339(asked.at)});
    let calls = message.calls_json();
    if !calls.is_empty() {
        fields["toolCalls"] = Value::Array(calls);
    }
    if let Some(call) = message.result_of() {
        fields["callId"] = json!(call);
    }
    fields
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use haft_llm::EndReason;
    use jiff::Timestamp;

    use super::*;
    use crate::stored_response::StoredResponse;
    use crate::transcript::{TaskReason, TurnEnd, TurnSetup, TurnStep};

    /// A response with three calls: one that became a task, and two that are executed inline.
    fn turn(states: [CallState; 2], end: Option<TurnEnd>) -> Turn {
        let task = CallTask { task_id: "t".to_owned(), reason: TaskReason::Async };
        let [first, second] = states;
        let calls = [("later", CallState::Pending(task.clone())), ("first", first), ("second", second)];
        let calls = calls.into_iter().map(|(name, state)| StepCall {
            call_id: name.parse().expect("an id"),
            name: name.to_owned(),
            arguments: json!({}),
            task: matches!(state, CallState::Pending(_)).then(|| task.clone()),
            state,
        });
        let at = Timestamp::UNIX_EPOCH;
        let response = StoredResponse {
            text: "I look.".to_owned(),
            reasoning: None,
            calls: Vec::new(),
            usage: None,
            guessed: None,
            end: EndReason::ToolCalls,
            model: String::new(),
            at,
            ms: 0,
            logprobs: Vec::new(),
            format: None,
            dropped: Vec::new(),
            warnings: Vec::new(),
        };
        let setup = TurnSetup { from: 0, to: 0, replaces: None, kept: BTreeMap::new(), at };
        let steps = vec![TurnStep { step: 1, response, calls: calls.collect() }];
        Turn { turn: 1, setup, input: Vec::new(), steps, end }
    }

    #[test]
    fn events_of_a_running_turn_are_a_prefix_of_those_of_the_ended_turn() {
        let done = |n: u32| CallState::Done(Arc::new(json!({"success": true, "data": n})));
        let end = TurnEnd {
            finish: FinishReason::Stop,
            text: String::new(),
            error: None,
            warnings: Vec::new(),
            usage: Usage::default(),
            at: Timestamp::UNIX_EPOCH,
        };
        let all = ChatEvent::of(&turn([done(1), done(2)], Some(end)));
        let come = |events: &[ChatEvent]| {
            let names = events.iter().map(ChatEvent::name);
            names.filter(|name| *name == "tool.result").count()
        };
        assert_eq!(come(&all), 2);
        let running = [
            ([CallState::Running, CallState::Running], 0),
            ([CallState::Running, done(2)], 0),
            ([done(1), CallState::Running], 1),
            ([done(1), done(2)], 2),
        ];
        for (states, expected) in running {
            let events = ChatEvent::of(&turn(states, None));
            assert_eq!(come(&events), expected);
            assert!(all.starts_with(&events), "{events:?}");
        }
    }
}

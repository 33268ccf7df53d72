//! What happens in a turn, for whoever follows it while it happens.

use haft_core::CallId;
use haft_core::timestamp::rfc3339;
use haft_llm::Usage;
use serde_json::{Value, json};

use crate::said::{Asked, Letter, Message, Returned, Said};
use crate::transcript::{CallState, Finish, StepCall, Task, Turn};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatEvent {
    /// What the turn begins with, as doors show it.
    TurnStart {
        input: Vec<Value>,
        letters: Vec<String>,
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
    /// What came of the step's text so far counts no more.
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
        task: Task,
    },
    /// A `ToolExecutionResult`, as doors show it.
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
        finish: Finish,
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

    /// Whether nothing comes after it in its turn.
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Done { .. })
    }

    /// The event's own fields, and where it happened.
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

    /// What happened in a turn, as far as its journal tells.
    pub fn of(turn: &Turn) -> Vec<Self> {
        let mut events = vec![Self::start(turn)];
        for step in &turn.steps {
            let number = step.step;
            events.extend(
                step.answer.warnings.iter().map(|message| Self::Warning { message: message.clone() }),
            );
            if let Some(reasoning) = step.answer.reasoning.as_ref().filter(|thought| !thought.text.is_empty())
            {
                events.push(Self::Reasoning { step: number, text: reasoning.text.clone() });
            }
            if !step.answer.said().is_empty() {
                events.push(Self::Text { step: number, text: step.answer.said().to_owned() });
            }
            events.extend(step.calls.iter().map(|call| Self::called(number, call)));
            events.extend(step.calls.iter().filter_map(|call| Self::pending(number, call)));
            // In their order, and none before those that are still to come: what was told stays where it was.
            let is_told = |call: &&StepCall| turn.end.is_some() || !call.is_awaited();
            let come = step.calls.iter().take_while(is_told);
            events.extend(come.filter_map(|call| Self::came(number, call)));
        }
        if let Some(end) = &turn.end {
            events.extend(Self::ended(turn, end));
        }
        events
    }

    /// The final events of a turn whose conversation failed in the middle of it.
    pub fn conversation_failed(error: &Value) -> Vec<Self> {
        vec![Self::Error(error.clone()), Self::Done { finish: Finish::Error, steps: 0 }]
    }

    pub(crate) fn start(turn: &Turn) -> Self {
        let input = turn.input.iter().flat_map(shown).collect();
        let letters = turn.input.iter().filter_map(|letter| letter.id().map(str::to_owned)).collect();
        Self::TurnStart { input, letters, replaces: turn.setup.replaces }
    }

    pub(crate) fn called(step: u32, call: &StepCall) -> Self {
        let StepCall { call_id, name, arguments, .. } = call.clone();
        Self::Call { step, call_id, name, arguments }
    }

    /// That a call became a task, where it did.
    pub(crate) fn pending(step: u32, call: &StepCall) -> Option<Self> {
        let (call_id, name) = (call.call_id.clone(), call.name.clone());
        call.task.clone().map(|task| Self::Pending { step, call_id, name, task })
    }

    /// What came of a call, where something has.
    pub(crate) fn came(step: u32, call: &StepCall) -> Option<Self> {
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

/// What was sent, as doors show it.
pub fn shown(letter: &Letter) -> Vec<Value> {
    match letter {
        Letter::Said(Said { id, messages, asked, .. })
        | Letter::Returned(Returned { id, messages, asked, .. }) => {
            messages.iter().map(|message| shown_message(message, id, asked)).collect()
        }
        Letter::GoOn(_) => Vec::new(),
        Letter::Ended(ended) => {
            let name = ended.output["toolName"].clone();
            vec![json!({
                "role": "task", "taskId": ended.run, "callId": ended.name, "name": name, "result": ended.output,
            })]
        }
    }
}

fn shown_message(message: &Message, id: &str, asked: &Asked) -> Value {
    let content = message.shown();
    let mut shown =
        json!({"role": message.role, "content": content, "messageId": id, "at": rfc3339(asked.at)});
    let calls = message.calls_shown();
    if !calls.is_empty() {
        shown["toolCalls"] = Value::Array(calls);
    }
    if let Some(call) = message.call() {
        shown["callId"] = json!(call);
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use haft_llm::EndReason;
    use jiff::Timestamp;

    use super::*;
    use crate::transcript::{Answer, Reason, Setup, TurnEnd, TurnStep};

    /// An answer with three calls: one that became a task, and two that are made here.
    fn turn(states: [CallState; 2], end: Option<TurnEnd>) -> Turn {
        let task = Task { task_id: "t".to_owned(), reason: Reason::Async };
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
        let answer = Answer {
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
        let setup = Setup { from: 0, to: 0, replaces: None, kept: BTreeMap::new(), at };
        let steps = vec![TurnStep { step: 1, answer, calls: calls.collect() }];
        Turn { turn: 1, setup, input: Vec::new(), steps, end }
    }

    #[test]
    fn what_was_told_of_a_turn_under_way_stays_as_it_was() {
        let done = |n: u32| CallState::Done(Arc::new(json!({"success": true, "data": n})));
        let end = TurnEnd {
            finish: Finish::Stop,
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
        let under_way = [
            ([CallState::Running, CallState::Running], 0),
            ([CallState::Running, done(2)], 0),
            ([done(1), CallState::Running], 1),
            ([done(1), done(2)], 2),
        ];
        for (states, expected) in under_way {
            let told = ChatEvent::of(&turn(states, None));
            assert_eq!(come(&told), expected);
            assert!(all.starts_with(&told), "{told:?}");
        }
    }
}

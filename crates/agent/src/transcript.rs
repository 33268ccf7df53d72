//! A conversation as its journal contains it: turns, the steps of each turn, and the results of their calls.
//!
//! A transcript is read from the steps of a run only. Model requests, API responses, and the continuation after a crash
//! are all based on it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use haft_core::{CallError, CallId, ErrorKind, TraceParent, TraceState, json as strict};
use haft_llm::{Call, Usage};
use haft_runs::{INBOX, Run, Step, StepState};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::conversation_input::ConversationInput;
use crate::event::ChatEvent;
use crate::inbox::InboxMessage;
use crate::stored_response::StoredResponse;
use crate::turn_log::TurnLog;

/// The turns of a conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transcript {
    /// The turns that are not replaced, in order. Their numbers increase, and may have gaps.
    pub turns: Vec<Turn>,
    /// The number of the last turn that ever began.
    pub last: u32,
    /// Number of inbox receptions up to the last turn.
    pub received: u64,
    /// Received messages that have begun no turn yet.
    pub pending_messages: Vec<InboxMessage>,
    /// Number of inbox receptions in total.
    pub received_total: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub turn: u32,
    pub setup: TurnSetup,
    pub input: Vec<InboxMessage>,
    pub steps: Vec<TurnStep>,
    /// `None` while it is running.
    pub end: Option<TurnEnd>,
}

/// The persisted beginning of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnSetup {
    /// The first inbox reception of its input.
    pub from: u64,
    /// The inbox reception after its input.
    pub to: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<u32>,
    /// The handles of large results that arrived after their turn, by the ids of their calls.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kept: BTreeMap<String, String>,
    pub at: Timestamp,
}

/// One response of the model, with its calls.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnStep {
    pub step: u32,
    pub response: StoredResponse,
    pub calls: Vec<StepCall>,
}

/// One call of a response.
#[derive(Debug, Clone, PartialEq)]
pub struct StepCall {
    pub call_id: CallId,
    pub name: String,
    /// JSON, or a text if the model wrote no valid JSON.
    pub arguments: Value,
    /// The task that the call became.
    pub task: Option<CallTask>,
    pub state: CallState,
}

impl StepCall {
    /// Returns true if its turn cannot continue without its result.
    pub(crate) fn is_awaited(&self) -> bool {
        match self.state {
            CallState::Running | CallState::Awaited(_) => true,
            CallState::Pending(_) | CallState::Done(_) => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum CallState {
    /// It may be running, or the client executes it.
    Running,
    /// It became a task, and the turn waits for it.
    Awaited(CallTask),
    /// It became a task, and the turn continued.
    Pending(CallTask),
    /// A `ToolExecutionResult` in its API form.
    Done(Arc<Value>),
}

impl CallState {
    /// Reads the stored output of an executed call.
    pub(crate) fn read(output: &Arc<Value>) -> Self {
        match CallTask::read(&output["pending"]) {
            Some(task) => Self::Pending(task),
            None => Self::Done(output.clone()),
        }
    }
}

/// A task that a call became.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallTask {
    pub task_id: String,
    pub reason: TaskReason,
}

impl CallTask {
    pub(crate) fn read(value: &Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }
}

/// The reason for which a call became a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskReason {
    /// The tool is asynchronous, and the turn does not wait for it.
    Async,
    /// A person must approve it.
    Approval,
    /// The upstream responds later.
    Later,
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnEnd {
    pub finish: FinishReason,
    /// The final text.
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    pub usage: Usage,
    pub at: Timestamp,
}

/// The reason for which a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    Stop,
    MaxSteps,
    ToolStop,
    Cancelled,
    Error,
    /// The client has calls to execute.
    ToolCalls,
}

impl FinishReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::MaxSteps => "max_steps",
            Self::ToolStop => "tool_stop",
            Self::Cancelled => "cancelled",
            Self::Error => "error",
            Self::ToolCalls => "tool_calls",
        }
    }
}

/// The keys of steps.
pub(crate) mod key {
    pub(super) const SETUP: &str = ".setup";

    pub(crate) fn setup(turn: u32) -> String {
        format!("{turn}{SETUP}")
    }

    pub(crate) fn end(turn: u32) -> String {
        format!("{turn}.end")
    }

    pub(crate) fn response(turn: u32, step: u32) -> String {
        format!("{turn}.{step}")
    }

    /// The calls of a response that became tasks.
    pub(crate) fn tasks(turn: u32, step: u32) -> String {
        format!("{turn}.{step}.tasks")
    }

    pub(crate) fn call(turn: u32, step: u32, place: usize) -> String {
        format!("{turn}.{step}.{place}")
    }

    /// Marks that listeners have received the result of a task.
    pub(crate) fn notified(turn: u32, step: u32, place: usize) -> String {
        format!("{turn}.{step}.{place}.heard")
    }
}

impl Transcript {
    /// Begins the next turn. Turns that its input replaces are removed.
    pub(crate) fn begin_turn(&mut self, setup: TurnSetup, input: Vec<InboxMessage>) {
        self.last += 1;
        self.received = setup.to;
        if let Some(replaced) = setup.replaces {
            self.turns.retain(|earlier| earlier.turn < replaced);
        }
        self.turns.push(Turn { turn: self.last, setup, input, steps: Vec::new(), end: None });
        self.add_client_results();
    }

    /// Begins the only turn of an ephemeral or nested turn.
    pub(crate) fn begin_only_turn(&mut self, input: &ConversationInput) {
        let setup = TurnSetup { from: 0, to: 0, replaces: None, kept: BTreeMap::new(), at: Timestamp::now() };
        self.begin_turn(setup, vec![InboxMessage::User(input.first.clone())]);
    }

    /// Emits the events of the last turn.
    pub(crate) fn emit_to(&self, log: &TurnLog) {
        self.turns.last().into_iter().flat_map(ChatEvent::of).for_each(|event| log.emit(event));
    }

    /// Returns the output of the task that a call became, if the task has ended.
    pub fn task_output(&self, call: &str) -> Option<&Value> {
        let messages = self.turns.iter().flat_map(|turn| &turn.input).chain(&self.pending_messages);
        let mut ended = messages.filter_map(|message| match message {
            InboxMessage::TaskEnded(ended) => Some(ended),
            InboxMessage::User(_) | InboxMessage::Continue(_) | InboxMessage::ToolResults(_) => None,
        });
        ended.find(|ended| ended.name == call).map(|ended| &ended.output)
    }

    /// Reads the transcript of a conversation's run.
    pub fn read(run: &Run, steps: &[Step]) -> Result<Self, CallError> {
        let input = ConversationInput::of(run)
            .map_err(|_| CallError::text(ErrorKind::Internal, "the stored conversation cannot be read"))?;
        let steps: HashMap<&str, Arc<Step>> =
            steps.iter().map(|step| (step.key.as_str(), Arc::new(step.clone()))).collect();
        Ok(Self::of(&input, |key| steps.get(key).cloned()))
    }

    /// Reads the steps of a run, which are found by their keys.
    pub fn of(chat: &ConversationInput, find: impl Fn(&str) -> Option<Arc<Step>>) -> Self {
        let given = |key: &str| -> Option<Arc<Value>> {
            find(key).filter(|step| step.state == StepState::Done)?.output.clone()
        };
        let inbox_messages = |n: u64| -> Option<Vec<InboxMessage>> {
            let sent = given(&format!("{INBOX}:{n}"))?;
            let sent = sent["messages"].as_array()?;
            Some(
                sent.iter()
                    .filter_map(|inbox_message| InboxMessage::deserialize(inbox_message).ok())
                    .collect(),
            )
        };
        let mut transcript = Self::default();
        while let Some(setup) =
            given(&key::setup(transcript.last + 1)).and_then(|setup| TurnSetup::deserialize(&*setup).ok())
        {
            let turn = transcript.last + 1;
            let mut input: Vec<InboxMessage> =
                (setup.from..setup.to).filter_map(inbox_messages).flatten().collect();
            if turn == 1 {
                input.insert(0, InboxMessage::User(chat.first.clone()));
            }
            if let Some(replaced) = setup.replaces {
                transcript.turns.retain(|earlier| earlier.turn < replaced);
            }
            transcript.last = turn;
            transcript.received = setup.to;
            let steps = (1..).map_while(|step| read_step(turn, step, &given)).collect();
            let end = given(&key::end(turn)).and_then(|end| TurnEnd::deserialize(&*end).ok());
            transcript.turns.push(Turn { turn, setup, input, steps, end });
        }
        transcript.add_client_results();
        transcript.received_total = transcript.received;
        while let Some(more) = inbox_messages(transcript.received_total) {
            transcript.pending_messages.extend(more);
            transcript.received_total += 1;
        }
        transcript
    }

    /// Returns the number of the last turn that ever began, without reading the turns.
    pub fn last_of(steps: &[Step]) -> u32 {
        let begun = steps.iter().filter_map(|step| step.key.strip_suffix(key::SETUP)?.parse().ok());
        begun.max().unwrap_or_default()
    }

    /// Adds results of calls that the client executed to the calls.
    pub(crate) fn add_client_results(&mut self) {
        let inbox_messages = self.turns.iter().flat_map(|turn| &turn.input);
        let returned = inbox_messages.filter_map(|inbox_message| match inbox_message {
            InboxMessage::ToolResults(returned) => Some(returned.results.clone()),
            InboxMessage::User(_) | InboxMessage::Continue(_) | InboxMessage::TaskEnded(_) => None,
        });
        let mut contents = HashMap::new();
        for (id, content) in returned.flatten() {
            contents.entry(id).or_insert(content);
        }
        let calls = self.turns.iter_mut().flat_map(|turn| &mut turn.steps).flat_map(|step| &mut step.calls);
        for call in calls.filter(|call| call.state == CallState::Running) {
            if let Some(content) = contents.get(&call.call_id) {
                let result =
                    json!({"success": true, "data": content, "callId": call.call_id, "toolName": call.name});
                call.state = CallState::Done(Arc::new(result));
            }
        }
    }

    /// Returns the running turn.
    pub fn open(&self) -> Option<&Turn> {
        self.turns.last().filter(|turn| turn.end.is_none())
    }

    /// Returns the turn that has an inbox message in its input.
    pub fn turn_of(&self, inbox_message: &str) -> Option<&Turn> {
        self.turns.iter().rfind(|turn| turn.input.iter().any(|heard| heard.id() == Some(inbox_message)))
    }

    /// Returns calls that became tasks, and whose results have not arrived.
    pub fn pending(&self) -> impl Iterator<Item = (&StepCall, &CallTask)> {
        let calls = self.turns.iter().flat_map(|turn| &turn.steps).flat_map(|step| &step.calls);
        calls.filter_map(|call| match &call.state {
            CallState::Pending(task) if !self.has_arrived(&call.call_id) => Some((call, task)),
            CallState::Awaited(task) => Some((call, task)),
            CallState::Pending(_) | CallState::Running | CallState::Done(_) => None,
        })
    }

    /// Returns true if the result of a task is part of a turn, or will be part of the next one.
    fn has_arrived(&self, call: &CallId) -> bool {
        let messages = self.turns.iter().flat_map(|turn| &turn.input).chain(&self.pending_messages);
        let mut ended = messages.filter_map(|inbox_message| match inbox_message {
            InboxMessage::TaskEnded(ended) => Some(ended),
            InboxMessage::User(_) | InboxMessage::Continue(_) | InboxMessage::ToolResults(_) => None,
        });
        ended.any(|ended| ended.name == call.as_str())
    }
}

impl Turn {
    /// Returns the usage of all its responses.
    pub fn usage(&self) -> Usage {
        let mut all = Usage::default();
        for usage in self.steps.iter().filter_map(|step| step.response.usage) {
            all.add(usage);
        }
        all
    }

    /// The trace of the last request that the turn answers.
    pub(crate) fn trace(&self) -> Option<&(TraceParent, Option<TraceState>)> {
        self.input.iter().rev().find_map(InboxMessage::turn_request)?.trace.as_ref()
    }

    /// Returns the number of its tokens, reported or estimated.
    pub fn tokens(&self) -> u64 {
        self.steps.iter().map(|step| step.response.tokens()).sum()
    }

    /// Returns the time that models and tools spent on it, without the time of waiting for people and tasks.
    pub(crate) fn worked(&self) -> Duration {
        let of = |step: &TurnStep| {
            let calls = step.calls.iter().filter(|call| call.task.is_none());
            let calls = calls.filter_map(|call| match &call.state {
                CallState::Done(result) => result["executionTime"].as_u64(),
                CallState::Running | CallState::Awaited(_) | CallState::Pending(_) => None,
            });
            step.response.ms + calls.max().unwrap_or_default()
        };
        Duration::from_millis(self.steps.iter().map(of).sum())
    }

    /// Returns the final text if no step contains it: the text of the tool that ended the turn, or of an incomplete response.
    pub fn text_beyond_steps(&self) -> Option<&str> {
        let text = self.end.as_ref().map(|end| end.text.as_str()).filter(|text| !text.is_empty())?;
        (self.steps.last().map(|last| last.response.text.as_str()) != Some(text)).then_some(text)
    }

    /// Returns the refusal that replaces a response in the requested format.
    pub fn refusal(&self) -> Option<&str> {
        self.steps.last()?.response.refusal()
    }

    /// Returns the warnings of the turn.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        let of_steps = self.steps.iter().flat_map(|step| &step.response.warnings);
        let of_end = self.end.iter().flat_map(|end| &end.warnings);
        of_steps.chain(of_end).map(String::as_str)
    }

    pub fn calls(&self) -> impl Iterator<Item = &StepCall> {
        self.steps.iter().flat_map(|step| &step.calls)
    }
}

fn read_step(turn: u32, step: u32, given: &impl Fn(&str) -> Option<Arc<Value>>) -> Option<TurnStep> {
    let response = StoredResponse::deserialize(&*given(&key::response(turn, step))?).ok()?;
    let tasks = given(&key::tasks(turn, step));
    let call = |(place, call): (usize, &Call)| {
        let key = key::call(turn, step, place);
        let task = tasks.as_ref().and_then(|tasks| CallTask::read(&tasks[place.to_string()]));
        let state = match (given(&key), task.clone()) {
            (Some(output), _) => CallState::read(&output),
            (None, Some(task)) => CallState::Awaited(task),
            (None, None) => CallState::Running,
        };
        let (name, arguments) = (call.name.clone(), arguments(&call.arguments));
        Some(StepCall { call_id: call.id.parse().ok()?, name, arguments, task, state })
    };
    let calls = response.calls.iter().enumerate().filter_map(call).collect();
    Some(TurnStep { step, response, calls })
}

/// Arguments as the model wrote them: unambiguous JSON, or a text.
pub(crate) fn arguments(written: &str) -> Value {
    strict::parse(written.as_bytes()).unwrap_or_else(|_| Value::from(written))
}

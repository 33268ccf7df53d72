//! A conversation as its journal tells it: turns, the steps of each, and what came of their calls.
//!
//! Read from the steps of a run, and from nothing else: what the model is shown, what doors show, and where a turn
//! goes on after a crash are all this.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use haft_core::{CallId, TraceParent, TraceState, json as strict};
use haft_llm::{Call, EndReason, Reasoning, Usage};
use haft_runs::{INBOX, Step, StepState};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::chat_run::ChatRun;
use crate::said::Letter;

/// All that is known of a conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transcript {
    /// Those that count, in their order; their numbers grow, and may have gaps.
    pub turns: Vec<Turn>,
    /// The number of the last turn that was ever begun.
    pub last: u32,
    /// So often the conversation took what was sent to it, up to its last turn.
    pub taken: u64,
    /// What was sent since, and began no turn.
    pub unheard: Vec<Letter>,
    /// So often it took what was sent to it, in all.
    pub taken_in_all: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub turn: u32,
    pub setup: Setup,
    pub input: Vec<Letter>,
    pub steps: Vec<TurnStep>,
    /// Nothing while it is under way.
    pub end: Option<TurnEnd>,
}

/// What a turn began with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Setup {
    /// It takes what was sent from here.
    pub from: u64,
    /// To before here.
    pub to: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<u32>,
    /// Where the whole of results is that came by themselves and are too large to be shown: by the id of the call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kept: BTreeMap<String, String>,
    pub at: Timestamp,
}

/// One answer of the model, with its calls.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnStep {
    pub step: u32,
    pub answer: Answer,
    pub calls: Vec<StepCall>,
}

/// What the model answered, as the journal has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// About so many tokens it took, where nobody said how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guessed: Option<u64>,
    pub end: EndReason,
    /// `provider/model`.
    pub model: String,
    pub at: Timestamp,
    pub ms: u64,
    /// How likely each token was, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logprobs: Vec<Value>,
    /// Whether it has the form that was asked for. `None` if no form was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<FormatCheck>,
    /// Options that its provider does not support, and that it was asked without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
    /// In words: tools that the model was not told of, and other things that the user should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Whether a last answer has the form that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FormatCheck {
    Fits,
    /// It has calls, and its words are no answer.
    BesideCalls,
    /// It ends before it is whole.
    Cut,
    /// There is no answer in this form: what is said instead.
    Refused(String),
}

impl Answer {
    /// Returns the refusal that replaces a response in the requested format.
    pub fn refusal(&self) -> Option<&str> {
        match &self.format {
            Some(FormatCheck::Refused(refusal)) => Some(refusal),
            Some(FormatCheck::Fits | FormatCheck::BesideCalls | FormatCheck::Cut) | None => None,
        }
    }

    /// The words that are for the user: where a form was asked for, nothing but an answer in it.
    pub fn said(&self) -> &str {
        match &self.format {
            Some(FormatCheck::BesideCalls | FormatCheck::Refused(_)) => "",
            Some(FormatCheck::Fits | FormatCheck::Cut) | None => &self.text,
        }
    }

    /// Its calls as they are sent to a model, `provider/model`. Ids and signatures of the provider go back to the model
    /// that made the calls, and to no other: behind one provider may be models that take different ids.
    pub(crate) fn calls_for(&self, model: &str) -> Vec<Call> {
        let mut calls = self.calls.clone();
        if self.model != model {
            calls.iter_mut().for_each(|call| (call.provider_id, call.signature) = (None, None));
        }
        calls
    }

    /// The answer that was asked for in place of an empty one, with what both cost.
    pub(crate) fn after(self, before: Self) -> Self {
        let usage = match (before.usage, self.usage) {
            (Some(before), Some(mut usage)) => {
                usage.add(before);
                Some(usage)
            }
            (before, usage) => usage.or(before),
        };
        let guessed = match (before.guessed, self.guessed) {
            (None, None) => None,
            (before, guessed) => Some(before.unwrap_or_default() + guessed.unwrap_or_default()),
        };
        let mut warnings = before.warnings;
        warnings.extend(self.warnings);
        warnings.dedup();
        Self { calls: Vec::new(), usage, guessed, at: before.at, ms: before.ms + self.ms, warnings, ..self }
    }

    pub(crate) fn tokens(&self) -> u64 {
        self.usage.map(|usage| usage.input + usage.output).or(self.guessed).unwrap_or_default()
    }
}

/// One call of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct StepCall {
    pub call_id: CallId,
    pub name: String,
    /// As JSON, or as text where it is none.
    pub arguments: Value,
    /// What it became, where it became one.
    pub task: Option<Task>,
    pub state: CallState,
}

impl StepCall {
    /// Whether its turn does not go on before something comes of it.
    pub(crate) fn is_awaited(&self) -> bool {
        match self.state {
            CallState::Running | CallState::Awaited(_) => true,
            CallState::Pending(_) | CallState::Done(_) => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum CallState {
    /// It may be under way, or whoever asked carries it out.
    Running,
    /// It became a task, and the turn waits for it.
    Awaited(Task),
    /// It became a task, and the turn went on.
    Pending(Task),
    /// A `ToolExecutionResult`, as doors show it.
    Done(Arc<Value>),
}

impl CallState {
    /// What the journal has of a call that was carried out.
    pub(crate) fn read(output: &Arc<Value>) -> Self {
        match Task::read(&output["pending"]) {
            Some(task) => Self::Pending(task),
            None => Self::Done(output.clone()),
        }
    }
}

/// A task that a call became.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub task_id: String,
    pub reason: Reason,
}

impl Task {
    pub(crate) fn read(value: &Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }
}

/// Why a call became a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// Its tool says so, and nobody waits for it.
    Async,
    /// A person is asked.
    Approval,
    /// Its answer comes later.
    Later,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnEnd {
    pub finish: Finish,
    /// The last words.
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    pub usage: Usage,
    pub at: Timestamp,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    Stop,
    MaxSteps,
    ToolStop,
    Cancelled,
    Error,
    /// Whoever asked has calls to carry out themselves.
    ToolCalls,
}

impl Finish {
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

/// The names of steps.
pub(crate) mod key {
    pub(super) const SETUP: &str = ".setup";

    pub(crate) fn setup(turn: u32) -> String {
        format!("{turn}{SETUP}")
    }

    pub(crate) fn end(turn: u32) -> String {
        format!("{turn}.end")
    }

    pub(crate) fn answer(turn: u32, step: u32) -> String {
        format!("{turn}.{step}")
    }

    /// Which calls of an answer became tasks.
    pub(crate) fn tasks(turn: u32, step: u32) -> String {
        format!("{turn}.{step}.tasks")
    }

    pub(crate) fn call(turn: u32, step: u32, place: usize) -> String {
        format!("{turn}.{step}.{place}")
    }

    /// That what came of a task was told to who listens.
    pub(crate) fn heard(turn: u32, step: u32, place: usize) -> String {
        format!("{turn}.{step}.{place}.heard")
    }
}

impl Transcript {
    /// Reads the steps of a run, which are found by their names.
    pub fn of(chat: &ChatRun, find: impl Fn(&str) -> Option<Arc<Step>>) -> Self {
        let given = |key: &str| -> Option<Arc<Value>> {
            find(key).filter(|step| step.state == StepState::Done)?.output.clone()
        };
        let letters = |n: u64| -> Option<Vec<Letter>> {
            let sent = given(&format!("{INBOX}:{n}"))?;
            let sent = sent["messages"].as_array()?;
            Some(sent.iter().filter_map(|letter| Letter::deserialize(letter).ok()).collect())
        };
        let mut transcript = Self::default();
        while let Some(setup) =
            given(&key::setup(transcript.last + 1)).and_then(|setup| Setup::deserialize(&*setup).ok())
        {
            let turn = transcript.last + 1;
            let mut input: Vec<Letter> = (setup.from..setup.to).filter_map(letters).flatten().collect();
            if turn == 1 {
                input.insert(0, Letter::Said(chat.first.clone()));
            }
            if let Some(replaced) = setup.replaces {
                transcript.turns.retain(|earlier| earlier.turn < replaced);
            }
            transcript.last = turn;
            transcript.taken = setup.to;
            let steps = (1..).map_while(|step| read_step(turn, step, &given)).collect();
            let end = given(&key::end(turn)).and_then(|end| TurnEnd::deserialize(&*end).ok());
            transcript.turns.push(Turn { turn, setup, input, steps, end });
        }
        transcript.give_back();
        transcript.taken_in_all = transcript.taken;
        while let Some(more) = letters(transcript.taken_in_all) {
            transcript.unheard.extend(more);
            transcript.taken_in_all += 1;
        }
        transcript
    }

    /// The number of the last turn that was ever begun, where nothing else matters.
    pub fn last_of(steps: &[Step]) -> u32 {
        let begun = steps.iter().filter_map(|step| step.key.strip_suffix(key::SETUP)?.parse().ok());
        begun.max().unwrap_or_default()
    }

    /// Puts what came of calls that whoever asked carried out where the calls are.
    pub(crate) fn give_back(&mut self) {
        let letters = self.turns.iter().flat_map(|turn| &turn.input);
        let returned = letters.filter_map(|letter| match letter {
            Letter::Returned(returned) => Some(returned.results.clone()),
            Letter::Said(_) | Letter::GoOn(_) | Letter::Ended(_) => None,
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

    /// The turn that is under way.
    pub fn open(&self) -> Option<&Turn> {
        self.turns.last().filter(|turn| turn.end.is_none())
    }

    /// The turn that a letter began or is part of.
    pub fn turn_of(&self, letter: &str) -> Option<&Turn> {
        self.turns.iter().rfind(|turn| turn.input.iter().any(|heard| heard.id() == Some(letter)))
    }

    /// Calls that went on as tasks, and whose results have not come.
    pub fn pending(&self) -> impl Iterator<Item = (&StepCall, &Task)> {
        let calls = self.turns.iter().flat_map(|turn| &turn.steps).flat_map(|step| &step.calls);
        calls.filter_map(|call| match &call.state {
            CallState::Pending(task) if !self.has_come(&call.call_id) => Some((call, task)),
            CallState::Awaited(task) => Some((call, task)),
            CallState::Pending(_) | CallState::Running | CallState::Done(_) => None,
        })
    }

    /// Whether the result of a task was told to the model, or will be with the next turn.
    fn has_come(&self, call: &CallId) -> bool {
        let told = self.turns.iter().flat_map(|turn| &turn.input).chain(&self.unheard);
        let mut ended = told.filter_map(|letter| match letter {
            Letter::Ended(ended) => Some(ended),
            Letter::Said(_) | Letter::GoOn(_) | Letter::Returned(_) => None,
        });
        ended.any(|ended| ended.name == call.as_str())
    }
}

impl Turn {
    /// What all its answers cost.
    pub fn usage(&self) -> Usage {
        let mut all = Usage::default();
        for usage in self.steps.iter().filter_map(|step| step.answer.usage) {
            all.add(usage);
        }
        all
    }

    /// The trace of the last request that the turn answers.
    pub(crate) fn trace(&self) -> Option<&(TraceParent, Option<TraceState>)> {
        self.input.iter().rev().find_map(Letter::asked)?.trace.as_ref()
    }

    /// So many tokens it took, counted or guessed.
    pub fn tokens(&self) -> u64 {
        self.steps.iter().map(|step| step.answer.tokens()).sum()
    }

    /// So long it was worked on by models and by tools; not how long it waited for people.
    pub(crate) fn worked(&self) -> Duration {
        let of = |step: &TurnStep| {
            let calls = step.calls.iter().filter(|call| call.task.is_none());
            let calls = calls.filter_map(|call| match &call.state {
                CallState::Done(result) => result["executionTime"].as_u64(),
                CallState::Running | CallState::Awaited(_) | CallState::Pending(_) => None,
            });
            step.answer.ms + calls.max().unwrap_or_default()
        };
        Duration::from_millis(self.steps.iter().map(of).sum())
    }

    /// Last words that no step has: of the tool that ended it, or of an answer that was cut off.
    pub fn untold(&self) -> Option<&str> {
        let text = self.end.as_ref().map(|end| end.text.as_str()).filter(|text| !text.is_empty())?;
        (self.steps.last().map(|last| last.answer.text.as_str()) != Some(text)).then_some(text)
    }

    /// What is said in place of an answer in the form that was asked for.
    pub fn refusal(&self) -> Option<&str> {
        self.steps.last()?.answer.refusal()
    }

    /// What whoever asked should know of it, in words.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        let of_steps = self.steps.iter().flat_map(|step| &step.answer.warnings);
        let of_end = self.end.iter().flat_map(|end| &end.warnings);
        of_steps.chain(of_end).map(String::as_str)
    }

    pub fn calls(&self) -> impl Iterator<Item = &StepCall> {
        self.steps.iter().flat_map(|step| &step.calls)
    }
}

fn read_step(turn: u32, step: u32, given: &impl Fn(&str) -> Option<Arc<Value>>) -> Option<TurnStep> {
    let answer = Answer::deserialize(&*given(&key::answer(turn, step))?).ok()?;
    let tasks = given(&key::tasks(turn, step));
    let call = |(place, call): (usize, &Call)| {
        let key = key::call(turn, step, place);
        let task = tasks.as_ref().and_then(|tasks| Task::read(&tasks[place.to_string()]));
        let state = match (given(&key), task.clone()) {
            (Some(output), _) => CallState::read(&output),
            (None, Some(task)) => CallState::Awaited(task),
            (None, None) => CallState::Running,
        };
        let (name, arguments) = (call.name.clone(), arguments(&call.arguments));
        Some(StepCall { call_id: call.id.parse().ok()?, name, arguments, task, state })
    };
    let calls = answer.calls.iter().enumerate().filter_map(call).collect();
    Some(TurnStep { step, answer, calls })
}

/// Arguments as the model wrote them: JSON that can be read in one way only, or text where they are none.
pub(crate) fn arguments(written: &str) -> Value {
    strict::parse(written.as_bytes()).unwrap_or_else(|_| Value::from(written))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_the_provider_go_back_to_the_model_that_made_the_calls_alone() {
        let call = json!({
            "id": "1", "name": "look", "arguments": "{}", "provider_id": "functions.look:0", "signature": "s",
        });
        let answer = json!({
            "text": "", "calls": [call], "end": "tool_calls", "model": "router/moonshotai/kimi-k2",
            "at": Timestamp::UNIX_EPOCH, "ms": 1,
        });
        let answer: Answer = serde_json::from_value(answer).expect("an answer");
        for (model, is_own) in [
            ("router/moonshotai/kimi-k2", true),
            ("router/mistralai/mistral-large", false),
            ("other/moonshotai/kimi-k2", false),
            ("router", false),
        ] {
            let calls = answer.calls_for(model);
            let sent = (calls[0].provider_id.as_deref(), calls[0].signature.as_deref());
            let expected = if is_own { (Some("functions.look:0"), Some("s")) } else { (None, None) };
            assert_eq!(sent, expected, "{model}");
        }
    }
}

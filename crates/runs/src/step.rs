//! A step of a run as data: its state, its wait, and the writes that persist it.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{Effect, RunId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The kind of a wait for inbox messages, and the prefix of the keys of steps that received some.
pub const INBOX: &str = "inbox";

/// A step as the journal has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The name of the step, unique within its run.
    pub key: String,
    pub effect: Effect,
    pub state: StepState,
    /// The kind of its wait: `approval`, `callback`, `poll`, `retry`, … `None` for a step that does work itself.
    pub wait_kind: Option<String>,
    /// Information for the party that ends the wait, such as the arguments to approve.
    pub details: Option<Value>,
    pub output: Option<Arc<Value>>,
    /// When its wait times out.
    pub deadline: Option<Timestamp>,
    /// True if its wait timed out.
    pub is_expired: bool,
}

impl Step {
    /// A step with an output.
    pub fn done(key: &str, effect: Effect, output: Arc<Value>) -> Self {
        Self { output: Some(output), ..Self::new(key, effect, StepState::Done) }
    }

    /// A step that may have begun.
    pub fn reserved(key: &str, effect: Effect) -> Self {
        Self::new(key, effect, StepState::Reserved)
    }

    /// A step that waits.
    pub fn waiting(wait: &Wait) -> Self {
        let step = Self::new(&wait.key, Effect::Read, StepState::Waiting);
        Self { wait_kind: Some(wait.kind.clone()), details: wait.details.clone(), ..step }
    }

    fn new(key: &str, effect: Effect, state: StepState) -> Self {
        let key = key.to_owned();
        let (wait_kind, details, output, deadline) = (None, None, None, None);
        Self { key, effect, state, wait_kind, details, output, deadline, is_expired: false }
    }

    /// Returns true if the step may have had its effect, must not be repeated, and has no result.
    pub fn is_unknown(&self) -> bool {
        match self.state {
            StepState::Reserved => !self.effect.is_repeatable(),
            StepState::Unknown => true,
            StepState::Waiting | StepState::Done => false,
        }
    }
}

/// The state of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// It may have begun, and has no result.
    Reserved,
    /// Another party ends it: a person, an upstream, another run, a timer.
    Waiting,
    Done,
    /// It may have had its effect, and its result is not known.
    Unknown,
}

/// A step that has a result.
#[derive(Debug, Clone, PartialEq)]
pub struct DoneStep {
    pub key: String,
    pub effect: Effect,
    pub output: Arc<Value>,
}

/// A step that is persisted before it begins, because it must not be repeated.
#[derive(Debug, Clone, PartialEq)]
pub struct Reservation {
    pub key: String,
    pub effect: Effect,
}

/// A step that another party ends: a person, an upstream, another run, a timer.
#[derive(Debug, Clone, PartialEq)]
pub struct Wait {
    pub key: String,
    /// `approval`, `callback`, `poll`, `retry`, …
    pub kind: String,
    /// Information for the party that ends the wait, such as the arguments to approve.
    pub details: Option<Value>,
    /// The wait ends as expired after this time.
    pub timeout: Option<Duration>,
}

impl Wait {
    /// Returns true if only an inbox message ends the wait. Such a wait is not stored as a step.
    pub fn is_for_messages_only(&self) -> bool {
        self.kind == INBOX && self.timeout.is_none()
    }

    /// The number of the last inbox message that the run has received.
    pub fn last_message(&self) -> u64 {
        self.details.as_ref().and_then(|details| details["after"].as_u64()).unwrap_or_default()
    }
}

/// Steps of another run that a run takes over.
#[derive(Debug, Clone, PartialEq)]
pub struct Adoption {
    pub from: RunId,
    pub keys: Vec<String>,
}

/// Changes of the steps of one run that are persisted together, in this order: removals, adopted steps, results, waits,
/// reservations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepWrites {
    /// Keys of steps that certainly had no effect. A wait that follows under the same key without a timeout keeps the
    /// deadline of the removed one.
    pub removed: Vec<String>,
    /// Prefixes of keys whose steps are removed, because one step has the result of all of them.
    pub removed_scopes: Vec<String>,
    /// Copies done steps of another run of the same space, unless the run has steps with their keys.
    pub adopted: Vec<Adoption>,
    pub done: Vec<DoneStep>,
    pub waits: Vec<Wait>,
    pub reserved: Vec<Reservation>,
    /// True if the crash counter is reset, because the run has made progress since its last crash.
    pub resets_crashes: bool,
}

impl StepWrites {
    pub fn is_empty(&self) -> bool {
        let has_none_removed = self.removed.is_empty() && self.removed_scopes.is_empty();
        let has_none_added = self.adopted.is_empty() && self.done.is_empty() && self.waits.is_empty();
        has_none_removed && has_none_added && self.reserved.is_empty()
    }
}

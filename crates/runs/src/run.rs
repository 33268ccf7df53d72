//! The nouns of a run: how it stands, what it is started with, its steps, and the lease under which it is held.
//!
//! Plain data. What a run does is its program's, where it is kept is the journal's.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{Effect, RunId, SpaceId, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::context::INBOX;
use crate::journal::DoneStep;
use crate::rested::Written;

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Any worker may take it.
    Queued,
    /// Queued once its time has come.
    Scheduled,
    /// Held by a worker.
    Running,
    /// For a person, a callback, another run, or a moment. It takes no memory meanwhile.
    Waiting,
    Succeeded,
    Failed,
    Cancelled,
    /// Something was sent that may have had its effect, and nobody knows. A person says what became of it.
    Unknown,
}

impl RunStatus {
    pub const ALL: [Self; 8] = [
        Self::Queued,
        Self::Scheduled,
        Self::Running,
        Self::Waiting,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
        Self::Unknown,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Scheduled => "scheduled",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }

    /// Whether it has ended.
    pub fn is_final(self) -> bool {
        match self {
            Self::Queued | Self::Scheduled | Self::Running | Self::Waiting => false,
            Self::Succeeded | Self::Failed | Self::Cancelled | Self::Unknown => true,
        }
    }
}

/// A run as it is asked for.
#[derive(Debug, Clone)]
pub struct NewRun {
    pub id: RunId,
    pub space: SpaceId,
    pub user: Option<UserId>,
    /// Which program carries it out.
    pub program: &'static str,
    pub about: About,
    /// What the program is given, as JSON.
    pub input: Arc<Value>,
    pub priority: i32,
    /// So long it is not due yet.
    pub delay: Duration,
    /// So often a worker may die with it before it is a dead letter.
    pub most_deaths: u32,
    /// The same key again is the same run.
    pub key: Option<RunKey>,
    /// The run that waits for this one to end, and the step it waits in.
    pub parent: Option<(RunId, String)>,
    pub place: Place,
}

/// What a run is about: what people find it by.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct About {
    /// Runs of the same lane share a limit: the id of a tool, of an agent, of a flow.
    pub lane: String,
    /// So many of the lane at once, in all processes.
    pub lane_limit: Option<u32>,
    /// The name of what runs.
    pub name: String,
    pub call_id: Option<String>,
    pub agent: Option<String>,
    pub conversation: Option<String>,
}

/// A key by which a caller finds a run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunKey {
    pub key: String,
    /// Of what was asked for: the same key for something else is a mistake.
    pub digest: String,
}

/// Where a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// With whichever worker takes it.
    Queue,
    /// Here and now, held by this process from the first moment on.
    Here(WorkerId),
}

/// One worker from its start to its end. A process that starts again is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WorkerId(pub Uuid);

/// What was made of a run that was asked for.
#[derive(Debug, Clone)]
pub enum Started {
    /// It is there, and in the queue.
    Queued(Run),
    /// It is there, and held by whoever asked.
    Held(Held),
    /// It was there already: somebody asked before with the same key.
    Before(Run),
}

/// A run as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub id: RunId,
    pub space: SpaceId,
    pub user: Option<UserId>,
    pub program: String,
    pub about: About,
    pub input: Arc<Value>,
    pub priority: i32,
    pub status: RunStatus,
    /// How often it was claimed.
    pub epoch: u64,
    /// How often a worker died with it.
    pub deaths: u32,
    pub most_deaths: u32,
    pub is_cancel_asked: bool,
    /// It ended without having done what it should, and no more is tried.
    pub is_dead_letter: bool,
    /// What it waits for, where it waits.
    pub waiting_for: Option<String>,
    pub progress: Option<Value>,
    /// Once it has ended.
    pub output: Option<Value>,
    pub key_digest: Option<String>,
    pub created_at: Timestamp,
    /// When it was first claimed.
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub changed_at: Timestamp,
    /// When it may be claimed, or what it waits for is over.
    pub due_at: Option<Timestamp>,
}

impl Run {
    /// Whether it does nothing until something is sent to it.
    pub fn is_at_rest(&self) -> bool {
        self.status == RunStatus::Waiting && self.waiting_for.as_deref() == Some(INBOX)
    }

    /// One that is nowhere kept.
    pub fn unkept(id: RunId, space: SpaceId, user: Option<UserId>, program: &str, input: Value) -> Self {
        Self::of(id, space, user, program, Arc::new(input))
    }

    fn of(id: RunId, space: SpaceId, user: Option<UserId>, program: &str, input: Arc<Value>) -> Self {
        let now = Timestamp::now();
        Self {
            id,
            space,
            user,
            program: program.to_owned(),
            about: About::default(),
            input,
            priority: 0,
            status: RunStatus::Running,
            epoch: 1,
            deaths: 0,
            most_deaths: 0,
            is_cancel_asked: false,
            is_dead_letter: false,
            waiting_for: None,
            progress: None,
            output: None,
            key_digest: None,
            created_at: now,
            started_at: Some(now),
            ended_at: None,
            changed_at: now,
            due_at: None,
        }
    }

    /// A new one as it stands at first: held by whoever asked for it, or by nobody.
    pub fn first(new: &NewRun, status: RunStatus, now: Timestamp) -> Self {
        let is_held = status == RunStatus::Running;
        Self {
            about: new.about.clone(),
            priority: new.priority,
            status,
            epoch: u64::from(is_held),
            most_deaths: new.most_deaths,
            key_digest: new.key.as_ref().map(|key| key.digest.clone()),
            created_at: now,
            started_at: is_held.then_some(now),
            changed_at: now,
            ..Self::of(new.id, new.space, new.user, new.program, new.input.clone())
        }
    }
}

/// A run with what its journal holds, as it was read.
#[derive(Debug)]
pub struct WholeRun {
    pub run: Run,
    pub steps: Vec<Step>,
    /// The steps as text, where this process let go of it a moment ago.
    pub(crate) written: Option<Written>,
}

impl WholeRun {
    /// As the journal has it.
    pub fn read(run: Run, steps: Vec<Step>) -> Self {
        Self { run, steps, written: None }
    }
}

/// A run in the hands of a worker, with what its journal holds.
#[derive(Debug, Clone)]
pub struct Held {
    pub run: Run,
    pub lease: Lease,
    pub steps: Vec<Step>,
    /// Whether the run's user may no longer call tools in its space: deleted, deactivated, or without the role.
    pub is_denied: bool,
}

impl Held {
    /// A run in the hands of a user who was authorized just now.
    pub fn authorized(run: Run, lease: Lease, steps: Vec<Step>) -> Self {
        Self { run, lease, steps, is_denied: false }
    }
}

/// The right to write into a run's journal. It is lost when somebody claims the run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    pub run: RunId,
    pub epoch: u64,
}

/// One step of a run, as its journal has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What the program calls it, once in a run.
    pub key: String,
    pub effect: Effect,
    pub state: StepState,
    /// What kind of thing it waits for, where it waits for one.
    pub waits_for: Option<String>,
    /// What whoever answers is shown.
    pub shown: Option<Value>,
    pub output: Option<Arc<Value>>,
    /// Until when it waits.
    pub until: Option<Timestamp>,
    /// Of those who could have answered in time, none did.
    pub is_expired: bool,
}

impl Step {
    /// One that was carried out.
    pub fn done(DoneStep { key, effect, output }: DoneStep) -> Self {
        Self { output: Some(output), ..Self::begun(&key, effect, StepState::Done) }
    }

    /// One of which no more is known than how it stands.
    pub(crate) fn begun(key: &str, effect: Effect, state: StepState) -> Self {
        let key = key.to_owned();
        let (waits_for, shown, output, until) = (None, None, None, None);
        Self { key, effect, state, waits_for, shown, output, until, is_expired: false }
    }
}

/// How a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// It may have begun, and has not ended.
    Reserved,
    /// Somebody else ends it.
    Waiting,
    Done,
    /// It may have had its effect, and nobody knows.
    Unknown,
}

/// A step that somebody else ends: a person, a callback, another run, the clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Wait {
    pub key: String,
    /// `approval`, `callback`, `poll`, `retry`, …
    pub for_what: String,
    /// What whoever answers is shown.
    pub shown: Option<Value>,
    /// It ends by itself then.
    pub at_most: Option<Duration>,
}

impl Wait {
    /// Whether it ends when something is sent to the run, and never by itself.
    pub fn is_for_letters(&self) -> bool {
        self.for_what == INBOX && self.at_most.is_none()
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// One of those that are final.
    pub status: RunStatus,
    pub output: Value,
    pub is_dead_letter: bool,
}

/// What a worker learns when it renews its leases.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Renewed {
    /// Somebody else holds these by now, or nobody may.
    pub lost: Vec<Lease>,
    /// Somebody wants these to end.
    pub to_cancel: Vec<Lease>,
}

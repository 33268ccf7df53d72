//! A run as data: its status, its input, and the lease under which a worker executes it.
//!
//! The program defines the work of a run, and the journal stores the run.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{RunId, SpaceId, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::step::{INBOX, Step};

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Any worker may claim it.
    Queued,
    /// It is queued when its delay is over.
    Scheduled,
    /// A worker has claimed it.
    Running,
    /// Suspended until a person, a callback, another run or a timer ends one of its waits. It uses no memory.
    Waiting,
    Succeeded,
    Failed,
    Cancelled,
    /// It sent something whose effect is not known. A person resolves it.
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

    /// Returns true if the run has ended.
    pub fn is_final(self) -> bool {
        match self {
            Self::Queued | Self::Scheduled | Self::Running | Self::Waiting => false,
            Self::Succeeded | Self::Failed | Self::Cancelled | Self::Unknown => true,
        }
    }
}

/// A run to start.
#[derive(Debug, Clone)]
pub struct NewRun {
    pub id: RunId,
    pub space: SpaceId,
    pub user: Option<UserId>,
    /// The name of the program that executes it.
    pub program: &'static str,
    pub labels: RunLabels,
    /// The input of the program.
    pub input: Arc<Value>,
    pub priority: i32,
    /// The run is due after this pause.
    pub delay: Duration,
    /// Number of crashes without progress after which the run ends as a dead letter.
    pub max_crashes: u32,
    /// A start with the key of an earlier run returns that run.
    pub key: Option<RunKey>,
    /// The run that waits for the end of this one, and the key of its waiting step.
    pub parent: Option<(RunId, String)>,
    pub executor: Executor,
}

/// The labels of a run, by which it is found and limited.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunLabels {
    /// The concurrency group: the id of a tool, an agent or a flow.
    pub lane: String,
    /// Maximum number of runs of the lane that are executed at a time, in all processes.
    pub lane_limit: Option<u32>,
    /// The displayed name.
    pub name: String,
    pub call_id: Option<String>,
    pub agent: Option<String>,
    pub conversation: Option<String>,
}

/// A key by which a caller finds a run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunKey {
    pub key: String,
    /// The digest of the request. The same key with another digest is a conflict.
    pub digest: String,
}

/// The worker that executes a run first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executor {
    /// The worker that claims it from the queue.
    AnyWorker,
    /// This worker. The run is claimed when it is stored.
    ThisWorker(WorkerId),
}

/// A worker from its start to its end. A restarted process is another worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WorkerId(pub Uuid);

/// The outcome of a start.
#[derive(Debug, Clone)]
pub enum StartedRun {
    /// Stored, and in the queue.
    Queued(Run),
    /// Stored, and claimed by the worker that started it.
    Claimed(ClaimedRun),
    /// A run with the same key exists.
    Existing(Run),
}

/// A stored run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub id: RunId,
    pub space: SpaceId,
    pub user: Option<UserId>,
    pub program: String,
    pub labels: RunLabels,
    pub input: Arc<Value>,
    pub priority: i32,
    pub status: RunStatus,
    /// Number of claims.
    pub epoch: u64,
    /// Number of crashes of workers since the run persisted its last step.
    pub crashes: u32,
    pub max_crashes: u32,
    pub is_cancel_requested: bool,
    /// It failed, and no further attempt is made.
    pub is_dead_letter: bool,
    /// The kind of its first wait, while it waits.
    pub waiting_for: Option<String>,
    pub progress: Option<Value>,
    /// The result, after its end.
    pub output: Option<Value>,
    pub key_digest: Option<String>,
    pub created_at: Timestamp,
    /// The first claim.
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub changed_at: Timestamp,
    /// When it may be claimed, or when its first timeout or its lease ends.
    pub due_at: Option<Timestamp>,
}

impl Run {
    /// Returns true if the run waits for inbox messages.
    pub fn is_idle(&self) -> bool {
        self.status == RunStatus::Waiting && self.waiting_for.as_deref() == Some(INBOX)
    }

    /// A run that is executed without being stored.
    pub fn ephemeral(id: RunId, space: SpaceId, user: Option<UserId>, program: &str, input: Value) -> Self {
        Self::running(id, space, user, program, Arc::new(input))
    }

    fn running(id: RunId, space: SpaceId, user: Option<UserId>, program: &str, input: Arc<Value>) -> Self {
        let now = Timestamp::now();
        Self {
            id,
            space,
            user,
            program: program.to_owned(),
            labels: RunLabels::default(),
            input,
            priority: 0,
            status: RunStatus::Running,
            epoch: 1,
            crashes: 0,
            max_crashes: 0,
            is_cancel_requested: false,
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

    /// The row of a new run. Its epoch is 1 if it is claimed at once, and 0 otherwise.
    pub fn first(new: &NewRun, status: RunStatus, now: Timestamp) -> Self {
        let is_claimed = status == RunStatus::Running;
        Self {
            labels: new.labels.clone(),
            priority: new.priority,
            status,
            epoch: u64::from(is_claimed),
            max_crashes: new.max_crashes,
            key_digest: new.key.as_ref().map(|key| key.digest.clone()),
            created_at: now,
            started_at: is_claimed.then_some(now),
            changed_at: now,
            ..Self::running(new.id, new.space, new.user, new.program, new.input.clone())
        }
    }
}

/// A stored run with its steps, in the order in which they began.
#[derive(Debug)]
pub struct RunWithSteps {
    pub run: Run,
    pub steps: Vec<Step>,
}

/// A run that a worker has claimed, with its steps.
#[derive(Debug, Clone)]
pub struct ClaimedRun {
    pub run: Run,
    pub lease: Lease,
    pub steps: Vec<Step>,
    /// True if the user of the run may no longer call tools in its space: the user is deleted, is deactivated, or lacks
    /// the role.
    pub is_denied: bool,
}

impl ClaimedRun {
    /// A run whose user was authorized in this request.
    pub fn authorized(run: Run, steps: Vec<Step>) -> Self {
        let lease = Lease { run: run.id, epoch: run.epoch };
        Self { run, lease, steps, is_denied: false }
    }
}

/// The right to write to the journal of a run. It ends when the run is claimed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    pub run: RunId,
    pub epoch: u64,
}

/// How a run ends.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    /// A final status.
    pub status: RunStatus,
    pub output: Value,
    pub is_dead_letter: bool,
}

/// The result of renewing leases.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Renewal {
    /// Leases that ended: another worker claimed the run, or it is gone.
    pub lost: Vec<Lease>,
    /// Leases of runs that are to be cancelled.
    pub to_cancel: Vec<Lease>,
}

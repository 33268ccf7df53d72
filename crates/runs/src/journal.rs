//! The trait of the place where runs are stored. An implementation orders its writes, and persists each completely or
//! not at all.
//!
//! A write under a lease that has ended returns `Ok(false)`. After an `Err` it is not known whether the write was
//! persisted. Every write may be repeated; the repetition has no further effect.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{BoxFuture, CallError, RunId, SpaceId};
use serde_json::Value;

use crate::run::{ClaimedRun, Executor, Lease, NewRun, Renewal, Run, RunEnd, RunKey, StartedRun, WorkerId};
use crate::step::{Step, StepWrites, Wait};

/// The response of a journal.
pub type JournalFuture<'a, T> = BoxFuture<'a, Result<T, CallError>>;

/// How a run suspends.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Suspension {
    /// Every wait of the run. The run is queued again at once if one of them has ended.
    pub waits: Vec<Wait>,
    /// True if the program has handled the request to cancel the run, and the run continues.
    pub is_cancel_handled: bool,
}

/// Why a worker releases a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseReason {
    /// This process cannot continue the run now.
    Unavailable,
    /// The worker panicked, which counts as a crash.
    Panic,
}

/// A message to send to the inbox of a run.
#[derive(Debug, Clone)]
pub struct NewMessage {
    pub space: SpaceId,
    pub run: RunId,
    pub message: Value,
    /// A message is not stored again if an earlier message has this key.
    pub key: Option<RunKey>,
    /// The worker that executes the run if it waits for messages.
    pub executor: Executor,
}

/// The outcome of sending an inbox message.
#[derive(Debug)]
pub enum Delivery {
    /// The run has ended or does not exist.
    Ended,
    /// A message with the same key was sent before.
    Duplicate,
    Delivered,
    /// Delivered, and the sender has claimed the run.
    Claimed(Box<ClaimedRun>),
}

/// The result of a claim.
#[derive(Debug, Default)]
pub struct Claims {
    pub runs: Vec<ClaimedRun>,
    /// The time until the next run is due, if known.
    pub next_due: Option<Duration>,
    /// True if a limit holds back queued runs. They may be claimed when another run has ended.
    pub is_limited: bool,
}

/// A change of a run that a worker of this process may be executing. A hint: renewing a lease reports it, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunSignal {
    /// The run is to be cancelled, if it is still executed under this lease.
    Cancel(Lease),
    /// A wait of the run has ended, or a message has arrived in its inbox.
    Changed(RunId),
}

pub trait Journal: Send + Sync {
    /// Stores a new run, or returns the one with the same key.
    fn start(&self, new: Arc<NewRun>, lease: Duration) -> JournalFuture<'_, StartedRun>;

    /// Claims due runs: first those of spaces with the fewest executing runs, within a space those of the highest
    /// priority. An earlier lease of a claimed run ends.
    fn claim(&self, worker: WorkerId, limit: usize, lease: Duration) -> JournalFuture<'_, Claims>;

    /// Renews leases, and reports which ones ended.
    fn renew(&self, worker: WorkerId, leases: Vec<Lease>, lease: Duration) -> JournalFuture<'_, Renewal>;

    /// Persists changes of steps.
    fn write(&self, lease: Lease, writes: Arc<StepWrites>) -> JournalFuture<'_, bool>;

    /// Persists the progress of a run.
    fn progress(&self, lease: Lease, progress: Value) -> JournalFuture<'_, bool>;

    /// Releases a run until one of its waits ends.
    fn suspend(
        &self,
        lease: Lease,
        writes: Arc<StepWrites>,
        suspension: Suspension,
    ) -> JournalFuture<'_, bool>;

    /// Ends a run, and delivers the end to the run that waits for it.
    fn finish(&self, lease: Lease, writes: Arc<StepWrites>, end: RunEnd) -> JournalFuture<'_, bool>;

    /// Releases a run, which is queued again at once.
    fn release(
        &self,
        lease: Lease,
        writes: Arc<StepWrites>,
        reason: ReleaseReason,
    ) -> JournalFuture<'_, bool>;

    /// Returns the present state of steps by their keys, after ending waits whose deadline has passed.
    fn read_steps(&self, run: RunId, keys: Vec<String>) -> JournalFuture<'_, Vec<Step>>;

    /// Ends a waiting or unknown step with an output. Returns false if the step is in another state, if its run has
    /// ended, or if its details are not the expected ones.
    fn deliver(
        &self,
        run: RunId,
        key: String,
        expected: Option<Value>,
        output: Value,
    ) -> JournalFuture<'_, bool>;

    /// Requests that a run is cancelled. It is queued if it is suspended, and its program ends it.
    fn request_cancel(&self, run: RunId) -> JournalFuture<'_, bool>;

    /// Sends a message to the inbox of a run, and wakes the run if it waits for messages.
    fn send(&self, message: NewMessage, lease: Duration) -> JournalFuture<'_, Delivery>;

    /// Returns messages of the inbox after a number, in order, each with its number.
    fn inbox(&self, run: RunId, after: u64) -> JournalFuture<'_, Vec<(u64, Value)>>;

    /// Returns a run of a space.
    fn read(&self, space: SpaceId, run: RunId) -> JournalFuture<'_, Option<Run>>;

    /// Waits until this process or another process may have queued a run.
    fn work_available(&self) -> BoxFuture<'_, ()>;

    /// Waits for the next change of a run that a worker may be executing.
    fn signal(&self) -> BoxFuture<'_, RunSignal>;
}

//! The seam to where runs are kept. Whoever implements it gives its writes an order, and keeps each whole or not at all.
//!
//! Every write under a lease is refused when the lease is lost: `Ok(false)`. An `Err` says that it is not known
//! whether the write was kept; each may be made again, and then has no second effect.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{BoxFuture, CallError, Effect, RunId, SpaceId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::run::{Ended, Held, Lease, NewRun, Place, Renewed, Run, RunKey, Started, Wait, WorkerId};

/// The answer of a journal.
pub type Kept<'a, T> = BoxFuture<'a, Result<T, CallError>>;

/// What is known of a step that was carried out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DoneStep {
    pub key: String,
    pub effect: Effect,
    pub output: Arc<Value>,
}

/// Several of them as one text: what a run did at once is kept as such.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoneSteps(Arc<str>);

impl DoneSteps {
    pub fn of(steps: &[DoneStep]) -> Self {
        Self(serde_json::to_string(steps).unwrap_or_default().into())
    }

    pub fn text(&self) -> &Arc<str> {
        &self.0
    }

    /// Those that a text holds.
    pub fn read(text: &str) -> Result<Vec<DoneStep>, serde_json::Error> {
        let read = |InText { key, effect, output }: InText<'_>| {
            // By itself, so that it may be as deep as it could alone.
            Ok(DoneStep { key, effect, output: Arc::new(serde_json::from_str(output.get())?) })
        };
        serde_json::from_str::<Vec<InText<'_>>>(text)?.into_iter().map(read).collect()
    }
}

#[derive(Deserialize)]
struct InText<'a> {
    key: String,
    effect: Effect,
    #[serde(borrow)]
    output: &'a RawValue,
}

/// How a run is let go of that goes on later.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Suspended {
    pub done: Arc<[DoneStep]>,
    /// As if they had never begun.
    pub undone: Vec<String>,
    pub waits: Vec<Wait>,
    /// Somebody wanted it to end, and what they wanted has happened.
    pub cancel_heard: bool,
}

/// Something that is sent to a run.
#[derive(Debug, Clone)]
pub struct Letter {
    pub space: SpaceId,
    pub run: RunId,
    pub message: Value,
    /// The same key again is the same letter.
    pub key: Option<RunKey>,
    /// Where the run goes on if it waits for letters: with whoever takes it, or with this worker.
    pub place: Place,
}

/// What became of it.
#[derive(Debug)]
pub enum Sent {
    /// The run has ended, or there is none.
    Ended,
    /// It was sent before, with the same key.
    Before,
    Told,
    /// And the run is in the hands of whoever sent it.
    Held(Box<Held>),
}

/// What a worker got.
#[derive(Debug, Default)]
pub struct Claimed {
    pub held: Vec<Held>,
    /// After so long another run is due, as far as that is known.
    pub next_due: Option<Duration>,
    /// Something is queued that a limit keeps back: it may be claimed when a run has ended.
    pub is_kept_back: bool,
}

pub trait Journal: Send + Sync {
    /// Keeps a new run, or gives the one that has its key.
    fn start(&self, new: Arc<NewRun>, lease: Duration) -> Kept<'_, Started>;

    /// Keeps a new run that was carried on before it was kept, and that waits for what is sent to it by now. What it
    /// did is noted in the same moment.
    fn start_waiting(&self, new: Arc<NewRun>, done: DoneSteps) -> Kept<'_, ()>;

    /// Notes that a run went on that waited for what is sent to it, with what it did since: it is held by this worker for
    /// so long, or waits for more already. Refused where somebody has taken it since.
    fn take(
        &self,
        space: SpaceId,
        from: Lease,
        by: Option<(WorkerId, Duration)>,
        done: DoneSteps,
    ) -> Kept<'_, bool>;

    /// Takes runs that are due: those of the spaces that have fewest under way first, and of one space those of
    /// the highest priority. Whoever held one before holds it no more.
    fn claim(&self, worker: WorkerId, most: usize, lease: Duration) -> Kept<'_, Claimed>;

    /// Holds on to leases, and says which were lost.
    fn renew(&self, worker: WorkerId, leases: Vec<Lease>, lease: Duration) -> Kept<'_, Renewed>;

    /// Notes, before a step begins, that it may have begun; with steps that were done before it, and with those
    /// that others may end as soon as it has begun.
    fn reserve(
        &self,
        lease: Lease,
        key: String,
        effect: Effect,
        done: Arc<[DoneStep]>,
        waits: Vec<Wait>,
    ) -> Kept<'_, bool>;

    /// Notes what steps gave.
    fn done(&self, lease: Lease, steps: Arc<[DoneStep]>) -> Kept<'_, bool>;

    /// Says how far it has come.
    fn progress(&self, lease: Lease, progress: Value) -> Kept<'_, bool>;

    /// Lets go of a run until one of the steps it waits for is ended by somebody, or its time is over.
    fn suspend(&self, lease: Lease, suspended: Suspended) -> Kept<'_, bool>;

    /// Ends a run. The steps that were done last are noted in the same moment, and the run that waits for it learns of it.
    fn finish(&self, lease: Lease, done: Arc<[DoneStep]>, ended: Ended) -> Kept<'_, bool>;

    /// Gives a run back, to be claimed again at once.
    fn release(&self, lease: Lease, done: Arc<[DoneStep]>) -> Kept<'_, bool>;

    /// Releases a run whose worker panicked, and counts that as a crash.
    fn release_after_panic(&self, lease: Lease) -> Kept<'_, bool>;

    /// Ends a step that waits, of a run of any process; false when it does not wait any more, or something else
    /// than this is what its answerer was shown.
    fn deliver(&self, run: RunId, key: String, asked: Option<Value>, output: Value) -> Kept<'_, bool>;

    /// Sends something to a run, which goes on if it waits for that.
    fn send(&self, letter: Letter, lease: Duration) -> Kept<'_, Sent>;

    /// Some of what was sent to a run after one that it knows, in order, each with its number.
    fn inbox(&self, run: RunId, after: u64) -> Kept<'_, Vec<(u64, Value)>>;

    /// A run of a space, as it stands.
    fn read(&self, space: SpaceId, run: RunId) -> Kept<'_, Option<Run>>;

    /// Whether no other process writes it.
    fn is_alone(&self) -> bool;

    /// Waits until there may be something to claim: told by this process or by another.
    fn woken(&self) -> BoxFuture<'_, ()>;

    /// Waits until somebody wants a run to end that is under way, as it was held then. A hint: [`Journal::renew`]
    /// says so too.
    fn cancelled(&self) -> BoxFuture<'_, Lease>;
}

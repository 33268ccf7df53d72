//! The journal of runs on both databases.
//!
//! `writer.rs` commits the writes of many runs together; the writes are in `start.rs`, `claim.rs`, `suspend.rs`,
//! `finish.rs`, `renew.rs` and `inbox.rs`, and the decisions of people in `decide.rs`. The
//! journal does not depend on the programs of runs.

mod claim;
mod conversations;
mod decide;
mod find;
mod finish;
mod inbox;
mod news;
mod notifications;
mod renew;
mod retention;
mod row;
mod sealed;
mod start;
mod step_rows;
mod suspend;
mod writer;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_core::{BoxFuture, CallError, RunId, SpaceId, Template};
use haft_runs::{
    Claims, Delivery, Journal, JournalFuture, Lease, NewMessage, NewRun, ReleaseReason, Renewal, Run, RunEnd,
    RunSignal, StartedRun, Step, StepWrites, Suspension, WorkerId,
};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use self::conversations::{ChangedConversation, ConversationFilter};
pub use self::find::{Approval, RunCounts, RunFilter, RunSummary};
use self::finish::{Deliver, Finish, ReadSteps};
pub use self::news::RunNews;
use self::notifications::{Notifications, listen};
use self::renew::{Recover, Renew};
use self::start::{QueueLimits, Start};
use self::suspend::{Release, RequestCancel, Suspend, WriteProgress, WriteSteps};
use self::writer::{Clock, Writer};
use crate::Store;
use crate::db::Db;

pub(crate) use self::writer::POSTGRES_NOW;

/// Returns every message of runs.
pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [start::TEMPLATES, decide::TEMPLATES].into_iter().flatten().copied()
}

/// The journal of runs in a store. Cheap to clone; clones share one writer.
#[derive(Clone)]
pub struct RunJournal(Arc<Inner>);

struct Inner {
    store: Store,
    writer: Writer,
    notifications: Arc<Notifications>,
    clock: Arc<Clock>,
    queue_limits: Arc<QueueLimits>,
    /// The lane after which the next claim begins to look.
    claimed_up_to: Mutex<(String, String)>,
    /// Aborted when the last clone is dropped.
    _listening: JoinSet<()>,
}

impl RunJournal {
    /// Opens the journal of a store. At most `max_queued` runs of a space may be queued. On SQLite, runs that the
    /// process before this one executed are queued again.
    pub async fn open(store: &Store, max_queued: u64) -> Result<Self, CallError> {
        let (notifications, clock) = (Arc::new(Notifications::new()), Arc::new(Clock::start()));
        let mut listening = JoinSet::new();
        if let Db::Postgres(db) = store.db() {
            let (pool, notifications) = (db.pool.clone(), notifications.clone());
            let supervisor = store.supervisor().clone();
            listening.spawn(async move {
                let start = || listen(pool.clone(), notifications.clone());
                supervisor.run("run listener", &CancellationToken::new(), start).await;
            });
        }
        let recovered = writer::commit_one(store, &clock, Recover).await?;
        let journal = Self(Arc::new(Inner {
            store: store.clone(),
            writer: Writer::start(store.clone(), clock.clone(), notifications.clone()),
            notifications,
            clock,
            queue_limits: Arc::new(QueueLimits::new(max_queued)),
            claimed_up_to: Mutex::default(),
            _listening: listening,
        }));
        if recovered > 0 {
            tracing::info!(runs = recovered, "Runs that the last process executed are queued again");
        }
        Ok(journal)
    }

    /// The duration of a lease. Returns `None` if leases do not expire, because no other process can claim the run.
    fn lease(&self, lease: Duration) -> Option<Duration> {
        writer::leases_expire(self.0.store.db()).then_some(lease)
    }

    fn db(&self) -> &Db {
        self.0.store.db()
    }
}

impl Journal for RunJournal {
    fn start(&self, new: Arc<NewRun>, lease: Duration) -> JournalFuture<'_, StartedRun> {
        Box::pin(async move {
            let store = &self.0.store;
            let new = match store.seal_arguments((new.space, new.id), &new.input)? {
                Some(input) => Arc::new(NewRun { input: Arc::new(input), ..NewRun::clone(&new) }),
                None => new,
            };
            let start = Start { new, lease: self.lease(lease), limits: self.0.queue_limits.clone() };
            Ok(match self.0.writer.commit(start).await?? {
                StartedRun::Queued(run) => StartedRun::Queued(store.opened_run(run)),
                StartedRun::Claimed(claimed) => StartedRun::Claimed(store.opened_claim(claimed)),
                StartedRun::Existing(run) => StartedRun::Existing(store.opened_run(run)),
            })
        })
    }

    fn claim(&self, worker: WorkerId, limit: usize, lease: Duration) -> JournalFuture<'_, Claims> {
        Box::pin(async move {
            let after = self.0.claimed_up_to.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let claim = claim::Claim { worker, limit, lease: self.lease(lease), after };
            let (claims, next) = self.0.writer.commit(claim).await?;
            *self.0.claimed_up_to.lock().unwrap_or_else(PoisonError::into_inner) = next;
            let runs = claims.runs.into_iter().map(|claimed| self.0.store.opened_claim(claimed)).collect();
            Ok(Claims { runs, ..claims })
        })
    }

    fn renew(&self, worker: WorkerId, leases: Vec<Lease>, lease: Duration) -> JournalFuture<'_, Renewal> {
        let renew = Renew { worker, leases, lease: self.lease(lease), forgotten_after: lease };
        Box::pin(self.0.writer.commit(renew))
    }

    fn write(&self, lease: Lease, writes: Arc<StepWrites>) -> JournalFuture<'_, bool> {
        Box::pin(self.0.writer.commit(WriteSteps { lease, writes }))
    }

    fn progress(&self, lease: Lease, progress: Value) -> JournalFuture<'_, bool> {
        Box::pin(self.0.writer.commit(WriteProgress { lease, progress }))
    }

    fn suspend(
        &self,
        lease: Lease,
        writes: Arc<StepWrites>,
        suspension: Suspension,
    ) -> JournalFuture<'_, bool> {
        Box::pin(self.0.writer.commit(Suspend { lease, writes, suspension }))
    }

    fn finish(&self, lease: Lease, writes: Arc<StepWrites>, end: RunEnd) -> JournalFuture<'_, bool> {
        Box::pin(self.0.writer.commit(Finish { lease, writes, end }))
    }

    fn release(
        &self,
        lease: Lease,
        writes: Arc<StepWrites>,
        reason: ReleaseReason,
    ) -> JournalFuture<'_, bool> {
        Box::pin(self.0.writer.commit(Release { lease, writes, reason }))
    }

    fn read_steps(&self, run: RunId, keys: Vec<String>) -> JournalFuture<'_, Vec<Step>> {
        Box::pin(self.0.writer.commit(ReadSteps { run, keys }))
    }

    fn deliver(
        &self,
        run: RunId,
        key: String,
        expected: Option<Value>,
        output: Value,
    ) -> JournalFuture<'_, bool> {
        Box::pin(self.0.writer.commit(Deliver { run, key, expected, output }))
    }

    fn request_cancel(&self, run: RunId) -> JournalFuture<'_, bool> {
        Box::pin(self.0.writer.commit(RequestCancel { run }))
    }

    fn send(&self, message: NewMessage, lease: Duration) -> JournalFuture<'_, Delivery> {
        let send = inbox::SendMessage { message, lease: self.lease(lease) };
        Box::pin(async move { self.0.writer.commit(send).await? })
    }

    fn inbox(&self, run: RunId, after: u64) -> JournalFuture<'_, Vec<(u64, Value)>> {
        Box::pin(self.messages(run, after))
    }

    fn read(&self, space: SpaceId, run: RunId) -> JournalFuture<'_, Option<Run>> {
        Box::pin(self.get(space, run))
    }

    fn work_available(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.notifications.work_available())
    }

    fn signal(&self) -> BoxFuture<'_, RunSignal> {
        Box::pin(self.0.notifications.signal())
    }
}

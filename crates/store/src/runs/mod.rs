//! Runs as they are kept: the journal of the durable core, on both databases.
//!
//! Rows are written by `writer.rs`, many at a time; what is written is beside each verb: `start.rs`, `claim.rs`,
//! `take.rs`, `hold.rs`, `decide.rs`, and in `added.rs` what is only added. What a run means is not known here.

pub(crate) mod added;
mod claim;
mod conversations;
mod decide;
mod find;
mod hold;
mod inbox;
mod news;
mod retention;
mod row;
mod sealed;
mod start;
mod start_waiting;
mod take;
mod writer;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_core::{BoxFuture, CallError, Effect, RunId, SpaceId, Template};
use haft_runs::{
    Claimed, DoneStep, DoneSteps, Ended, Journal, Kept, Lease, Letter, NewRun, Renewed, Run, Sent, Started,
    Suspended, Wait, WorkerId,
};
use serde_json::Value;
use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use self::conversations::{ChangedConversation, ConversationFilter};
pub use self::find::{Approval, RunCounts, RunFilter, RunSummary};
use self::hold::{Deliver, Done, Finish, Progressed, Recover, Release, Renew, Reserve, Suspend};
pub use self::news::RunNews;
use self::start::{Rooms, Start};
use self::start_waiting::StartWaiting;
use self::take::Take;
use self::writer::{Clock, Writer};
use crate::db::Db;
use crate::{Store, failure};

/// Every message of runs.
pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [start::TEMPLATES, decide::TEMPLATES].into_iter().flatten().copied()
}

/// Where runs are kept. Cheap to clone; clones share one writer.
#[derive(Clone)]
pub struct RunJournal(Arc<Inner>);

struct Inner {
    store: Store,
    writer: Writer,
    bell: Arc<Bell>,
    clock: Arc<Clock>,
    rooms: Arc<Rooms>,
    /// Behind which lane the next claim begins to look.
    after: Mutex<(String, String)>,
    /// Ended with the last clone.
    _listening: JoinSet<()>,
}

/// Tells this process's worker that there may be something to do.
pub(crate) struct Bell {
    work: Notify,
    cancels: mpsc::UnboundedSender<Lease>,
    to_cancel: AsyncMutex<mpsc::UnboundedReceiver<Lease>>,
}

impl Bell {
    fn new() -> Self {
        let (cancels, to_cancel) = mpsc::unbounded_channel();
        Self { work: Notify::new(), cancels, to_cancel: AsyncMutex::new(to_cancel) }
    }

    pub(crate) fn ring(&self) {
        self.work.notify_one();
    }

    pub(crate) fn cancel(&self, lease: Lease) {
        let _ = self.cancels.send(lease);
    }
}

impl RunJournal {
    /// The journal in a store. `most_waiting` runs of one space may be queued. What a process left behind that
    /// was alone with the database is queued again.
    pub async fn open(store: &Store, most_waiting: u64) -> Result<Self, CallError> {
        let (bell, clock) = (Arc::new(Bell::new()), Arc::new(Clock::start()));
        let mut listening = JoinSet::new();
        if let Db::Postgres(db) = store.db() {
            let (pool, bell, supervisor) = (db.pool.clone(), bell.clone(), store.supervisor().clone());
            listening.spawn(async move {
                let start = || listen(pool.clone(), bell.clone());
                supervisor.run("run listener", &CancellationToken::new(), start).await;
            });
        }
        let left = writer::write_once(store, &clock, Recover).await?;
        let journal = Self(Arc::new(Inner {
            store: store.clone(),
            writer: Writer::start(store.clone(), clock.clone(), bell.clone()),
            bell,
            clock,
            rooms: Arc::new(Rooms::new(most_waiting)),
            after: Mutex::default(),
            _listening: listening,
        }));
        if left > 0 {
            tracing::info!(runs = left, "Runs that were under way when the server ended go on");
        }
        Ok(journal)
    }

    /// How long a lease lasts: for ever, where no other process can take it.
    fn lease(&self, lease: Duration) -> Option<Duration> {
        writer::leases_end(self.0.store.db()).then_some(lease)
    }

    fn db(&self) -> &Db {
        self.0.store.db()
    }
}

impl Journal for RunJournal {
    fn start(&self, new: Arc<NewRun>, lease: Duration) -> Kept<'_, Started> {
        Box::pin(async move {
            let store = &self.0.store;
            let new = match store.seal_arguments((new.space, new.id), &new.input)? {
                Some(input) => Arc::new(NewRun { input: Arc::new(input), ..NewRun::clone(&new) }),
                None => new,
            };
            let start = Start { new, lease: self.lease(lease), rooms: self.0.rooms.clone() };
            Ok(match self.0.writer.keep(start).await?? {
                Started::Queued(run) => Started::Queued(store.opened_run(run)),
                Started::Held(held) => Started::Held(store.opened_held(held)),
                Started::Before(run) => Started::Before(store.opened_run(run)),
            })
        })
    }

    fn start_waiting(&self, new: Arc<NewRun>, done: DoneSteps) -> Kept<'_, ()> {
        Box::pin(self.0.writer.keep(StartWaiting { new, done }))
    }

    fn take(
        &self,
        space: SpaceId,
        from: Lease,
        by: Option<(WorkerId, Duration)>,
        done: DoneSteps,
    ) -> Kept<'_, bool> {
        let by = by.map(|(worker, lease)| (worker, self.lease(lease)));
        Box::pin(self.0.writer.keep(Take { space, from, by, done }))
    }

    fn claim(&self, worker: WorkerId, most: usize, lease: Duration) -> Kept<'_, Claimed> {
        Box::pin(async move {
            let after = self.0.after.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let claim = claim::Claim { worker, most, lease: self.lease(lease), after };
            let (claimed, next) = self.0.writer.keep(claim).await?;
            *self.0.after.lock().unwrap_or_else(PoisonError::into_inner) = next;
            let held = claimed.held.into_iter().map(|held| self.0.store.opened_held(held)).collect();
            Ok(Claimed { held, ..claimed })
        })
    }

    fn renew(&self, worker: WorkerId, leases: Vec<Lease>, lease: Duration) -> Kept<'_, Renewed> {
        let renew = Renew { worker, leases, lease: self.lease(lease), forgotten: lease };
        Box::pin(self.0.writer.keep(renew))
    }

    fn reserve(
        &self,
        lease: Lease,
        key: String,
        effect: Effect,
        done: Arc<[DoneStep]>,
        waits: Vec<Wait>,
    ) -> Kept<'_, bool> {
        Box::pin(self.0.writer.keep(Reserve { lease, key, effect, done, waits }))
    }

    fn done(&self, lease: Lease, steps: Arc<[DoneStep]>) -> Kept<'_, bool> {
        Box::pin(self.0.writer.keep(Done { lease, steps }))
    }

    fn progress(&self, lease: Lease, progress: Value) -> Kept<'_, bool> {
        Box::pin(self.0.writer.keep(Progressed { lease, progress }))
    }

    fn suspend(&self, lease: Lease, suspended: Suspended) -> Kept<'_, bool> {
        Box::pin(self.0.writer.keep(Suspend { lease, suspended }))
    }

    fn finish(&self, lease: Lease, done: Arc<[DoneStep]>, ended: Ended) -> Kept<'_, bool> {
        Box::pin(self.0.writer.keep(Finish { lease, done, ended }))
    }

    fn release(&self, lease: Lease, done: Arc<[DoneStep]>) -> Kept<'_, bool> {
        Box::pin(self.0.writer.keep(Release { lease, done, has_crashed: false }))
    }

    fn release_after_panic(&self, lease: Lease) -> Kept<'_, bool> {
        Box::pin(self.0.writer.keep(Release { lease, done: Arc::default(), has_crashed: true }))
    }

    fn deliver(&self, run: RunId, key: String, asked: Option<Value>, output: Value) -> Kept<'_, bool> {
        Box::pin(self.0.writer.keep(Deliver { run, key, asked, output }))
    }

    fn send(&self, letter: Letter, lease: Duration) -> Kept<'_, Sent> {
        let send = inbox::Send { letter, lease: self.lease(lease) };
        Box::pin(async move { self.0.writer.keep(send).await? })
    }

    fn inbox(&self, run: RunId, after: u64) -> Kept<'_, Vec<(u64, Value)>> {
        Box::pin(self.sent(run, after))
    }

    fn read(&self, space: SpaceId, run: RunId) -> Kept<'_, Option<Run>> {
        Box::pin(self.get(space, run))
    }

    fn is_alone(&self) -> bool {
        !self.0.store.is_shared()
    }

    fn woken(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.bell.work.notified())
    }

    fn cancelled(&self) -> BoxFuture<'_, Lease> {
        Box::pin(async {
            match self.0.bell.to_cancel.lock().await.recv().await {
                Some(lease) => lease,
                None => std::future::pending().await,
            }
        })
    }
}

/// Hears what other processes queue and cancel. Only a hint: workers look for themselves.
async fn listen(pool: PgPool, bell: Arc<Bell>) {
    while !pool.is_closed() {
        if let Err(error) = hear(&pool, &bell).await {
            tracing::warn!(cause = %failure::driver_error(error), "Notices of runs stopped; listening again");
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// A notice that somebody wants a run to end, as it was held then.
fn notice(lease: Lease) -> String {
    format!("{} {}", lease.run, lease.epoch)
}

fn to_cancel(notice: &str) -> Option<Lease> {
    let (run, epoch) = notice.split_once(' ')?;
    Some(Lease { run: run.parse().ok()?, epoch: epoch.parse().ok()? })
}

async fn hear(pool: &PgPool, bell: &Bell) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(writer::CHANNEL).await?;
    loop {
        let notice = listener.recv().await?;
        match to_cancel(notice.payload()) {
            Some(lease) => bell.cancel(lease),
            None => bell.ring(),
        }
    }
}

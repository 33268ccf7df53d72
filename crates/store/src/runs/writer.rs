//! Group commit: writes of many runs in one transaction. Writes that arrive during a commit go into the next one.
//!
//! The writes themselves are in the other modules. If the database refuses one of them, the others are committed
//! without it.

use std::sync::Arc;
use std::time::Instant;

use haft_core::{BoxFuture, CallError, ErrorKind};
use haft_runs::RunSignal;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot};

use super::Notifications;
use super::notifications::payload;
use super::step_rows::StepRows;
use crate::Store;
use crate::db::{Db, Tx, args};
use crate::failure;

/// Maximum number of writes in one transaction.
const MAX_BATCH: usize = 256;

/// Maximum number of times that other tasks are scheduled before a transaction begins.
const MAX_YIELDS: usize = 4;

/// The channel of PostgreSQL notifications about runs.
pub(crate) const CHANNEL: &str = "haft_runs";

/// A write to the journal.
pub(super) trait JournalWrite: Send + Sync + 'static {
    type Output: Send + 'static;
    /// True if the write reads or changes rows of steps, so that the rows of earlier writes have to be inserted first.
    const READS_STEPS: bool = true;

    /// Executes the write. It may be repeated, and then has no further effect.
    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<Self::Output, CallError>>;
}

/// A transaction that several writes share.
pub(super) struct Batch {
    pub(super) tx: Tx,
    /// The database's clock.
    pub(super) now: Timestamp,
    pub(super) steps: StepRows,
    /// True if a run may have been queued.
    pub(super) wakes: bool,
    /// Notifications for workers that execute runs.
    pub(super) signals: Vec<RunSignal>,
}

type Jobs = mpsc::Receiver<Box<dyn Job>>;

/// Executes writes in batches.
#[derive(Clone)]
pub(super) struct Writer {
    queue: mpsc::Sender<Box<dyn Job>>,
}

impl Writer {
    /// Starts a writer, which ends with its last clone.
    pub(super) fn start(store: Store, clock: Arc<Clock>, notifications: Arc<Notifications>) -> Self {
        let (queue, jobs) = mpsc::channel(MAX_BATCH * 4);
        let (jobs, supervisor) = (Arc::new(AsyncMutex::new(jobs)), store.supervisor().clone());
        let start = move || commit_all(store.clone(), clock.clone(), notifications.clone(), jobs.clone());
        // It ends with its senders.
        drop(supervisor.spawn("run journal writer", start));
        Self { queue }
    }

    pub(super) async fn commit<W: JournalWrite>(&self, write: W) -> Result<W::Output, CallError> {
        let (reply, output) = oneshot::channel();
        let job = Box::new(QueuedWrite { write, output: None, reply });
        let closed = || failure::unavailable("the journal is closed".to_owned());
        self.queue.send(job).await.map_err(|_| closed())?;
        output.await.map_err(|_| closed())?
    }
}

/// Executes one write before the writer starts.
pub(super) async fn commit_one<W: JournalWrite>(
    store: &Store,
    clock: &Clock,
    write: W,
) -> Result<W::Output, CallError> {
    let (reply, output) = oneshot::channel();
    let mut job: [Box<dyn Job>; 1] = [Box::new(QueuedWrite { write, output: None, reply })];
    commit(store, clock, &mut job).await?;
    job.into_iter().for_each(|job| job.send_output());
    output.await.map_err(|_| failure::unavailable("the journal did not answer".to_owned()))?
}

/// Commits jobs until all senders are gone. If it panics, the callers of that batch get an error.
async fn commit_all(
    store: Store,
    clock: Arc<Clock>,
    notifications: Arc<Notifications>,
    jobs: Arc<AsyncMutex<Jobs>>,
) {
    let mut jobs = jobs.lock().await;
    let (mut batch, mut last_size) = (Vec::with_capacity(MAX_BATCH), 1);
    while jobs.recv_many(&mut batch, MAX_BATCH).await > 0 {
        // If there were several writes the last time, others are about to come.
        for _ in 0..last_size.min(MAX_YIELDS) {
            tokio::task::yield_now().await;
        }
        while let Some(job) = (batch.len() < MAX_BATCH).then(|| jobs.try_recv().ok()).flatten() {
            batch.push(job);
        }
        last_size = batch.len();
        match commit(&store, &clock, &mut batch).await {
            Ok(committed) => notifications.committed(committed),
            // One of them is invalid or conflicts with another process: each is committed alone, and twice on conflict.
            Err(error) if error.kind() != ErrorKind::Unavailable => {
                for job in &mut batch {
                    let alone = std::slice::from_mut(job);
                    let committed = match commit(&store, &clock, alone).await {
                        Err(error) if error.kind() == ErrorKind::Conflict => {
                            commit(&store, &clock, alone).await
                        }
                        committed => committed,
                    };
                    match committed {
                        Ok(committed) => notifications.committed(committed),
                        Err(error) => job.fail(&error),
                    }
                }
            }
            Err(error) => batch.iter_mut().for_each(|job| job.fail(&error)),
        }
        batch.drain(..).for_each(|job| job.send_output());
    }
}

/// Notifications for workers after a commit.
#[derive(Default)]
pub(super) struct Committed {
    pub(super) wakes: bool,
    pub(super) signals: Vec<RunSignal>,
}

async fn commit(store: &Store, clock: &Clock, jobs: &mut [Box<dyn Job>]) -> Result<Committed, CallError> {
    let mut tx = store.db().begin().await?;
    let now = clock.now(&mut tx).await?;
    let mut batch = Batch { tx, now, steps: StepRows::new(now), wakes: false, signals: Vec::new() };
    for job in jobs {
        job.write(&mut batch).await?;
    }
    batch.insert_steps().await?;
    let Batch { mut tx, wakes, signals, .. } = batch;
    if let Tx::Postgres(_) = &tx {
        if wakes {
            tx.run("SELECT pg_notify($1, '')", args![CHANNEL]).await?;
        }
        for signal in &signals {
            tx.run("SELECT pg_notify($1, $2)", args![CHANNEL, payload(*signal)]).await?;
        }
    }
    tx.commit().await?;
    Ok(Committed { wakes, signals })
}

/// A write with its caller, whatever its output.
trait Job: Send {
    fn write<'t>(&'t mut self, batch: &'t mut Batch) -> BoxFuture<'t, Result<(), CallError>>;
    fn fail(&mut self, error: &CallError);
    fn send_output(self: Box<Self>);
}

struct QueuedWrite<W: JournalWrite> {
    write: W,
    output: Option<Result<W::Output, CallError>>,
    reply: oneshot::Sender<Result<W::Output, CallError>>,
}

impl<W: JournalWrite> Job for QueuedWrite<W> {
    fn write<'t>(&'t mut self, batch: &'t mut Batch) -> BoxFuture<'t, Result<(), CallError>> {
        Box::pin(async move {
            if W::READS_STEPS {
                batch.insert_steps().await?;
            }
            self.output = Some(Ok(self.write.write(batch).await?));
            Ok(())
        })
    }

    fn fail(&mut self, error: &CallError) {
        self.output = Some(Err(error.clone()));
    }

    fn send_output(self: Box<Self>) {
        if let Some(output) = self.output {
            // The caller may have been dropped.
            let _ = self.reply.send(output);
        }
    }
}

/// The database's clock. That of SQLite is a monotonic clock of this process.
pub(super) struct Clock {
    started_at: Timestamp,
    started: Instant,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self { started_at: Timestamp::now(), started: Instant::now() }
    }

    /// The time of this process.
    fn local(&self) -> Result<Timestamp, CallError> {
        let passed = SignedDuration::try_from(self.started.elapsed()).unwrap_or(SignedDuration::ZERO);
        let micros = self.started_at.saturating_add(passed).unwrap_or(self.started_at).as_microsecond();
        Timestamp::from_microsecond(micros).map_err(failure::unreadable)
    }

    pub(super) async fn now(&self, tx: &mut Tx) -> Result<Timestamp, CallError> {
        if let Tx::Sqlite(_) = tx {
            return self.local();
        }
        let row = tx.row(POSTGRES_NOW, args![]).await?;
        row.ok_or_else(|| failure::unreadable("no clock"))?.time(0)
    }
}

pub(crate) const POSTGRES_NOW: &str =
    "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)";

/// Returns true if leases expire: only if other processes may execute the runs.
pub(super) fn leases_expire(db: &Db) -> bool {
    match db {
        Db::Sqlite(_) => false,
        Db::Postgres(_) => true,
    }
}

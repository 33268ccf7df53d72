//! Writes of many runs in one transaction: whoever comes while one is being kept is kept with the next.
//!
//! What is written lives beside each verb. A write that the database refuses for itself alone holds up no other.

use std::sync::Arc;
use std::time::Instant;

use haft_core::{BoxFuture, CallError, ErrorKind};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot};

use super::Bell;
use super::added::Added;
use crate::Store;
use crate::db::{Db, Tx, args};
use crate::failure;

/// So many writes go together, at most.
const TOGETHER: usize = 256;

/// So often all others have their turn before a transaction begins.
const ROUNDS: usize = 4;

/// What PostgreSQL's notices about runs are called.
pub(crate) const CHANNEL: &str = "haft_runs";

/// Something to be kept.
pub(super) trait Write: Send + Sync + 'static {
    type Answer: Send + 'static;
    /// Whether it needs the steps that were added before it, or changes such.
    const READS_STEPS: bool = true;

    /// Writes it. It may be asked more than once, and then writes the same.
    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<Self::Answer, CallError>>;

    /// Whether it can be written without anything being looked up, and wakes nobody.
    fn is_plain(&self) -> bool {
        false
    }

    /// Adds such a one to what is written together; what it answers if all of that is.
    fn add(&self, _added: &mut Added) -> Option<Self::Answer> {
        None
    }
}

/// A transaction that several writes share.
pub(super) struct Batch {
    pub(super) tx: Tx,
    /// Of the database's clock.
    pub(super) now: Timestamp,
    /// Added, and not yet written.
    pub(super) added: Added,
    /// There may be something to claim afterwards.
    pub(super) wakes: bool,
}

type Jobs = mpsc::Receiver<Box<dyn Job>>;

/// Takes writes, and says what became of them.
#[derive(Clone)]
pub(super) struct Writer {
    queue: mpsc::Sender<Box<dyn Job>>,
}

impl Writer {
    /// One that ends with its last clone.
    pub(super) fn start(store: Store, clock: Arc<Clock>, bell: Arc<Bell>) -> Self {
        let (queue, jobs) = mpsc::channel(TOGETHER * 4);
        let (jobs, supervisor) = (Arc::new(AsyncMutex::new(jobs)), store.supervisor().clone());
        let start = move || keep_all(store.clone(), clock.clone(), bell.clone(), jobs.clone());
        // It ends with its senders.
        drop(supervisor.spawn("run journal writer", start));
        Self { queue }
    }

    pub(super) async fn keep<W: Write>(&self, write: W) -> Result<W::Answer, CallError> {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Asked { write, answer: None, reply });
        let gone = |_| failure::unavailable("the journal is closed".to_owned());
        self.queue.send(job).await.map_err(|_| failure::unavailable("the journal is closed".to_owned()))?;
        answer.await.map_err(gone)?
    }
}

/// Writes one thing before the writer starts.
pub(super) async fn write_once<W: Write>(
    store: &Store,
    clock: &Clock,
    write: W,
) -> Result<W::Answer, CallError> {
    let (reply, answer) = oneshot::channel();
    let mut job: [Box<dyn Job>; 1] = [Box::new(Asked { write, answer: None, reply })];
    keep(store, clock, &mut job).await?;
    job.into_iter().for_each(|job| job.answer());
    answer.await.map_err(|_| failure::unavailable("the journal did not answer".to_owned()))?
}

/// Writes jobs until all senders are gone. The callers of a batch during which it panics get an error.
async fn keep_all(store: Store, clock: Arc<Clock>, bell: Arc<Bell>, jobs: Arc<AsyncMutex<Jobs>>) {
    let mut jobs = jobs.lock().await;
    let (mut batch, mut together) = (Vec::with_capacity(TOGETHER), 1);
    while jobs.recv_many(&mut batch, TOGETHER).await > 0 {
        // Whoever is about to write something comes along, where there were several the last time.
        for _ in 0..together.min(ROUNDS) {
            tokio::task::yield_now().await;
        }
        while let Some(job) = (batch.len() < TOGETHER).then(|| jobs.try_recv().ok()).flatten() {
            batch.push(job);
        }
        together = batch.len();
        let wakes = match keep(&store, &clock, &mut batch).await {
            Ok(wakes) => wakes,
            // One of them is at fault, or met another process; each alone, and once more.
            Err(error) if error.kind() != ErrorKind::Unavailable => {
                let mut wakes = false;
                for job in &mut batch {
                    let alone = std::slice::from_mut(job);
                    let kept = match keep(&store, &clock, alone).await {
                        Err(error) if error.kind() == ErrorKind::Conflict => {
                            keep(&store, &clock, alone).await
                        }
                        kept => kept,
                    };
                    match kept {
                        Ok(woke) => wakes |= woke,
                        Err(error) => job.fail(&error),
                    }
                }
                wakes
            }
            Err(error) => {
                batch.iter_mut().for_each(|job| job.fail(&error));
                false
            }
        };
        if wakes {
            bell.ring();
        }
        batch.drain(..).for_each(|job| job.answer());
    }
}

async fn keep(store: &Store, clock: &Clock, jobs: &mut [Box<dyn Job>]) -> Result<bool, CallError> {
    if let Db::Sqlite(db) = store.db()
        && jobs.iter().all(|job| job.is_plain())
    {
        let mut added = Added::at(clock.here()?);
        jobs.iter_mut().for_each(|job| job.add(&mut added));
        match added.write(db).await {
            Ok(()) => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error),
            // Each finds out for itself.
            Err(_) => {}
        }
    }
    let mut tx = store.db().begin().await?;
    let now = clock.now(&mut tx).await?;
    let mut batch = Batch { tx, now, added: Added::at(now), wakes: false };
    for job in jobs {
        job.write(&mut batch).await?;
    }
    batch.write_added().await?;
    let Batch { mut tx, wakes, .. } = batch;
    if wakes && let Tx::Postgres(_) = &tx {
        tx.run("SELECT pg_notify($1, '')", args![CHANNEL]).await?;
    }
    tx.commit().await?;
    Ok(wakes)
}

/// A write with whoever waits for it, whatever it answers.
trait Job: Send {
    fn is_plain(&self) -> bool;
    fn add(&mut self, added: &mut Added);
    fn write<'t>(&'t mut self, batch: &'t mut Batch) -> BoxFuture<'t, Result<(), CallError>>;
    fn fail(&mut self, error: &CallError);
    fn answer(self: Box<Self>);
}

struct Asked<W: Write> {
    write: W,
    answer: Option<Result<W::Answer, CallError>>,
    reply: oneshot::Sender<Result<W::Answer, CallError>>,
}

impl<W: Write> Job for Asked<W> {
    fn is_plain(&self) -> bool {
        self.write.is_plain()
    }

    fn add(&mut self, added: &mut Added) {
        self.answer = self.write.add(added).map(Ok);
    }

    fn write<'t>(&'t mut self, batch: &'t mut Batch) -> BoxFuture<'t, Result<(), CallError>> {
        Box::pin(async move {
            if W::READS_STEPS {
                batch.write_added().await?;
            }
            self.answer = Some(Ok(self.write.write(batch).await?));
            Ok(())
        })
    }

    fn fail(&mut self, error: &CallError) {
        self.answer = Some(Err(error.clone()));
    }

    fn answer(self: Box<Self>) {
        if let Some(answer) = self.answer {
            // Whoever asked may have gone.
            let _ = self.reply.send(answer);
        }
    }
}

/// The database's clock. That of an embedded one is this process's, and goes on evenly whatever is done to it.
pub(super) struct Clock {
    began: Timestamp,
    since: Instant,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self { began: Timestamp::now(), since: Instant::now() }
    }

    /// That of this process.
    fn here(&self) -> Result<Timestamp, CallError> {
        let passed = SignedDuration::try_from(self.since.elapsed()).unwrap_or(SignedDuration::ZERO);
        let micros = self.began.saturating_add(passed).unwrap_or(self.began).as_microsecond();
        Timestamp::from_microsecond(micros).map_err(failure::unreadable)
    }

    pub(super) async fn now(&self, tx: &mut Tx) -> Result<Timestamp, CallError> {
        if let Tx::Sqlite(_) = tx {
            return self.here();
        }
        let row = tx.row(POSTGRES_NOW, args![]).await?;
        row.ok_or_else(|| failure::unreadable("no clock"))?.time(0)
    }
}

const POSTGRES_NOW: &str = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)";

/// Whether leases end by the clock: only where other processes may hold them.
pub(super) fn leases_end(db: &Db) -> bool {
    match db {
        Db::Sqlite(_) => false,
        Db::Postgres(_) => true,
    }
}

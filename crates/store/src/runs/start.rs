//! Stores a new run, or finds the one with the same key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_core::{BoxFuture, CallError, ErrorKind, Message, SpaceId, UserId};
use haft_runs::{ClaimedRun, Executor, NewRun, Run, RunStatus, StartedRun};
use jiff::Timestamp;

use super::RunJournal;
use super::row::{NEVER, run, run_columns};
use super::step_rows::due_after;
use super::writer::{Batch, JournalWrite};
use crate::db::{Arg, args};
use crate::failure;

haft_core::templates! {
    QUEUE_FULL = "runs.queueFull",
        "{most} tasks of this space wait already; try again when some are done",
        "该空间已有 {most} 个任务在排队；请等待部分任务完成后重试";
    KEY_REUSED = "runs.keyReused",
        "this Idempotency-Key was used for another request; use a new key for a new request",
        "该 Idempotency-Key 已用于另一个请求；请为新的请求使用新的 key";
}

/// Validity of an idempotency key after the start of its run, in seconds. The key of a run that has not ended
/// stays valid.
const KEY_VALIDITY: i64 = 24 * 3600;

/// The `Retry-After` of a full queue.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Maximum age of a cached count of queued runs, in microseconds, while the count is below the limit.
const COUNT_VALIDITY: i64 = 1_000_000;

pub(super) struct Start {
    pub(super) new: Arc<NewRun>,
    /// The lease of a run that is claimed at once. `None` if leases do not expire.
    pub(super) lease: Option<Duration>,
    pub(super) limits: Arc<QueueLimits>,
}

impl JournalWrite for Start {
    type Output = Result<StartedRun, CallError>;
    const READS_STEPS: bool = false;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<Self::Output, CallError>> {
        Box::pin(self.start(batch))
    }
}

const BY_ID: &str = concat!("SELECT ", run_columns!(), " FROM runs WHERE id = $1");

const BY_KEY: &str = concat!(
    "SELECT ",
    run_columns!(),
    " FROM runs
     WHERE space_id = $1 AND COALESCE(user_id, '') = $2 AND run_key = $3"
);

const INSERT: &str = "INSERT INTO runs
        (id, space_id, user_id, program, lane, lane_limit, name, call_id, agent_id, conversation_id, input, priority,
         status, due_at, epoch, claimed_by, crashes, max_crashes, cancel_requested, dead_letter, run_key, key_digest,
         parent_id, parent_step, created_at, started_at, changed_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, 0, $17, 0, 0, $18, $19, $20, $21,
            $22, $23, $22)
    ON CONFLICT (id) DO NOTHING";

impl Start {
    async fn start(&self, batch: &mut Batch) -> Result<Result<StartedRun, CallError>, CallError> {
        let new = &self.new;
        if let Some(existing) = self.with_key(batch).await? {
            return Ok(existing);
        }
        let is_claimed = matches!(new.executor, Executor::ThisWorker(_));
        if !is_claimed && let Err(full) = self.check_limit(batch).await? {
            // A repeated start of a stored run is not limited.
            if batch.tx.row(BY_ID, args![new.id]).await?.is_none() {
                return Ok(Err(full));
            }
        }
        let (status, due, worker) = match new.executor {
            Executor::ThisWorker(worker) => {
                (RunStatus::Running, due_after(batch.now, self.lease), Some(worker.0.to_string()))
            }
            Executor::AnyWorker if new.delay.is_zero() => {
                (RunStatus::Queued, batch.now.as_microsecond(), None)
            }
            Executor::AnyWorker => (RunStatus::Scheduled, due_after(batch.now, Some(new.delay)), None),
        };
        let (key, digest) = new.key.as_ref().map(|key| (key.key.clone(), key.digest.clone())).unzip();
        let (parent, parent_step) =
            new.parent.as_ref().map(|(run, step)| (run.to_string(), step.clone())).unzip();
        let inserted = batch.tx.run(
            INSERT,
            args![
                new.id,
                new.space,
                new.user,
                new.program,
                &new.labels.lane,
                Arg::Int(new.labels.lane_limit.map(i64::from)),
                &new.labels.name,
                new.labels.call_id.clone(),
                new.labels.agent.clone(),
                new.labels.conversation.clone(),
                new.input.to_string(),
                Arg::Int(Some(i64::from(new.priority))),
                status.as_str(),
                Arg::Int(Some(due)),
                u64::from(is_claimed),
                worker,
                u64::from(new.max_crashes),
                key,
                digest,
                parent,
                parent_step,
                batch.now,
                is_claimed.then_some(batch.now),
            ],
        );
        let is_new = inserted.await? > 0;
        batch.wakes |= !is_claimed;
        let stored =
            if is_new { self.new_row(batch.now, status, due)? } else { self.stored_row(batch).await? };
        if (stored.space, stored.user) != (new.space, new.user) {
            return Err(failure::unreadable("a run of this id belongs to another user"));
        }
        Ok(Ok(if is_new && is_claimed {
            StartedRun::Claimed(ClaimedRun::authorized(stored, Vec::new()))
        } else if is_new {
            StartedRun::Queued(stored)
        } else {
            StartedRun::Existing(stored)
        }))
    }

    /// Returns the run with the same key. Returns `None` if there is none, or if its key is not valid any more.
    async fn with_key(&self, batch: &mut Batch) -> Result<Option<Result<StartedRun, CallError>>, CallError> {
        let Some(key) = &self.new.key else { return Ok(None) };
        let user = self.new.user.map(|user| user.to_string()).unwrap_or_default();
        let row = batch.tx.row(BY_KEY, args![self.new.space, user, &key.key]).await?;
        let Some(existing) = row.map(|row| run(&row)).transpose()? else { return Ok(None) };
        // The start is repeated, because it was not known whether it was persisted.
        if existing.id == self.new.id {
            return Ok(None);
        }
        let age = batch.now.as_second() - existing.created_at.as_second();
        if age >= KEY_VALIDITY && existing.status.is_final() {
            batch.tx.run("UPDATE runs SET run_key = NULL WHERE id = $1", args![existing.id]).await?;
            return Ok(None);
        }
        if existing.key_digest.as_deref() != Some(key.digest.as_str()) {
            return Ok(Some(Err(CallError::new(ErrorKind::Conflict, Message::new(&KEY_REUSED)))));
        }
        Ok(Some(Ok(StartedRun::Existing(existing))))
    }

    async fn stored_row(&self, batch: &mut Batch) -> Result<Run, CallError> {
        let row = batch.tx.row(BY_ID, args![self.new.id]).await?;
        run(&row.ok_or_else(|| failure::unreadable("a stored run is missing"))?)
    }

    /// The row of the run that was inserted now.
    fn new_row(&self, now: Timestamp, status: RunStatus, due: i64) -> Result<Run, CallError> {
        let due = (due < NEVER).then(|| Timestamp::from_microsecond(due).map_err(failure::unreadable));
        Ok(Run { due_at: due.transpose()?, ..Run::first(&self.new, status, now) })
    }

    async fn check_limit(&self, batch: &mut Batch) -> Result<Result<(), CallError>, CallError> {
        let (space, now) = (self.new.space, batch.now.as_microsecond());
        let most = self.limits.most;
        if self.limits.take(space, now) {
            return Ok(Ok(()));
        }
        let count = "SELECT COUNT(*) FROM (SELECT 1 FROM runs
                     WHERE space_id = $1 AND program = 'call' AND status IN ('queued', 'scheduled') LIMIT $2) AS waiting";
        let row = batch.tx.row(count, args![space, most]).await?;
        let waiting = row.ok_or_else(|| failure::unreadable("no count"))?.number(0)?;
        if waiting >= most {
            let message = Message::new(&QUEUE_FULL).with("most", most);
            return Ok(Err(CallError::new(ErrorKind::RateLimit, message).retry_after(RETRY_AFTER)));
        }
        self.limits.counted(space, waiting + 1, now);
        Ok(Ok(()))
    }
}

impl RunJournal {
    /// Returns the run with a key of a user.
    pub async fn keyed(&self, space: SpaceId, user: UserId, key: &str) -> Result<Option<Run>, CallError> {
        self.db().row(BY_KEY, args![space, user.to_string(), key]).await?.map(|row| run(&row)).transpose()
    }
}

/// The approximate number of queued runs of each space: counted once a second, and again before a start is refused.
pub(super) struct QueueLimits {
    most: u64,
    counts: Mutex<HashMap<SpaceId, (u64, i64)>>,
}

impl QueueLimits {
    pub(super) fn new(most: u64) -> Self {
        Self { most, counts: Mutex::default() }
    }

    /// Counts one more run. Returns false if there may be no room for it.
    fn take(&self, space: SpaceId, now: i64) -> bool {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.get_mut(&space) {
            Some((count, at))
                if *count < self.most && (0..COUNT_VALIDITY).contains(&now.saturating_sub(*at)) =>
            {
                *count += 1;
                true
            }
            Some(_) | None => false,
        }
    }

    fn counted(&self, space: SpaceId, count: u64, now: i64) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).insert(space, (count, now));
    }
}

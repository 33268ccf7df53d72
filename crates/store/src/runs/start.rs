//! Taking a run on, or finding the one that was asked for before with the same key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_core::{BoxFuture, CallError, ErrorKind, Message, SpaceId, UserId};
use haft_runs::{Held, Lease, NewRun, Place, Run, RunStatus, Started};
use jiff::Timestamp;

use super::RunJournal;
use super::row::{NEVER, run, run_columns};
use super::writer::{Batch, Write};
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

/// So long a key finds its run.
const KEY_DAYS: i64 = 24 * 3600;

/// A full queue is worth asking again after so long.
const PAUSE: Duration = Duration::from_secs(5);

/// A count of what waits holds for so long, in microseconds, while it is far from the limit.
const FRESH: i64 = 1_000_000;

pub(super) struct Start {
    pub(super) new: Arc<NewRun>,
    /// How long whoever holds it from the first moment on may be silent; nothing where that is no matter.
    pub(super) lease: Option<Duration>,
    pub(super) rooms: Arc<Rooms>,
}

impl Write for Start {
    type Answer = Result<Started, CallError>;
    const READS_STEPS: bool = false;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<Self::Answer, CallError>> {
        Box::pin(self.start(batch))
    }
}

const BY_ID: &str = concat!("SELECT ", run_columns!(), " FROM runs WHERE id = $1");

const BY_KEY: &str =
    concat!("SELECT ", run_columns!(), " FROM runs WHERE space_id = $1 AND user_id = $2 AND run_key = $3");

const INSERT: &str = "INSERT INTO runs
        (id, space_id, user_id, program, lane, lane_limit, name, call_id, agent_id, conversation_id, input, priority,
         status, due_at, epoch, claimed_by, deaths, most_deaths, cancel_asked, dead_letter, run_key, key_digest,
         parent_id, parent_step, created_at, started_at, changed_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, 0, $17, 0, 0, $18, $19, $20, $21,
            $22, $23, $22)
    ON CONFLICT (id) DO NOTHING";

impl Start {
    async fn start(&self, batch: &mut Batch) -> Result<Result<Started, CallError>, CallError> {
        let new = &self.new;
        if let Some(before) = self.before(batch).await? {
            return Ok(before);
        }
        let is_here = matches!(new.place, Place::Here(_));
        if !is_here && let Err(full) = self.check_room(batch).await? {
            // What is there already takes no more room.
            if batch.tx.row(BY_ID, args![new.id]).await?.is_none() {
                return Ok(Err(full));
            }
        }
        let now = batch.now.as_microsecond();
        let after = |pause: Duration| {
            now.saturating_add(i64::try_from(pause.as_micros()).unwrap_or(NEVER)).min(NEVER)
        };
        let (status, due, worker) = match new.place {
            Place::Here(worker) => {
                (RunStatus::Running, self.lease.map_or(NEVER, after), Some(worker.0.to_string()))
            }
            Place::Queue if new.delay.is_zero() => (RunStatus::Queued, now, None),
            Place::Queue => (RunStatus::Scheduled, after(new.delay), None),
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
                &new.about.lane,
                Arg::Int(new.about.lane_limit.map(i64::from)),
                &new.about.name,
                new.about.call_id.clone(),
                new.about.agent.clone(),
                new.about.conversation.clone(),
                new.input.to_string(),
                Arg::Int(Some(i64::from(new.priority))),
                status.as_str(),
                Arg::Int(Some(due)),
                u64::from(is_here),
                worker,
                u64::from(new.most_deaths),
                key,
                digest,
                parent,
                parent_step,
                batch.now,
                is_here.then_some(batch.now),
            ],
        );
        let is_new = inserted.await? > 0;
        batch.wakes |= !is_here;
        let kept = if is_new { self.as_kept(batch.now, status, due)? } else { self.again(batch).await? };
        if (kept.space, kept.user) != (new.space, new.user) {
            return Err(failure::unreadable("a run of this id is somebody else's"));
        }
        let lease = Lease { run: kept.id, epoch: kept.epoch };
        Ok(Ok(if is_here && kept.status == RunStatus::Running {
            Started::Held(Held::authorized(kept, lease, Vec::new()))
        } else if is_new {
            Started::Queued(kept)
        } else {
            Started::Before(kept)
        }))
    }

    /// The run of the same key, where there is one that counts.
    async fn before(&self, batch: &mut Batch) -> Result<Option<Result<Started, CallError>>, CallError> {
        let (Some(key), Some(user)) = (&self.new.key, self.new.user) else { return Ok(None) };
        let row = batch.tx.row(BY_KEY, args![self.new.space, user, &key.key]).await?;
        let Some(before) = row.map(|row| run(&row)).transpose()? else { return Ok(None) };
        // Asked again, because nobody knew whether it was kept.
        if before.id == self.new.id {
            return Ok(None);
        }
        let age = batch.now.as_second() - before.created_at.as_second();
        if age >= KEY_DAYS && before.status.is_final() {
            batch.tx.run("UPDATE runs SET run_key = NULL WHERE id = $1", args![before.id]).await?;
            return Ok(None);
        }
        if before.key_digest.as_deref() != Some(key.digest.as_str()) {
            return Ok(Some(Err(CallError::new(ErrorKind::Conflict, Message::new(&KEY_REUSED)))));
        }
        Ok(Some(Ok(Started::Before(before))))
    }

    async fn again(&self, batch: &mut Batch) -> Result<Run, CallError> {
        let row = batch.tx.row(BY_ID, args![self.new.id]).await?;
        run(&row.ok_or_else(|| failure::unreadable("a run that was kept is not there"))?)
    }

    /// The run as its row now is.
    fn as_kept(&self, now: Timestamp, status: RunStatus, due: i64) -> Result<Run, CallError> {
        let due = (due < NEVER).then(|| Timestamp::from_microsecond(due).map_err(failure::unreadable));
        Ok(Run { due_at: due.transpose()?, ..Run::first(&self.new, status, now) })
    }

    async fn check_room(&self, batch: &mut Batch) -> Result<Result<(), CallError>, CallError> {
        let (space, now) = (self.new.space, batch.now.as_microsecond());
        let most = self.rooms.most;
        if self.rooms.take(space, now) {
            return Ok(Ok(()));
        }
        let count = "SELECT COUNT(*) FROM (SELECT 1 FROM runs
                     WHERE space_id = $1 AND program = 'call' AND status IN ('queued', 'scheduled') LIMIT $2) AS waiting";
        let row = batch.tx.row(count, args![space, most]).await?;
        let waiting = row.ok_or_else(|| failure::unreadable("no count"))?.number(0)?;
        if waiting >= most {
            let message = Message::new(&QUEUE_FULL).with("most", most);
            return Ok(Err(CallError::new(ErrorKind::RateLimit, message).retry_after(PAUSE)));
        }
        self.rooms.counted(space, waiting + 1, now);
        Ok(Ok(()))
    }
}

impl RunJournal {
    /// The run that a user gave a key.
    pub async fn keyed(&self, space: SpaceId, user: UserId, key: &str) -> Result<Option<Run>, CallError> {
        self.db().row(BY_KEY, args![space, user, key]).await?.map(|row| run(&row)).transpose()
    }
}

/// About how much waits in each space: counted once a second, and again before anything is refused.
pub(super) struct Rooms {
    most: u64,
    counts: Mutex<HashMap<SpaceId, (u64, i64)>>,
}

impl Rooms {
    pub(super) fn new(most: u64) -> Self {
        Self { most, counts: Mutex::default() }
    }

    /// Takes a place, where it is known that there is one.
    fn take(&self, space: SpaceId, now: i64) -> bool {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.get_mut(&space) {
            Some((count, at)) if *count < self.most && (0..FRESH).contains(&now.saturating_sub(*at)) => {
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

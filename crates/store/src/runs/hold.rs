//! What a worker writes into a run that it holds. Each write names its lease, and is refused when that is lost.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{BoxFuture, CallError, Effect, RunId};
use haft_runs::{DoneStep, Ended, INBOX, Lease, Renewed, Suspended, Wait, WorkerId};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::added::later;
use super::inbox::{known_letters, put};
use super::row::NEVER;
use super::writer::{Batch, Write};
use crate::db::{Arg, Tx, args};

/// Whether a lease still holds; on PostgreSQL nobody claims the run again before this transaction is over.
async fn holds(batch: &mut Batch, lease: Lease) -> Result<Option<String>, CallError> {
    let sql = match &batch.tx {
        Tx::Sqlite(_) => "SELECT space_id FROM runs WHERE id = $1 AND epoch = $2 AND status = 'running'",
        Tx::Postgres(_) => {
            "SELECT space_id FROM runs WHERE id = $1 AND epoch = $2 AND status = 'running' FOR UPDATE"
        }
    };
    let row = batch.tx.row(sql, args![lease.run, lease.epoch]).await?;
    row.map(|row| row.text(0)).transpose()
}

pub(super) struct Reserve {
    pub(super) lease: Lease,
    pub(super) key: String,
    pub(super) effect: Effect,
    pub(super) done: Arc<[DoneStep]>,
    pub(super) waits: Vec<Wait>,
}

impl Write for Reserve {
    type Answer = bool;
    const READS_STEPS: bool = false;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<bool, CallError>> {
        Box::pin(async move {
            let Some(space) = holds(batch, self.lease).await? else { return Ok(false) };
            let of = (self.lease.run, space.as_str());
            batch.add_steps(of, &self.done, &self.waits).await?;
            batch.added.reserved(of, &self.key, self.effect);
            Ok(true)
        })
    }
}

pub(super) struct Done {
    pub(super) lease: Lease,
    pub(super) steps: Arc<[DoneStep]>,
}

impl Write for Done {
    type Answer = bool;
    const READS_STEPS: bool = false;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<bool, CallError>> {
        Box::pin(async move {
            let Some(space) = holds(batch, self.lease).await? else { return Ok(false) };
            batch.add_steps((self.lease.run, &space), &self.steps, &[]).await?;
            Ok(true)
        })
    }
}

pub(super) struct Progressed {
    pub(super) lease: Lease,
    pub(super) progress: Value,
}

impl Write for Progressed {
    type Answer = bool;
    const READS_STEPS: bool = false;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<bool, CallError>> {
        Box::pin(async move {
            let sql = "UPDATE runs SET progress = $3, changed_at = $4
                       WHERE id = $1 AND epoch = $2 AND status = 'running'";
            let values = args![self.lease.run, self.lease.epoch, self.progress.to_string(), batch.now];
            Ok(batch.tx.run(sql, values).await? > 0)
        })
    }
}

pub(super) struct Suspend {
    pub(super) lease: Lease,
    pub(super) suspended: Suspended,
}

impl Write for Suspend {
    type Answer = bool;
    const READS_STEPS: bool = false;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<bool, CallError>> {
        Box::pin(self.suspend(batch))
    }
}

impl Suspend {
    async fn suspend(&self, batch: &mut Batch) -> Result<bool, CallError> {
        let Suspended { done, undone, waits, .. } = &self.suspended;
        let run = self.lease.run;
        let is_plain = undone.is_empty() && !waits.is_empty() && waits.iter().all(Wait::is_for_letters);
        // Nobody else ends such a step, so there is nothing to be looked up; but on PostgreSQL a letter that is being
        // sent is only seen by who has locked the run before.
        if is_plain && matches!(batch.tx, Tx::Sqlite(_)) {
            let Some(space) = self.let_go(batch, false, NEVER).await? else {
                return was_left(batch, self.lease).await;
            };
            batch.add_steps((run, &space), done, &[]).await?;
            return Ok(true);
        }
        batch.write_added().await?;
        let Some(space) = holds(batch, self.lease).await? else {
            return was_left(batch, self.lease).await;
        };
        for key in undone {
            // What is waited for once more, with no other time, has what is left of its time.
            let goes_on = waits.iter().any(|wait| wait.key == *key && wait.at_most.is_none());
            let sql = if goes_on {
                "UPDATE run_steps SET state = 'waiting', output = NULL, ended_at = NULL
                 WHERE run_id = $1 AND key = $2"
            } else {
                "DELETE FROM run_steps WHERE run_id = $1 AND key = $2"
            };
            batch.tx.run(sql, args![run, key]).await?;
        }
        // One that is at rest has no step for that.
        batch.add_steps((run, &space), done, if is_plain { &[] } else { waits }).await?;
        batch.write_added().await?;
        // Whoever was waited for may have come before we began to wait.
        let (mut is_over, mut due) = (waits.is_empty(), NEVER);
        for wait in waits {
            let sql = "SELECT state, until_at FROM run_steps WHERE run_id = $1 AND key = $2";
            let Some(row) = batch.tx.row(sql, args![run, &wait.key]).await? else { continue };
            is_over |= row.text(0)? == "done";
            due = due.min(row.maybe_int(1)?.unwrap_or(NEVER));
        }
        self.let_go(batch, is_over, due).await?;
        Ok(true)
    }

    /// The space of the run; nothing where the lease is lost.
    async fn let_go(&self, batch: &mut Batch, is_over: bool, due: i64) -> Result<Option<String>, CallError> {
        let Suspended { waits, cancel_heard, .. } = &self.suspended;
        let letters = waits.iter().filter(|wait| wait.for_what == INBOX).map(known_letters).min();
        let values = args![
            self.lease.run,
            self.lease.epoch,
            is_over,
            *cancel_heard,
            Arg::Int(letters.map(|known| i64::try_from(known).unwrap_or(i64::MAX))),
            batch.now,
            Arg::Int(Some(due)),
            waits.first().map(|wait| wait.for_what.clone()),
        ];
        let Some(row) = batch.tx.row(LET_GO, values).await? else { return Ok(None) };
        // What waits for somebody alone is nothing to claim.
        batch.wakes |= row.text(1)? == "queued" || due < NEVER;
        Ok(Some(row.text(0)?))
    }
}

/// The run goes on at once where something is over, where somebody wants it to end who was not heard, or where it
/// was sent more than it knows; else it waits.
const LET_GO: &str = "UPDATE runs SET
        status = CASE WHEN told.is_so THEN 'queued' ELSE 'waiting' END,
        due_at = CASE WHEN told.is_so THEN $6 ELSE $7 END,
        waiting_for = CASE WHEN told.is_so THEN NULL ELSE $8 END,
        cancel_asked = CASE WHEN $4 = 1 THEN 0 ELSE cancel_asked END,
        claimed_by = NULL, deaths = 0, changed_at = $6
    FROM (SELECT $3 = 1 OR ($4 = 0 AND r.cancel_asked = 1)
              OR EXISTS (SELECT 1 FROM run_inbox i WHERE i.run_id = $1 AND i.n > $5) AS is_so
          FROM runs r WHERE r.id = $1) AS told
    WHERE id = $1 AND epoch = $2 AND status = 'running' RETURNING space_id, status";

/// Whether a write that lets go was kept before: nobody claimed the run since.
async fn was_left(batch: &mut Batch, lease: Lease) -> Result<bool, CallError> {
    let sql = "SELECT 1 FROM runs WHERE id = $1 AND epoch = $2 AND status <> 'running'";
    Ok(batch.tx.row(sql, args![lease.run, lease.epoch]).await?.is_some())
}

pub(super) struct Finish {
    pub(super) lease: Lease,
    pub(super) done: Arc<[DoneStep]>,
    pub(super) ended: Ended,
}

impl Write for Finish {
    type Answer = bool;
    const READS_STEPS: bool = false;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<bool, CallError>> {
        Box::pin(self.finish(batch))
    }
}

const FINISH: &str =
    "UPDATE runs SET status = $3, output = $4, dead_letter = $5, ended_at = $6, changed_at = $6,
        due_at = $7, claimed_by = NULL, waiting_for = NULL
    WHERE id = $1 AND epoch = $2 AND status = 'running' RETURNING space_id, parent_id, parent_step";

impl Finish {
    async fn finish(&self, batch: &mut Batch) -> Result<bool, CallError> {
        let Lease { run, epoch } = self.lease;
        let Ended { status, output, is_dead_letter } = &self.ended;
        let output = output.to_string();
        let never = Arg::Int(Some(NEVER));
        let values = args![run, epoch, status.as_str(), &output, *is_dead_letter, batch.now, never];
        let Some(row) = batch.tx.row(FINISH, values).await? else {
            return was_left(batch, self.lease).await;
        };
        batch.add_steps((run, &row.text(0)?), &self.done, &[]).await?;
        if let (Some(parent), Some(step)) = (row.maybe_id::<RunId>(1)?, row.maybe_text(2)?) {
            batch.write_added().await?;
            tell(&mut batch.tx, batch.now, (parent, &step), (run, &self.ended)).await?;
            batch.wakes = true;
        }
        Ok(true)
    }
}

pub(super) struct Release {
    pub(super) lease: Lease,
    pub(super) done: Arc<[DoneStep]>,
    pub(super) has_crashed: bool,
}

impl Write for Release {
    type Answer = bool;
    const READS_STEPS: bool = false;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<bool, CallError>> {
        Box::pin(async move {
            let Some(space) = holds(batch, self.lease).await? else {
                return was_left(batch, self.lease).await;
            };
            let Lease { run, epoch } = self.lease;
            batch.add_steps((run, &space), &self.done, &[]).await?;
            let sql =
                "UPDATE runs SET status = 'queued', deaths = deaths + $4, due_at = $3, claimed_by = NULL,
                           changed_at = $3
                       WHERE id = $1 AND epoch = $2";
            batch.tx.run(sql, args![run, epoch, batch.now, self.has_crashed]).await?;
            batch.wakes = true;
            Ok(true)
        })
    }
}

pub(super) struct Deliver {
    pub(super) run: RunId,
    pub(super) key: String,
    pub(super) asked: Option<Value>,
    pub(super) output: Value,
}

impl Write for Deliver {
    type Answer = bool;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<bool, CallError>> {
        Box::pin(async move {
            if let Some(asked) = &self.asked {
                let sql = "SELECT shown FROM run_steps WHERE run_id = $1 AND key = $2";
                let shown = batch.tx.row(sql, args![self.run, &self.key]).await?;
                let shown = shown.map(|row| row.maybe_text(0)).transpose()?.flatten();
                let shown = shown.and_then(|shown| serde_json::from_str::<Value>(&shown).ok());
                if shown.as_ref() != Some(asked) {
                    return Ok(false);
                }
            }
            batch.wakes = true;
            deliver(&mut batch.tx, batch.now, self.run, &self.key, &self.output.to_string()).await
        })
    }
}

/// Tells a run that one it began has ended: it waits for that in a step, or finds it among what was sent to it.
pub(super) async fn tell(
    tx: &mut Tx,
    now: Timestamp,
    (parent, step): (RunId, &str),
    ended: (RunId, &Ended),
) -> Result<bool, CallError> {
    let (child, Ended { status, output, .. }) = ended;
    let Some(name) = step.strip_prefix(INBOX) else {
        return deliver(tx, now, parent, step, &output.to_string()).await;
    };
    let name = name.trim_start_matches(':');
    let message = json!({"ended": {"run": child, "name": name, "status": status, "output": output}});
    put(tx, now, parent, &message.to_string()).await
}

/// Ends a step that waits, and has its run go on.
pub(super) async fn deliver(
    tx: &mut Tx,
    now: Timestamp,
    run: RunId,
    key: &str,
    output: &str,
) -> Result<bool, CallError> {
    if let Tx::Postgres(_) = tx {
        // The run first, as everybody who writes both.
        tx.row("SELECT 1 FROM runs WHERE id = $1 FOR UPDATE", args![run]).await?;
    }
    let sql = "UPDATE run_steps SET state = 'done', output = $3, ended_at = $4
               WHERE run_id = $1 AND key = $2 AND state = 'waiting'
                   AND EXISTS (SELECT 1 FROM runs WHERE id = $1 AND ended_at IS NULL)";
    if tx.run(sql, args![run, key, output, now]).await? == 0 {
        return Ok(false);
    }
    let sql = "UPDATE runs SET status = 'queued', due_at = $2, waiting_for = NULL, changed_at = $2
               WHERE id = $1 AND status = 'waiting'";
    tx.run(sql, args![run, now]).await?;
    Ok(true)
}

pub(super) struct Renew {
    pub(super) worker: WorkerId,
    pub(super) leases: Vec<Lease>,
    /// Nothing where leases have no end.
    pub(super) lease: Option<Duration>,
    /// What was claimed so long ago and is in nobody's hands is given back.
    pub(super) forgotten: Duration,
}

impl Write for Renew {
    type Answer = Renewed;
    const READS_STEPS: bool = false;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<Renewed, CallError>> {
        Box::pin(self.renew(batch))
    }
}

impl Renew {
    async fn renew(&self, batch: &mut Batch) -> Result<Renewed, CallError> {
        let worker = self.worker.0.to_string();
        let rows = match self.lease {
            Some(_) => {
                let sql = "UPDATE runs SET due_at = $2 WHERE claimed_by = $1 AND status = 'running'
                           RETURNING id, epoch, cancel_asked, changed_at";
                batch.tx.rows(sql, args![worker, Arg::Int(Some(later(batch.now, self.lease)))]).await?
            }
            None => {
                let sql = "SELECT id, epoch, cancel_asked, changed_at FROM runs
                           WHERE claimed_by = $1 AND status = 'running'";
                batch.tx.rows(sql, args![worker]).await?
            }
        };
        let mut renewed = Renewed::default();
        let mut kept = std::collections::HashSet::new();
        for row in rows {
            let lease = Lease { run: row.id(0)?, epoch: row.number(1)? };
            if self.leases.contains(&lease) {
                kept.insert(lease);
                if row.flag(2)? {
                    renewed.to_cancel.push(lease);
                }
                continue;
            }
            // A claim whose commit was cut off may have been kept after all.
            let age = batch.now.duration_since(row.time(3)?);
            if age.unsigned_abs() > self.forgotten {
                tracing::warn!(run.id = %lease.run, "A run that nobody here carries on is given back");
                let sql = "UPDATE runs SET status = 'queued', due_at = $3, claimed_by = NULL, changed_at = $3
                           WHERE id = $1 AND epoch = $2 AND status = 'running'";
                batch.tx.run(sql, args![lease.run, lease.epoch, batch.now]).await?;
                batch.wakes = true;
            }
        }
        renewed.lost = self.leases.iter().filter(|lease| !kept.contains(lease)).copied().collect();
        Ok(renewed)
    }
}

/// What nobody holds any more after a start: on SQLite there is one process, so all that is running was its
/// predecessor's.
pub(super) struct Recover;

impl Write for Recover {
    type Answer = u64;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<u64, CallError>> {
        Box::pin(async move {
            if let Tx::Postgres(_) = &batch.tx {
                return Ok(0);
            }
            let sql = "UPDATE runs SET status = 'queued', deaths = deaths + 1, due_at = $1, claimed_by = NULL, changed_at = $1
                       WHERE status = 'running'";
            batch.wakes = true;
            batch.tx.run(sql, args![batch.now]).await
        })
    }
}

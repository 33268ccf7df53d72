//! Writes of a worker to a run that it has claimed: its steps, its progress, its suspension and its release. Each is
//! refused when the lease has ended.

use std::sync::Arc;

use haft_core::{BoxFuture, CallError, RunId};
use haft_runs::{INBOX, Lease, ReleaseReason, RunSignal, StepWrites, Suspension, Wait};
use serde_json::Value;

use super::row::NEVER;
use super::writer::{Batch, JournalWrite};
use crate::db::{Arg, Tx, args};

/// Returns the space of the run if the lease holds. On PostgreSQL the run cannot be claimed before the end of this
/// transaction.
pub(super) async fn space_of(batch: &mut Batch, lease: Lease) -> Result<Option<String>, CallError> {
    let sql = match &batch.tx {
        Tx::Sqlite(_) => "SELECT space_id FROM runs WHERE id = $1 AND epoch = $2 AND status = 'running'",
        Tx::Postgres(_) => {
            "SELECT space_id FROM runs WHERE id = $1 AND epoch = $2 AND status = 'running' FOR UPDATE"
        }
    };
    let row = batch.tx.row(sql, args![lease.run, lease.epoch]).await?;
    row.map(|row| row.text(0)).transpose()
}

/// Returns true if an earlier attempt of a write that releases the run was persisted: no worker has claimed the run
/// since.
pub(super) async fn was_released(batch: &mut Batch, lease: Lease) -> Result<bool, CallError> {
    let sql = "SELECT 1 FROM runs WHERE id = $1 AND epoch = $2 AND status <> 'running'";
    Ok(batch.tx.row(sql, args![lease.run, lease.epoch]).await?.is_some())
}

/// Persists changes of steps.
pub(super) struct WriteSteps {
    pub(super) lease: Lease,
    pub(super) writes: Arc<StepWrites>,
}

impl JournalWrite for WriteSteps {
    type Output = bool;
    const READS_STEPS: bool = false;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<bool, CallError>> {
        Box::pin(async move {
            let Some(space) = space_of(batch, self.lease).await? else { return Ok(false) };
            batch.write_steps((self.lease.run, &space), &self.writes).await?;
            Ok(true)
        })
    }
}

pub(super) struct WriteProgress {
    pub(super) lease: Lease,
    pub(super) progress: Value,
}

impl JournalWrite for WriteProgress {
    type Output = bool;
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
    pub(super) writes: Arc<StepWrites>,
    pub(super) suspension: Suspension,
}

impl JournalWrite for Suspend {
    type Output = bool;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<bool, CallError>> {
        Box::pin(self.suspend(batch))
    }
}

impl Suspend {
    async fn suspend(&self, batch: &mut Batch) -> Result<bool, CallError> {
        let waits = &self.suspension.waits;
        let run = self.lease.run;
        let is_idle = !waits.is_empty() && waits.iter().all(Wait::is_for_messages_only);
        // On SQLite no other party writes during this transaction, so there is nothing to lock and to look up.
        if is_idle && matches!(batch.tx, Tx::Sqlite(_)) {
            let Some(space) = self.release(batch, false, NEVER).await? else {
                return was_released(batch, self.lease).await;
            };
            batch.write_steps((run, &space), &self.writes).await?;
            return Ok(true);
        }
        batch.insert_steps().await?;
        let Some(space) = space_of(batch, self.lease).await? else {
            return was_released(batch, self.lease).await;
        };
        batch.write_steps((run, &space), &self.writes).await?;
        batch.insert_steps().await?;
        // A wait may have ended before the run suspended.
        let (mut has_ended, mut due) = (waits.is_empty(), NEVER);
        for wait in waits {
            let sql = "SELECT state, deadline_at FROM run_steps WHERE run_id = $1 AND key = $2";
            let Some(row) = batch.tx.row(sql, args![run, &wait.key]).await? else { continue };
            has_ended |= row.text(0)? == "done";
            due = due.min(row.maybe_int(1)?.unwrap_or(NEVER));
        }
        self.release(batch, has_ended, due).await?;
        Ok(true)
    }

    /// Releases the run, and returns its space. Returns `None` if the lease has ended.
    async fn release(
        &self,
        batch: &mut Batch,
        has_ended: bool,
        due: i64,
    ) -> Result<Option<String>, CallError> {
        let Suspension { waits, is_cancel_handled } = &self.suspension;
        let last_message = waits.iter().filter(|wait| wait.kind == INBOX).map(Wait::last_message).min();
        let values = args![
            self.lease.run,
            self.lease.epoch,
            has_ended,
            *is_cancel_handled,
            Arg::Int(last_message.map(|number| i64::try_from(number).unwrap_or(i64::MAX))),
            batch.now,
            Arg::Int(Some(due)),
            waits.first().map(|wait| wait.kind.clone()),
        ];
        let Some(row) = batch.tx.row(SUSPEND, values).await? else { return Ok(None) };
        // A run that waits without a deadline is not claimed.
        batch.wakes |= row.text(1)? == "queued" || due < NEVER;
        Ok(Some(row.text(0)?))
    }
}

/// The run is queued at once if a wait has ended, if it is to be cancelled and the program has not handled that, or if
/// its inbox has further messages. Otherwise it waits.
const SUSPEND: &str = "UPDATE runs SET
        status = CASE WHEN found.is_ready THEN 'queued' ELSE 'waiting' END,
        due_at = CASE WHEN found.is_ready THEN $6 ELSE $7 END,
        waiting_for = CASE WHEN found.is_ready THEN NULL ELSE $8 END,
        cancel_requested = CASE WHEN $4 = 1 THEN 0 ELSE cancel_requested END,
        claimed_by = NULL, crashes = 0, changed_at = $6
    FROM (SELECT $3 = 1 OR ($4 = 0 AND r.cancel_requested = 1)
              OR EXISTS (SELECT 1 FROM run_inbox i WHERE i.run_id = $1 AND i.n > $5) AS is_ready
          FROM runs r WHERE r.id = $1) AS found
    WHERE id = $1 AND epoch = $2 AND status = 'running' RETURNING space_id, status";

pub(super) struct Release {
    pub(super) lease: Lease,
    pub(super) writes: Arc<StepWrites>,
    pub(super) reason: ReleaseReason,
}

impl JournalWrite for Release {
    type Output = bool;
    const READS_STEPS: bool = false;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<bool, CallError>> {
        Box::pin(async move {
            let Some(space) = space_of(batch, self.lease).await? else {
                return was_released(batch, self.lease).await;
            };
            let Lease { run, epoch } = self.lease;
            batch.write_steps((run, &space), &self.writes).await?;
            let has_crashed = self.reason == ReleaseReason::Panic;
            let sql =
                "UPDATE runs SET status = 'queued', crashes = crashes + $4, due_at = $3, claimed_by = NULL,
                           changed_at = $3
                       WHERE id = $1 AND epoch = $2";
            batch.tx.run(sql, args![run, epoch, batch.now, has_crashed]).await?;
            batch.wakes = true;
            Ok(true)
        })
    }
}

/// Requests that a run is cancelled.
pub(super) struct RequestCancel {
    pub(super) run: RunId,
}

impl JournalWrite for RequestCancel {
    type Output = bool;
    const READS_STEPS: bool = false;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<bool, CallError>> {
        Box::pin(async move {
            let sql = "UPDATE runs SET cancel_requested = 1, changed_at = $2,
                           due_at = CASE WHEN status IN ('waiting', 'scheduled') THEN $2 ELSE due_at END,
                           waiting_for = CASE WHEN status = 'waiting' THEN NULL ELSE waiting_for END,
                           status = CASE WHEN status IN ('waiting', 'scheduled') THEN 'queued' ELSE status END
                       WHERE id = $1 AND ended_at IS NULL RETURNING epoch, status";
            let Some(row) = batch.tx.row(sql, args![self.run, batch.now]).await? else { return Ok(false) };
            match row.text(1)?.as_str() {
                "running" => {
                    batch.signals.push(RunSignal::Cancel(Lease { run: self.run, epoch: row.number(0)? }))
                }
                _ => batch.wakes = true,
            }
            Ok(true)
        })
    }
}

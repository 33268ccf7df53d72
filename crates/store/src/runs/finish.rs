//! The end of a run, and the delivery of outputs to waiting steps: by another run that ended, by a person or by a
//! callback.

use std::sync::Arc;

use haft_core::{BoxFuture, CallError, RunId};
use haft_runs::{INBOX, Lease, RunEnd, RunSignal, Step, StepWrites};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::inbox::put;
use super::row::{NEVER, step, step_columns};
use super::suspend::was_released;
use super::writer::{Batch, JournalWrite};
use crate::db::{Arg, Tx, args};

pub(super) struct Finish {
    pub(super) lease: Lease,
    pub(super) writes: Arc<StepWrites>,
    pub(super) end: RunEnd,
}

impl JournalWrite for Finish {
    type Output = bool;
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
        let RunEnd { status, output, is_dead_letter } = &self.end;
        let output = output.to_string();
        let never = Arg::Int(Some(NEVER));
        let values = args![run, epoch, status.as_str(), &output, *is_dead_letter, batch.now, never];
        let Some(row) = batch.tx.row(FINISH, values).await? else {
            return was_released(batch, self.lease).await;
        };
        batch.write_steps((run, &row.text(0)?), &self.writes).await?;
        if let (Some(parent), Some(step)) = (row.maybe_id::<RunId>(1)?, row.maybe_text(2)?) {
            batch.insert_steps().await?;
            let delivered = deliver_end(&mut batch.tx, batch.now, (parent, &step), (run, &self.end)).await?;
            batch.delivered(parent, delivered);
        }
        Ok(true)
    }
}

/// The effect of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivered {
    /// Nothing waits for it.
    No,
    /// The run was suspended, and is queued.
    ToSuspended,
    /// A worker executes the run.
    ToExecuting,
}

impl Batch {
    /// Notifies the workers of a delivery after the commit.
    pub(super) fn delivered(&mut self, run: RunId, delivered: Delivered) {
        match delivered {
            Delivered::No => {}
            Delivered::ToSuspended => self.wakes = true,
            Delivered::ToExecuting => self.signals.push(RunSignal::Changed(run)),
        }
    }
}

/// Delivers the end of a run to its parent: to a waiting step, or to the inbox if the key of the step begins with
/// `inbox`.
pub(super) async fn deliver_end(
    tx: &mut Tx,
    now: Timestamp,
    (parent, step): (RunId, &str),
    (child, end): (RunId, &RunEnd),
) -> Result<Delivered, CallError> {
    let RunEnd { status, output, .. } = end;
    let Some(name) = step.strip_prefix(INBOX) else {
        return deliver(tx, now, parent, step, &output.to_string()).await;
    };
    let name = name.trim_start_matches(':');
    let message = json!({"ended": {"run": child, "name": name, "status": status, "output": output}});
    put(tx, now, parent, &message.to_string()).await
}

/// Ends a waiting step, and queues its run if that is suspended.
pub(super) async fn deliver(
    tx: &mut Tx,
    now: Timestamp,
    run: RunId,
    key: &str,
    output: &str,
) -> Result<Delivered, CallError> {
    if let Tx::Postgres(_) = tx {
        // Locks the run before its step, in the order of all other writers.
        tx.row("SELECT 1 FROM runs WHERE id = $1 FOR UPDATE", args![run]).await?;
    }
    let sql = "UPDATE run_steps SET state = 'done', output = $3, ended_at = $4
               WHERE run_id = $1 AND key = $2 AND state IN ('waiting', 'unknown')
                   AND EXISTS (SELECT 1 FROM runs WHERE id = $1 AND ended_at IS NULL)";
    if tx.run(sql, args![run, key, output, now]).await? == 0 {
        return Ok(Delivered::No);
    }
    wake(tx, now, run).await
}

/// Queues a suspended run.
pub(super) async fn wake(tx: &mut Tx, now: Timestamp, run: RunId) -> Result<Delivered, CallError> {
    let sql = "UPDATE runs SET status = 'queued', due_at = $2, waiting_for = NULL, changed_at = $2
               WHERE id = $1 AND status = 'waiting'";
    let is_queued = tx.run(sql, args![run, now]).await? > 0;
    Ok(if is_queued { Delivered::ToSuspended } else { Delivered::ToExecuting })
}

pub(super) struct Deliver {
    pub(super) run: RunId,
    pub(super) key: String,
    pub(super) expected: Option<Value>,
    pub(super) output: Value,
}

impl JournalWrite for Deliver {
    type Output = bool;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<bool, CallError>> {
        Box::pin(async move {
            if let Some(expected) = &self.expected {
                let sql = "SELECT details FROM run_steps WHERE run_id = $1 AND key = $2";
                let details = batch.tx.row(sql, args![self.run, &self.key]).await?;
                let details = details.map(|row| row.maybe_text(0)).transpose()?.flatten();
                let details = details.and_then(|details| serde_json::from_str::<Value>(&details).ok());
                if details.as_ref() != Some(expected) {
                    return Ok(false);
                }
            }
            let output = self.output.to_string();
            let delivered = deliver(&mut batch.tx, batch.now, self.run, &self.key, &output).await?;
            batch.delivered(self.run, delivered);
            Ok(delivered != Delivered::No)
        })
    }
}

/// Reads steps by their keys, after ending waits whose deadline has passed.
pub(super) struct ReadSteps {
    pub(super) run: RunId,
    pub(super) keys: Vec<String>,
}

impl JournalWrite for ReadSteps {
    type Output = Vec<Step>;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<Vec<Step>, CallError>> {
        Box::pin(async move {
            let expire = "UPDATE run_steps SET state = 'done', expired = 1, ended_at = $2
                          WHERE run_id = $1 AND state = 'waiting' AND deadline_at <= $2";
            batch.tx.run(expire, args![self.run, batch.now]).await?;
            let sql = concat!("SELECT ", step_columns!(), " FROM run_steps WHERE run_id = $1 AND key = $2");
            let mut steps = Vec::with_capacity(self.keys.len());
            for key in &self.keys {
                let row = batch.tx.row(sql, args![self.run, key]).await?;
                steps.extend(row.map(|row| step(&row)).transpose()?);
            }
            Ok(steps)
        })
    }
}

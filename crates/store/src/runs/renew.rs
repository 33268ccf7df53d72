//! Renews leases, and releases runs that no worker executes.

use std::collections::HashSet;
use std::time::Duration;

use haft_core::{BoxFuture, CallError};
use haft_runs::{Lease, Renewal, WorkerId};

use super::step_rows::due_after;
use super::writer::{Batch, JournalWrite};
use crate::db::{Arg, Tx, args};

pub(super) struct Renew {
    pub(super) worker: WorkerId,
    pub(super) leases: Vec<Lease>,
    /// `None` if leases do not expire.
    pub(super) lease: Option<Duration>,
    /// A claimed run that the worker does not execute is released after this time.
    pub(super) forgotten_after: Duration,
}

impl JournalWrite for Renew {
    type Output = Renewal;
    const READS_STEPS: bool = false;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<Renewal, CallError>> {
        Box::pin(self.renew(batch))
    }
}

impl Renew {
    async fn renew(&self, batch: &mut Batch) -> Result<Renewal, CallError> {
        let worker = self.worker.0.to_string();
        let rows = match self.lease {
            Some(_) => {
                let sql = "UPDATE runs SET due_at = $2 WHERE claimed_by = $1 AND status = 'running'
                           RETURNING id, epoch, cancel_requested, changed_at";
                batch.tx.rows(sql, args![worker, Arg::Int(Some(due_after(batch.now, self.lease)))]).await?
            }
            None => {
                let sql = "SELECT id, epoch, cancel_requested, changed_at FROM runs
                           WHERE claimed_by = $1 AND status = 'running'";
                batch.tx.rows(sql, args![worker]).await?
            }
        };
        let mut renewal = Renewal::default();
        let mut renewed = HashSet::new();
        for row in rows {
            let lease = Lease { run: row.id(0)?, epoch: row.number(1)? };
            if self.leases.contains(&lease) {
                renewed.insert(lease);
                if row.flag(2)? {
                    renewal.to_cancel.push(lease);
                }
                continue;
            }
            // A claim may have been persisted although its response was lost.
            let age = batch.now.duration_since(row.time(3)?);
            if age.unsigned_abs() > self.forgotten_after {
                tracing::warn!(run.id = %lease.run, "A claimed run that this process does not execute is released");
                let sql = "UPDATE runs SET status = 'queued', due_at = $3, claimed_by = NULL, changed_at = $3
                           WHERE id = $1 AND epoch = $2 AND status = 'running'";
                batch.tx.run(sql, args![lease.run, lease.epoch, batch.now]).await?;
                batch.wakes = true;
            }
        }
        renewal.lost = self.leases.iter().filter(|lease| !renewed.contains(lease)).copied().collect();
        Ok(renewal)
    }
}

/// Queues the runs that were executed when the process before this one ended. SQLite has one process at a time.
pub(super) struct Recover;

impl JournalWrite for Recover {
    type Output = u64;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<u64, CallError>> {
        Box::pin(async move {
            if let Tx::Postgres(_) = &batch.tx {
                return Ok(0);
            }
            let sql =
                "UPDATE runs SET status = 'queued', crashes = crashes + 1, due_at = $1, claimed_by = NULL,
                           changed_at = $1
                       WHERE status = 'running'";
            batch.wakes = true;
            batch.tx.run(sql, args![batch.now]).await
        })
    }
}

//! Noting that a run went on that was at rest, with what it did since: it was carried on before that was kept.

use std::time::Duration;

use haft_core::{BoxFuture, CallError, SpaceId};
use haft_runs::{DoneSteps, INBOX, Lease, RunStatus, WorkerId};

use super::added::{Added, key_of, later};
use super::row::NEVER;
use super::writer::{Batch, Write};
use crate::db::{Arg, args};

pub(super) struct Take {
    pub(super) space: SpaceId,
    /// As it was left.
    pub(super) from: Lease,
    /// Who holds it, and how long they may be silent; nothing where it is at rest again.
    pub(super) by: Option<(WorkerId, Option<Duration>)>,
    pub(super) done: DoneSteps,
}

impl Write for Take {
    type Answer = bool;
    const READS_STEPS: bool = false;

    fn is_plain(&self) -> bool {
        self.by.is_none()
    }

    fn add(&self, added: &mut Added) -> Option<bool> {
        added.rested((self.from.run, self.space), self.from.epoch, &self.done);
        Some(true)
    }

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<bool, CallError>> {
        Box::pin(self.take(batch))
    }
}

/// Whoever sends something to a run that is at rest has it go on, so one that still is has heard all.
const TAKE: &str =
    "UPDATE runs SET status = $3, epoch = epoch + 1, claimed_by = $4, due_at = $5, waiting_for = $6,
         cancel_asked = 0, started_at = COALESCE(started_at, $7), changed_at = $7
     WHERE id = $1 AND epoch = $2 AND status = 'waiting' AND waiting_for = 'inbox'";

impl Take {
    async fn take(&self, batch: &mut Batch) -> Result<bool, CallError> {
        let Lease { run, epoch } = self.from;
        let (status, worker, due, waiting_for) = match self.by {
            Some((worker, None)) => (RunStatus::Running, Some(worker), NEVER, None),
            Some((worker, lease)) => (RunStatus::Running, Some(worker), later(batch.now, lease), None),
            None => (RunStatus::Waiting, None, NEVER, Some(INBOX.to_owned())),
        };
        let worker = worker.map(|worker| worker.0.to_string());
        let due = Arg::Int(Some(due));
        let values = args![run, epoch, status.as_str(), worker, due, waiting_for, batch.now];
        if batch.tx.run(TAKE, values).await? == 0 {
            return self.was_kept(batch).await;
        }
        batch.add_several((run, self.space), epoch + 1, &self.done);
        Ok(true)
    }

    /// Whether it was noted before, although nobody was told so: what the run did under that claim is ours.
    async fn was_kept(&self, batch: &mut Batch) -> Result<bool, CallError> {
        let Lease { run, epoch } = self.from;
        batch.write_added().await?;
        let sql = "SELECT 1 FROM run_steps WHERE run_id = $1 AND key = $2 AND output = $3";
        let values = args![run, key_of(epoch + 1), self.done.text()];
        Ok(batch.tx.row(sql, values).await?.is_some())
    }
}

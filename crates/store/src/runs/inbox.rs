//! What is sent to a run while it goes on: kept in order, and heard when the run asks for it.

use haft_core::{BoxFuture, CallError, RunId, SpaceId};
use haft_runs::Wait;
use serde_json::Value;

use super::RunJournal;
use super::writer::{Batch, Write};
use crate::db::{Tx, args};
use crate::failure;

/// So much is read at once; the rest is heard the next time.
const PAGE: u64 = 100;

pub(super) struct Send {
    pub(super) space: SpaceId,
    pub(super) run: RunId,
    pub(super) message: Value,
}

impl Write for Send {
    type Answer = bool;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<bool, CallError>> {
        Box::pin(self.send(batch))
    }
}

impl Send {
    async fn send(&self, batch: &mut Batch) -> Result<bool, CallError> {
        let sql = match &batch.tx {
            Tx::Sqlite(_) => "SELECT 1 FROM runs WHERE space_id = $1 AND id = $2 AND ended_at IS NULL",
            Tx::Postgres(_) => {
                "SELECT 1 FROM runs WHERE space_id = $1 AND id = $2 AND ended_at IS NULL FOR UPDATE"
            }
        };
        if batch.tx.row(sql, args![self.space, self.run]).await?.is_none() {
            return Ok(false);
        }
        let sql = "INSERT INTO run_inbox (run_id, n, space_id, message, sent_at)
                   VALUES ($1, (SELECT COALESCE(MAX(n), 0) + 1 FROM run_inbox WHERE run_id = $1), $2, $3, $4)";
        let values = args![self.run, self.space, self.message.to_string(), batch.now];
        batch.tx.run(sql, values).await?;
        let sql = "DELETE FROM run_steps WHERE run_id = $1 AND waits_for = 'inbox' AND state = 'waiting'";
        if batch.tx.run(sql, args![self.run]).await? > 0 {
            let sql = "UPDATE runs SET status = 'queued', due_at = $2, waiting_for = NULL, changed_at = $2
                       WHERE id = $1 AND status = 'waiting'";
            batch.tx.run(sql, args![self.run, batch.now]).await?;
            batch.wakes = true;
        }
        Ok(true)
    }
}

/// Whether a run that is about to wait for what is sent to it has been sent more than it knows.
pub(super) async fn has_more(batch: &mut Batch, run: RunId, wait: &Wait) -> Result<bool, CallError> {
    let known = wait.shown.as_ref().and_then(|shown| shown["after"].as_u64()).unwrap_or_default();
    let sql = "SELECT 1 FROM run_inbox WHERE run_id = $1 AND n > $2 LIMIT 1";
    Ok(batch.tx.row(sql, args![run, known]).await?.is_some())
}

impl RunJournal {
    pub(super) async fn sent(&self, run: RunId, after: u64) -> Result<Vec<(u64, Value)>, CallError> {
        let sql = "SELECT n, message FROM run_inbox WHERE run_id = $1 AND n > $2 ORDER BY n LIMIT $3";
        let rows = self.db().rows(sql, args![run, after, PAGE]).await?;
        let read = |row: &crate::row::Row| {
            let message = serde_json::from_str(&row.text(1)?).map_err(failure::unreadable)?;
            Ok((row.number(0)?, message))
        };
        rows.iter().map(read).collect()
    }
}

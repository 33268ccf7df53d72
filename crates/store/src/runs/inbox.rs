//! Inbox messages of runs: stored in order, and read when the run receives them.

use std::time::Duration;

use haft_core::{BoxFuture, CallError, ErrorKind, Message, RunId, SpaceId};
use haft_runs::{ClaimedRun, Delivery, Executor, NewMessage, RunKey};
use jiff::Timestamp;
use serde_json::Value;

use super::RunJournal;
use super::claim::steps_of;
use super::finish::{Delivered, wake};
use super::row::{run, run_columns};
use super::start::KEY_REUSED;
use super::step_rows::due_after;
use super::writer::{Batch, JournalWrite};
use crate::db::{Arg, Tx, args};
use crate::failure;
use crate::row::Row;

/// Maximum number of messages that a run receives at a time.
const PAGE: u64 = 100;

pub(super) struct SendMessage {
    pub(super) message: NewMessage,
    /// `None` if leases do not expire.
    pub(super) lease: Option<Duration>,
}

impl JournalWrite for SendMessage {
    type Output = Result<Delivery, CallError>;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<Self::Output, CallError>> {
        Box::pin(self.send(batch))
    }
}

const BY_KEY: &str =
    "SELECT key_digest FROM run_inbox WHERE space_id = $1 AND run_id = $2 AND message_key = $3";

const CLAIM: &str = concat!(
    "UPDATE runs SET status = 'running', epoch = epoch + 1, claimed_by = $2, due_at = $3, waiting_for = NULL,
         cancel_requested = 0, started_at = COALESCE(started_at, $4), changed_at = $4
     WHERE id = $1 AND status = 'waiting' RETURNING ",
    run_columns!()
);

impl SendMessage {
    async fn send(&self, batch: &mut Batch) -> Result<Result<Delivery, CallError>, CallError> {
        let NewMessage { space, run: id, message, key, executor } = &self.message;
        let sql = match &batch.tx {
            Tx::Sqlite(_) => "SELECT 1 FROM runs WHERE space_id = $1 AND id = $2 AND ended_at IS NULL",
            Tx::Postgres(_) => {
                "SELECT 1 FROM runs WHERE space_id = $1 AND id = $2 AND ended_at IS NULL FOR UPDATE"
            }
        };
        if batch.tx.row(sql, args![*space, *id]).await?.is_none() {
            return Ok(Ok(Delivery::Ended));
        }
        if let Some(key) = key
            && let Some(row) = batch.tx.row(BY_KEY, args![*space, *id, &key.key]).await?
        {
            return Ok(is_same(&row, key).map(|()| Delivery::Duplicate));
        }
        let is_awaited = insert(&mut batch.tx, batch.now, *id, &message.to_string(), key.as_ref()).await?;
        match executor {
            Executor::ThisWorker(worker) if is_awaited => {
                let expires = Arg::Int(Some(due_after(batch.now, self.lease)));
                let values = args![*id, worker.0.to_string(), expires, batch.now];
                let Some(row) = batch.tx.row(CLAIM, values).await? else {
                    batch.delivered(*id, Delivered::ToExecuting);
                    return Ok(Ok(Delivery::Delivered));
                };
                let run = run(&row)?;
                let steps = steps_of(batch, run.id).await?;
                Ok(Ok(Delivery::Claimed(Box::new(ClaimedRun::authorized(run, steps)))))
            }
            Executor::ThisWorker(_) | Executor::AnyWorker => {
                let delivered = match is_awaited {
                    true => wake(&mut batch.tx, batch.now, *id).await?,
                    false => Delivered::ToExecuting,
                };
                batch.delivered(*id, delivered);
                Ok(Ok(Delivery::Delivered))
            }
        }
    }
}

/// Puts a message into the inbox of a run, and queues the run if it waits for messages.
pub(super) async fn put(
    tx: &mut Tx,
    now: Timestamp,
    run: RunId,
    message: &str,
) -> Result<Delivered, CallError> {
    let sql = match tx {
        Tx::Sqlite(_) => "SELECT 1 FROM runs WHERE id = $1 AND ended_at IS NULL",
        Tx::Postgres(_) => "SELECT 1 FROM runs WHERE id = $1 AND ended_at IS NULL FOR UPDATE",
    };
    if tx.row(sql, args![run]).await?.is_none() {
        return Ok(Delivered::No);
    }
    match insert(tx, now, run, message, None).await? {
        true => wake(tx, now, run).await,
        false => Ok(Delivered::ToExecuting),
    }
}

/// Inserts a message. Returns true if the run waits for messages.
async fn insert(
    tx: &mut Tx,
    now: Timestamp,
    run: RunId,
    message: &str,
    key: Option<&RunKey>,
) -> Result<bool, CallError> {
    let sql = "INSERT INTO run_inbox (run_id, n, space_id, message, sent_at, message_key, key_digest)
               VALUES ($1, (SELECT COALESCE(MAX(n), 0) + 1 FROM run_inbox WHERE run_id = $1),
                       (SELECT space_id FROM runs WHERE id = $1), $2, $3, $4, $5)";
    let (key, digest) = key.map(|key| (key.key.clone(), key.digest.clone())).unzip();
    tx.run(sql, args![run, message, now, key, digest]).await?;
    let sql = "DELETE FROM run_steps WHERE run_id = $1 AND wait_kind = 'inbox' AND state = 'waiting'";
    if tx.run(sql, args![run]).await? > 0 {
        return Ok(true);
    }
    // A wait without a timeout has no step.
    let sql = "SELECT 1 FROM runs WHERE id = $1 AND status = 'waiting' AND waiting_for = 'inbox'";
    Ok(tx.row(sql, args![run]).await?.is_some())
}

/// Checks that a repeated message is the same as the first one with its key.
fn is_same(row: &Row, key: &RunKey) -> Result<(), CallError> {
    if row.maybe_text(0)?.as_ref() == Some(&key.digest) {
        return Ok(());
    }
    Err(CallError::new(ErrorKind::Conflict, Message::new(&KEY_REUSED)))
}

impl RunJournal {
    /// Returns true if a message with this key was sent to the run before. Fails if that was another message.
    pub async fn was_sent(&self, space: SpaceId, run: RunId, key: &RunKey) -> Result<bool, CallError> {
        let rows = self.db().rows(BY_KEY, args![space, run, &key.key]).await?;
        rows.first().map_or(Ok(false), |row| is_same(row, key).map(|()| true))
    }

    pub(super) async fn messages(&self, run: RunId, after: u64) -> Result<Vec<(u64, Value)>, CallError> {
        let sql = "SELECT n, message FROM run_inbox WHERE run_id = $1 AND n > $2 ORDER BY n LIMIT $3";
        let rows = self.db().rows(sql, args![run, after, PAGE]).await?;
        let read = |row: &Row| {
            let message = serde_json::from_str(&row.text(1)?).map_err(failure::unreadable)?;
            Ok((row.number(0)?, message))
        };
        rows.iter().map(read).collect()
    }
}

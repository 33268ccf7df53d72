//! What is sent to a run while it goes on: kept in order, and heard when the run asks for it.

use std::time::Duration;

use haft_core::{BoxFuture, CallError, ErrorKind, Message, RunId, SpaceId};
use haft_runs::{Held, Lease, Letter, Place, RunKey, Sent, Wait};
use jiff::Timestamp;
use serde_json::Value;

use super::RunJournal;
use super::claim::steps_of;
use super::row::{NEVER, run, run_columns};
use super::start::KEY_REUSED;
use super::writer::{Batch, Write};
use crate::db::{Arg, Tx, args};
use crate::failure;
use crate::row::Row;

/// So much is read at once; the rest is heard the next time.
const PAGE: u64 = 100;

pub(super) struct Send {
    pub(super) letter: Letter,
    /// How long whoever holds it may be silent; nothing where that is no matter.
    pub(super) lease: Option<Duration>,
}

impl Write for Send {
    type Answer = Result<Sent, CallError>;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<Self::Answer, CallError>> {
        Box::pin(self.send(batch))
    }
}

const BY_KEY: &str =
    "SELECT key_digest FROM run_inbox WHERE space_id = $1 AND run_id = $2 AND letter_key = $3";

const TAKE: &str = concat!(
    "UPDATE runs SET status = 'running', epoch = epoch + 1, claimed_by = $2, due_at = $3, waiting_for = NULL,
         cancel_asked = 0,
         started_at = COALESCE(started_at, $4), changed_at = $4
     WHERE id = $1 AND status = 'waiting' RETURNING ",
    run_columns!()
);

impl Send {
    async fn send(&self, batch: &mut Batch) -> Result<Result<Sent, CallError>, CallError> {
        let Letter { space, run: id, message, key, place } = &self.letter;
        let sql = match &batch.tx {
            Tx::Sqlite(_) => "SELECT 1 FROM runs WHERE space_id = $1 AND id = $2 AND ended_at IS NULL",
            Tx::Postgres(_) => {
                "SELECT 1 FROM runs WHERE space_id = $1 AND id = $2 AND ended_at IS NULL FOR UPDATE"
            }
        };
        if batch.tx.row(sql, args![*space, *id]).await?.is_none() {
            return Ok(Ok(Sent::Ended));
        }
        if let Some(key) = key
            && let Some(row) = batch.tx.row(BY_KEY, args![*space, *id, &key.key]).await?
        {
            return Ok(is_same(&row, key).map(|()| Sent::Before));
        }
        let is_waited_for = keep(&mut batch.tx, batch.now, *id, &message.to_string(), key.as_ref()).await?;
        match place {
            Place::Here(worker) if is_waited_for => {
                let until = self.lease.map_or(NEVER, |lease| {
                    let lease = i64::try_from(lease.as_micros()).unwrap_or(NEVER);
                    batch.now.as_microsecond().saturating_add(lease)
                });
                let values = args![*id, worker.0.to_string(), Arg::Int(Some(until)), batch.now];
                let Some(row) = batch.tx.row(TAKE, values).await? else { return Ok(Ok(Sent::Told)) };
                let run = run(&row)?;
                let lease = Lease { run: run.id, epoch: run.epoch };
                let steps = steps_of(batch, run.id).await?;
                Ok(Ok(Sent::Held(Box::new(Held::authorized(run, lease, steps)))))
            }
            Place::Here(_) | Place::Queue => {
                batch.wakes |= wake(&mut batch.tx, batch.now, *id, is_waited_for).await?;
                Ok(Ok(Sent::Told))
            }
        }
    }
}

/// Puts something among what was sent to a run, which goes on if it waits for that; false when it has ended.
pub(super) async fn put(tx: &mut Tx, now: Timestamp, run: RunId, message: &str) -> Result<bool, CallError> {
    let sql = match tx {
        Tx::Sqlite(_) => "SELECT 1 FROM runs WHERE id = $1 AND ended_at IS NULL",
        Tx::Postgres(_) => "SELECT 1 FROM runs WHERE id = $1 AND ended_at IS NULL FOR UPDATE",
    };
    if tx.row(sql, args![run]).await?.is_none() {
        return Ok(false);
    }
    let is_waited_for = keep(tx, now, run, message, None).await?;
    wake(tx, now, run, is_waited_for).await?;
    Ok(true)
}

/// Whether the run waits for it.
async fn keep(
    tx: &mut Tx,
    now: Timestamp,
    run: RunId,
    message: &str,
    key: Option<&RunKey>,
) -> Result<bool, CallError> {
    let sql = "INSERT INTO run_inbox (run_id, n, space_id, message, sent_at, letter_key, key_digest)
               VALUES ($1, (SELECT COALESCE(MAX(n), 0) + 1 FROM run_inbox WHERE run_id = $1),
                       (SELECT space_id FROM runs WHERE id = $1), $2, $3, $4, $5)";
    let (key, digest) = key.map(|key| (key.key.clone(), key.digest.clone())).unzip();
    tx.run(sql, args![run, message, now, key, digest]).await?;
    let sql = "DELETE FROM run_steps WHERE run_id = $1 AND waits_for = 'inbox' AND state = 'waiting'";
    if tx.run(sql, args![run]).await? > 0 {
        return Ok(true);
    }
    // One that is at rest has no step for it.
    let sql = "SELECT 1 FROM runs WHERE id = $1 AND status = 'waiting' AND waiting_for = 'inbox'";
    Ok(tx.row(sql, args![run]).await?.is_some())
}

async fn wake(tx: &mut Tx, now: Timestamp, run: RunId, is_waited_for: bool) -> Result<bool, CallError> {
    let sql = "UPDATE runs SET status = 'queued', due_at = $2, waiting_for = NULL, changed_at = $2
               WHERE id = $1 AND status = 'waiting'";
    Ok(is_waited_for && tx.run(sql, args![run, now]).await? > 0)
}

/// The last letter that a run knows which is about to wait for more.
pub(super) fn known_letters(wait: &Wait) -> u64 {
    wait.shown.as_ref().and_then(|shown| shown["after"].as_u64()).unwrap_or_default()
}

/// What was sent with a key may be sent again, and nothing else with the same key.
fn is_same(row: &Row, key: &RunKey) -> Result<(), CallError> {
    if row.maybe_text(0)?.as_ref() == Some(&key.digest) {
        return Ok(());
    }
    Err(CallError::new(ErrorKind::Conflict, Message::new(&KEY_REUSED)))
}

impl RunJournal {
    /// Whether something was sent to a run with this key before; an error where that was something else.
    pub async fn was_sent(&self, space: SpaceId, run: RunId, key: &RunKey) -> Result<bool, CallError> {
        let rows = self.db().rows(BY_KEY, args![space, run, &key.key]).await?;
        rows.first().map_or(Ok(false), |row| is_same(row, key).map(|()| true))
    }

    pub(super) async fn sent(&self, run: RunId, after: u64) -> Result<Vec<(u64, Value)>, CallError> {
        let sql = "SELECT n, message FROM run_inbox WHERE run_id = $1 AND n > $2 ORDER BY n LIMIT $3";
        let rows = self.db().rows(sql, args![run, after, PAGE]).await?;
        let read = |row: &Row| {
            let message = serde_json::from_str(&row.text(1)?).map_err(failure::unreadable)?;
            Ok((row.number(0)?, message))
        };
        rows.iter().map(read).collect()
    }
}

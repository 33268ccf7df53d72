//! What is old goes, the oldest first: by age, and when the log has grown too large.

use std::time::Duration;

use haft_core::CallError;
use jiff::Timestamp;

use super::chain::CHAIN;
use super::{CallLog, partitions, rollup};
use crate::chain::{Place, read_link};
use crate::db::{Arg, Db, args};
use crate::failure;

/// So many rows go at once, so that calls are not kept from being written for long.
const BATCH: u64 = 500;

/// And so many batches at most before whoever asked has a turn.
const BATCHES: usize = 20;

/// No call begins so far in the future; a row that says so was written while the clock was wrong.
const ODD: Duration = Duration::from_secs(24 * 60 * 60);

/// How much of the log is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub age: Duration,
    pub bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { age: Duration::from_secs(30 * 24 * 60 * 60), bytes: 16 << 30 }
    }
}

/// What became of rows that shall go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pruned {
    /// There were none.
    Nothing,
    All,
    /// There are more.
    Part,
}

impl CallLog {
    /// Lets go of what is too old or too much, and makes room for days to come; true when there is more to let
    /// go. Call it every few minutes, and soon again while there is.
    pub async fn maintain(&self, keep: Retention) -> Result<bool, CallError> {
        let now = Timestamp::now();
        // No row goes that is not counted yet. Those that are may go whatever becomes of the others.
        let counted = self.roll_up_all().await;
        let oldest = now.saturating_sub(keep.age).unwrap_or(Timestamp::MIN);
        let pruned = match self.db() {
            Db::Sqlite(_) => self.prune(oldest, now, keep.bytes).await?,
            Db::Postgres(_) => {
                partitions::make_ahead(self.db(), now).await?;
                let has_pruned = partitions::prune(self.db(), oldest, now, keep.bytes).await?;
                if has_pruned { Pruned::All } else { Pruned::Nothing }
            }
        };
        self.forget_buckets(now).await?;
        if pruned == Pruned::All {
            self.forget_names().await?;
        }
        counted.map(|()| pruned == Pruned::Part)
    }

    async fn prune(&self, oldest: Timestamp, now: Timestamp, bytes: u64) -> Result<Pruned, CallError> {
        let latest = now.saturating_add(ODD).unwrap_or(Timestamp::MAX);
        for batch in 0..BATCHES {
            let is_too_large = self.size().await? > bytes;
            let goes = |at: Timestamp| is_too_large || at < oldest || at > latest;
            if !self.prune_batch(goes).await? {
                return Ok(if batch == 0 { Pruned::Nothing } else { Pruned::All });
            }
        }
        Ok(Pruned::Part)
    }

    /// Takes rows from the beginning of the chain for as long as they shall go; false when none did.
    async fn prune_batch(&self, goes: impl Fn(Timestamp) -> bool) -> Result<bool, CallError> {
        let mut tx = self.db().begin().await?;
        let rolled = rollup::rolled(&mut tx).await?;
        let sql = "SELECT seq, chain, started_at FROM tool_call_log WHERE seq <= $2 ORDER BY seq LIMIT $1";
        let mut last = None;
        for row in tx.rows(sql, vec![Arg::from(BATCH), Arg::Int(Some(rolled))]).await? {
            if !goes(row.time(2)?) {
                break;
            }
            last = Some(Place { seq: row.int(0)?, link: read_link(row.bytes(1)?)? });
        }
        let Some(last) = last else { return Ok(false) };
        for sql in [
            "DELETE FROM tool_call_words WHERE rowid <= $1",
            "DELETE FROM tool_call_bodies WHERE seq <= $1",
            "DELETE FROM tool_call_log WHERE seq <= $1",
        ] {
            tx.run(sql, vec![Arg::Int(Some(last.seq))]).await?;
        }
        CHAIN.move_anchor(&mut tx, last).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// The bytes in use; pages that are free again serve for what comes.
    async fn size(&self) -> Result<u64, CallError> {
        let row = self.db().row(
            "SELECT (p.page_count - f.freelist_count) * s.page_size
             FROM pragma_page_count p, pragma_freelist_count f, pragma_page_size s",
            args![],
        );
        row.await?.ok_or_else(|| failure::unreadable("no size"))?.number(0)
    }
}

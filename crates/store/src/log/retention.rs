//! Retention: deletes the oldest calls by age, and when the log exceeds its maximum size.

use std::time::Duration;

use haft_core::CallError;
use jiff::Timestamp;

use super::chain::CHAIN;
use super::{CallLog, partitions, rollup};
use crate::db::{Arg, Db, args};
use crate::failure;
use crate::hash_chain::{ChainPosition, read_link};

/// Maximum number of rows deleted per transaction, so that inserts are not blocked for long.
const BATCH_SIZE: u64 = 500;

/// Maximum number of batches per call.
const MAX_BATCHES: usize = 20;

/// Maximum plausible start time in the future. Rows beyond it were written with a wrong clock and are
/// deleted.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(24 * 60 * 60);

/// The limits of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRetention {
    pub age: Duration,
    pub bytes: u64,
}

impl Default for LogRetention {
    fn default() -> Self {
        Self { age: Duration::from_secs(30 * 24 * 60 * 60), bytes: 16 << 30 }
    }
}

/// The outcome of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pruned {
    /// There was nothing to delete.
    Nothing,
    All,
    /// More rows remain to be deleted.
    Part,
}

impl CallLog {
    /// Deletes expired rows and creates partitions for the coming days. Returns true if more rows remain to
    /// be deleted. Call it every few minutes, and again soon while it returns true.
    pub async fn maintain(&self, limits: LogRetention) -> Result<bool, CallError> {
        let now = Timestamp::now();
        // Rows that are not counted yet are never deleted. If counting fails, those counted before may still
        // be deleted.
        let roll_up = self.roll_up_all().await;
        let oldest = now.saturating_sub(limits.age).unwrap_or(Timestamp::MIN);
        let pruned = match self.db() {
            Db::Sqlite(_) => self.prune(oldest, now, limits.bytes).await?,
            Db::Postgres(_) => {
                partitions::make_ahead(self.db(), now).await?;
                let has_pruned = partitions::prune(self.db(), oldest, now, limits.bytes).await?;
                if has_pruned { Pruned::All } else { Pruned::Nothing }
            }
        };
        self.prune_buckets(now).await?;
        if pruned == Pruned::All {
            self.prune_names().await?;
        }
        roll_up.map(|()| pruned == Pruned::Part)
    }

    async fn prune(&self, oldest: Timestamp, now: Timestamp, bytes: u64) -> Result<Pruned, CallError> {
        let latest = now.saturating_add(MAX_CLOCK_SKEW).unwrap_or(Timestamp::MAX);
        for batch in 0..MAX_BATCHES {
            let is_too_large = self.size().await? > bytes;
            let is_expired = |at: Timestamp| is_too_large || at < oldest || at > latest;
            if !self.prune_batch(is_expired).await? {
                return Ok(if batch == 0 { Pruned::Nothing } else { Pruned::All });
            }
        }
        Ok(Pruned::Part)
    }

    /// Deletes one batch from the start of the chain. Returns false if no row was deleted.
    async fn prune_batch(&self, is_expired: impl Fn(Timestamp) -> bool) -> Result<bool, CallError> {
        let mut tx = self.db().begin().await?;
        let rolled_up = rollup::rolled_up_to(&mut tx).await?;
        let sql = "SELECT seq, chain, started_at FROM tool_call_log WHERE seq <= $2 ORDER BY seq LIMIT $1";
        let mut last = None;
        for row in tx.rows(sql, vec![Arg::from(BATCH_SIZE), Arg::Int(Some(rolled_up))]).await? {
            if !is_expired(row.time(2)?) {
                break;
            }
            last = Some(ChainPosition { seq: row.int(0)?, link: read_link(row.bytes(1)?)? });
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

    /// Returns the bytes in use, without free pages, which are reused.
    async fn size(&self) -> Result<u64, CallError> {
        let row = self.db().row(
            "SELECT (p.page_count - f.freelist_count) * s.page_size
             FROM pragma_page_count p, pragma_freelist_count f, pragma_page_size s",
            args![],
        );
        row.await?.ok_or_else(|| failure::unreadable("no size"))?.number(0)
    }
}

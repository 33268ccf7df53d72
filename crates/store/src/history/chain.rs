//! The hash chain over history entries: hashed fields, verification, and deletion of old entries.

use haft_core::CallError;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use super::COLUMNS;
use crate::Store;
use crate::db::{Arg, args};
use crate::failure;
use crate::hash_chain::{Chain, ChainFault, ChainPosition, ChainWalk, Hasher, Link, Verification, read_link};
use crate::row::Row;

pub(super) const CHAIN: Chain = Chain::in_table("history_chain");

/// Maximum number of rows that are read or deleted at once.
const BATCH_SIZE: u64 = 500;

/// Maximum number of batches that are deleted per call.
const MAX_BATCHES: usize = 10;

/// Maximum number of entries, regardless of their age.
const MAX_ENTRIES: i64 = 1_000_000;

/// Column of the link, after [`COLUMNS`].
const LINK: usize = 10;

/// A history row as stored.
pub(super) struct HistoryRow {
    pub(super) space: String,
    pub(super) at: i64,
    pub(super) user: Option<String>,
    pub(super) what: String,
    pub(super) action: String,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) version: Option<i64>,
    pub(super) details: String,
}

impl HistoryRow {
    fn read(row: &Row) -> Result<Self, CallError> {
        Ok(Self {
            space: row.text(1)?,
            at: row.int(2)?,
            user: row.maybe_text(3)?,
            what: row.text(4)?,
            action: row.text(5)?,
            id: row.text(6)?,
            name: row.text(7)?,
            version: row.maybe_int(8)?,
            details: row.text(9)?,
        })
    }

    /// Computes the link of this row.
    pub(super) fn link(&self, before: &Link, seq: i64) -> Link {
        let mut hash = Hasher::new("haft change 1", before, seq);
        hash.text(&self.space);
        hash.int(self.at);
        hash.maybe(self.user.as_deref());
        hash.text(&self.what);
        hash.text(&self.action);
        hash.text(&self.id);
        hash.text(&self.name);
        hash.maybe(self.version.map(|version| version.to_string()).as_deref());
        hash.text(&self.details);
        hash.link()
    }

    pub(super) fn args(self, at: ChainPosition) -> Vec<Arg> {
        vec![
            Arg::Int(Some(at.seq)),
            Arg::from(self.space),
            Arg::Int(Some(self.at)),
            Arg::from(self.user),
            Arg::from(self.what),
            Arg::from(self.action),
            Arg::from(self.id),
            Arg::from(self.name),
            Arg::Int(self.version),
            Arg::from(self.details),
            Arg::from(at.link.to_vec()),
        ]
    }
}

impl Store {
    /// Verifies the history chain of all spaces. Entries may be appended concurrently.
    pub async fn verify_history(&self) -> Result<Verification, CallError> {
        loop {
            let (anchor, _) = CHAIN.bounds(self.db()).await?;
            let mut walk = ChainWalk::starting_at(anchor);
            let before = self.count_history_before(anchor).await?;
            // Entries are deleted one by one, so none may remain before the anchor.
            let fault = match before {
                0 => self.walk_history(&mut walk).await?,
                _ => Some(ChainFault::unexpected_row(anchor.seq)),
            };
            // Entries that retention deleted during the walk are not missing.
            if fault.is_none() || CHAIN.bounds(self.db()).await?.0 == anchor {
                return Ok(walk.verification(before, fault));
            }
        }
    }

    /// Deletes entries before an instant and those above the maximum number. Each call deletes at most a few
    /// thousand; call again until it returns 0.
    pub async fn prune_history(&self, before: Timestamp) -> Result<u64, CallError> {
        let mut total = 0;
        for _ in 0..MAX_BATCHES {
            let deleted = self.prune_history_batch(before).await?;
            total += deleted;
            if deleted < BATCH_SIZE {
                break;
            }
        }
        Ok(total)
    }

    async fn walk_history(&self, walk: &mut ChainWalk) -> Result<Option<ChainFault>, CallError> {
        let sql = format!("SELECT {COLUMNS}, h.chain FROM history h WHERE seq > $1 ORDER BY seq LIMIT $2");
        loop {
            let args = vec![Arg::Int(Some(walk.last().seq)), Arg::from(BATCH_SIZE)];
            let rows = self.db().rows(AssertSqlSafe(sql.clone()), args).await?;
            if rows.is_empty() {
                match walk.has_reached(CHAIN.bounds(self.db()).await?.1) {
                    Ok(true) => return Ok(None),
                    Ok(false) => {}
                    Err(fault) => return Ok(Some(fault)),
                }
            }
            for row in rows {
                let last = walk.last();
                // SQLite accepts any type in an integer column, and orders it after all numbers.
                let Ok(seq) = row.int(0) else { return Ok(Some(ChainFault::unexpected_row(last.seq + 1))) };
                if let Err(fault) = walk.check_row(seq, row.text(6).ok(), verified_link(&row, seq, last)) {
                    return Ok(Some(fault));
                }
            }
        }
    }

    async fn count_history_before(&self, anchor: ChainPosition) -> Result<u64, CallError> {
        let sql = "SELECT COUNT(*) FROM history WHERE seq <= $1";
        let row = self.db().row(sql, vec![Arg::Int(Some(anchor.seq))]).await?;
        row.ok_or_else(|| failure::unreadable("no count"))?.number(0)
    }

    /// Deletes one batch from the start of the chain: old entries and those above the maximum.
    async fn prune_history_batch(&self, before: Timestamp) -> Result<u64, CallError> {
        let mut tx = self.db().begin().await?;
        let first_retained = CHAIN.lock_head(&mut tx).await?.seq - MAX_ENTRIES + 1;
        let mut last = None;
        for row in
            tx.rows("SELECT seq, chain, at FROM history ORDER BY seq LIMIT $1", args![BATCH_SIZE]).await?
        {
            let seq = row.int(0)?;
            if seq >= first_retained && row.time(2)? >= before {
                break;
            }
            last = Some(ChainPosition { seq, link: read_link(row.bytes(1)?)? });
        }
        let Some(last) = last else { return Ok(0) };
        CHAIN.move_anchor(&mut tx, last).await?;
        let deleted = tx.run("DELETE FROM history WHERE seq <= $1", vec![Arg::Int(Some(last.seq))]).await?;
        tx.commit().await?;
        Ok(deleted)
    }
}

/// Returns the link of a row. Returns `None` if it does not match the row.
fn verified_link(row: &Row, seq: i64, last: ChainPosition) -> Option<Link> {
    let stored = HistoryRow::read(row).ok()?;
    let written = read_link(row.bytes(LINK).ok()?).ok()?;
    (stored.link(&last.link, seq) == written).then_some(written)
}

//! The chain over entries: what is hashed of each, the walk along all of them, and what is old going from its
//! beginning.

use haft_core::CallError;
use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use super::COLUMNS;
use crate::Store;
use crate::chain::{Chain, ChainFault, Hasher, Link, Place, Verification, Walk, read_link};
use crate::db::{Arg, args};
use crate::failure;
use crate::row::Row;

pub(super) const CHAIN: Chain = Chain::in_table("history_chain");

/// So many rows are read or taken away at once.
const STEP: u64 = 500;

/// And so many batches go at most before somebody else has a turn.
const BATCHES: usize = 10;

/// So many entries stay at most, however young they are.
const MOST: i64 = 1_000_000;

/// Where the link of a row stands behind [`COLUMNS`].
const LINK: usize = 10;

/// A row as it stands in the table, word for word.
pub(super) struct Stored {
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

impl Stored {
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

    /// The next link.
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

    pub(super) fn args(self, at: Place) -> Vec<Arg> {
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
    /// Walks through the chain of all changes, of every space, to its end. Others may be made meanwhile.
    pub async fn verify_history(&self) -> Result<Verification, CallError> {
        loop {
            let (anchor, _) = CHAIN.ends(self.db()).await?;
            let mut walk = Walk::after(anchor);
            let before = self.count_history_before(anchor).await?;
            // Entries go one by one, so none is left before the beginning.
            let fault = match before {
                0 => self.walk_history(&mut walk).await?,
                _ => Some(ChainFault::added(anchor.seq)),
            };
            // What went by rule while we looked is not missing.
            if fault.is_none() || CHAIN.ends(self.db()).await?.0 == anchor {
                return Ok(walk.found(before, fault));
            }
        }
    }

    /// Lets go of what was done before an instant, and of what is more than may be kept. It stops after some
    /// thousands, and says how many entries went; ask again until none does.
    pub async fn forget_history(&self, before: Timestamp) -> Result<u64, CallError> {
        let mut gone = 0;
        for _ in 0..BATCHES {
            let some = self.forget_some_history(before).await?;
            gone += some;
            if some < STEP {
                break;
            }
        }
        Ok(gone)
    }

    async fn walk_history(&self, walk: &mut Walk) -> Result<Option<ChainFault>, CallError> {
        let sql = format!("SELECT {COLUMNS}, h.chain FROM history h WHERE seq > $1 ORDER BY seq LIMIT $2");
        loop {
            let args = vec![Arg::Int(Some(walk.last().seq)), Arg::from(STEP)];
            let rows = self.db().rows(AssertSqlSafe(sql.clone()), args).await?;
            if rows.is_empty() {
                match walk.is_at(CHAIN.ends(self.db()).await?.1) {
                    Ok(true) => return Ok(None),
                    Ok(false) => {}
                    Err(fault) => return Ok(Some(fault)),
                }
            }
            for row in rows {
                let last = walk.last();
                // SQLite takes anything for a number, and puts it behind all that are.
                let Ok(seq) = row.int(0) else { return Ok(Some(ChainFault::added(last.seq + 1))) };
                if let Err(fault) = walk.take(seq, row.text(6).ok(), next(&row, seq, last)) {
                    return Ok(Some(fault));
                }
            }
        }
    }

    async fn count_history_before(&self, anchor: Place) -> Result<u64, CallError> {
        let sql = "SELECT COUNT(*) FROM history WHERE seq <= $1";
        let row = self.db().row(sql, vec![Arg::Int(Some(anchor.seq))]).await?;
        row.ok_or_else(|| failure::unreadable("no count"))?.number(0)
    }

    /// Takes entries from the beginning of the chain for as long as they are old, or too many.
    async fn forget_some_history(&self, before: Timestamp) -> Result<u64, CallError> {
        let mut tx = self.db().begin().await?;
        let first_kept = CHAIN.hold(&mut tx).await?.seq - MOST + 1;
        let mut last = None;
        for row in tx.rows("SELECT seq, chain, at FROM history ORDER BY seq LIMIT $1", args![STEP]).await? {
            let seq = row.int(0)?;
            if seq >= first_kept && row.time(2)? >= before {
                break;
            }
            last = Some(Place { seq, link: read_link(row.bytes(1)?)? });
        }
        let Some(last) = last else { return Ok(0) };
        CHAIN.move_anchor(&mut tx, last).await?;
        let gone = tx.run("DELETE FROM history WHERE seq <= $1", vec![Arg::Int(Some(last.seq))]).await?;
        tx.commit().await?;
        Ok(gone)
    }
}

/// The link of a row that is as it was written.
fn next(row: &Row, seq: i64, last: Place) -> Option<Link> {
    let stored = Stored::read(row).ok()?;
    let written = read_link(row.bytes(LINK).ok()?).ok()?;
    (stored.link(&last.link, seq) == written).then_some(written)
}

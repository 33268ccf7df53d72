//! Hash chains over table rows. Each row stores a hash of itself and of the previous row, so that changing,
//! deleting or inserting a row breaks the chain. The head is stored in a separate table and moves with every
//! write.
//!
//! The callers decide which values are hashed. An attacker with write access to the database can still forge
//! a complete chain; record the head elsewhere to detect that.

use haft_core::CallError;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use sqlx::AssertSqlSafe;

use crate::db::{Arg, Db, Tx, args};
use crate::failure;

/// SHA-256 over the previous link and the row.
pub(crate) type Link = [u8; 32];

/// A sequence number in a chain, and the link of that row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChainPosition {
    pub(crate) seq: i64,
    pub(crate) link: Link,
}

/// The result of verifying a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// Number of rows that are unchanged.
    pub checked: u64,
    /// Number of rows before the current start of the chain, which can no longer be verified. Zero, except
    /// for the call log on PostgreSQL, where whole days are dropped.
    pub unchecked: u64,
    /// The last valid link, in hexadecimal.
    pub head: String,
    /// The first fault. `None` if the chain is intact.
    pub fault: Option<ChainFault>,
}

/// The first row at which a chain breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChainFault {
    /// The sequence number of the row, counted from 1.
    pub place: u64,
    /// The id stored in that row, if the row exists: of a call, or of a changed object.
    pub id: Option<String>,
    pub fault: Fault,
}

/// The kind of damage to a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Fault {
    /// The row was modified.
    Changed,
    /// The row was deleted.
    Missing,
    /// The row was inserted.
    Added,
}

impl ChainFault {
    /// The fault for a row that has no place in the chain.
    pub(crate) fn unexpected_row(seq: i64) -> Self {
        Self { place: row_number(seq), id: None, fault: Fault::Added }
    }
}

/// A chain, identified by the one-row table that stores its head and its anchor.
#[derive(Clone, Copy)]
pub(crate) struct Chain {
    table: &'static str,
}

impl Chain {
    pub(crate) const fn in_table(table: &'static str) -> Self {
        Self { table }
    }

    /// Returns the head and locks it: no other transaction can append until this one ends.
    pub(crate) async fn lock_head(self, tx: &mut Tx) -> Result<ChainPosition, CallError> {
        let sql = format!("UPDATE {} SET seq = seq WHERE id = 1 RETURNING seq, chain", self.table);
        let row = tx.row(AssertSqlSafe(sql), args![]).await?;
        let row = row.ok_or_else(|| failure::unreadable("no chain"))?;
        Ok(ChainPosition { seq: row.int(0)?, link: read_link(row.bytes(1)?)? })
    }

    /// Stores the new head after rows were appended.
    pub(crate) async fn set_head(self, tx: &mut Tx, last: ChainPosition) -> Result<(), CallError> {
        let sql = format!("UPDATE {} SET seq = $1, chain = $2 WHERE id = 1", self.table);
        tx.run(AssertSqlSafe(sql), position_args(last)).await.map(drop)
    }

    /// Moves the start of the chain behind `to`, after older rows were deleted by retention.
    pub(crate) async fn move_anchor(self, tx: &mut Tx, to: ChainPosition) -> Result<(), CallError> {
        let sql = format!(
            "UPDATE {} SET anchor_seq = $1, anchor_chain = $2 WHERE id = 1 AND anchor_seq < $1",
            self.table
        );
        tx.run(AssertSqlSafe(sql), position_args(to)).await.map(drop)
    }

    /// Returns the anchor (the start) and the head of the chain.
    pub(crate) async fn bounds(self, db: &Db) -> Result<(ChainPosition, ChainPosition), CallError> {
        let sql = format!("SELECT anchor_seq, anchor_chain, seq, chain FROM {} WHERE id = 1", self.table);
        let row = db.row(AssertSqlSafe(sql), args![]).await?;
        let row = row.ok_or_else(|| failure::unreadable("no chain"))?;
        let position = |at| {
            Ok::<_, CallError>(ChainPosition { seq: row.int(at)?, link: read_link(row.bytes(at + 1)?)? })
        };
        Ok((position(0)?, position(2)?))
    }
}

fn position_args(position: ChainPosition) -> Vec<Arg> {
    vec![Arg::Int(Some(position.seq)), Arg::from(position.link.to_vec())]
}

/// Reads a stored link. It may be empty if the chain has no rows yet.
pub(crate) fn read_link(bytes: Vec<u8>) -> Result<Link, CallError> {
    if bytes.is_empty() {
        return Ok(Link::default());
    }
    Link::try_from(bytes).map_err(|_| failure::unreadable("a link of the chain"))
}

/// Encodes the values of a row unambiguously: different lists of values never give the same bytes.
pub(crate) struct Hasher(Vec<u8>);

impl Hasher {
    /// Starts with the row type, the previous link and the sequence number.
    pub(crate) fn new(rows: &'static str, before: &Link, seq: i64) -> Self {
        let mut hasher = Self(Vec::with_capacity(1024));
        hasher.text(rows);
        hasher.bytes(before);
        hasher.int(seq);
        hasher
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn maybe(&mut self, text: Option<&str>) {
        self.maybe_bytes(text.map(str::as_bytes));
    }

    pub(crate) fn maybe_bytes(&mut self, bytes: Option<&[u8]>) {
        self.0.push(u8::from(bytes.is_some()));
        self.bytes(bytes.unwrap_or_default());
    }

    pub(crate) fn int(&mut self, number: i64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn link(self) -> Link {
        Sha256::digest(self.0).into()
    }
}

/// Verifies a chain row by row.
pub(crate) struct ChainWalk {
    last: ChainPosition,
    checked: u64,
    /// The head that was read when the rows last ran out.
    end: Option<ChainPosition>,
}

impl ChainWalk {
    /// Starts after a position.
    pub(crate) fn starting_at(anchor: ChainPosition) -> Self {
        Self { last: anchor, checked: 0, end: None }
    }

    /// Returns the last row that was verified.
    pub(crate) fn last(&self) -> ChainPosition {
        self.last
    }

    /// Verifies the next row. `link` is `None` if the stored link does not match the row.
    pub(crate) fn check_row(
        &mut self,
        seq: i64,
        id: Option<String>,
        link: Option<Link>,
    ) -> Result<(), ChainFault> {
        let fault = |seq, fault| ChainFault { place: row_number(seq), id, fault };
        if seq <= self.last.seq {
            return Err(fault(seq, Fault::Added));
        }
        if seq > self.last.seq + 1 {
            return Err(fault(self.last.seq + 1, Fault::Missing));
        }
        let Some(link) = link else { return Err(fault(seq, Fault::Changed)) };
        self.last = ChainPosition { seq, link };
        self.checked += 1;
        Ok(())
    }

    /// Called when no rows are left. Returns true if the walk has reached the head. Returns false if rows may
    /// have been appended since; read again.
    pub(crate) fn has_reached(&mut self, end: ChainPosition) -> Result<bool, ChainFault> {
        if end == self.last {
            return Ok(true);
        }
        let fault = |seq, fault| ChainFault { place: row_number(seq), id: None, fault };
        if end.seq <= self.last.seq {
            return Err(fault(self.last.seq, Fault::Added));
        }
        // Rows that are still absent on the second attempt are missing.
        if self.end.replace(end) == Some(end) {
            return Err(fault(self.last.seq + 1, Fault::Missing));
        }
        Ok(false)
    }

    /// Returns the result of the walk.
    pub(crate) fn verification(&self, unchecked: u64, fault: Option<ChainFault>) -> Verification {
        let head = self.last.link.iter().map(|byte| format!("{byte:02x}")).collect();
        Verification { checked: self.checked, unchecked, head, fault }
    }
}

fn row_number(seq: i64) -> u64 {
    u64::try_from(seq).unwrap_or(0)
}

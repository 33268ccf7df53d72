//! Chains over rows: each row holds the hash of the one before and of itself, so that a row that was changed,
//! taken out or put in breaks the chain. The last link stands apart, and moves with every write.
//!
//! What a row holds is known where it is written, and never here. Who can write to the database can also
//! write a whole new chain; note the head elsewhere to show that.

use haft_core::CallError;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use sqlx::AssertSqlSafe;

use crate::db::{Arg, Db, Tx, args};
use crate::failure;

/// SHA-256 of the link before and of a row.
pub(crate) type Link = [u8; 32];

/// A place in a chain, and the link there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) seq: i64,
    pub(crate) link: Link,
}

/// What was found out about a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// So many rows are as they were written.
    pub checked: u64,
    /// So many stand before the place where the chain begins now, and cannot be checked any more. A few of
    /// the call log on PostgreSQL, where a day goes as a whole; elsewhere none.
    pub unchecked: u64,
    /// The last good link, in hexadecimal.
    pub head: String,
    /// Where the chain breaks, if it does.
    pub fault: Option<ChainFault>,
}

/// The first row at which a chain breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChainFault {
    /// The place in the chain, counted from 1.
    pub place: u64,
    /// What the row at that place says it is, where there is one: the id of a call, or of what was changed.
    pub id: Option<String>,
    pub fault: Fault,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Fault {
    /// The row is not as it was written.
    Changed,
    /// There is no row where one was.
    Missing,
    /// There is a row where none was.
    Added,
}

impl ChainFault {
    /// A row that stands where none was, and is not known by anything.
    pub(crate) fn added(seq: i64) -> Self {
        Self { place: counted(seq), id: None, fault: Fault::Added }
    }
}

/// A chain, by the table of one row that holds its ends.
#[derive(Clone, Copy)]
pub(crate) struct Chain {
    table: &'static str,
}

impl Chain {
    pub(crate) const fn in_table(table: &'static str) -> Self {
        Self { table }
    }

    /// The last place of the chain. Nobody else writes to it until the transaction ends.
    pub(crate) async fn hold(self, tx: &mut Tx) -> Result<Place, CallError> {
        let sql = format!("UPDATE {} SET seq = seq WHERE id = 1 RETURNING seq, chain", self.table);
        let row = tx.row(AssertSqlSafe(sql), args![]).await?;
        let row = row.ok_or_else(|| failure::unreadable("no chain"))?;
        Ok(Place { seq: row.int(0)?, link: read_link(row.bytes(1)?)? })
    }

    /// Notes where the chain ends after rows were written.
    pub(crate) async fn end(self, tx: &mut Tx, last: Place) -> Result<(), CallError> {
        let sql = format!("UPDATE {} SET seq = $1, chain = $2 WHERE id = 1", self.table);
        tx.run(AssertSqlSafe(sql), place_args(last)).await.map(drop)
    }

    /// Says that rows up to a place are gone by rule, so that the chain begins after it.
    pub(crate) async fn move_anchor(self, tx: &mut Tx, to: Place) -> Result<(), CallError> {
        let sql = format!(
            "UPDATE {} SET anchor_seq = $1, anchor_chain = $2 WHERE id = 1 AND anchor_seq < $1",
            self.table
        );
        tx.run(AssertSqlSafe(sql), place_args(to)).await.map(drop)
    }

    /// Where the chain begins and where it ends.
    pub(crate) async fn ends(self, db: &Db) -> Result<(Place, Place), CallError> {
        let sql = format!("SELECT anchor_seq, anchor_chain, seq, chain FROM {} WHERE id = 1", self.table);
        let row = db.row(AssertSqlSafe(sql), args![]).await?;
        let row = row.ok_or_else(|| failure::unreadable("no chain"))?;
        let place =
            |at| Ok::<_, CallError>(Place { seq: row.int(at)?, link: read_link(row.bytes(at + 1)?)? });
        Ok((place(0)?, place(2)?))
    }
}

fn place_args(place: Place) -> Vec<Arg> {
    vec![Arg::Int(Some(place.seq)), Arg::from(place.link.to_vec())]
}

/// A link as it is stored. Where a chain has no row yet there may be none.
pub(crate) fn read_link(bytes: Vec<u8>) -> Result<Link, CallError> {
    if bytes.is_empty() {
        return Ok(Link::default());
    }
    Link::try_from(bytes).map_err(|_| failure::unreadable("a link of the chain"))
}

/// Takes in the values of a row so that no two lists of them are the same bytes.
pub(crate) struct Hasher(Vec<u8>);

impl Hasher {
    /// Begins with what the rows of the chain are, the link before, and the place of the row.
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

/// A walk along a chain, row after row.
pub(crate) struct Walk {
    last: Place,
    checked: u64,
    /// Where the chain was said to end when no row was left the last time.
    end: Option<Place>,
}

impl Walk {
    /// Begins after a place.
    pub(crate) fn after(anchor: Place) -> Self {
        Self { last: anchor, checked: 0, end: None }
    }

    /// The last row that is as it was written.
    pub(crate) fn last(&self) -> Place {
        self.last
    }

    /// Takes the next row: its place, what it says it is, and its link when it is as it was written.
    pub(crate) fn take(
        &mut self,
        seq: i64,
        id: Option<String>,
        link: Option<Link>,
    ) -> Result<(), ChainFault> {
        let fault = |place, fault| ChainFault { place: counted(place), id, fault };
        if seq <= self.last.seq {
            return Err(fault(seq, Fault::Added));
        }
        if seq > self.last.seq + 1 {
            return Err(fault(self.last.seq + 1, Fault::Missing));
        }
        let Some(link) = link else { return Err(fault(seq, Fault::Changed)) };
        self.last = Place { seq, link };
        self.checked += 1;
        Ok(())
    }

    /// No row is left: whether that is where the chain ends. When not, more may have come since; look again.
    pub(crate) fn is_at(&mut self, end: Place) -> Result<bool, ChainFault> {
        if end == self.last {
            return Ok(true);
        }
        let fault = |place, fault| ChainFault { place: counted(place), id: None, fault };
        if end.seq <= self.last.seq {
            return Err(fault(self.last.seq, Fault::Added));
        }
        // What is still not there after another look is missing.
        if self.end.replace(end) == Some(end) {
            return Err(fault(self.last.seq + 1, Fault::Missing));
        }
        Ok(false)
    }

    /// What the walk has shown.
    pub(crate) fn found(&self, unchecked: u64, fault: Option<ChainFault>) -> Verification {
        let head = self.last.link.iter().map(|byte| format!("{byte:02x}")).collect();
        Verification { checked: self.checked, unchecked, head, fault }
    }
}

fn counted(place: i64) -> u64 {
    u64::try_from(place).unwrap_or(0)
}

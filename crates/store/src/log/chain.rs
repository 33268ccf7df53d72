//! The chain over rows: each holds the hash of the one before and of itself, so that a row that was changed,
//! taken out or put in breaks it. The last link stands apart, and moves with every batch.
//!
//! Who can write to the database can also write a whole new chain; note the head elsewhere to show that.

use haft_core::CallError;
use sha2::{Digest as _, Sha256};
use sqlx::AssertSqlSafe;

use super::CallLog;
use super::call::{CALL_ID, CHAIN, LoggedCall, SEQ, STATUS, columns, logged_call, source};
use crate::db::{Arg, Db, Tx, args};
use crate::failure;
use crate::row::Row;

/// SHA-256 of the link before and of a row.
pub(super) type Link = [u8; 32];

/// So many rows are read at once.
const STEP: u64 = 500;

/// What was found out about the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// So many calls are as they were written.
    pub calls: u64,
    /// So many stand before the place where the chain begins now, and cannot be checked any more. On
    /// PostgreSQL a few, where a day went as a whole; on SQLite none.
    pub unchecked: u64,
    /// The last good link, in hexadecimal.
    pub head: String,
    /// Where the chain breaks, if it does.
    pub fault: Option<ChainFault>,
}

/// The first row at which the chain breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainFault {
    /// The place in the chain, counted from 1.
    pub place: u64,
    /// What the row at that place says it is, where there is one.
    pub call_id: Option<String>,
    pub fault: Fault,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The row is not as it was written.
    Changed,
    /// There is no row where one was.
    Missing,
    /// There is a row where none was.
    Added,
}

/// A place in the chain, and the link there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) seq: i64,
    pub(super) link: Link,
}

/// The next link.
pub(super) fn link(before: &Link, seq: i64, call: &LoggedCall) -> Link {
    let LoggedCall { row, bodies } = call;
    let mut hash = Hasher(Sha256::new());
    hash.bytes(b"haft call 1");
    hash.bytes(before);
    hash.int(seq);
    hash.bytes(row.id.as_bytes());
    hash.text(&row.space.to_string());
    hash.text(row.call_id.as_str());
    hash.maybe(row.tool.as_ref().map(|(id, _)| id.to_string()).as_deref());
    hash.int(row.tool.as_ref().map_or(0, |(_, version)| i64::try_from(*version).unwrap_or(i64::MAX)));
    hash.text(&row.tool_name);
    hash.maybe(row.agent.map(|id| id.to_string()).as_deref());
    hash.maybe(row.conversation.map(|id| id.to_string()).as_deref());
    hash.maybe(row.user.map(|id| id.to_string()).as_deref());
    hash.text(source(row.source));
    hash.maybe(row.error.as_ref().map(|error| error.kind.to_string()).as_deref());
    hash.maybe(row.error.as_ref().map(|error| error.message.as_str()));
    hash.maybe(row.error.as_ref().map(|error| error.details.as_str()));
    hash.int(i64::from(row.attempts));
    hash.int(i64::from(row.cached));
    hash.text(&row.coerced);
    hash.text(&row.warnings);
    hash.int(row.micros());
    hash.int(row.started_at.as_microsecond());
    hash.maybe(row.replay_of.as_ref().map(|id| id.as_str()));
    hash.int(i64::from(row.arguments_cut));
    hash.int(i64::from(row.result_cut));
    hash.int(i64::from(row.replayable));
    hash.text(&bodies.arguments);
    hash.maybe(bodies.result.as_deref());
    hash.0.finalize().into()
}

/// Takes in values so that no two lists of them are the same bytes.
struct Hasher(Sha256);

impl Hasher {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn maybe(&mut self, text: Option<&str>) {
        self.0.update([u8::from(text.is_some())]);
        self.text(text.unwrap_or_default());
    }

    fn int(&mut self, number: i64) {
        self.0.update(number.to_le_bytes());
    }
}

/// Makes room for so many rows at the end of the chain. Nobody else writes until the transaction ends.
pub(super) async fn extend(tx: &mut Tx, rows: usize) -> Result<Place, CallError> {
    let rows = i64::try_from(rows).unwrap_or(i64::MAX);
    let moved = tx.row(
        "UPDATE tool_call_chain SET seq = seq + $1 WHERE id = 1 RETURNING seq, chain",
        vec![Arg::Int(Some(rows))],
    );
    let row = moved.await?.ok_or_else(|| failure::unreadable("no chain"))?;
    Ok(Place { seq: row.int(0)? - rows, link: read_link(row.bytes(1)?)? })
}

/// Notes the last link of the rows that were written.
pub(super) async fn end(tx: &mut Tx, link: &Link) -> Result<(), CallError> {
    tx.run("UPDATE tool_call_chain SET chain = $1 WHERE id = 1", args![link.to_vec()]).await.map(drop)
}

/// Says that rows up to a place are gone by rule, so that the chain begins after it.
pub(super) async fn move_anchor(tx: &mut Tx, to: Place) -> Result<(), CallError> {
    let moved = tx.run(
        "UPDATE tool_call_chain SET anchor_seq = $1, anchor_chain = $2 WHERE id = 1 AND anchor_seq < $1",
        vec![Arg::Int(Some(to.seq)), Arg::from(to.link.to_vec())],
    );
    moved.await.map(drop)
}

pub(super) fn read_link(bytes: Vec<u8>) -> Result<Link, CallError> {
    Link::try_from(bytes).map_err(|_| failure::unreadable("a link of the chain"))
}

impl CallLog {
    /// Walks through the chain to its end. Calls may be written and old ones may go meanwhile.
    pub async fn verify(&self) -> Result<Verification, CallError> {
        loop {
            let (anchor, _) = self.ends().await?;
            let verification = self.walk(anchor).await?;
            // What went by rule while we looked is not missing.
            if verification.fault.is_none() || self.ends().await?.0 == anchor {
                return Ok(verification);
            }
        }
    }

    async fn walk(&self, anchor: Place) -> Result<Verification, CallError> {
        let mut last = anchor;
        let mut last_id = vec![u8::MAX; 16];
        let mut calls = 0;
        let unchecked = self.count_before(anchor).await?;
        let found = |last: Place, calls, fault| {
            let head = last.link.iter().map(|byte| format!("{byte:02x}")).collect();
            Ok(Verification { calls, unchecked, head, fault })
        };
        if let Db::Sqlite(_) = self.db()
            && unchecked > 0
        {
            let place = counted(anchor.seq);
            return found(last, calls, Some(ChainFault { place, call_id: None, fault: Fault::Added }));
        }
        let mut head = None;
        loop {
            let rows = self.after(last.seq, last_id.clone()).await?;
            if rows.is_empty() {
                let (_, now) = self.ends().await?;
                if now == last {
                    return found(last, calls, None);
                }
                // More may have come since the rows were read; what is still not there then is missing.
                if head.replace(now) == Some(now) || now.seq <= last.seq {
                    let fault = if now.seq > last.seq { Fault::Missing } else { Fault::Added };
                    let place = if now.seq > last.seq { last.seq + 1 } else { last.seq };
                    return found(
                        last,
                        calls,
                        Some(ChainFault { place: counted(place), call_id: None, fault }),
                    );
                }
            }
            for row in rows {
                let seq = row.int(SEQ)?;
                let call_id = row.text(CALL_ID).ok();
                let fault = |place, fault| Some(ChainFault { place: counted(place), call_id, fault });
                if seq <= last.seq {
                    return found(last, calls, fault(seq, Fault::Added));
                }
                if seq > last.seq + 1 {
                    return found(last, calls, fault(last.seq + 1, Fault::Missing));
                }
                match next(&row, last) {
                    Some((link, id)) => (last, last_id) = (Place { seq, link }, id),
                    None => return found(last, calls, fault(seq, Fault::Changed)),
                }
                calls += 1;
            }
        }
    }

    /// The rows after a place. Two at the same place are told apart by their ids.
    async fn after(&self, seq: i64, id: Vec<u8>) -> Result<Vec<Row>, CallError> {
        let sql = format!(
            "SELECT {}, b.arguments, b.result
             FROM (SELECT * FROM tool_call_log WHERE seq >= $1 AND (seq > $1 OR id > $2)
                   ORDER BY seq, id LIMIT $3) l
             LEFT JOIN tool_call_bodies b ON b.seq = l.seq AND b.id = l.id ORDER BY l.seq, l.id",
            columns()
        );
        let args = vec![Arg::Int(Some(seq)), Arg::from(id), Arg::from(STEP)];
        self.db().rows(AssertSqlSafe(sql), args).await
    }

    async fn count_before(&self, anchor: Place) -> Result<u64, CallError> {
        let sql = "SELECT COUNT(*) FROM tool_call_log WHERE seq <= $1";
        let row = self.db().row(sql, vec![Arg::Int(Some(anchor.seq))]).await?;
        row.ok_or_else(|| failure::unreadable("no count"))?.number(0)
    }

    /// Where the chain begins and where it ends.
    async fn ends(&self) -> Result<(Place, Place), CallError> {
        let sql = "SELECT anchor_seq, anchor_chain, seq, chain FROM tool_call_chain WHERE id = 1";
        let row = self.db().row(sql, args![]).await?.ok_or_else(|| failure::unreadable("no chain"))?;
        let place =
            |at| Ok::<_, CallError>(Place { seq: row.int(at)?, link: read_link(row.bytes(at + 1)?)? });
        Ok((place(0)?, place(2)?))
    }
}

/// The link and the id of a row that is as it was written.
fn next(row: &Row, last: Place) -> Option<(Link, Vec<u8>)> {
    let call = logged_call(row).ok()?;
    let written = read_link(row.bytes(CHAIN).ok()?).ok()?;
    let is_same = link(&last.link, row.int(SEQ).ok()?, &call) == written
        && row.text(STATUS).is_ok_and(|status| status == call.row.status().as_str());
    is_same.then(|| (written, call.row.id.as_bytes().to_vec()))
}

fn counted(place: i64) -> u64 {
    u64::try_from(place).unwrap_or(0)
}

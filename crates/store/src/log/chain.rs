//! The chain over calls on record: what is hashed of each, and the walk along all of them.

use haft_core::{CallError, ToolId};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::CallLog;
use super::call::{CALL_ID, CHAIN as LINK, LoggedCall, SEQ, STATUS, columns, logged_call, source};
use crate::chain::{Chain, ChainFault, Hasher, Link, Place, Verification, Walk, read_link};
use crate::db::{Arg, Db};
use crate::failure;
use crate::row::Row;

pub(super) const CHAIN: Chain = Chain::in_table("tool_call_chain");

/// So many rows are read at once.
const STEP: u64 = 500;

/// The next link.
pub(super) fn link(before: &Link, seq: i64, call: &LoggedCall) -> Link {
    let LoggedCall { row, bodies } = call;
    let mut hash = Hasher::new("haft call 1", before, seq);
    hash.bytes(row.id.as_bytes());
    hash.bytes(Uuid::from(row.space).as_bytes());
    hash.text(row.call_id.as_str());
    match row.tool.as_ref().map(|(id, _)| id) {
        Some(ToolId::Uuid(id)) => hash.maybe_bytes(Some(id.as_bytes())),
        Some(ToolId::Named(name)) => hash.maybe(Some(name.as_str())),
        None => hash.maybe(None),
    }
    hash.int(row.tool.as_ref().map_or(0, |(_, version)| i64::try_from(*version).unwrap_or(i64::MAX)));
    hash.text(&row.tool_name);
    for id in [row.agent.map(Uuid::from), row.conversation.map(Uuid::from), row.user.map(Uuid::from)] {
        hash.maybe_bytes(id.as_ref().map(|id| id.as_bytes().as_slice()));
    }
    hash.text(source(row.source));
    hash.maybe(row.error.as_ref().map(|error| error.kind.to_string()).as_deref());
    hash.maybe(row.error.as_ref().map(|error| error.message.as_str()));
    hash.maybe(row.error.as_ref().map(|error| error.details.as_str()));
    hash.int(i64::from(row.attempts));
    hash.int(i64::from(row.cached));
    hash.maybe(row.coerced.as_deref());
    hash.maybe(row.warnings.as_deref());
    hash.int(row.micros());
    hash.int(row.started_at.as_microsecond());
    hash.maybe(row.replay_of.as_ref().map(|id| id.as_str()));
    hash.int(i64::from(row.arguments_cut));
    hash.int(i64::from(row.result_cut));
    hash.int(i64::from(row.replayable));
    hash.text(&bodies.arguments);
    hash.maybe(bodies.result.as_deref());
    hash.link()
}

impl CallLog {
    /// Walks through the chain to its end. Calls may be written and old ones may go meanwhile.
    pub async fn verify(&self) -> Result<Verification, CallError> {
        loop {
            let (anchor, _) = CHAIN.ends(self.db()).await?;
            let verification = self.verify_after(anchor).await?;
            // What went by rule while we looked is not missing.
            if verification.fault.is_none() || CHAIN.ends(self.db()).await?.0 == anchor {
                return Ok(verification);
            }
        }
    }

    async fn verify_after(&self, anchor: Place) -> Result<Verification, CallError> {
        let mut walk = Walk::after(anchor);
        let unchecked = self.count_before(anchor).await?;
        let fault = match self.db() {
            // Rows go one by one, so none is left before the beginning.
            Db::Sqlite(_) if unchecked > 0 => Some(ChainFault::added(anchor.seq)),
            Db::Sqlite(_) | Db::Postgres(_) => self.walk_chain(&mut walk).await?,
        };
        Ok(walk.found(unchecked, fault))
    }

    async fn walk_chain(&self, walk: &mut Walk) -> Result<Option<ChainFault>, CallError> {
        let mut last_id = vec![u8::MAX; 16];
        loop {
            let rows = self.after(walk.last().seq, last_id.clone()).await?;
            if rows.is_empty() {
                match walk.is_at(CHAIN.ends(self.db()).await?.1) {
                    Ok(true) => return Ok(None),
                    Ok(false) => {}
                    Err(fault) => return Ok(Some(fault)),
                }
            }
            for row in rows {
                let next = next(&row, walk.last());
                let link = next.as_ref().map(|(link, _)| *link);
                if let Err(fault) = walk.take(row.int(SEQ)?, row.text(CALL_ID).ok(), link) {
                    return Ok(Some(fault));
                }
                if let Some((_, id)) = next {
                    last_id = id;
                }
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
}

/// The link and the id of a row that is as it was written.
fn next(row: &Row, last: Place) -> Option<(Link, Vec<u8>)> {
    let call = logged_call(row).ok()?;
    let written = read_link(row.bytes(LINK).ok()?).ok()?;
    let is_same = link(&last.link, row.int(SEQ).ok()?, &call) == written
        && row.text(STATUS).is_ok_and(|status| status == call.row.status().as_str());
    is_same.then(|| (written, call.row.id.as_bytes().to_vec()))
}

//! The hash chain over logged calls: hashed fields and verification.

use haft_core::{CallError, ToolId};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::CallLog;
use super::call::{CALL_ID, CHAIN as LINK, LoggedCall, SEQ, STATUS, columns, logged_call, source};
use crate::db::{Arg, Db};
use crate::failure;
use crate::hash_chain::{Chain, ChainFault, ChainPosition, ChainWalk, Hasher, Link, Verification, read_link};
use crate::row::Row;

pub(super) const CHAIN: Chain = Chain::in_table("tool_call_chain");

/// Maximum number of rows that are read at once.
const BATCH_SIZE: u64 = 500;

/// Computes the link of a call.
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
    /// Verifies the whole chain. Calls may be appended, and old ones deleted, concurrently.
    pub async fn verify(&self) -> Result<Verification, CallError> {
        loop {
            let (anchor, _) = CHAIN.bounds(self.db()).await?;
            let verification = self.verify_after(anchor).await?;
            // Rows that retention deleted during the walk are not missing.
            if verification.fault.is_none() || CHAIN.bounds(self.db()).await?.0 == anchor {
                return Ok(verification);
            }
        }
    }

    async fn verify_after(&self, anchor: ChainPosition) -> Result<Verification, CallError> {
        let mut walk = ChainWalk::starting_at(anchor);
        let unchecked = self.count_before(anchor).await?;
        let fault = match self.db() {
            // Rows are deleted one by one, so none may remain before the anchor.
            Db::Sqlite(_) if unchecked > 0 => Some(ChainFault::unexpected_row(anchor.seq)),
            Db::Sqlite(_) | Db::Postgres(_) => self.walk_chain(&mut walk).await?,
        };
        Ok(walk.verification(unchecked, fault))
    }

    async fn walk_chain(&self, walk: &mut ChainWalk) -> Result<Option<ChainFault>, CallError> {
        let mut last_id = vec![u8::MAX; 16];
        loop {
            let rows = self.rows_after(walk.last().seq, last_id.clone()).await?;
            if rows.is_empty() {
                match walk.has_reached(CHAIN.bounds(self.db()).await?.1) {
                    Ok(true) => return Ok(None),
                    Ok(false) => {}
                    Err(fault) => return Ok(Some(fault)),
                }
            }
            for row in rows {
                let verified = verify_row(&row, walk.last());
                let link = verified.as_ref().map(|(link, _)| *link);
                if let Err(fault) = walk.check_row(row.int(SEQ)?, row.text(CALL_ID).ok(), link) {
                    return Ok(Some(fault));
                }
                if let Some((_, id)) = verified {
                    last_id = id;
                }
            }
        }
    }

    /// Reads the rows after a sequence number and id. The id distinguishes rows with the same sequence
    /// number.
    async fn rows_after(&self, seq: i64, id: Vec<u8>) -> Result<Vec<Row>, CallError> {
        let sql = format!(
            "SELECT {}, b.arguments, b.result
             FROM (SELECT * FROM tool_call_log WHERE seq >= $1 AND (seq > $1 OR id > $2)
                   ORDER BY seq, id LIMIT $3) l
             LEFT JOIN tool_call_bodies b ON b.seq = l.seq AND b.id = l.id ORDER BY l.seq, l.id",
            columns()
        );
        let args = vec![Arg::Int(Some(seq)), Arg::from(id), Arg::from(BATCH_SIZE)];
        self.db().rows(AssertSqlSafe(sql), args).await
    }

    async fn count_before(&self, anchor: ChainPosition) -> Result<u64, CallError> {
        let sql = "SELECT COUNT(*) FROM tool_call_log WHERE seq <= $1";
        let row = self.db().row(sql, vec![Arg::Int(Some(anchor.seq))]).await?;
        row.ok_or_else(|| failure::unreadable("no count"))?.number(0)
    }
}

/// Returns the link and the id of a row. Returns `None` if the link does not match the row.
fn verify_row(row: &Row, last: ChainPosition) -> Option<(Link, Vec<u8>)> {
    let call = logged_call(row).ok()?;
    let written = read_link(row.bytes(LINK).ok()?).ok()?;
    let is_same = link(&last.link, row.int(SEQ).ok()?, &call) == written
        && row.text(STATUS).is_ok_and(|status| status == call.row.status().as_str());
    is_same.then(|| (written, call.row.id.as_bytes().to_vec()))
}

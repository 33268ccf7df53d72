//! Daily partitions of the log on PostgreSQL: created ahead of time, and dropped as a whole by retention.
//!
//! Ids begin with the start time of the call, so a day is a range of ids. Rows outside of all days go into
//! the default partition, from which they are deleted row by row.

use std::collections::BTreeSet;

use haft_core::CallError;
use jiff::Timestamp;
use jiff::tz::Offset;
use sqlx::AssertSqlSafe;

use super::call::uuid;
use super::chain::CHAIN;
use super::id::lowest;
use super::rollup;
use crate::db::{Arg, Db, Tx, args};
use crate::failure;
use crate::hash_chain::{ChainPosition, read_link};

/// Number of days before and after today that have partitions. One day back serves calls that started before
/// midnight.
const BEHIND: i64 = 1;
const AHEAD: i64 = 7;

const DAY: i64 = 24 * 60 * 60 * 1_000_000;

/// Serializes creating and dropping partitions. The lock id is arbitrary but must be unique within Haft.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7420002)";

const ROWS: &str = "tool_call_log";
const BODIES: &str = "tool_call_bodies";

/// Creates the partitions of the coming days. If that fails for a day, its rows go into the default
/// partition.
pub(super) async fn make_ahead(db: &Db, now: Timestamp) -> Result<(), CallError> {
    let days = days(db).await?;
    let today = now.as_microsecond().div_euclid(DAY);
    for day in today - BEHIND..=today + AHEAD {
        let (from, to) = (start(day)?, start(day + 1)?);
        let name = suffix(from);
        if days.contains(&name) {
            continue;
        }
        if let Err(error) = make(db, &name, from, to).await {
            tracing::warn!(day = name, %error, "A daily partition of the call log could not be created");
        }
    }
    Ok(())
}

/// Drops partitions before `oldest`, and the oldest others while the log exceeds `bytes`. The partition of
/// today is never dropped.
pub(super) async fn prune(db: &Db, oldest: Timestamp, now: Timestamp, bytes: u64) -> Result<bool, CallError> {
    let mut has_pruned = prune_rest(db, oldest).await?;
    let (oldest, today) = (suffix(oldest), suffix(now));
    for day in days(db).await? {
        let is_old = day < oldest || (day < today && size(db).await? > bytes);
        if !is_old || !drop_day(db, &day).await? {
            break;
        }
        has_pruned = true;
    }
    Ok(has_pruned)
}

/// Returns the days that have partitions, oldest first, as dates such as `20260826`.
async fn days(db: &Db) -> Result<BTreeSet<String>, CallError> {
    let rows = db.rows(
        "SELECT CAST(c.relname AS TEXT) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = to_regclass('tool_call_log')",
        args![],
    );
    let mut days = BTreeSet::new();
    for row in rows.await? {
        let name = row.text(0)?;
        let date = name.strip_prefix(ROWS).and_then(|rest| rest.strip_prefix('_'));
        // Skip other names, so that they never become part of a statement.
        if let Some(date) =
            date.filter(|date| date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()))
        {
            days.insert(date.to_owned());
        }
    }
    Ok(days)
}

async fn make(db: &Db, name: &str, from: Timestamp, to: Timestamp) -> Result<(), CallError> {
    let mut tx = db.begin().await?;
    tx.script(LOCK).await?;
    for table in [ROWS, BODIES] {
        let (from, to) = (lowest(from).simple(), lowest(to).simple());
        let sql = format!(
            "CREATE TABLE IF NOT EXISTS {table}_{name} PARTITION OF {table}
             FOR VALUES FROM ('\\x{from}') TO ('\\x{to}')"
        );
        tx.script(AssertSqlSafe(sql)).await?;
    }
    tx.commit().await
}

/// Drops one partition. Returns false if it has rows that are not counted yet.
async fn drop_day(db: &Db, name: &str) -> Result<bool, CallError> {
    let mut tx = db.begin().await?;
    tx.script(LOCK).await?;
    // Lock the chain before the tables, in the same order as inserts do.
    CHAIN.lock_head(&mut tx).await?;
    let sql = format!("SELECT seq, chain FROM {ROWS}_{name} ORDER BY seq DESC LIMIT 1");
    let last = tx.row(AssertSqlSafe(sql), args![]).await?;
    if let Some(row) = last {
        let last = ChainPosition { seq: row.int(0)?, link: read_link(row.bytes(1)?)? };
        if last.seq > rollup::rolled_up_to(&mut tx).await? {
            return Ok(false);
        }
        CHAIN.move_anchor(&mut tx, last).await?;
    }
    tx.script(AssertSqlSafe(format!("DROP TABLE {ROWS}_{name}, {BODIES}_{name}"))).await?;
    tx.commit().await?;
    Ok(true)
}

/// Deletes old rows from the default partition.
async fn prune_rest(db: &Db, oldest: Timestamp) -> Result<bool, CallError> {
    let old = || -> Vec<Arg> { vec![uuid(lowest(oldest))] };
    let sql = "SELECT seq, chain FROM tool_call_log_rest WHERE id < $1 ORDER BY seq DESC LIMIT 1";
    if db.row(sql, old()).await?.is_none() {
        return Ok(false);
    }
    let mut tx: Tx = db.begin().await?;
    CHAIN.lock_head(&mut tx).await?;
    let Some(row) = tx.row(sql, old()).await? else { return Ok(false) };
    let last = ChainPosition { seq: row.int(0)?, link: read_link(row.bytes(1)?)? };
    if last.seq > rollup::rolled_up_to(&mut tx).await? {
        return Ok(false);
    }
    tx.run("DELETE FROM tool_call_bodies_rest WHERE id < $1", old()).await?;
    tx.run("DELETE FROM tool_call_log_rest WHERE id < $1", old()).await?;
    CHAIN.move_anchor(&mut tx, last).await?;
    tx.commit().await?;
    Ok(true)
}

async fn size(db: &Db) -> Result<u64, CallError> {
    let row = db.row(
        "SELECT CAST(COALESCE(SUM(pg_total_relation_size(i.inhrelid)), 0) AS BIGINT) FROM pg_inherits i
         WHERE i.inhparent IN (to_regclass('tool_call_log'), to_regclass('tool_call_bodies'))",
        args![],
    );
    row.await?.ok_or_else(|| failure::unreadable("no size"))?.number(0)
}

/// Returns the start of a day, given as days since the epoch.
fn start(day: i64) -> Result<Timestamp, CallError> {
    Timestamp::from_microsecond(day * DAY).map_err(failure::unreadable)
}

fn suffix(at: Timestamp) -> String {
    let date = Offset::UTC.to_datetime(at).date();
    format!("{:04}{:02}{:02}", date.year(), date.month(), date.day())
}

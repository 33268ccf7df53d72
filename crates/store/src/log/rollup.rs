//! Rollup: counts each row once, in buckets of a minute, ten minutes, an hour and a day.
//!
//! Statistics read only the buckets, so their cost does not depend on the number of rows, and they outlive
//! the rows.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use haft_core::{CallError, ToolId};
use jiff::Timestamp;
use uuid::Uuid;

use super::CallLog;
use super::bucket::{Bucket, Key, Series};
use super::call::{CallRow, CallStatus, LoggedCall, read_uuid};
use super::insert::{Inserts, inserts, numbered, put};
use super::span::Span;
use crate::db::{Arg, Tx, args};
use crate::failure;
use crate::row::Row;

/// Maximum number of rows that are counted at once.
const BATCH_SIZE: usize = 5000;

/// Maximum number of counted rows that wait in memory to be rolled up.
const MAX_PENDING: i64 = 200_000;

/// Number of buckets that are read by one statement.
const KEYS_PER_READ: usize = 32;

type Buckets = BTreeMap<Key, Bucket>;

/// Selects the stored buckets of several keys, with the position of each key.
static SELECT_BUCKETS: LazyLock<String> = LazyLock::new(|| {
    let width = Key::COLUMNS.len();
    let row = |row: usize| {
        let placeholders: Vec<String> =
            (1..=width).map(|column| format!("${}", row * width + column)).collect();
        format!("(CAST({row} AS BIGINT), {})", placeholders.join(", "))
    };
    let rows: Vec<String> = (0..KEYS_PER_READ).map(row).collect();
    format!(
        "WITH wanted_keys (idx, {}) AS (VALUES {})
         SELECT k.idx, {} FROM wanted_keys k CROSS JOIN tool_call_stats s WHERE {}",
        Key::COLUMNS.join(", "),
        rows.join(", "),
        Bucket::selected(),
        Key::COLUMNS.map(|column| format!("s.{column} = k.{column}")).join(" AND "),
    )
});

/// Inserts or replaces buckets.
static UPSERT_BUCKETS: LazyLock<Inserts> = LazyLock::new(|| {
    let columns: Vec<&str> = Key::COLUMNS.into_iter().chain(Bucket::columns()).collect();
    let assignments: Vec<String> =
        Bucket::columns().map(|column| format!("{column} = excluded.{column}")).collect();
    let (key, assignments) = (Key::COLUMNS.join(", "), assignments.join(", "));
    inserts("tool_call_stats", &columns, numbered)
        .with_suffix(&format!(" ON CONFLICT ({key}) DO UPDATE SET {assignments}"))
});

impl CallLog {
    /// Counts a batch of new rows. Returns true if there may be more. Each row is counted once, even if
    /// several processes run this concurrently.
    pub async fn roll_up(&self) -> Result<bool, CallError> {
        let sql = "SELECT r.seq, c.seq FROM tool_call_rolled r JOIN tool_call_chain c ON c.id = r.id";
        let row = self.db().row(sql, args![]).await?.ok_or_else(|| failure::unreadable("no chain"))?;
        let (rolled, head) = (row.int(0)?, row.int(1)?);
        if head <= rolled {
            return Ok(false);
        }
        let (to, minutes) = match self.pending().take(rolled) {
            Some(counted) => counted,
            None => self.count(rolled, head).await?,
        };
        let buckets = all_spans(&minutes, Timestamp::now().as_microsecond());
        let mut tx = self.db().begin().await?;
        let moved = tx.run(
            "UPDATE tool_call_rolled SET seq = $1 WHERE id = 1 AND seq = $2",
            vec![Arg::Int(Some(to)), Arg::Int(Some(rolled))],
        );
        // Another process was faster; discard these counts and read again.
        if moved.await? == 0 {
            return Ok(true);
        }
        merge(&mut tx, buckets).await?;
        tx.commit().await?;
        Ok(to < head)
    }

    /// Counts all rows that exist now.
    pub(super) async fn roll_up_all(&self) -> Result<(), CallError> {
        while self.roll_up().await? {}
        Ok(())
    }

    /// Counts the rows after `after`, at most up to `head`, and returns the position it reached. Reading
    /// needs no lock: sequence numbers are assigned while the head of the chain is locked, so no row at or
    /// before the head can appear or change later.
    async fn count(&self, after: i64, head: i64) -> Result<(i64, Buckets), CallError> {
        let rows = self.db().rows(
            "SELECT seq, space_id, tool_name, tool_id, agent_id, status, error_kind, is_cached, duration,
                    started_at
             FROM tool_call_log WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3",
            vec![Arg::Int(Some(after)), Arg::Int(Some(head)), Arg::from(BATCH_SIZE as u64)],
        );
        let rows = rows.await?;
        let to = match rows.last() {
            Some(last) if rows.len() == BATCH_SIZE => last.int(0)?,
            Some(_) | None => head,
        };
        Ok((to, count_rows(&rows)))
    }

    /// Deletes expired buckets.
    pub(super) async fn prune_buckets(&self, now: Timestamp) -> Result<(), CallError> {
        let mut tx = self.db().begin().await?;
        for span in Span::ALL {
            let oldest = span.oldest(now.as_microsecond());
            let delete = tx.run(
                "DELETE FROM tool_call_stats WHERE span = $1 AND start < $2",
                vec![Arg::Int(Some(span.seconds())), Arg::Int(Some(oldest))],
            );
            delete.await?;
        }
        tx.commit().await
    }
}

/// Returns the sequence number up to which rows are counted. Later rows must not be deleted.
pub(super) async fn rolled_up_to(tx: &mut Tx) -> Result<i64, CallError> {
    let row = tx.row("SELECT seq FROM tool_call_rolled WHERE id = 1", args![]).await?;
    row.ok_or_else(|| failure::unreadable("no sequence number of the rollup"))?.int(0)
}

/// Rows that this process inserted and has already counted in memory, so that they need not be read again.
#[derive(Default)]
pub(super) struct Pending(Mutex<Option<PendingCounts>>);

struct PendingCounts {
    /// The range of counted rows: `after` is exclusive, `to` inclusive.
    after: i64,
    to: i64,
    minutes: Buckets,
}

impl Pending {
    /// Counts calls that were inserted after `after`. If another process has inserted rows in between, the
    /// counts are discarded and the rows are read instead.
    pub(super) fn add(&self, after: i64, calls: &[&LoggedCall]) {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let previous = pending.take().filter(|previous| previous.to == after);
        let mut counted =
            previous.unwrap_or_else(|| PendingCounts { after, to: after, minutes: Buckets::new() });
        // Rollup is not running; discard the counts and let it read the rows later.
        if counted.to - counted.after > MAX_PENDING {
            return;
        }
        for call in calls {
            counted.to += 1;
            add(&mut counted.minutes, &Call::of(&call.row));
        }
        *pending = Some(counted);
    }

    /// Takes the counts after a sequence number, with the position up to which they reach. Returns `None` if
    /// they start elsewhere.
    fn take(&self, after: i64) -> Option<(i64, Buckets)> {
        let counted = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        (counted.after == after).then_some((counted.to, counted.minutes))
    }
}

/// The fields of a call that are counted.
struct Call<'a> {
    space: Uuid,
    tool_name: Cow<'a, str>,
    tool: Option<Cow<'a, ToolId>>,
    agent: Option<Uuid>,
    status: CallStatus,
    kind: Option<Cow<'a, str>>,
    is_cached: bool,
    micros: u64,
    started_at: i64,
}

impl<'a> Call<'a> {
    fn of(row: &'a CallRow) -> Self {
        Self {
            space: row.space.into(),
            tool_name: Cow::Borrowed(&*row.tool_name),
            tool: row.tool.as_ref().map(|(id, _)| Cow::Borrowed(id)),
            agent: row.agent.map(Uuid::from),
            status: row.status(),
            kind: row.error.as_ref().map(|error| error.kind.to_string().into()),
            is_cached: row.cached,
            micros: u64::try_from(row.micros()).unwrap_or(0),
            started_at: row.started_at.as_microsecond(),
        }
    }
}

fn call(row: &Row) -> Result<Call<'static>, CallError> {
    Ok(Call {
        space: read_uuid(row.bytes(1)?)?,
        tool_name: row.text(2)?.into(),
        tool: match row.maybe_text(3)? {
            Some(_) => Some(Cow::Owned(row.tool_id(3)?)),
            None => None,
        },
        agent: row.maybe_bytes(4)?.map(read_uuid).transpose()?,
        status: row.word(5)?,
        kind: row.maybe_text(6)?.map(Cow::Owned),
        is_cached: row.flag(7)?,
        micros: row.number(8)?,
        started_at: row.time(9)?.as_microsecond(),
    })
}

/// Counts rows by minute.
fn count_rows(rows: &[Row]) -> Buckets {
    let mut minutes = Buckets::new();
    let mut unreadable = 0_u64;
    for row in rows {
        match call(row) {
            Ok(call) => add(&mut minutes, &call),
            // The row was modified. It must not prevent the others from being counted.
            Err(_) => unreadable += 1,
        }
    }
    if unreadable > 0 {
        tracing::warn!(rows = unreadable, "Rows of the call log cannot be read and are not counted");
    }
    minutes
}

/// Derives the buckets of all spans from those of minutes, without expired ones.
fn all_spans(minutes: &Buckets, now: i64) -> Buckets {
    let mut buckets = Buckets::new();
    for (minute, bucket) in minutes {
        for span in Span::ALL {
            let start = span.start(minute.start);
            if span.retains(start, now) {
                let key = Key { span, start, ..minute.clone() };
                buckets.entry(key).or_default().add_later(bucket);
            }
        }
    }
    buckets
}

/// Counts a call for its space, tool and agent, in the minute at which it began.
fn add(minutes: &mut Buckets, call: &Call<'_>) {
    // Unknown tool names are often invented by models and unlimited in number, so they share one bucket.
    let tool = call.tool.as_ref().map_or("", |_| &*call.tool_name);
    let agent = call.agent.map(|agent| agent.to_string());
    let all = [(Series::Space, Some("")), (Series::Tool, Some(tool)), (Series::Agent, agent.as_deref())];
    for (series, name) in all {
        let Some(name) = name else { continue };
        let (span, start) = (Span::Minute, Span::Minute.start(call.started_at));
        let key = Key { space: call.space, span, series, start, name: name.to_owned() };
        let bucket = minutes.entry(key).or_default();
        bucket.totals.add(call.status, call.kind.as_deref(), call.is_cached, call.micros);
        if series == Series::Tool && bucket.tool.as_ref() != call.tool.as_deref() {
            bucket.tool = call.tool.as_deref().cloned();
        }
    }
}

/// Adds counts to the stored buckets.
async fn merge(tx: &mut Tx, buckets: Buckets) -> Result<(), CallError> {
    let mut buckets: Vec<(Key, Bucket)> = buckets.into_iter().collect();
    for part in buckets.chunks_mut(KEYS_PER_READ) {
        let mut keys: Vec<Arg> = part.iter().flat_map(|(key, _)| key.args()).collect();
        keys.extend((part.len()..KEYS_PER_READ).flat_map(|_| Key::no_args()));
        for row in tx.rows(SELECT_BUCKETS.as_str(), keys).await? {
            let index = usize::try_from(row.int(0)?).map_err(failure::unreadable)?;
            let Some((_, bucket)) = part.get_mut(index) else { continue };
            match Bucket::read(&row, 1) {
                Ok(stored) => bucket.add_earlier(stored),
                Err(error) => {
                    tracing::warn!(%error, "A bucket of statistics cannot be read and is started again")
                }
            }
        }
        put(tx, &UPSERT_BUCKETS, part.iter().flat_map(values).collect()).await?;
    }
    Ok(())
}

fn values((key, bucket): &(Key, Bucket)) -> impl Iterator<Item = Arg> {
    key.args().into_iter().chain(bucket.args())
}

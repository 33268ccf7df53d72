//! Rolling up: rows become counts in buckets of a minute, ten minutes, an hour and a day, each row once.
//!
//! Statistics read the counts and never the rows, so that they cost the same however many rows there are, and
//! outlive them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use haft_core::{CallError, ToolId};
use jiff::Timestamp;
use uuid::Uuid;

use super::CallLog;
use super::bucket::{Bucket, Key, Series};
use super::call::{CallRow, CallStatus, LoggedCall, read_uuid};
use super::insert::{Inserts, by_number, inserts, put};
use super::span::Span;
use crate::db::{Arg, Tx, args};
use crate::failure;
use crate::row::Row;

/// So many rows are counted at once.
const STEP: usize = 5000;

/// So many rows may wait, counted, to be rolled up.
const LONGEST_WAIT: i64 = 200_000;

/// So many buckets are read by one statement.
const AT_ONCE: usize = 32;

type Buckets = BTreeMap<Key, Bucket>;

/// Reads the buckets of some keys, each with its place among the keys.
static KNOWN: LazyLock<String> = LazyLock::new(|| {
    let width = Key::COLUMNS.len();
    let row = |row: usize| {
        let places: Vec<String> = (1..=width).map(|column| format!("${}", row * width + column)).collect();
        format!("(CAST({row} AS BIGINT), {})", places.join(", "))
    };
    let rows: Vec<String> = (0..AT_ONCE).map(row).collect();
    format!(
        "WITH asked (place, {}) AS (VALUES {})
         SELECT a.place, {} FROM asked a CROSS JOIN tool_call_stats s WHERE {}",
        Key::COLUMNS.join(", "),
        rows.join(", "),
        Bucket::selected(),
        Key::COLUMNS.map(|column| format!("s.{column} = a.{column}")).join(" AND "),
    )
});

/// Writes buckets in place of those that are there.
static WRITE: LazyLock<Inserts> = LazyLock::new(|| {
    let columns: Vec<&str> = Key::COLUMNS.into_iter().chain(Bucket::columns()).collect();
    let anew: Vec<String> = Bucket::columns().map(|column| format!("{column} = excluded.{column}")).collect();
    let (key, anew) = (Key::COLUMNS.join(", "), anew.join(", "));
    inserts("tool_call_stats", &columns, by_number)
        .ending(&format!(" ON CONFLICT ({key}) DO UPDATE SET {anew}"))
});

impl CallLog {
    /// Counts rows that came since the last time, so many at once; true when there may be more. However many
    /// processes do it at the same time, each row counts once.
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
        // Who comes second counts nothing, and looks again.
        if moved.await? == 0 {
            return Ok(true);
        }
        merge(&mut tx, buckets).await?;
        tx.commit().await?;
        Ok(to < head)
    }

    /// Counts all rows that are there.
    pub(super) async fn roll_up_all(&self) -> Result<(), CallError> {
        while self.roll_up().await? {}
        Ok(())
    }

    /// Counts rows after one place, to another at most; answers how far it came. A row gets its place while
    /// the end of the chain is held, and is there together with it: up to the head none appears later, and
    /// none changes. So nothing is held while they are read.
    async fn count(&self, after: i64, head: i64) -> Result<(i64, Buckets), CallError> {
        let rows = self.db().rows(
            "SELECT seq, space_id, tool_name, tool_id, agent_id, status, error_kind, is_cached, duration,
                    started_at
             FROM tool_call_log WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3",
            vec![Arg::Int(Some(after)), Arg::Int(Some(head)), Arg::from(STEP as u64)],
        );
        let rows = rows.await?;
        let to = match rows.last() {
            Some(last) if rows.len() == STEP => last.int(0)?,
            Some(_) | None => head,
        };
        Ok((to, counted(&rows)))
    }

    /// Takes away buckets that are too old.
    pub(super) async fn forget_buckets(&self, now: Timestamp) -> Result<(), CallError> {
        let mut tx = self.db().begin().await?;
        for span in Span::ALL {
            let oldest = span.oldest(now.as_microsecond());
            let gone = tx.run(
                "DELETE FROM tool_call_stats WHERE span = $1 AND start < $2",
                vec![Arg::Int(Some(span.seconds())), Arg::Int(Some(oldest))],
            );
            gone.await?;
        }
        tx.commit().await
    }
}

/// The place up to which rows are counted. What stands behind it must not go.
pub(super) async fn rolled(tx: &mut Tx) -> Result<i64, CallError> {
    let row = tx.row("SELECT seq FROM tool_call_rolled WHERE id = 1", args![]).await?;
    row.ok_or_else(|| failure::unreadable("no place up to which rows are counted"))?.int(0)
}

/// Rows that this process wrote and counted as it did, so that they need not be read again.
#[derive(Default)]
pub(super) struct Pending(Mutex<Option<Counted>>);

struct Counted {
    /// The places between which all rows are counted, without the first and with the last.
    after: i64,
    to: i64,
    minutes: Buckets,
}

impl Pending {
    /// Counts calls that were written in the places behind `after`. Where another process wrote in between,
    /// what was counted is forgotten, and the rows will be read.
    pub(super) fn add(&self, after: i64, calls: &[&LoggedCall]) {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = pending.take().filter(|known| known.to == after);
        let mut counted = known.unwrap_or_else(|| Counted { after, to: after, minutes: Buckets::new() });
        // Nobody rolls up; then the rows are read by whoever does.
        if counted.to - counted.after > LONGEST_WAIT {
            return;
        }
        for call in calls {
            counted.to += 1;
            add(&mut counted.minutes, &Call::of(&call.row));
        }
        *pending = Some(counted);
    }

    /// All that was counted after a place, and how far it goes.
    fn take(&self, after: i64) -> Option<(i64, Buckets)> {
        let counted = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        (counted.after == after).then_some((counted.to, counted.minutes))
    }
}

/// One call, as far as it is counted.
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

/// The minutes of some rows.
fn counted(rows: &[Row]) -> Buckets {
    let mut minutes = Buckets::new();
    let mut unreadable = 0_u64;
    for row in rows {
        match call(row) {
            Ok(call) => add(&mut minutes, &call),
            // Somebody changed it. It must not keep all others from being counted.
            Err(_) => unreadable += 1,
        }
    }
    if unreadable > 0 {
        tracing::warn!(rows = unreadable, "Rows of the call log cannot be read and are not counted");
    }
    minutes
}

/// The buckets of every span that some minutes belong to, unless they are too old for it.
fn all_spans(minutes: &Buckets, now: i64) -> Buckets {
    let mut buckets = Buckets::new();
    for (minute, bucket) in minutes {
        for span in Span::ALL {
            let start = span.start(minute.start);
            if span.keeps(start, now) {
                let key = Key { span, start, ..minute.clone() };
                buckets.entry(key).or_default().add_later(bucket);
            }
        }
    }
    buckets
}

/// Counts a call for the space, its tool and its agent, in the minute at which it began.
fn add(minutes: &mut Buckets, call: &Call<'_>) {
    // Names that no tool has are made up, by models above all, and there is no end to them.
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

/// Adds counts to the buckets that are there.
async fn merge(tx: &mut Tx, buckets: Buckets) -> Result<(), CallError> {
    let mut buckets: Vec<(Key, Bucket)> = buckets.into_iter().collect();
    for part in buckets.chunks_mut(AT_ONCE) {
        let mut keys: Vec<Arg> = part.iter().flat_map(|(key, _)| key.args()).collect();
        keys.extend((part.len()..AT_ONCE).flat_map(|_| Key::no_args()));
        for row in tx.rows(KNOWN.as_str(), keys).await? {
            let place = usize::try_from(row.int(0)?).map_err(failure::unreadable)?;
            let Some((_, bucket)) = part.get_mut(place) else { continue };
            match Bucket::read(&row, 1) {
                Ok(known) => bucket.add_earlier(known),
                Err(error) => tracing::warn!(%error, "A bucket of statistics cannot be read and begins anew"),
            }
        }
        put(tx, &WRITE, part.iter().flat_map(values).collect()).await?;
    }
    Ok(())
}

fn values((key, bucket): &(Key, Bucket)) -> impl Iterator<Item = Arg> {
    key.args().into_iter().chain(bucket.args())
}

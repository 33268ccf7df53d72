//! Writing rows: many at a time, in one transaction, each once however often it is given.

use std::collections::HashSet;
use std::sync::LazyLock;

use haft_core::{CallError, ErrorKind};
use uuid::Uuid;

use super::call::{BODY_COLUMNS, COLUMNS, LoggedCall, body_args, row_args, uuid};
use super::chain::{self, CHAIN};
use super::{CallLog, words};
use crate::db::{Arg, Tx};

/// A statement takes so many rows, the largest first; each size is prepared once.
const SIZES: [usize; 5] = [128, 32, 8, 2, 1];

/// The same statement for each of [`SIZES`].
pub(super) type Inserts = [String; SIZES.len()];

static ROWS: LazyLock<Inserts> = LazyLock::new(|| inserts("tool_call_log", &COLUMNS, by_order));
static ROWS_WITH_WORDS: LazyLock<Inserts> = LazyLock::new(|| {
    let columns: Vec<&str> = COLUMNS.into_iter().chain(["words"]).collect();
    inserts("tool_call_log", &columns, by_number)
});
static BODIES: LazyLock<Inserts> = LazyLock::new(|| inserts("tool_call_bodies", &BODY_COLUMNS, by_order));
static BODIES_BY_NUMBER: LazyLock<Inserts> =
    LazyLock::new(|| inserts("tool_call_bodies", &BODY_COLUMNS, by_number));
static WORDS: LazyLock<Inserts> = LazyLock::new(|| inserts("tool_call_words", &["rowid", "words"], by_order));

impl CallLog {
    /// Keeps these calls, all or none. Those that are there already stay as they are, so that a batch may be
    /// given again when nobody knows whether it was written.
    pub async fn insert(&self, calls: &[LoggedCall]) -> Result<(), CallError> {
        let all: Vec<&LoggedCall> = calls.iter().collect();
        match self.insert_new(&all).await {
            Err(error) if error.kind() == ErrorKind::Conflict => {
                let missing = self.missing(calls).await?;
                self.insert_new(&missing).await
            }
            done => done,
        }
    }

    async fn insert_new(&self, calls: &[&LoggedCall]) -> Result<(), CallError> {
        if calls.is_empty() {
            return Ok(());
        }
        let mut tx = self.db().begin().await?;
        let mut last = CHAIN.hold(&mut tx).await?;
        let before = last.seq;
        let names = self.names().new_among(calls);
        for (space, tool, name) in &names {
            let sql = "INSERT INTO tool_call_names (space_id, tool_id, tool_name) VALUES ($1, $2, $3)
                       ON CONFLICT DO NOTHING";
            tx.run(sql, vec![uuid(*space), Arg::from(tool), Arg::from(&**name)]).await?;
        }
        for part in calls.chunks(SIZES[0]) {
            let (mut rows, mut bodies, mut found_by) = (Vec::new(), Vec::new(), Vec::new());
            for call in part {
                last.seq += 1;
                last.link = chain::link(&last.link, last.seq, call);
                rows.push(row_args(last.seq, &call.row, &last.link));
                bodies.push(body_args(last.seq, call));
                found_by.push((last.seq, words::of_row(&call.row)));
            }
            match &tx {
                Tx::Sqlite(_) => {
                    put(&mut tx, &ROWS, rows).await?;
                    let found_by = found_by.into_iter().filter(|(_, words)| !words.is_empty());
                    let found_by = found_by.map(|(seq, words)| vec![Arg::Int(Some(seq)), Arg::from(words)]);
                    put(&mut tx, &WORDS, found_by.collect()).await?;
                    put(&mut tx, &BODIES, bodies).await?;
                }
                Tx::Postgres(_) => {
                    for (row, (_, words)) in rows.iter_mut().zip(found_by) {
                        row.push(Arg::from(words));
                    }
                    put(&mut tx, &ROWS_WITH_WORDS, rows).await?;
                    put(&mut tx, &BODIES_BY_NUMBER, bodies).await?;
                }
            }
        }
        CHAIN.end(&mut tx, last).await?;
        tx.commit().await?;
        self.pending().add(before, calls);
        self.names().learn(names);
        Ok(())
    }

    /// Those that are not there yet, each once.
    async fn missing<'a>(&self, calls: &'a [LoggedCall]) -> Result<Vec<&'a LoggedCall>, CallError> {
        let mut seen: HashSet<Uuid> = HashSet::new();
        let mut missing = Vec::new();
        for call in calls {
            let sql = "SELECT seq FROM tool_call_log WHERE space_id = $1 AND id = $2";
            let known = self.db().row(sql, vec![uuid(call.row.space), uuid(call.row.id)]).await?;
            if known.is_none() && seen.insert(call.row.id) {
                missing.push(call);
            }
        }
        Ok(missing)
    }
}

/// Writes rows by as few statements as there may be.
pub(super) async fn put(
    tx: &mut Tx,
    statement: &'static Inserts,
    rows: Vec<Vec<Arg>>,
) -> Result<(), CallError> {
    let mut rows = rows.into_iter();
    while let Some((size, sql)) = SIZES.iter().zip(statement).find(|(size, _)| **size <= rows.len()) {
        let args: Vec<Arg> = rows.by_ref().take(*size).flatten().collect();
        tx.run(sql.as_str(), args).await?;
    }
    Ok(())
}

/// The place of an argument, for PostgreSQL.
pub(super) fn by_number(place: usize) -> String {
    format!("${place}")
}

/// The same for SQLite, which looks for the name of each argument among those of all, unless it has none.
fn by_order(_: usize) -> String {
    "?".to_owned()
}

pub(super) fn inserts(table: &str, columns: &[&str], place: fn(usize) -> String) -> Inserts {
    SIZES.map(|size| {
        let row = |row: usize| {
            let places = (1..=columns.len()).map(|column| place(row * columns.len() + column));
            format!("({})", places.collect::<Vec<_>>().join(", "))
        };
        let rows: Vec<String> = (0..size).map(row).collect();
        format!("INSERT INTO {table} ({}) VALUES {}", columns.join(", "), rows.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_names_each_place_once_and_stays_within_what_databases_take() {
        let [.., one] = inserts("t", &["a", "b"], by_number);
        assert_eq!(one, "INSERT INTO t (a, b) VALUES ($1, $2)");
        let [many, ..] = inserts("t", &COLUMNS, by_number);
        assert!(many.ends_with(&format!("${})", SIZES[0] * COLUMNS.len())), "{many}");
        assert!(SIZES[0] * (COLUMNS.len() + 1) < 32_766);
    }
}

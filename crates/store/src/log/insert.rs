//! Writing rows: many at a time, in one transaction, each once however often it is given.

use std::collections::HashSet;
use std::sync::LazyLock;

use haft_core::{CallError, ErrorKind};
use uuid::Uuid;

use super::call::{BODY_COLUMNS, COLUMNS, LoggedCall, ToolText, body_args, row_args, uuid};
use super::chain::{self, CHAIN};
use super::{CallLog, words};
use crate::db::{Arg, Tx};

/// A statement takes so many rows, the largest first; each size is prepared once.
const SIZES: [usize; 5] = [128, 32, 8, 2, 1];

/// The same statement for each of [`SIZES`], of rows that have so many values.
pub(super) struct Inserts {
    width: usize,
    statements: [String; SIZES.len()],
}

impl Inserts {
    /// The same with something behind each.
    pub(super) fn ending(self, end: &str) -> Self {
        Self { statements: self.statements.map(|sql| sql + end), ..self }
    }
}

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
        let mut tools = ToolText::default();
        for part in calls.chunks(SIZES[0]) {
            let mut rows = Vec::with_capacity(part.len() * (COLUMNS.len() + 1));
            let mut bodies = Vec::with_capacity(part.len() * BODY_COLUMNS.len());
            let mut found_by = Vec::new();
            let is_sqlite = matches!(tx, Tx::Sqlite(_));
            for call in part {
                last.seq += 1;
                last.link = chain::link(&last.link, last.seq, call);
                rows.extend(row_args(last.seq, &call.row, &last.link, &mut tools));
                bodies.extend(body_args(last.seq, call));
                let words = words::of_row(&call.row);
                if !is_sqlite {
                    rows.push(Arg::from(words));
                } else if !words.is_empty() {
                    found_by.extend([Arg::Int(Some(last.seq)), Arg::from(words)]);
                }
            }
            if is_sqlite {
                put(&mut tx, &ROWS, rows).await?;
                put(&mut tx, &WORDS, found_by).await?;
                put(&mut tx, &BODIES, bodies).await?;
            } else {
                put(&mut tx, &ROWS_WITH_WORDS, rows).await?;
                put(&mut tx, &BODIES_BY_NUMBER, bodies).await?;
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

/// Writes rows, whose values follow each other, by as few statements as there may be.
pub(super) async fn put(tx: &mut Tx, inserts: &'static Inserts, values: Vec<Arg>) -> Result<(), CallError> {
    let Inserts { width, statements } = inserts;
    let mut values = values.into_iter();
    while let Some((size, sql)) =
        SIZES.iter().zip(statements).find(|(size, _)| **size * width <= values.len())
    {
        tx.run(sql.as_str(), values.by_ref().take(size * width)).await?;
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
    let statements = SIZES.map(|size| {
        let row = |row: usize| {
            let places = (1..=columns.len()).map(|column| place(row * columns.len() + column));
            format!("({})", places.collect::<Vec<_>>().join(", "))
        };
        let rows: Vec<String> = (0..size).map(row).collect();
        format!("INSERT INTO {table} ({}) VALUES {}", columns.join(", "), rows.join(", "))
    });
    Inserts { width: columns.len(), statements }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_names_each_place_once_and_stays_within_what_databases_take() {
        let [.., one] = inserts("t", &["a", "b"], by_number).statements;
        assert_eq!(one, "INSERT INTO t (a, b) VALUES ($1, $2)");
        let [many, ..] = inserts("t", &COLUMNS, by_number).statements;
        assert!(many.ends_with(&format!("${})", SIZES[0] * COLUMNS.len())), "{many}");
        assert!(SIZES[0] * (COLUMNS.len() + 1) < 32_766);
    }
}

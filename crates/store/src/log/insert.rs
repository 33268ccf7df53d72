//! Inserting calls: batched, in one transaction, and idempotent.

use std::collections::HashSet;
use std::sync::LazyLock;

use haft_core::{CallError, ErrorKind};
use uuid::Uuid;

use super::call::{BODY_COLUMNS, COLUMNS, LoggedCall, ToolText, body_args, row_args, uuid};
use super::chain::{self, CHAIN};
use super::{CallLog, full_text};
use crate::db::{Arg, Tx};

/// Number of rows per prepared statement, in descending order.
const SIZES: [usize; 5] = [128, 32, 8, 2, 1];

/// One `INSERT` statement for each of [`SIZES`], for rows with `width` values.
pub(super) struct Inserts {
    width: usize,
    statements: [String; SIZES.len()],
}

impl Inserts {
    /// Appends SQL to each statement.
    pub(super) fn with_suffix(self, end: &str) -> Self {
        Self { statements: self.statements.map(|sql| sql + end), ..self }
    }
}

static ROWS: LazyLock<Inserts> = LazyLock::new(|| inserts("tool_call_log", &COLUMNS, anonymous));
static ROWS_WITH_TEXT: LazyLock<Inserts> = LazyLock::new(|| {
    let columns: Vec<&str> = COLUMNS.into_iter().chain(["words"]).collect();
    inserts("tool_call_log", &columns, numbered)
});
static BODIES: LazyLock<Inserts> = LazyLock::new(|| inserts("tool_call_bodies", &BODY_COLUMNS, anonymous));
static BODIES_BY_NUMBER: LazyLock<Inserts> =
    LazyLock::new(|| inserts("tool_call_bodies", &BODY_COLUMNS, numbered));
static FULL_TEXT: LazyLock<Inserts> =
    LazyLock::new(|| inserts("tool_call_words", &["rowid", "words"], anonymous));

impl CallLog {
    /// Inserts calls, all or none. Idempotent: calls that are already stored are skipped, so that a batch
    /// with an unknown outcome can be written again.
    pub async fn insert(&self, calls: &[LoggedCall]) -> Result<(), CallError> {
        let all: Vec<&LoggedCall> = calls.iter().collect();
        match self.insert_new(&all).await {
            Err(error) if error.kind() == ErrorKind::Conflict => {
                let missing = self.missing(calls).await?;
                self.insert_new(&missing).await
            }
            result => result,
        }
    }

    async fn insert_new(&self, calls: &[&LoggedCall]) -> Result<(), CallError> {
        if calls.is_empty() {
            return Ok(());
        }
        let mut tx = self.db().begin().await?;
        let mut last = CHAIN.lock_head(&mut tx).await?;
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
            let mut texts = Vec::new();
            let is_sqlite = matches!(tx, Tx::Sqlite(_));
            for call in part {
                last.seq += 1;
                last.link = chain::link(&last.link, last.seq, call);
                rows.extend(row_args(last.seq, &call.row, &last.link, &mut tools));
                bodies.extend(body_args(last.seq, call));
                let text = full_text::indexed_terms(&call.row);
                if !is_sqlite {
                    rows.push(Arg::from(text));
                } else if !text.is_empty() {
                    texts.extend([Arg::Int(Some(last.seq)), Arg::from(text)]);
                }
            }
            if is_sqlite {
                put(&mut tx, &ROWS, rows).await?;
                put(&mut tx, &FULL_TEXT, texts).await?;
                put(&mut tx, &BODIES, bodies).await?;
            } else {
                put(&mut tx, &ROWS_WITH_TEXT, rows).await?;
                put(&mut tx, &BODIES_BY_NUMBER, bodies).await?;
            }
        }
        CHAIN.set_head(&mut tx, last).await?;
        tx.commit().await?;
        self.pending().add(before, calls);
        self.names().add(names);
        Ok(())
    }

    /// Returns the calls that are not stored yet, without duplicates.
    async fn missing<'a>(&self, calls: &'a [LoggedCall]) -> Result<Vec<&'a LoggedCall>, CallError> {
        let mut seen: HashSet<Uuid> = HashSet::new();
        let mut missing = Vec::new();
        for call in calls {
            let sql = "SELECT seq FROM tool_call_log WHERE space_id = $1 AND id = $2";
            let existing = self.db().row(sql, vec![uuid(call.row.space), uuid(call.row.id)]).await?;
            if existing.is_none() && seen.insert(call.row.id) {
                missing.push(call);
            }
        }
        Ok(missing)
    }
}

/// Inserts rows, given as consecutive values, with as few statements as possible.
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

/// Returns a numbered placeholder, for PostgreSQL.
pub(super) fn numbered(number: usize) -> String {
    format!("${number}")
}

/// Returns an anonymous placeholder, for SQLite, which would search the list of names for each numbered one.
fn anonymous(_: usize) -> String {
    "?".to_owned()
}

pub(super) fn inserts(table: &str, columns: &[&str], placeholder: fn(usize) -> String) -> Inserts {
    let statements = SIZES.map(|size| {
        let row = |row: usize| {
            let placeholders = (1..=columns.len()).map(|column| placeholder(row * columns.len() + column));
            format!("({})", placeholders.collect::<Vec<_>>().join(", "))
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
    fn placeholders_are_numbered_and_within_database_limits() {
        let [.., one] = inserts("t", &["a", "b"], numbered).statements;
        assert_eq!(one, "INSERT INTO t (a, b) VALUES ($1, $2)");
        let [many, ..] = inserts("t", &COLUMNS, numbered).statements;
        assert!(many.ends_with(&format!("${})", SIZES[0] * COLUMNS.len())), "{many}");
        assert!(SIZES[0] * (COLUMNS.len() + 1) < 32_766);
    }
}

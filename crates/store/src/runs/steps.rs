//! Steps as they are written: all that a transaction brings, in one statement. Who may write them is not asked here.

use std::fmt::Write as _;
use std::time::Duration;

use haft_core::{CallError, Effect, RunId};
use haft_runs::{DoneStep, Wait};
use jiff::Timestamp;
use serde_json::Value;
use sqlx::AssertSqlSafe;

use super::row::NEVER;
use super::writer::Batch;
use crate::db::{Arg, args};

/// So many go into one statement.
const TOGETHER: usize = 64;

/// So many arguments each has.
const COLUMNS: usize = 11;

/// A step, as it is to stand in its row.
pub(super) struct Row {
    run: RunId,
    space: String,
    key: String,
    effect: Effect,
    state: &'static str,
    output: Option<String>,
    waits_for: Option<String>,
    shown: Option<String>,
    until: Option<i64>,
    ended: Option<Timestamp>,
}

impl Row {
    fn done(of: (RunId, &str), step: &DoneStep, now: Timestamp) -> Self {
        let (output, ended) = (Some(step.output.to_string()), Some(now));
        Self { output, ended, ..Self::of(of, &step.key, step.effect, "done") }
    }

    fn waiting(of: (RunId, &str), wait: &Wait, now: Timestamp) -> Self {
        Self {
            waits_for: Some(wait.for_what.clone()),
            shown: wait.shown.as_ref().map(Value::to_string),
            until: wait.at_most.map(|_| later(now, wait.at_most)),
            ..Self::of(of, &wait.key, Effect::Read, "waiting")
        }
    }

    fn of((run, space): (RunId, &str), key: &str, effect: Effect, state: &'static str) -> Self {
        let (space, key) = (space.to_owned(), key.to_owned());
        let (output, waits_for, shown, until, ended) = (None, None, None, None, None);
        Self { run, space, key, effect, state, output, waits_for, shown, until, ended }
    }
}

impl Batch {
    /// Adds what a run did, then what it waits for, to what is written.
    pub(super) async fn add_steps(
        &mut self,
        of: (RunId, &str),
        done: &[DoneStep],
        waits: &[Wait],
    ) -> Result<(), CallError> {
        // A statement writes each row once.
        if self.steps.iter().any(|row| row.run == of.0) {
            self.write_steps().await?;
        }
        let now = self.now;
        let done = done.iter().map(|step| Row::done(of, step, now));
        self.steps.extend(done.chain(waits.iter().map(|wait| Row::waiting(of, wait, now))));
        Ok(())
    }

    /// The same for one that may have begun.
    pub(super) fn add_reserved(&mut self, of: (RunId, &str), key: &str, effect: Effect) {
        self.steps.push(Row::of(of, key, effect, "reserved"));
    }

    /// Writes what was added.
    pub(super) async fn write_steps(&mut self) -> Result<(), CallError> {
        let mut rows = std::mem::take(&mut self.steps).into_iter().enumerate().peekable();
        while rows.peek().is_some() {
            let (mut values, mut count) = (args![self.now], 0);
            for (place, row) in rows.by_ref().take(TOGETHER) {
                count += 1;
                // In the order in which they were written, and of one moment as they stand here.
                let place = i64::try_from(place).unwrap_or_default();
                let number = Arg::Int(Some(self.now.as_microsecond().saturating_add(place)));
                values.extend(args![row.run, row.space, row.key, number, word(row.effect), row.state]);
                values.extend(args![row.output, row.waits_for, row.shown, Arg::Int(row.until), row.ended]);
            }
            self.tx.run(AssertSqlSafe(statement(count)), values).await?;
        }
        Ok(())
    }
}

/// What waits already, or was ended while nobody looked, stays as it is.
fn statement(rows: usize) -> String {
    let mut sql =
        "INSERT INTO run_steps (created_at, expired, run_id, space_id, key, n, effect, state, output,
            waits_for, shown, until_at, ended_at) VALUES "
            .to_owned();
    for row in 0..rows {
        sql.push_str(if row == 0 { "($1, 0" } else { ", ($1, 0" });
        for column in 0..COLUMNS {
            // Into a string, which takes everything.
            let _ = write!(sql, ", ${}", 2 + row * COLUMNS + column);
        }
        sql.push(')');
    }
    sql.push_str(
        " ON CONFLICT (run_id, key) DO UPDATE SET state = excluded.state, output = excluded.output,
             ended_at = excluded.ended_at WHERE excluded.state <> 'waiting'",
    );
    sql
}

pub(super) fn later(now: Timestamp, pause: Option<Duration>) -> i64 {
    let pause = pause.map_or(NEVER, |pause| i64::try_from(pause.as_micros()).unwrap_or(NEVER));
    now.as_microsecond().saturating_add(pause).min(NEVER)
}

fn word(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Idempotent => "idempotent",
        Effect::Write => "write",
    }
}

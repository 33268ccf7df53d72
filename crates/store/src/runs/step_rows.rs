//! Rows of steps that a transaction inserts together at its end. The lease is checked before.

use std::time::Duration;

use haft_core::{CallError, Effect, RunId};
use haft_runs::{Adoption, DoneStep, StepWrites, Wait};
use jiff::Timestamp;

use super::row::NEVER;
use super::writer::Batch;
use crate::db::{Arg, args};
use crate::insert::{Rows, Table};

/// A repeated wait does not change the row of the earlier wait, which may still wait or may have been ended by another
/// party.
static STEPS: Table = Table {
    head:
        "INSERT INTO run_steps (expired, run_id, space_id, key, n, effect, state, output, wait_kind, details,
            deadline_at, ended_at, created_at) VALUES ",
    constants: "0",
    columns: 12,
    tail: " ON CONFLICT (run_id, key) DO UPDATE SET state = excluded.state, output = excluded.output,
             ended_at = excluded.ended_at WHERE excluded.state <> 'waiting'",
};

/// Copies a done step of another run of the same space.
const ADOPT: &str =
    "INSERT INTO run_steps (run_id, space_id, key, n, effect, state, output, wait_kind, details, deadline_at, expired,
        created_at, ended_at)
     SELECT $1, space_id, key, n, effect, state, output, wait_kind, details, deadline_at, expired, created_at, ended_at
     FROM run_steps WHERE run_id = $3 AND space_id = $2 AND key = $4 AND state = 'done'
     ON CONFLICT (run_id, key) DO NOTHING";

/// Rows that are not inserted yet.
pub(super) struct StepRows {
    /// The database's clock.
    now: Timestamp,
    rows: Rows,
    /// The runs of the rows.
    runs: Vec<RunId>,
    /// Number of rows so far.
    count: i64,
}

const NONE: Option<String> = None;
const NO_TIME: Arg = Arg::Int(None);

impl StepRows {
    pub(super) fn new(now: Timestamp) -> Self {
        Self { now, rows: Rows::of(&STEPS), runs: Vec::new(), count: 0 }
    }

    fn add(&mut self, of: (RunId, &str), writes: &StepWrites) {
        self.runs.push(of.0);
        let now = self.now;
        for DoneStep { key, effect, output } in &writes.done {
            let (number, effect) = (self.number(), word(*effect));
            let row = args![of.0, of.1, key, number, effect, "done", output.to_string(), NONE, NONE, NO_TIME];
            self.rows.push(row.into_iter().chain([Arg::from(now), Arg::from(now)]));
        }
        for Wait { key, kind, details, timeout } in &writes.waits {
            let (number, effect) = (self.number(), word(Effect::Read));
            let deadline = Arg::Int(timeout.map(|_| due_after(now, *timeout)));
            let details = details.as_ref().map(ToString::to_string);
            let row = args![of.0, of.1, key, number, effect, "waiting", NONE, kind, details, deadline];
            self.rows.push(row.into_iter().chain([NO_TIME, Arg::from(now)]));
        }
        for reservation in &writes.reserved {
            let (number, effect) = (self.number(), word(reservation.effect));
            let row =
                args![of.0, of.1, &reservation.key, number, effect, "reserved", NONE, NONE, NONE, NO_TIME];
            self.rows.push(row.into_iter().chain([NO_TIME, Arg::from(now)]));
        }
    }

    /// Numbers order the steps of a run, and are near the time at which they were written.
    fn number(&mut self) -> Arg {
        self.count += 1;
        Arg::Int(Some(self.now.as_microsecond().saturating_add(self.count)))
    }
}

impl Batch {
    /// Removes steps at once, and adds the others to the rows that are inserted together.
    pub(super) async fn write_steps(
        &mut self,
        of: (RunId, &str),
        writes: &StepWrites,
    ) -> Result<(), CallError> {
        // A statement writes each row once.
        let has_removals = !writes.removed.is_empty() || !writes.removed_scopes.is_empty();
        if self.steps.runs.contains(&of.0) || has_removals || !writes.adopted.is_empty() {
            self.insert_steps().await?;
        }
        for key in &writes.removed {
            // A wait that is repeated without a timeout keeps its deadline.
            let keeps_deadline = writes.waits.iter().any(|wait| wait.key == *key && wait.timeout.is_none());
            let sql = if keeps_deadline {
                "UPDATE run_steps SET state = 'waiting', output = NULL, ended_at = NULL
                 WHERE run_id = $1 AND key = $2"
            } else {
                "DELETE FROM run_steps WHERE run_id = $1 AND key = $2"
            };
            self.tx.run(sql, args![of.0, key]).await?;
        }
        for scope in &writes.removed_scopes {
            let sql = "DELETE FROM run_steps WHERE run_id = $1 AND substr(key, 1, CAST($3 AS INTEGER)) = $2";
            let length = u64::try_from(scope.chars().count()).unwrap_or(u64::MAX);
            self.tx.run(sql, args![of.0, scope, length]).await?;
        }
        for Adoption { from, keys } in &writes.adopted {
            for key in keys {
                self.tx.run(ADOPT, args![of.0, of.1, *from, key]).await?;
            }
        }
        if writes.resets_crashes {
            self.tx.run("UPDATE runs SET crashes = 0 WHERE id = $1", args![of.0]).await?;
        }
        self.steps.add(of, writes);
        Ok(())
    }

    /// Inserts the rows added so far.
    pub(super) async fn insert_steps(&mut self) -> Result<(), CallError> {
        let count = self.steps.count;
        let steps = std::mem::replace(&mut self.steps, StepRows { count, ..StepRows::new(self.now) });
        self.tx.insert(steps.rows).await
    }
}

/// The moment after a pause, in microseconds. No pause means never.
pub(super) fn due_after(now: Timestamp, pause: Option<Duration>) -> i64 {
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

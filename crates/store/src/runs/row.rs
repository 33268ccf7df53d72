//! Reads runs and steps from rows.

use std::sync::Arc;

use haft_core::CallError;
use haft_runs::{Run, RunLabels, Step};
use serde_json::Value;

use crate::failure;
use crate::row::Row;

/// The columns of a run, in the order in which [`run`] reads them.
macro_rules! run_columns {
    () => {
        "id, space_id, user_id, program, lane, lane_limit, name, call_id, agent_id, conversation_id, input, priority,
         status, due_at, epoch, crashes, max_crashes, cancel_requested, dead_letter, waiting_for, progress, output,
         key_digest, created_at, started_at, ended_at, changed_at"
    };
}
pub(super) use run_columns;

/// The number of these columns.
pub(super) const RUN_COLUMNS: usize = 27;

/// A moment in the far future, in microseconds.
pub(super) const NEVER: i64 = 253_000_000_000_000_000;

pub(super) fn run(row: &Row) -> Result<Run, CallError> {
    let small = |number: u64| u32::try_from(number).map_err(failure::unreadable);
    let due = row.int(13)?;
    Ok(Run {
        id: row.id(0)?,
        space: row.id(1)?,
        user: row.maybe_id(2)?,
        program: row.text(3)?,
        labels: RunLabels {
            lane: row.text(4)?,
            lane_limit: row.maybe_number(5)?.map(small).transpose()?,
            name: row.text(6)?,
            call_id: row.maybe_text(7)?,
            agent: row.maybe_text(8)?,
            conversation: row.maybe_text(9)?,
        },
        input: Arc::new(row.json(10)?),
        priority: i32::try_from(row.int(11)?).map_err(failure::unreadable)?,
        status: row.word(12)?,
        epoch: row.number(14)?,
        crashes: small(row.number(15)?)?,
        max_crashes: small(row.number(16)?)?,
        is_cancel_requested: row.flag(17)?,
        is_dead_letter: row.flag(18)?,
        waiting_for: row.maybe_text(19)?,
        progress: maybe_json(row, 20)?,
        output: maybe_json(row, 21)?,
        key_digest: row.maybe_text(22)?,
        created_at: row.time(23)?,
        started_at: row.maybe_time(24)?,
        ended_at: row.maybe_time(25)?,
        changed_at: row.time(26)?,
        due_at: if due >= NEVER { None } else { Some(row.time(13)?) },
    })
}

/// The columns of a step, in the order in which [`step`] reads them.
macro_rules! step_columns {
    () => {
        "run_id, key, effect, state, wait_kind, details, output, deadline_at, expired"
    };
}
pub(super) use step_columns;

pub(super) fn step(row: &Row) -> Result<Step, CallError> {
    Ok(Step {
        key: row.text(1)?,
        effect: row.word(2)?,
        state: row.word(3)?,
        wait_kind: row.maybe_text(4)?,
        details: maybe_json(row, 5)?,
        output: maybe_json(row, 6)?.map(Arc::new),
        deadline: row.maybe_time(7)?,
        is_expired: row.flag(8)?,
    })
}

/// All steps of a run, in the order in which they began.
pub(super) const STEPS: &str =
    concat!("SELECT ", step_columns!(), " FROM run_steps WHERE run_id = $1 ORDER BY n, key");

/// Selects a run of a space.
macro_rules! by_id {
    ($lock:literal) => {
        concat!("SELECT ", run_columns!(), " FROM runs WHERE space_id = $1 AND id = $2", $lock)
    };
}
pub(super) use by_id;

pub(super) fn steps(rows: &[Row]) -> Result<Vec<Step>, CallError> {
    rows.iter().map(step).collect()
}

fn maybe_json(row: &Row, column: usize) -> Result<Option<Value>, CallError> {
    row.maybe_text(column)?.map(|text| serde_json::from_str(&text).map_err(failure::unreadable)).transpose()
}

//! A run and its steps as rows.

use std::sync::Arc;

use haft_core::{CallError, Effect};
use haft_runs::{About, DoneSteps, Run, Step, StepState, WholeRun};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::failure;
use crate::row::Row;

/// The columns of a run, in the order in which [`run`] reads them.
macro_rules! run_columns {
    () => {
        "id, space_id, user_id, program, lane, lane_limit, name, call_id, agent_id, conversation_id, input, priority,
         status, due_at, epoch, deaths, most_deaths, cancel_asked, dead_letter, waiting_for, progress, output,
         key_digest, created_at, started_at, ended_at, changed_at"
    };
}
pub(super) use run_columns;

/// So many are these.
pub(super) const RUN_COLUMNS: usize = 27;

/// Far enough in the future never to come.
pub(super) const NEVER: i64 = 253_000_000_000_000_000;

pub(super) fn run(row: &Row) -> Result<Run, CallError> {
    let small = |number: u64| u32::try_from(number).map_err(failure::unreadable);
    let due = row.int(13)?;
    Ok(Run {
        id: row.id(0)?,
        space: row.id(1)?,
        user: row.maybe_id(2)?,
        program: row.text(3)?,
        about: About {
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
        deaths: small(row.number(15)?)?,
        most_deaths: small(row.number(16)?)?,
        is_cancel_asked: row.flag(17)?,
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
        "run_id, key, effect, state, waits_for, shown, output, until_at, expired"
    };
}
pub(super) use step_columns;

pub(super) fn step(row: &Row) -> Result<Step, CallError> {
    Ok(Step {
        key: row.text(1)?,
        effect: row.word(2)?,
        state: row.word(3)?,
        waits_for: row.maybe_text(4)?,
        shown: maybe_json(row, 5)?,
        output: maybe_json(row, 6)?.map(Arc::new),
        until: row.maybe_time(7)?,
        is_expired: row.flag(8)?,
    })
}

/// What the key of a row begins with that holds several steps; no program's does.
pub(super) const SEVERAL: &str = "+";

/// All steps of a run in their order, and before them those that it had done when it was first kept.
pub(super) const STEPS: &str = concat!(
    "SELECT ",
    step_columns!(),
    ", n FROM run_steps WHERE run_id = $1
     UNION ALL SELECT id, '+', 'read', 'done', NULL, NULL, begun, CAST(NULL AS BIGINT), 0, 0
     FROM runs WHERE id = $1 AND begun IS NOT NULL ORDER BY n"
);

/// A run of a space.
macro_rules! by_id {
    ($lock:literal) => {
        concat!("SELECT ", run_columns!(), " FROM runs WHERE space_id = $1 AND id = $2", $lock)
    };
}
pub(super) use by_id;

/// That and all its steps in one row: SQLite's thread wakes whoever reads for each.
pub(super) const SQLITE_WHOLE: &str = concat!(
    "SELECT ",
    run_columns!(),
    ", begun, (SELECT json_group_array(json_array(key, effect, state, waits_for, shown, output, until_at, expired)
                                       ORDER BY n)
               FROM run_steps WHERE run_id = $2)
     FROM runs WHERE space_id = $1 AND id = $2"
);

pub(super) fn whole(row: &Row) -> Result<WholeRun, CallError> {
    let mut steps = match row.maybe_text(RUN_COLUMNS)? {
        Some(begun) => several(&begun)?,
        None => Vec::new(),
    };
    for StepOfWhole(key, effect, state, waits_for, shown, output, until, expired) in
        row.json::<Vec<StepOfWhole>>(RUN_COLUMNS + 1)?
    {
        if key.starts_with(SEVERAL) {
            steps.extend(several(output.as_deref().unwrap_or_default())?);
            continue;
        }
        let until = until.map(Timestamp::from_microsecond).transpose().map_err(failure::unreadable)?;
        let (shown, output) = (read(shown)?, read(output)?.map(Arc::new));
        steps.push(Step { key, effect, state, waits_for, shown, output, until, is_expired: expired != 0 });
    }
    Ok(WholeRun::read(run(row)?, steps))
}

#[derive(Deserialize)]
struct StepOfWhole(
    String,
    Effect,
    StepState,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<i64>,
    i64,
);

pub(super) fn steps(rows: &[Row]) -> Result<Vec<Step>, CallError> {
    let mut steps = Vec::with_capacity(rows.len());
    for row in rows {
        if row.text(1)?.starts_with(SEVERAL) {
            steps.extend(several(&row.text(6)?)?);
        } else {
            steps.push(step(row)?);
        }
    }
    Ok(steps)
}

/// Those in a row that holds several.
fn several(text: &str) -> Result<Vec<Step>, CallError> {
    let several = DoneSteps::read(text).map_err(failure::unreadable)?;
    Ok(several.into_iter().map(Step::done).collect())
}

fn maybe_json(row: &Row, column: usize) -> Result<Option<Value>, CallError> {
    read(row.maybe_text(column)?)
}

fn read(text: Option<String>) -> Result<Option<Value>, CallError> {
    text.map(|text| serde_json::from_str(&text).map_err(failure::unreadable)).transpose()
}

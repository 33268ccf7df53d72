//! A run and its steps as rows.

use std::sync::Arc;

use haft_core::{CallError, Effect};
use haft_runs::{About, DoneStep, Run, Step};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

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

/// All steps of a run in their order. Those that it had done when it was first kept are a row of their own.
pub(super) const STEPS: &str = concat!(
    "SELECT ",
    step_columns!(),
    ", n FROM run_steps WHERE run_id = $1
     UNION ALL SELECT id, '', 'read', 'begun', NULL, NULL, begun, CAST(NULL AS BIGINT), 0, 0
     FROM runs WHERE id = $1 AND begun IS NOT NULL ORDER BY n"
);

pub(super) fn steps(rows: &[Row]) -> Result<Vec<Step>, CallError> {
    let mut steps = Vec::with_capacity(rows.len());
    for row in rows {
        if row.text(3)? == BEGUN {
            for Begun { key, effect, output } in row.json::<Vec<Begun>>(6)? {
                // By itself, so that it may be as deep as it could in a row of its own.
                let output = serde_json::from_str(output.get()).map_err(failure::unreadable)?;
                steps.push(Step::done(DoneStep { key, effect, output: Arc::new(output) }));
            }
        } else {
            steps.push(step(row)?);
        }
    }
    Ok(steps)
}

/// How the row stands that holds them.
const BEGUN: &str = "begun";

/// One of them.
#[derive(Deserialize)]
struct Begun {
    key: String,
    effect: Effect,
    output: Box<RawValue>,
}

fn maybe_json(row: &Row, column: usize) -> Result<Option<Value>, CallError> {
    let text = row.maybe_text(column)?;
    text.map(|text| serde_json::from_str(&text).map_err(failure::unreadable)).transpose()
}

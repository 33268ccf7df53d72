//! What writes add to tables: runs that wait already, and steps. All of a transaction is written at once; who may write
//! it is not asked here.

use std::time::Duration;

use haft_core::{CallError, Effect, RunId};
use haft_runs::{DoneStep, INBOX, NewRun, Wait};
use jiff::Timestamp;

use super::row::NEVER;
use super::writer::Batch;
use crate::db::{Arg, args};
use crate::insert::{Rows, Table};

/// Runs that were carried on before they were kept. What was kept before, although nobody was told so, stays as it is.
static RUNS: Table = Table {
    head: "INSERT INTO runs (status, epoch, deaths, cancel_asked, dead_letter, id, space_id, user_id, program, lane,
            lane_limit, name, call_id, agent_id, conversation_id, input, priority, most_deaths, waiting_for, due_at,
            begun, created_at, started_at, changed_at) VALUES ",
    constants: "'waiting', 1, 0, 0, 0",
    columns: 19,
    tail: " ON CONFLICT (id) DO NOTHING",
};

/// What waits already, or was ended while nobody looked, stays as it is.
static STEPS: Table = Table {
    head: "INSERT INTO run_steps (expired, run_id, space_id, key, n, effect, state, output, waits_for, shown, until_at,
            ended_at, created_at) VALUES ",
    constants: "0",
    columns: 12,
    tail: " ON CONFLICT (run_id, key) DO UPDATE SET state = excluded.state, output = excluded.output,
             ended_at = excluded.ended_at WHERE excluded.state <> 'waiting'",
};

/// Rows that are not written yet.
pub(super) struct Added {
    /// Of the database's clock.
    now: Timestamp,
    runs: Rows,
    steps: Rows,
    /// Whose steps they are.
    of: Vec<RunId>,
    /// So many steps were added.
    count: i64,
}

impl Added {
    pub(super) fn at(now: Timestamp) -> Self {
        Self { now, runs: Rows::of(&RUNS), steps: Rows::of(&STEPS), of: Vec::new(), count: 0 }
    }

    /// The runs, where nothing else was added.
    pub(super) fn into_runs(self) -> Rows {
        self.runs
    }

    /// A new run that has done something and waits for what is sent to it.
    pub(super) fn run(&mut self, new: &NewRun, done: &[DoneStep]) {
        let (about, now, never) = (&new.about, self.now, Arg::Int(Some(NEVER)));
        let lane_limit = Arg::Int(about.lane_limit.map(i64::from));
        self.runs.push(args![
            new.id,
            new.space,
            new.user,
            new.program,
            &about.lane,
            lane_limit,
            &about.name,
            about.call_id.clone(),
            about.agent.clone(),
            about.conversation.clone(),
            new.input.to_string(),
            Arg::Int(Some(i64::from(new.priority))),
            u64::from(new.most_deaths),
            INBOX,
            never,
            serde_json::to_string(done).unwrap_or_default(),
            now,
            now,
            now,
        ]);
    }

    /// What a run did, then what it waits for.
    pub(super) fn steps(&mut self, of: (RunId, &str), done: &[DoneStep], waits: &[Wait]) {
        self.of.push(of.0);
        for DoneStep { key, effect, output } in done {
            let (output, ended) = (output.to_string(), Some(self.now));
            let number = self.number();
            self.steps.push(args![
                of.0,
                of.1,
                key,
                number,
                word(*effect),
                "done",
                output,
                NONE,
                NONE,
                NO_TIME,
                ended,
                self.now
            ]);
        }
        for Wait { key, for_what, shown, at_most } in waits {
            let (effect, until) = (word(Effect::Read), at_most.map(|_| later(self.now, *at_most)));
            let shown = shown.as_ref().map(ToString::to_string);
            let number = self.number();
            let row =
                args![of.0, of.1, key, number, effect, "waiting", NONE, for_what, shown, Arg::Int(until)];
            self.steps.push(row.into_iter().chain(args![NO_TIME, self.now]));
        }
    }

    /// A step that may have begun.
    pub(super) fn reserved(&mut self, of: (RunId, &str), key: &str, effect: Effect) {
        let number = self.number();
        let row =
            args![of.0, of.1, key, number, word(effect), "reserved", NONE, NONE, NONE, NO_TIME, NO_TIME];
        self.steps.push(row.into_iter().chain(args![self.now]));
    }

    /// In the order in which they were written, and of one moment as they stand here.
    fn number(&mut self) -> Arg {
        self.count += 1;
        Arg::Int(Some(self.now.as_microsecond().saturating_add(self.count)))
    }
}

const NONE: Option<String> = None;
const NO_TIME: Arg = Arg::Int(None);

impl Batch {
    /// Adds what a run did, then what it waits for, to what is written.
    pub(super) async fn add_steps(
        &mut self,
        of: (RunId, &str),
        done: &[DoneStep],
        waits: &[Wait],
    ) -> Result<(), CallError> {
        // A statement writes each row once.
        if self.added.of.contains(&of.0) {
            self.write_added().await?;
        }
        self.added.steps(of, done, waits);
        Ok(())
    }

    /// Writes what was added.
    pub(super) async fn write_added(&mut self) -> Result<(), CallError> {
        let count = self.added.count;
        let added = std::mem::replace(&mut self.added, Added { count, ..Added::at(self.now) });
        // Steps are of runs.
        self.tx.insert(added.runs).await?;
        self.tx.insert(added.steps).await
    }
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

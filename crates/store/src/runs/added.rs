//! What writes add to tables: runs that wait already, and steps. All of a transaction is written at once; who may write
//! it is not asked here.

use std::time::Duration;

use haft_core::{CallError, Effect, RunId, SpaceId};
use haft_runs::{DoneStep, DoneSteps, INBOX, NewRun, Wait};
use jiff::Timestamp;

use super::row::{NEVER, SEVERAL};
use super::writer::Batch;
use crate::db::{Arg, args};
use crate::insert::{Rows, Table};
use crate::sqlite::SqliteDb;

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

/// Runs that went on and are at rest again, with what they did in one row, if nobody has taken one since.
static RESTED: Table = Table {
    head: "INSERT INTO rested (effect, run_id, space_id, epoch, n, output, at) VALUES ",
    constants: "'read'",
    columns: 6,
    tail: "",
};

/// What SQLite does about each of these: so they are one statement, and one message to its thread. It is told when it is
/// opened, and forgets it with the connection. A migration that makes `runs` anew has to drop it first.
pub(crate) const SQLITE_RESTED: &str = "
    CREATE TEMP VIEW rested AS
        SELECT '' AS effect, '' AS run_id, '' AS space_id, 0 AS epoch, 0 AS n, '' AS output, 0 AS at;
    CREATE TEMP TRIGGER rest INSTEAD OF INSERT ON rested BEGIN
        SELECT RAISE(ABORT, 'somebody else has the run') WHERE NOT EXISTS (
            SELECT 1 FROM runs
            WHERE id = NEW.run_id AND epoch = NEW.epoch AND status = 'waiting' AND waiting_for = 'inbox');
        UPDATE runs SET epoch = epoch + 1, claimed_by = NULL, cancel_asked = 0, changed_at = NEW.at
        WHERE id = NEW.run_id;
        INSERT INTO run_steps (run_id, space_id, key, n, effect, state, output, expired, ended_at, created_at)
        VALUES (NEW.run_id, NEW.space_id, '+' || (NEW.epoch + 1), NEW.n, NEW.effect, 'done', NEW.output, 0, NEW.at, NEW.at);
    END";

/// Rows that are not written yet.
pub(super) struct Added {
    /// Of the database's clock.
    now: Timestamp,
    runs: Rows,
    steps: Rows,
    rested: Rows,
    /// Whose steps they are.
    of: Vec<RunId>,
    /// So many steps were added.
    count: i64,
}

impl Added {
    pub(super) fn at(now: Timestamp) -> Self {
        let (runs, steps) = (Rows::of(&RUNS), Rows::of(&STEPS));
        Self { now, runs, steps, rested: Rows::of(&RESTED), of: Vec::new(), count: 0 }
    }

    /// Writes all of it in one message to SQLite's thread, or nothing where one of them cannot be.
    pub(super) async fn write(self, db: &SqliteDb) -> Result<(), CallError> {
        db.write([self.rested, self.runs]).await
    }

    /// A run that did something and is at rest again.
    pub(super) fn rested(&mut self, of: (RunId, SpaceId), from: u64, done: &DoneSteps) {
        let number = self.number();
        self.rested.push(args![of.0, of.1, from, number, done.text(), self.now]);
    }

    /// What a run did since it was claimed for so many times, in one row.
    fn several(&mut self, of: (RunId, SpaceId), epoch: u64, done: &DoneSteps) -> Vec<Arg> {
        let (number, now) = (self.number(), self.now);
        let (key, effect) = (key_of(epoch), word(Effect::Read));
        args![of.0, of.1, key, number, effect, "done", done.text(), NONE, NONE, NO_TIME, now, now]
    }

    /// A new run that has done something and waits for what is sent to it.
    pub(super) fn run(&mut self, new: &NewRun, done: &DoneSteps) {
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
            done.text(),
            now,
            now,
            now,
        ]);
    }

    /// What a run did, then what it waits for.
    pub(super) fn steps(&mut self, of: (RunId, &str), done: &[DoneStep], waits: &[Wait]) {
        self.of.push(of.0);
        for DoneStep { key, effect, output } in done {
            let (number, now) = (self.number(), self.now);
            let (effect, output) = (word(*effect), output.to_string());
            let row = args![of.0, of.1, key, number, effect, "done", output, NONE, NONE, NO_TIME, now, now];
            self.steps.push(row);
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

/// The key of a row that holds several steps.
pub(super) fn key_of(epoch: u64) -> String {
    format!("{SEVERAL}{epoch}")
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

    /// Adds what a run did since it was claimed for so many times.
    pub(super) fn add_several(&mut self, of: (RunId, SpaceId), epoch: u64, done: &DoneSteps) {
        let row = self.added.several(of, epoch, done);
        self.added.steps.push(row);
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

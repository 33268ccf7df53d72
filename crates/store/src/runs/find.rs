//! Queries over runs: one run, a page of runs, approvals, and counts.

use std::collections::{BTreeMap, HashMap};

use haft_core::{CallError, RunId, SpaceId};
use haft_runs::{Run, RunStatus, RunWithSteps, Step, StepState};
use jiff::Timestamp;
use serde::Serialize;
use sqlx::AssertSqlSafe;

use super::RunJournal;
use super::row::{STEPS, by_id, run, run_columns, step, step_columns, steps};
use crate::db::{Arg, args};
use crate::page::Page;

/// A filter of runs. An absent field matches every run.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    /// Matches any of these; every status if empty.
    pub statuses: Vec<RunStatus>,
    pub lane: Option<String>,
    pub agent: Option<String>,
    pub conversation: Option<String>,
    pub call_id: Option<String>,
    pub dead_letter: Option<bool>,
}

/// A step that asks a person for an approval, with its run.
#[derive(Debug, Clone)]
pub struct Approval {
    pub run: Run,
    pub step: Step,
}

/// The numbers of runs of a lane by status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCounts {
    pub space: SpaceId,
    pub lane: String,
    /// Queued or scheduled.
    pub queued: u64,
    pub running: u64,
    pub waiting: u64,
    pub dead_letters: u64,
}

impl RunCounts {
    fn empty(space: SpaceId, lane: String) -> Self {
        Self { space, lane, queued: 0, running: 0, waiting: 0, dead_letters: 0 }
    }
}

const BY_ID: &str = by_id!("");

/// Maximum number of ids in one statement.
const MAX_IDS: usize = 500;

const UNENDED_BY_LANE: &str =
    "SELECT space_id, lane, status, COUNT(*) FROM runs WHERE program = 'call' AND ended_at IS NULL
    GROUP BY space_id, lane, status";
const DEAD_BY_LANE: &str = "SELECT space_id, lane, COUNT(*) FROM runs WHERE program = 'call' AND dead_letter = 1 GROUP BY space_id, lane";

const UNENDED_IN_SPACE: &str =
    "SELECT status, COUNT(*) FROM runs WHERE space_id = $1 AND program = 'call' AND ended_at IS NULL
    GROUP BY status";
const ENDED_IN_SPACE: &str = "SELECT
    (SELECT COUNT(*) FROM runs WHERE space_id = $1 AND program = 'call' AND dead_letter = 1),
    (SELECT COUNT(*) FROM runs WHERE space_id = $1 AND program = 'call' AND status = 'unknown')";

/// The numbers of tasks of a space by status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunSummary {
    pub queued: u64,
    pub running: u64,
    /// For a person, a callback, a timer or another run.
    pub waiting: u64,
    /// The number among them that wait for an approval.
    pub asking: u64,
    pub unknown: u64,
    pub dead_letters: u64,
}

impl RunJournal {
    pub async fn get(&self, space: SpaceId, id: RunId) -> Result<Option<Run>, CallError> {
        let found = self.db().row(BY_ID, args![space, id]).await?.map(|row| run(&row)).transpose()?;
        Ok(found.map(|run| self.0.store.opened_run(run)))
    }

    /// Returns a run of a space with its steps, in the order in which they began.
    pub async fn with_steps(&self, space: SpaceId, id: RunId) -> Result<Option<RunWithSteps>, CallError> {
        let mut reader = self.db().reader().await?;
        let Some(row) = reader.row(BY_ID, args![space, id]).await? else { return Ok(None) };
        let steps = steps(&reader.rows(STEPS, args![id]).await?)?;
        Ok(Some(RunWithSteps { run: run(&row)?, steps }))
    }

    /// Returns the steps of a run in the order in which they began, with decrypted arguments.
    pub async fn steps(&self, space: SpaceId, id: RunId) -> Result<Vec<Step>, CallError> {
        let steps = self.with_steps(space, id).await?.map(|run| run.steps).unwrap_or_default();
        Ok(self.0.store.opened_steps((space, id), steps))
    }

    /// Returns the end times of runs of a space. Runs that have not ended or are no longer stored are omitted.
    pub async fn ended_at(
        &self,
        space: SpaceId,
        runs: &[RunId],
    ) -> Result<HashMap<RunId, Timestamp>, CallError> {
        let mut ended = HashMap::new();
        for some in runs.chunks(MAX_IDS) {
            let placeholders: Vec<String> = (2..some.len() + 2).map(|number| format!("${number}")).collect();
            let placeholders = placeholders.join(", ");
            let sql = format!(
                "SELECT id, ended_at FROM runs WHERE space_id = $1 AND id IN ({placeholders}) AND ended_at IS NOT NULL"
            );
            let values = std::iter::once(Arg::from(space)).chain(some.iter().map(|id| Arg::from(*id)));
            // Composed of constants; the ids are arguments.
            for row in self.db().rows(AssertSqlSafe(sql), values.collect::<Vec<_>>()).await? {
                ended.insert(row.id(0)?, row.time(1)?);
            }
        }
        Ok(ended)
    }

    /// Returns tasks, newest first.
    pub async fn list(
        &self,
        space: SpaceId,
        filter: &RunFilter,
        page: &Page,
    ) -> Result<(Vec<Run>, Option<String>), CallError> {
        let (_, before) = page.start_key()?;
        let mut sql =
            concat!("SELECT ", run_columns!(), " FROM runs WHERE space_id = $1 AND program = 'call'")
                .to_owned();
        let mut values = args![space];
        let mut and = |clause: &str, value: Arg| {
            values.push(value);
            sql.push_str(&clause.replace('?', &format!("${}", values.len())));
        };
        if !before.is_empty() {
            and(" AND id < ?", Arg::from(before));
        }
        let equal = [
            (" AND lane = ?", &filter.lane),
            (" AND agent_id = ?", &filter.agent),
            (" AND conversation_id = ?", &filter.conversation),
            (" AND call_id = ?", &filter.call_id),
        ];
        for (clause, value) in equal {
            if let Some(value) = value {
                and(clause, Arg::from(value));
            }
        }
        if let Some(dead) = filter.dead_letter {
            and(" AND dead_letter = ?", Arg::from(dead));
        }
        if !filter.statuses.is_empty() {
            let words: Vec<String> =
                filter.statuses.iter().map(|status| format!("'{}'", status.as_str())).collect();
            sql.push_str(&format!(" AND status IN ({})", words.join(", ")));
        }
        values.push(Arg::from(page.rows()));
        sql.push_str(&format!(" ORDER BY id DESC LIMIT ${}", values.len()));
        // Composed of constants; the values of the filter are arguments.
        let rows = self.db().rows(AssertSqlSafe(sql), values).await?;
        let runs: Result<Vec<Run>, CallError> = rows.iter().map(run).collect();
        Ok(page.cut(runs?, |run| ("", run.id.to_string())))
    }

    /// Returns approvals that wait for a decision, oldest first.
    pub async fn approvals(
        &self,
        space: SpaceId,
        page: &Page,
    ) -> Result<(Vec<Approval>, Option<String>), CallError> {
        let (_, after) = page.start_key()?;
        let rows = self.db().rows(
            concat!(
                "SELECT ",
                step_columns!(),
                " FROM run_steps WHERE space_id = $1 AND wait_kind = 'approval' AND state = 'waiting' AND run_id > $2
                  ORDER BY run_id LIMIT $3"
            ),
            args![space, after, page.rows()],
        );
        let mut found = Vec::new();
        for row in rows.await? {
            let id: RunId = row.id(0)?;
            if let Some(run) = self.get(space, id).await? {
                found.push(Approval { run, step: step(&row)? });
            }
        }
        Ok(page.cut(found, |approval| ("", approval.run.id.to_string())))
    }

    /// Returns the number of approvals that wait for a decision.
    pub async fn count_approvals(&self, space: SpaceId) -> Result<u64, CallError> {
        let sql = "SELECT COUNT(*) FROM run_steps WHERE space_id = $1 AND wait_kind = 'approval' AND state = 'waiting'";
        let row = self.db().row(sql, args![space]).await?;
        row.map_or(Ok(0), |row| row.number(0))
    }

    /// Returns the approval of a run that waits for a decision, or else the last one.
    pub async fn approval(&self, space: SpaceId, id: RunId) -> Result<Option<Approval>, CallError> {
        let Some(run) = self.get(space, id).await? else { return Ok(None) };
        let steps = self.steps(space, id).await?;
        let mut asked: Vec<Step> =
            steps.into_iter().filter(|step| step.wait_kind.as_deref() == Some("approval")).collect();
        let waiting = asked.iter().position(|step| step.state == StepState::Waiting);
        let step = waiting.map(|index| asked.swap_remove(index)).or_else(|| asked.pop());
        Ok(step.map(|step| Approval { run, step }))
    }

    /// Returns the numbers of tasks of a space by status.
    pub async fn summary(&self, space: SpaceId) -> Result<RunSummary, CallError> {
        let mut summary = RunSummary { asking: self.count_approvals(space).await?, ..RunSummary::default() };
        for row in self.db().rows(UNENDED_IN_SPACE, args![space]).await? {
            let (status, count) = (row.word::<RunStatus>(0)?, row.number(1)?);
            match status {
                RunStatus::Queued | RunStatus::Scheduled => summary.queued += count,
                RunStatus::Running => summary.running += count,
                RunStatus::Waiting => summary.waiting += count,
                RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled | RunStatus::Unknown => {}
            }
        }
        let row = self.db().row(ENDED_IN_SPACE, args![space]).await?;
        if let Some(row) = row {
            (summary.dead_letters, summary.unknown) = (row.number(0)?, row.number(1)?);
        }
        Ok(summary)
    }

    /// Returns the numbers of tasks of each lane, in all spaces.
    pub async fn counts(&self) -> Result<Vec<RunCounts>, CallError> {
        let mut counts: BTreeMap<(SpaceId, String), RunCounts> = BTreeMap::new();
        let mut of = |space: SpaceId, lane: String, add: &dyn Fn(&mut RunCounts)| {
            let key = (space, lane.clone());
            add(counts.entry(key).or_insert_with(|| RunCounts::empty(space, lane)));
        };
        for row in self.db().rows(UNENDED_BY_LANE, args![]).await? {
            let (status, count) = (row.word::<RunStatus>(2)?, row.number(3)?);
            of(row.id(0)?, row.text(1)?, &|counts| match status {
                RunStatus::Queued | RunStatus::Scheduled => counts.queued += count,
                RunStatus::Running => counts.running += count,
                RunStatus::Waiting => counts.waiting += count,
                RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled | RunStatus::Unknown => {}
            });
        }
        for row in self.db().rows(DEAD_BY_LANE, args![]).await? {
            let count = row.number(2)?;
            of(row.id(0)?, row.text(1)?, &|counts| counts.dead_letters += count);
        }
        Ok(counts.into_values().collect())
    }
}

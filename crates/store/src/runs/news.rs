//! What is new among the runs of a space since a moment: those that have ended, and those that ask a person.
//!
//! Nothing is written for it: a run's row says when it ended, a step's row when it began to wait.

use std::time::Duration;

use haft_core::{CallError, SpaceId};
use haft_runs::Run;
use jiff::Timestamp;

use super::RunJournal;
use super::row::{run, run_columns};
use crate::db::{Db, args};

/// On PostgreSQL a write may be seen so long after the moment that it bears: others were quicker to commit.
const LATE: Duration = Duration::from_secs(2);

/// So far apart two reads may be.
const BETWEEN: Duration = Duration::from_secs(1);

/// So much is read at once.
const PAGE: u64 = 200;

/// Something that happened to a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunNews {
    pub run: Run,
    pub at: Timestamp,
    /// A person is asked; else it has ended.
    pub is_asked: bool,
}

const ENDED: &str = concat!(
    "SELECT ",
    run_columns!(),
    " FROM runs WHERE space_id = $1 AND program = 'call' AND ended_at IS NOT NULL AND (ended_at, id) > ($2, $3)
      ORDER BY ended_at, id LIMIT $4"
);

const ASKED: &str = "SELECT run_id, created_at FROM run_steps
    WHERE space_id = $1 AND waits_for = 'approval' AND state = 'waiting' AND created_at >= $2
    ORDER BY created_at LIMIT 1000";

impl RunJournal {
    /// The clock by which runs live.
    pub async fn now(&self) -> Result<Timestamp, CallError> {
        let mut tx = self.db().begin().await?;
        self.0.clock.now(&mut tx).await
    }

    /// So late something may be seen that happened before what was seen already.
    pub fn late(&self) -> Duration {
        match self.db() {
            Db::Sqlite(_) => Duration::ZERO,
            Db::Postgres(_) => LATE,
        }
    }

    /// Some of what happened since a moment, and in it, in order; whether that is all.
    pub async fn news(
        &self,
        space: SpaceId,
        since: (Timestamp, &str),
    ) -> Result<(Vec<RunNews>, bool), CallError> {
        let (moment, last) = since;
        let rows = self.db().rows(ENDED, args![space, moment, last, PAGE]).await?;
        let is_all = (rows.len() as u64) < PAGE;
        let mut news = Vec::new();
        for row in &rows {
            let run = run(row)?;
            if let Some(at) = run.ended_at {
                news.push(RunNews { run, at, is_asked: false });
            }
        }
        let until = news.last().map(|news| news.at).filter(|_| !is_all);
        // Those of a moment before too: what began to wait between the two reads is older than what is known now.
        let before = moment.saturating_sub(BETWEEN).unwrap_or(moment);
        for row in self.db().rows(ASKED, args![space, before]).await? {
            let at = row.time(1)?;
            // What is later than the rest of this page comes with the next.
            if until.is_some_and(|until| at > until) {
                break;
            }
            if let Some(run) = self.get(space, row.id(0)?).await? {
                news.push(RunNews { run, at, is_asked: true });
            }
        }
        news.sort_by_key(|news| news.at);
        Ok((news, is_all))
    }
}

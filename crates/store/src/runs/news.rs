//! Reads the tasks of a space that ended or began to wait for an approval since a moment, from the timestamps of their
//! rows.

use std::time::Duration;

use haft_core::{CallError, SpaceId};
use haft_runs::Run;
use jiff::Timestamp;

use super::RunJournal;
use super::row::{run, run_columns};
use crate::db::{Db, args};

/// Maximum time between the timestamp of a row and its commit on PostgreSQL.
const MAX_COMMIT_DELAY: Duration = Duration::from_secs(2);

/// Maximum time between the two reads.
const MAX_READ_GAP: Duration = Duration::from_secs(1);

/// Maximum number of ended tasks that are read at once.
const PAGE: u64 = 200;

/// A task that ended or began to wait for an approval.
#[derive(Debug, Clone, PartialEq)]
pub struct RunNews {
    pub run: Run,
    pub at: Timestamp,
    /// True if the task waits for an approval; otherwise it has ended.
    pub is_asked: bool,
}

const ENDED: &str = concat!(
    "SELECT ",
    run_columns!(),
    " FROM runs WHERE space_id = $1 AND program = 'call' AND ended_at IS NOT NULL AND (ended_at, id) > ($2, $3)
      ORDER BY ended_at, id LIMIT $4"
);

const WAITING_APPROVALS: &str = "SELECT run_id, created_at FROM run_steps
    WHERE space_id = $1 AND wait_kind = 'approval' AND state = 'waiting' AND created_at >= $2
    ORDER BY created_at LIMIT 1000";

impl RunJournal {
    /// Returns the time of the journal's clock.
    pub async fn now(&self) -> Result<Timestamp, CallError> {
        let mut tx = self.db().begin().await?;
        self.0.clock.now(&mut tx).await
    }

    /// Maximum time after which a row with an earlier timestamp may still appear.
    pub fn max_commit_delay(&self) -> Duration {
        match self.db() {
            Db::Sqlite(_) => Duration::ZERO,
            Db::Postgres(_) => MAX_COMMIT_DELAY,
        }
    }

    /// Returns what happened since a moment, in order, and whether that is all.
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
        // Reads approvals from an earlier moment on, because some may have been inserted between the two reads.
        let before = moment.saturating_sub(MAX_READ_GAP).unwrap_or(moment);
        for row in self.db().rows(WAITING_APPROVALS, args![space, before]).await? {
            let at = row.time(1)?;
            // Later approvals are in the next page.
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

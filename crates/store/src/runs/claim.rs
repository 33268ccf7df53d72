//! Claims due runs: queues runs whose wait or lease has expired, then claims queued ones, with a share for each space.
//!
//! One process claims at a time, so that limits hold for all processes together.

use std::collections::HashMap;
use std::time::Duration;

use haft_core::{BoxFuture, CallError, RunId};
use haft_runs::{ClaimedRun, Claims, Lease, Step, WorkerId};

use super::row::{RUN_COLUMNS, STEPS, run, run_columns, steps};
use super::step_rows::due_after;
use super::writer::{Batch, JournalWrite};
use crate::db::{Arg, Tx, args};
use crate::{failure, migrate};

/// Maximum number of waiting or lost runs that one claim queues.
const MAX_WOKEN: u64 = 500;

/// Maximum number of lanes that one claim considers. The next claim continues after them.
const MAX_LANES: usize = 256;

/// Maximum number of runs of one lane that are claimed before other lanes are considered again.
const CHUNK: u64 = 8;

/// The part of all slots that one space may use, so that the runs of other spaces find a free one.
const SHARE: (usize, usize) = (3, 4);

/// The lock of claims. The number must be unique within Haft.
pub(crate) const POSTGRES_LOCK: &str = "SELECT pg_advisory_xact_lock(7420002)";

pub(super) struct Claim {
    pub(super) worker: WorkerId,
    pub(super) limit: usize,
    /// `None` if leases do not expire.
    pub(super) lease: Option<Duration>,
    /// The lane after which this claim begins to look.
    pub(super) after: (String, String),
}

impl JournalWrite for Claim {
    /// The claims, and the lane after which the next claim begins to look.
    type Output = (Claims, (String, String));

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<Self::Output, CallError>> {
        Box::pin(self.claim(batch))
    }
}

const EXPIRE: &str = "UPDATE run_steps SET state = 'done', expired = 1, ended_at = $1
    WHERE state = 'waiting' AND deadline_at IS NOT NULL AND deadline_at <= $1";

macro_rules! wake {
    ($lock:literal) => {
        concat!(
            "UPDATE runs SET crashes = crashes + CASE WHEN status = 'running' THEN 1 ELSE 0 END,
                    status = 'queued', waiting_for = NULL, claimed_by = NULL, changed_at = $1
             WHERE id IN (SELECT id FROM runs WHERE status IN ('scheduled', 'waiting', 'running') AND due_at <= $1
                          ORDER BY due_at LIMIT $2",
            $lock,
            ")"
        )
    };
}

/// 1 if the run's user may not call tools in its space: deleted, deactivated, not a member or only a viewer.
macro_rules! is_denied {
    () => {
        "CAST(CASE WHEN user_id IS NULL OR EXISTS (
                 SELECT 1 FROM members m JOIN users u ON u.id = m.user_id
                 WHERE m.space_id = runs.space_id AND m.user_id = runs.user_id
                     AND u.is_active = 1 AND m.role <> 'viewer')
             THEN 0 ELSE 1 END AS BIGINT)"
    };
}

macro_rules! take {
    ($lock:literal) => {
        concat!(
            "UPDATE runs SET status = 'running', epoch = epoch + 1, claimed_by = $1, due_at = $2,
                    started_at = COALESCE(started_at, $3), changed_at = $3
             WHERE id IN (SELECT id FROM runs WHERE status = 'queued' AND space_id = $4 AND lane = $5
                          ORDER BY priority DESC, due_at, id LIMIT $6",
            $lock,
            ") RETURNING ",
            run_columns!(),
            ", ",
            is_denied!()
        )
    };
}

const NEXT_LANE: &str = "SELECT space_id, lane, lane_limit, priority, due_at FROM runs
    WHERE status = 'queued' AND (space_id, lane) > ($1, $2)
    ORDER BY space_id, lane, priority DESC, due_at, id LIMIT 1";

const HEAD: &str = "SELECT space_id, lane, lane_limit, priority, due_at FROM runs
    WHERE status = 'queued' AND space_id = $1 AND lane = $2
    ORDER BY priority DESC, due_at, id LIMIT 1";

const RUNNING: &str =
    "SELECT space_id, lane, COUNT(*) FROM runs WHERE status = 'running' GROUP BY space_id, lane";

const NEXT_DUE: &str = "SELECT MIN(due_at) FROM runs WHERE status IN ('scheduled', 'waiting', 'running')";

/// A lane with queued runs, and the first of them.
struct Lane {
    space: String,
    lane: String,
    limit: Option<u64>,
    priority: i64,
    due: i64,
}

impl Claim {
    async fn claim(&self, batch: &mut Batch) -> Result<(Claims, (String, String)), CallError> {
        let is_postgres = matches!(batch.tx, Tx::Postgres(_));
        if is_postgres {
            batch.tx.row(POSTGRES_LOCK, args![]).await?;
            // Runs of a newer program may have a form that this program cannot read.
            migrate::check_version(batch.tx.row(migrate::ACTUAL, args![]).await?)?;
        }
        batch.tx.run(EXPIRE, args![batch.now]).await?;
        let wake = if is_postgres { wake!(" FOR UPDATE SKIP LOCKED") } else { wake!("") };
        let woken = batch.tx.run(wake, args![batch.now, MAX_WOKEN]).await?;
        let (mut lanes, next) = self.lanes(batch).await?;
        let mut claimed = Vec::new();
        if !lanes.is_empty() {
            let mut running = Running::read(batch).await?;
            let space_limit = ((running.all() + self.limit) * SHARE.0 / SHARE.1).max(1);
            while claimed.len() < self.limit {
                let Some(chosen) = choose(&lanes, &running, space_limit) else { break };
                let chunk = self.chunk(&lanes, chosen, &running, (self.limit - claimed.len(), space_limit));
                let Some(lane) = lanes.get(chosen) else { break };
                let (space, name) = (lane.space.clone(), lane.lane.clone());
                let runs = self.claim_lane(batch, is_postgres, &space, &name, chunk).await?;
                running.add(&space, &name, runs.len());
                claimed.extend(runs);
                match batch.tx.row(HEAD, args![&space, &name]).await? {
                    Some(row) => lanes[chosen] = read_lane(&row)?,
                    None => drop(lanes.swap_remove(chosen)),
                }
            }
        }
        for run in &mut claimed {
            // A run that was never claimed before has no steps.
            if run.lease.epoch > 1 {
                run.steps = steps_of(batch, run.run.id).await?;
            }
        }
        let is_more = woken >= MAX_WOKEN || !next.0.is_empty();
        let next_due = if is_more { Some(Duration::ZERO) } else { next_due(batch).await? };
        // A limit holds back the lanes that remain.
        let is_limited = !lanes.is_empty();
        Ok((Claims { runs: claimed, next_due, is_limited }, next))
    }

    /// Lanes with queued runs, and the lane after which the next claim begins to look.
    async fn lanes(&self, batch: &mut Batch) -> Result<(Vec<Lane>, (String, String)), CallError> {
        let mut lanes = Vec::new();
        let (mut space, mut lane) = self.after.clone();
        while lanes.len() < MAX_LANES {
            let Some(row) = batch.tx.row(NEXT_LANE, args![&space, &lane]).await? else {
                return Ok((lanes, Default::default()));
            };
            let found = read_lane(&row)?;
            (space, lane) = (found.space.clone(), found.lane.clone());
            lanes.push(found);
        }
        Ok((lanes, (space, lane)))
    }

    /// Number of runs to claim of a lane before other lanes are considered again.
    fn chunk(
        &self,
        lanes: &[Lane],
        chosen: usize,
        running: &Running,
        (free, space_limit): (usize, usize),
    ) -> u64 {
        let Some(lane) = lanes.get(chosen) else { return 0 };
        let free = free.min(space_limit.saturating_sub(running.in_space(&lane.space))) as u64;
        let available =
            lane.limit.map_or(u64::MAX, |limit| limit.saturating_sub(running.in_lane(lane) as u64));
        let at_once = if lanes.len() == 1 { free } else { CHUNK.min(free) };
        at_once.min(available)
    }

    async fn claim_lane(
        &self,
        batch: &mut Batch,
        is_postgres: bool,
        space: &str,
        lane: &str,
        limit: u64,
    ) -> Result<Vec<ClaimedRun>, CallError> {
        let sql = if is_postgres { take!(" FOR UPDATE SKIP LOCKED") } else { take!("") };
        let expires = Arg::Int(Some(due_after(batch.now, self.lease)));
        let worker = self.worker.0.to_string();
        let rows = batch.tx.rows(sql, args![worker, expires, batch.now, space, lane, limit]).await?;
        let claimed = |row: crate::row::Row| {
            let run = run(&row)?;
            let lease = Lease { run: run.id, epoch: run.epoch };
            Ok(ClaimedRun { run, lease, steps: Vec::new(), is_denied: row.flag(RUN_COLUMNS)? })
        };
        rows.into_iter().map(claimed).collect()
    }
}

/// Chooses among the spaces with the fewest executing runs the lane whose first run has the highest priority and is due
/// longest.
fn choose(lanes: &[Lane], running: &Running, space_limit: usize) -> Option<usize> {
    let fits = |lane: &Lane| {
        let is_below_limit = lane.limit.is_none_or(|limit| (running.in_lane(lane) as u64) < limit);
        is_below_limit && running.in_space(&lane.space) < space_limit
    };
    let order = |lane: &Lane| (running.in_space(&lane.space), -lane.priority, lane.due);
    let fitting = lanes.iter().enumerate().filter(|(_, lane)| fits(lane));
    fitting.min_by_key(|(_, lane)| order(lane)).map(|(index, _)| index)
}

/// The number of executing runs, in all processes.
struct Running {
    lanes: HashMap<(String, String), usize>,
    spaces: HashMap<String, usize>,
}

impl Running {
    async fn read(batch: &mut Batch) -> Result<Self, CallError> {
        let mut running = Self { lanes: HashMap::new(), spaces: HashMap::new() };
        for row in batch.tx.rows(RUNNING, args![]).await? {
            let count = usize::try_from(row.number(2)?).map_err(failure::unreadable)?;
            running.add(&row.text(0)?, &row.text(1)?, count);
        }
        Ok(running)
    }

    fn add(&mut self, space: &str, lane: &str, count: usize) {
        *self.lanes.entry((space.to_owned(), lane.to_owned())).or_default() += count;
        *self.spaces.entry(space.to_owned()).or_default() += count;
    }

    fn in_lane(&self, lane: &Lane) -> usize {
        self.lanes.get(&(lane.space.clone(), lane.lane.clone())).copied().unwrap_or_default()
    }

    fn in_space(&self, space: &str) -> usize {
        self.spaces.get(space).copied().unwrap_or_default()
    }

    fn all(&self) -> usize {
        self.spaces.values().sum()
    }
}

fn read_lane(row: &crate::row::Row) -> Result<Lane, CallError> {
    Ok(Lane {
        space: row.text(0)?,
        lane: row.text(1)?,
        limit: row.maybe_number(2)?,
        priority: row.int(3)?,
        due: row.int(4)?,
    })
}

pub(super) async fn steps_of(batch: &mut Batch, run: RunId) -> Result<Vec<Step>, CallError> {
    steps(&batch.tx.rows(STEPS, args![run]).await?)
}

async fn next_due(batch: &mut Batch) -> Result<Option<Duration>, CallError> {
    let row = batch.tx.row(NEXT_DUE, args![]).await?;
    let due = row.map(|row| row.maybe_int(0)).transpose()?.flatten();
    let left = due.map(|due| due.saturating_sub(batch.now.as_microsecond()).max(0));
    Ok(left.and_then(|left| u64::try_from(left).ok()).map(Duration::from_micros))
}

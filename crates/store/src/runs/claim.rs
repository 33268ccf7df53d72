//! Claiming what is due: what waited for a moment is queued, and of what is queued each space gets its share.
//!
//! Claims are made one after the other, in all processes, so that limits hold for all of them.

use std::collections::HashMap;
use std::time::Duration;

use haft_core::{BoxFuture, CallError, RunId};
use haft_runs::{Claimed, Held, Lease, Step, WorkerId};
use jiff::Timestamp;

use super::row::{NEVER, RUN_COLUMNS, STEPS, run, run_columns, steps};
use super::writer::{Batch, Write};
use crate::db::{Tx, args};
use crate::{failure, migrate};

/// So many that were waiting or lost are queued at once.
const MOST_WOKEN: u64 = 500;

/// So many lanes are looked at in one claim. Where there are more, the next claim goes on behind them.
const MOST_LANES: usize = 256;

/// So many of one lane are taken before others are looked at again.
const PIECE: u64 = 8;

/// A space may have this part of all places, however quiet the others are: they find one when they come.
const SHARE: (usize, usize) = (3, 4);

/// One process at a time; any number nobody else uses.
const POSTGRES_LOCK: &str = "SELECT pg_advisory_xact_lock(7420002)";

pub(super) struct Claim {
    pub(super) worker: WorkerId,
    pub(super) most: usize,
    /// Nothing where leases have no end.
    pub(super) lease: Option<Duration>,
    /// Behind which lane this claim begins to look.
    pub(super) after: (String, String),
}

impl Write for Claim {
    /// And the lane behind which the next one begins.
    type Answer = (Claimed, (String, String));

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<Self::Answer, CallError>> {
        Box::pin(self.claim(batch))
    }
}

const EXPIRE: &str = "UPDATE run_steps SET state = 'done', expired = 1, ended_at = $1
    WHERE state = 'waiting' AND until_at IS NOT NULL AND until_at <= $1";

/// `worker` belongs to programs from before `claimed_by`, which lose a run that they held too long.
macro_rules! wake {
    ($lock:literal) => {
        concat!(
            "UPDATE runs SET deaths = deaths + CASE WHEN status = 'running' THEN 1 ELSE 0 END,
                    status = 'queued', waiting_for = NULL, claimed_by = NULL, worker = NULL, changed_at = $1
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

/// A lane with something to claim.
struct Lane {
    space: String,
    lane: String,
    limit: Option<u64>,
    priority: i64,
    due: i64,
}

impl Claim {
    async fn claim(&self, batch: &mut Batch) -> Result<(Claimed, (String, String)), CallError> {
        let is_postgres = matches!(batch.tx, Tx::Postgres(_));
        if is_postgres {
            batch.tx.row(POSTGRES_LOCK, args![]).await?;
            // Runs may hold what only a newer program understands.
            migrate::check_version(batch.tx.row(migrate::ACTUAL, args![]).await?)?;
        }
        batch.tx.run(EXPIRE, args![batch.now]).await?;
        let wake = if is_postgres { wake!(" FOR UPDATE SKIP LOCKED") } else { wake!("") };
        let woken = batch.tx.run(wake, args![batch.now, MOST_WOKEN]).await?;
        let (mut lanes, next) = self.lanes(batch).await?;
        let mut held = Vec::new();
        if !lanes.is_empty() {
            let mut running = Running::read(batch).await?;
            let most_of_space = ((running.all() + self.most) * SHARE.0 / SHARE.1).max(1);
            while held.len() < self.most {
                let Some(chosen) = choose(&lanes, &running, most_of_space) else { break };
                let piece = self.piece(&lanes, chosen, &running, (self.most - held.len(), most_of_space));
                let Some(lane) = lanes.get(chosen) else { break };
                let (space, name) = (lane.space.clone(), lane.lane.clone());
                let taken = self.take(batch, is_postgres, &space, &name, piece).await?;
                running.add(&space, &name, taken.len());
                held.extend(taken);
                match batch.tx.row(HEAD, args![&space, &name]).await? {
                    Some(row) => lanes[chosen] = read_lane(&row)?,
                    None => drop(lanes.swap_remove(chosen)),
                }
            }
        }
        for held in &mut held {
            // One that was never claimed before has no steps.
            if held.lease.epoch > 1 {
                held.steps = steps_of(batch, held.run.id).await?;
            }
        }
        let is_more = woken >= MOST_WOKEN || !next.0.is_empty();
        let next_due = if is_more { Some(Duration::ZERO) } else { next_due(batch).await? };
        // The lanes that are left have something in them, and were not chosen.
        let is_kept_back = !lanes.is_empty();
        Ok((Claimed { held, next_due, is_kept_back }, next))
    }

    /// Lanes with something to claim, and where the next claim begins to look.
    async fn lanes(&self, batch: &mut Batch) -> Result<(Vec<Lane>, (String, String)), CallError> {
        let mut lanes = Vec::new();
        let (mut space, mut lane) = self.after.clone();
        while lanes.len() < MOST_LANES {
            let Some(row) = batch.tx.row(NEXT_LANE, args![&space, &lane]).await? else {
                return Ok((lanes, Default::default()));
            };
            let found = read_lane(&row)?;
            (space, lane) = (found.space.clone(), found.lane.clone());
            lanes.push(found);
        }
        Ok((lanes, (space, lane)))
    }

    /// How many to take of a lane before looking at others again.
    fn piece(
        &self,
        lanes: &[Lane],
        chosen: usize,
        running: &Running,
        (free, most_of_space): (usize, usize),
    ) -> u64 {
        let Some(lane) = lanes.get(chosen) else { return 0 };
        let free = free.min(most_of_space.saturating_sub(running.in_space(&lane.space))) as u64;
        let room = lane.limit.map_or(u64::MAX, |limit| limit.saturating_sub(running.in_lane(lane) as u64));
        let at_once = if lanes.len() == 1 { free } else { PIECE.min(free) };
        at_once.min(room)
    }

    async fn take(
        &self,
        batch: &mut Batch,
        is_postgres: bool,
        space: &str,
        lane: &str,
        most: u64,
    ) -> Result<Vec<Held>, CallError> {
        let sql = if is_postgres { take!(" FOR UPDATE SKIP LOCKED") } else { take!("") };
        let until = self.lease.map_or(NEVER, |lease| {
            batch.now.as_microsecond().saturating_add(i64::try_from(lease.as_micros()).unwrap_or(NEVER))
        });
        let until = Timestamp::from_microsecond(until).map_err(failure::unreadable)?;
        let worker = self.worker.0.to_string();
        let rows = batch.tx.rows(sql, args![worker, until, batch.now, space, lane, most]).await?;
        let held = |row: crate::row::Row| {
            let run = run(&row)?;
            let lease = Lease { run: run.id, epoch: run.epoch };
            Ok(Held { run, lease, steps: Vec::new(), is_denied: row.flag(RUN_COLUMNS)? })
        };
        rows.into_iter().map(held).collect()
    }
}

/// Of the spaces with fewest under way, the lane whose first has waited longest at the highest priority.
fn choose(lanes: &[Lane], running: &Running, most_of_space: usize) -> Option<usize> {
    let fits = |lane: &Lane| {
        let has_room = lane.limit.is_none_or(|limit| (running.in_lane(lane) as u64) < limit);
        has_room && running.in_space(&lane.space) < most_of_space
    };
    let order = |lane: &Lane| (running.in_space(&lane.space), -lane.priority, lane.due);
    let fitting = lanes.iter().enumerate().filter(|(_, lane)| fits(lane));
    fitting.min_by_key(|(_, lane)| order(lane)).map(|(place, _)| place)
}

/// What is under way, everywhere.
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

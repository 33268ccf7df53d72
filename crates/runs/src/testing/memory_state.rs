//! The rows of the journal in memory, and each write to them. Plain data: no clock, no locks, no notifications.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use haft_core::{CallError, ErrorKind, RunId, SpaceId};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::journal::{Claims, Delivery, NewMessage, ReleaseReason, RunSignal, Suspension};
use crate::run::{
    ClaimedRun, Executor, Lease, NewRun, Renewal, Run, RunEnd, RunKey, RunStatus, StartedRun, WorkerId,
};
use crate::step::{Adoption, INBOX, Step, StepState, StepWrites, Wait};

/// Notifications for workers after a write.
#[derive(Default)]
pub(super) struct Effects {
    pub(super) wakes: bool,
    pub(super) signals: Vec<RunSignal>,
}

#[derive(Default)]
pub(super) struct MemoryState {
    runs: BTreeMap<RunId, Row>,
}

struct Row {
    run: Run,
    steps: Vec<Step>,
    inbox: Vec<(u64, Value)>,
    message_keys: Vec<RunKey>,
    key: Option<String>,
    parent: Option<(RunId, String)>,
    claimed_by: Option<WorkerId>,
    /// When the run may be claimed, or when its first timeout or its lease ends. `None` if never.
    due: Option<Timestamp>,
}

impl Row {
    fn is_held(&self, lease: Lease) -> bool {
        self.run.status == RunStatus::Running && self.run.epoch == lease.epoch
    }

    fn was_released(&self, lease: Lease) -> bool {
        self.run.status != RunStatus::Running && self.run.epoch == lease.epoch
    }

    fn step(&mut self, key: &str) -> Option<&mut Step> {
        self.steps.iter_mut().find(|step| step.key == key)
    }

    /// Inserts a step, or replaces the state and output of the one with its key. A repeated wait changes nothing.
    fn put(&mut self, step: Step) {
        match self.step(&step.key) {
            Some(_) if step.state == StepState::Waiting => {}
            Some(known) => (known.state, known.output) = (step.state, step.output),
            None => self.steps.push(step),
        }
    }

    fn write(&mut self, writes: &StepWrites, now: Timestamp) {
        for key in &writes.removed {
            let keeps_deadline = writes.waits.iter().any(|wait| wait.key == *key && wait.timeout.is_none());
            match self.step(key).filter(|_| keeps_deadline) {
                Some(step) => (step.state, step.output) = (StepState::Waiting, None),
                None => self.steps.retain(|step| step.key != *key),
            }
        }
        for scope in &writes.removed_scopes {
            self.steps.retain(|step| !step.key.starts_with(scope));
        }
        for done in &writes.done {
            self.put(Step::done(&done.key, done.effect, done.output.clone()));
        }
        for wait in &writes.waits {
            self.put(Step {
                deadline: wait.timeout.map(|timeout| time_after(now, timeout)),
                ..Step::waiting(wait)
            });
        }
        for reservation in &writes.reserved {
            self.put(Step::reserved(&reservation.key, reservation.effect));
        }
        if writes.resets_crashes {
            self.run.crashes = 0;
        }
    }

    fn expire(&mut self, now: Timestamp) {
        let is_due = |step: &&mut Step| {
            step.state == StepState::Waiting && step.deadline.is_some_and(|deadline| deadline <= now)
        };
        for step in self.steps.iter_mut().filter(is_due) {
            (step.state, step.is_expired) = (StepState::Done, true);
        }
    }

    fn queue(&mut self, now: Timestamp) {
        self.run.status = RunStatus::Queued;
        (self.run.waiting_for, self.claimed_by, self.due) = (None, None, Some(now));
    }

    fn claim(&mut self, worker: WorkerId, now: Timestamp, lease: Duration) {
        self.run.status = RunStatus::Running;
        self.run.epoch += 1;
        self.run.started_at.get_or_insert(now);
        (self.run.waiting_for, self.claimed_by, self.due) =
            (None, Some(worker), Some(time_after(now, lease)));
    }

    /// Queues the run if it is suspended. Otherwise a worker is notified.
    fn wake(&mut self, now: Timestamp, effects: &mut Effects) {
        if self.run.status == RunStatus::Waiting {
            self.queue(now);
            effects.wakes = true;
        } else {
            effects.signals.push(RunSignal::Changed(self.run.id));
        }
    }
}

fn time_after(now: Timestamp, pause: Duration) -> Timestamp {
    now.saturating_add(pause).unwrap_or(Timestamp::MAX)
}

fn conflict() -> CallError {
    CallError::text(ErrorKind::Conflict, "the key was used for another request")
}

impl MemoryState {
    fn held_row(&mut self, lease: Lease) -> Option<&mut Row> {
        self.runs.get_mut(&lease.run).filter(|row| row.is_held(lease))
    }

    /// Copies done steps of other runs of the same space to a run.
    fn adopt(&mut self, lease: Lease, writes: &StepWrites) {
        for Adoption { from, keys } in &writes.adopted {
            let space = self.runs.get(&lease.run).map(|row| row.run.space);
            let source = self.runs.get(from).filter(|row| Some(row.run.space) == space);
            let is_adopted = |step: &&Step| step.state == StepState::Done && keys.contains(&step.key);
            let steps: Vec<Step> =
                source.into_iter().flat_map(|row| row.steps.iter().filter(is_adopted).cloned()).collect();
            let Some(row) = self.held_row(lease) else { return };
            for step in steps {
                if row.step(&step.key).is_none() {
                    row.steps.push(step);
                }
            }
        }
    }

    /// Returns true if a write that releases the run was persisted before.
    fn was_released(&self, lease: Lease) -> bool {
        self.runs.get(&lease.run).is_some_and(|row| row.was_released(lease))
    }

    pub(super) fn steps(&self, run: RunId) -> Vec<Step> {
        self.runs.get(&run).map(|row| row.steps.clone()).unwrap_or_default()
    }

    pub(super) fn runs(&self) -> Vec<Run> {
        self.runs.values().map(|row| row.run.clone()).collect()
    }

    pub(super) fn read(&self, space: SpaceId, run: RunId) -> Option<Run> {
        self.runs.get(&run).map(|row| row.run.clone()).filter(|run| run.space == space)
    }

    pub(super) fn start(
        &mut self,
        new: &NewRun,
        now: Timestamp,
        lease: Duration,
        effects: &mut Effects,
    ) -> Result<StartedRun, CallError> {
        if let Some(key) = &new.key {
            let is_same = |row: &&Row| {
                (row.run.space, row.run.user) == (new.space, new.user) && row.key.as_ref() == Some(&key.key)
            };
            match self.runs.values().find(is_same) {
                Some(row) if row.run.id == new.id => {}
                Some(row) if row.run.key_digest.as_ref() != Some(&key.digest) => return Err(conflict()),
                Some(row) => return Ok(StartedRun::Existing(row.run.clone())),
                None => {}
            }
        }
        let (status, due) = match new.executor {
            Executor::ThisWorker(_) => (RunStatus::Running, time_after(now, lease)),
            Executor::AnyWorker if new.delay.is_zero() => (RunStatus::Queued, now),
            Executor::AnyWorker => (RunStatus::Scheduled, time_after(now, new.delay)),
        };
        let worker = match new.executor {
            Executor::ThisWorker(worker) => Some(worker),
            Executor::AnyWorker => None,
        };
        effects.wakes |= worker.is_none();
        let is_new = !self.runs.contains_key(&new.id);
        let row = self.runs.entry(new.id).or_insert_with(|| Row {
            run: Run::first(new, status, now),
            steps: Vec::new(),
            inbox: Vec::new(),
            message_keys: Vec::new(),
            key: new.key.as_ref().map(|key| key.key.clone()),
            parent: new.parent.clone(),
            claimed_by: worker,
            due: Some(due),
        });
        let run = row.run.clone();
        Ok(if is_new && worker.is_some() {
            StartedRun::Claimed(ClaimedRun::authorized(run, Vec::new()))
        } else if is_new {
            StartedRun::Queued(run)
        } else {
            StartedRun::Existing(run)
        })
    }

    pub(super) fn claim(
        &mut self,
        worker: WorkerId,
        limit: usize,
        now: Timestamp,
        lease: Duration,
    ) -> Claims {
        for row in self.runs.values_mut() {
            row.expire(now);
            let is_due = row.due.is_some_and(|due| due <= now);
            let is_claimed = row.run.status == RunStatus::Running;
            let is_pending = matches!(row.run.status, RunStatus::Scheduled | RunStatus::Waiting);
            if is_due && (is_claimed || is_pending) {
                row.run.crashes += u32::from(is_claimed);
                row.queue(now);
            }
        }
        let mut claims = Claims::default();
        while claims.runs.len() < limit {
            let is_below_limit = |row: &Row| {
                let labels = &row.run.labels;
                let is_executing = |other: &&Row| {
                    other.run.status == RunStatus::Running
                        && (other.run.space, &other.run.labels.lane) == (row.run.space, &labels.lane)
                };
                let count = || self.runs.values().filter(is_executing).count();
                labels.lane_limit.is_none_or(|limit| count() < limit as usize)
            };
            let queued = self.runs.values().filter(|row| row.run.status == RunStatus::Queued);
            let queued: Vec<&Row> = queued.collect();
            let next = queued.iter().filter(|row| is_below_limit(row));
            let next = next.min_by_key(|row| (-row.run.priority, row.due, row.run.id)).map(|row| row.run.id);
            claims.is_limited = next.is_none() && !queued.is_empty();
            let Some(row) = next.and_then(|id| self.runs.get_mut(&id)) else { break };
            row.claim(worker, now, lease);
            claims.runs.push(ClaimedRun::authorized(row.run.clone(), row.steps.clone()));
        }
        let waiting = |row: &&Row| {
            matches!(row.run.status, RunStatus::Scheduled | RunStatus::Waiting | RunStatus::Running)
        };
        let next_due = self.runs.values().filter(waiting).filter_map(|row| row.due).min();
        claims.next_due = next_due.map(|due| due.duration_since(now).try_into().unwrap_or_default());
        claims
    }

    pub(super) fn renew(
        &mut self,
        worker: WorkerId,
        leases: &[Lease],
        now: Timestamp,
        lease: Duration,
        effects: &mut Effects,
    ) -> Renewal {
        let mut renewal = Renewal::default();
        for held in leases {
            match self.held_row(*held).filter(|row| row.claimed_by == Some(worker)) {
                Some(row) => {
                    row.due = Some(time_after(now, lease));
                    if row.run.is_cancel_requested {
                        renewal.to_cancel.push(*held);
                    }
                }
                None => renewal.lost.push(*held),
            }
        }
        // A claim may have been persisted although its response was lost.
        for row in self.runs.values_mut() {
            let is_known = leases.iter().any(|lease| lease.run == row.run.id);
            let is_forgotten = row.due.is_some_and(|due| time_after(now, Duration::ZERO) > due);
            let is_own = row.claimed_by == Some(worker) && row.run.status == RunStatus::Running;
            if is_own && !is_known && is_forgotten {
                row.queue(now);
                effects.wakes = true;
            }
        }
        renewal
    }

    pub(super) fn write(&mut self, lease: Lease, writes: &StepWrites, now: Timestamp) -> bool {
        self.adopt(lease, writes);
        self.held_row(lease).map(|row| row.write(writes, now)).is_some()
    }

    pub(super) fn progress(&mut self, lease: Lease, progress: Value) -> bool {
        self.held_row(lease).map(|row| row.run.progress = Some(progress)).is_some()
    }

    pub(super) fn suspend(
        &mut self,
        lease: Lease,
        writes: &StepWrites,
        suspension: &Suspension,
        now: Timestamp,
        effects: &mut Effects,
    ) -> bool {
        let was_released = self.was_released(lease);
        let Some(row) = self.held_row(lease) else { return was_released };
        row.write(writes, now);
        let waits = &suspension.waits;
        let steps: Vec<&Step> =
            waits.iter().filter_map(|wait| row.steps.iter().find(|step| step.key == wait.key)).collect();
        let has_ended = waits.is_empty() || steps.iter().any(|step| step.state == StepState::Done);
        let deadline = steps.iter().filter_map(|step| step.deadline).min();
        let last_message = waits.iter().filter(|wait| wait.kind == INBOX).map(Wait::last_message).min();
        let has_message = last_message.is_some_and(|last| row.inbox.iter().any(|(number, _)| *number > last));
        let is_to_be_cancelled = row.run.is_cancel_requested && !suspension.is_cancel_handled;
        row.run.is_cancel_requested &= !suspension.is_cancel_handled;
        row.run.crashes = 0;
        if has_ended || has_message || is_to_be_cancelled {
            row.queue(now);
        } else {
            row.run.status = RunStatus::Waiting;
            row.run.waiting_for = waits.first().map(|wait| wait.kind.clone());
            (row.claimed_by, row.due) = (None, deadline);
        }
        effects.wakes = true;
        true
    }

    pub(super) fn finish(
        &mut self,
        lease: Lease,
        writes: &StepWrites,
        end: &RunEnd,
        now: Timestamp,
        effects: &mut Effects,
    ) -> bool {
        let was_released = self.was_released(lease);
        let Some(row) = self.held_row(lease) else { return was_released };
        row.write(writes, now);
        row.run.status = end.status;
        row.run.output = Some(end.output.clone());
        row.run.is_dead_letter = end.is_dead_letter;
        row.run.ended_at = Some(now);
        (row.run.waiting_for, row.claimed_by, row.due) = (None, None, None);
        let parent = row.parent.clone();
        if let Some((parent, step)) = parent {
            self.deliver_end((parent, &step), (lease.run, end), now, effects);
        }
        true
    }

    fn deliver_end(
        &mut self,
        (parent, step): (RunId, &str),
        (child, end): (RunId, &RunEnd),
        now: Timestamp,
        effects: &mut Effects,
    ) {
        let Some(name) = step.strip_prefix(INBOX) else {
            self.deliver(parent, step, None, end.output.clone(), now, effects);
            return;
        };
        let name = name.trim_start_matches(':');
        let RunEnd { status, output, .. } = end;
        let message = json!({"ended": {"run": child, "name": name, "status": status, "output": output}});
        if let Some(row) = self.runs.get_mut(&parent).filter(|row| !row.run.status.is_final())
            && insert_message(row, message)
        {
            row.wake(now, effects);
        } else {
            effects.signals.push(RunSignal::Changed(parent));
        }
    }

    pub(super) fn release(
        &mut self,
        lease: Lease,
        writes: &StepWrites,
        reason: ReleaseReason,
        now: Timestamp,
        effects: &mut Effects,
    ) -> bool {
        let was_released = self.was_released(lease);
        let Some(row) = self.held_row(lease) else { return was_released };
        row.write(writes, now);
        row.run.crashes += u32::from(reason == ReleaseReason::Panic);
        row.queue(now);
        effects.wakes = true;
        true
    }

    pub(super) fn read_steps(&mut self, run: RunId, keys: &[String], now: Timestamp) -> Vec<Step> {
        let Some(row) = self.runs.get_mut(&run) else { return Vec::new() };
        row.expire(now);
        row.steps.iter().filter(|step| keys.contains(&step.key)).cloned().collect()
    }

    pub(super) fn deliver(
        &mut self,
        run: RunId,
        key: &str,
        expected: Option<&Value>,
        output: Value,
        now: Timestamp,
        effects: &mut Effects,
    ) -> bool {
        let Some(row) = self.runs.get_mut(&run).filter(|row| !row.run.status.is_final()) else {
            return false;
        };
        let Some(step) = row.step(key) else { return false };
        let is_open = matches!(step.state, StepState::Waiting | StepState::Unknown);
        if !is_open || expected.is_some_and(|expected| step.details.as_ref() != Some(expected)) {
            return false;
        }
        (step.state, step.output) = (StepState::Done, Some(Arc::new(output)));
        row.wake(now, effects);
        true
    }

    pub(super) fn send(
        &mut self,
        message: NewMessage,
        now: Timestamp,
        lease: Duration,
        effects: &mut Effects,
    ) -> Result<Delivery, CallError> {
        let NewMessage { space, run, message, key, executor } = message;
        let row = self.runs.get_mut(&run).filter(|row| row.run.space == space && !row.run.status.is_final());
        let Some(row) = row else { return Ok(Delivery::Ended) };
        if let Some(key) = key {
            match row.message_keys.iter().find(|known| known.key == key.key) {
                Some(known) if *known == key => return Ok(Delivery::Duplicate),
                Some(_) => return Err(conflict()),
                None => row.message_keys.push(key),
            }
        }
        let is_awaited = insert_message(row, message);
        match executor {
            Executor::ThisWorker(worker) if is_awaited && row.run.status == RunStatus::Waiting => {
                row.claim(worker, now, lease);
                row.run.is_cancel_requested = false;
                let claimed = ClaimedRun::authorized(row.run.clone(), row.steps.clone());
                Ok(Delivery::Claimed(Box::new(claimed)))
            }
            Executor::ThisWorker(_) | Executor::AnyWorker => {
                match is_awaited {
                    true => row.wake(now, effects),
                    false => effects.signals.push(RunSignal::Changed(run)),
                }
                Ok(Delivery::Delivered)
            }
        }
    }

    pub(super) fn inbox(&self, run: RunId, after: u64) -> Vec<(u64, Value)> {
        let Some(row) = self.runs.get(&run) else { return Vec::new() };
        row.inbox.iter().filter(|(number, _)| *number > after).cloned().collect()
    }

    pub(super) fn request_cancel(&mut self, run: RunId, now: Timestamp, effects: &mut Effects) -> bool {
        let Some(row) = self.runs.get_mut(&run).filter(|row| !row.run.status.is_final()) else {
            return false;
        };
        row.run.is_cancel_requested = true;
        if row.run.status == RunStatus::Running {
            let lease = Lease { run, epoch: row.run.epoch };
            effects.signals.push(RunSignal::Cancel(lease));
        } else {
            row.queue(now);
            effects.wakes = true;
        }
        true
    }
}

/// Inserts a message. Returns true if the run waits for messages.
fn insert_message(row: &mut Row, message: Value) -> bool {
    let number = row.inbox.last().map_or(1, |(number, _)| number + 1);
    row.inbox.push((number, message));
    let is_wait = |step: &Step| step.state == StepState::Waiting && step.wait_kind.as_deref() == Some(INBOX);
    let count = row.steps.len();
    row.steps.retain(|step| !is_wait(step));
    row.steps.len() < count || row.run.is_idle()
}

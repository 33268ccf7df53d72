//! The steps of an executed run in memory, with the changes that are not persisted yet.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::Effect;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::step::{Adoption, DoneStep, Reservation, Step, StepState, StepWrites, Wait};

/// Maximum time that a repeatable step waits to be persisted together with later ones. A shorter run is
/// persisted in one write, and a longer run is not slowed down.
const GATHER: Duration = Duration::from_millis(20);

/// The pause before a wait is read again whose deadline has passed by this process's clock only.
const CLOCK_SKEW: Duration = Duration::from_millis(50);

pub(super) struct StepTable {
    state: Mutex<State>,
    /// Counts changes by other parties.
    changes: watch::Sender<u64>,
    /// The number of the last change that is persisted.
    persisted: watch::Sender<u64>,
    /// Notified when there is something new to persist.
    pub(super) write_requested: Notify,
    is_ephemeral: bool,
}

#[derive(Default)]
struct State {
    steps: HashMap<String, Arc<Step>>,
    /// Not persisted, and not being written.
    pending: StepWrites,
    /// Being written. Retained until the journal has acknowledged it.
    unacknowledged: Option<(u64, Arc<StepWrites>)>,
    /// When the pending changes are written at the latest.
    write_by: Option<Instant>,
    /// The number of the last change.
    last: u64,
    /// The waits that the program awaits, with their deadlines.
    waiting: HashMap<String, (Wait, Option<Instant>)>,
    /// The run crashed before, and has persisted no step since.
    has_crashed: bool,
    is_cancel_handled: bool,
}

/// Ends a wait of the program when it is dropped.
pub(super) struct Waiting<'a> {
    table: &'a StepTable,
    key: String,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.table.state().waiting.remove(&self.key);
    }
}

impl StepTable {
    pub(super) fn stored(steps: Vec<Step>, has_crashed: bool) -> Self {
        Self::of(steps, has_crashed, false)
    }

    /// The table of a run that is not stored.
    pub(super) fn ephemeral(steps: Vec<Step>) -> Self {
        Self::of(steps, false, true)
    }

    fn of(steps: Vec<Step>, has_crashed: bool, is_ephemeral: bool) -> Self {
        let steps = steps.into_iter().map(|step| (step.key.clone(), Arc::new(step))).collect();
        let state = State { steps, has_crashed, ..State::default() };
        let (changes, persisted) = (watch::Sender::new(0), watch::Sender::new(0));
        Self { state: Mutex::new(state), changes, persisted, write_requested: Notify::new(), is_ephemeral }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, key: &str) -> Option<Arc<Step>> {
        self.state().steps.get(key).cloned()
    }

    /// Returns the steps whose keys begin with `prefix`.
    pub(super) fn steps(&self, prefix: &str) -> Vec<Arc<Step>> {
        self.state().steps.values().filter(|step| step.key.starts_with(prefix)).cloned().collect()
    }

    /// Records the output of a step. That of a write is persisted at once.
    pub(super) fn complete(&self, key: &str, effect: Effect, output: Arc<Value>) {
        let mut state = self.state();
        if !self.is_ephemeral {
            let done = DoneStep { key: key.to_owned(), effect, output: output.clone() };
            state.pending.waits.retain(|wait| wait.key != key);
            state.pending.done.retain(|step| step.key != key);
            state.pending.done.push(done);
            state.request_write(if effect.is_repeatable() { GATHER } else { Duration::ZERO });
        }
        state.steps.insert(key.to_owned(), Arc::new(Step::done(key, effect, output)));
        drop(state);
        self.write_requested.notify_one();
    }

    /// Records that steps may begin, and the waits that they may end.
    pub(super) fn reserve(
        &self,
        reserved: impl IntoIterator<Item = Reservation>,
        waits: impl IntoIterator<Item = Wait>,
    ) {
        let mut state = self.state();
        let before = state.pending.reserved.len() + state.pending.waits.len();
        for reservation in reserved {
            let step = Step::reserved(&reservation.key, reservation.effect);
            state.steps.insert(reservation.key.clone(), Arc::new(step));
            if !self.is_ephemeral {
                state.pending.reserved.push(reservation);
            }
        }
        for wait in waits {
            if !state.steps.contains_key(&wait.key) {
                state.steps.insert(wait.key.clone(), Arc::new(Step::waiting(&wait)));
            }
            if !self.is_ephemeral {
                state.pending.waits.push(wait);
            }
        }
        if state.pending.reserved.len() + state.pending.waits.len() > before {
            state.request_write(Duration::ZERO);
        }
    }

    pub(super) fn remove(&self, key: &str) {
        let mut state = self.state();
        if state.steps.remove(key).is_none() || self.is_ephemeral {
            return;
        }
        let StepWrites { removed, done, waits, reserved, .. } = &mut state.pending;
        done.retain(|step| step.key != key);
        waits.retain(|wait| wait.key != key);
        reserved.retain(|reservation| reservation.key != key);
        removed.push(key.to_owned());
        state.request_write(GATHER);
        drop(state);
        self.write_requested.notify_one();
    }

    /// Replaces all steps of a scope by one with their result.
    pub(super) fn fold(&self, scope: &str, key: &str, output: Arc<Value>) {
        let mut state = self.state();
        state.steps.retain(|known, _| !known.starts_with(scope));
        if !self.is_ephemeral {
            state.pending.done.retain(|step| !step.key.starts_with(scope));
            state.pending.waits.retain(|wait| !wait.key.starts_with(scope));
            state.pending.reserved.retain(|reservation| !reservation.key.starts_with(scope));
            state.pending.removed_scopes.push(scope.to_owned());
        }
        drop(state);
        self.complete(key, Effect::Read, output);
    }

    /// Records that steps of another run are taken over.
    pub(super) fn adopt(&self, adoption: Adoption) {
        let mut state = self.state();
        state.pending.adopted.push(adoption);
        state.request_write(Duration::ZERO);
    }

    /// Inserts steps as the journal has them.
    pub(super) fn insert(&self, steps: Vec<Step>) {
        let mut state = self.state();
        for step in steps {
            state.steps.insert(step.key.clone(), Arc::new(step));
        }
    }

    /// Ends a wait of an ephemeral run.
    pub(super) fn fulfil(&self, key: &str, output: Arc<Value>) {
        let step = Step::done(key, Effect::Read, output);
        self.state().steps.insert(key.to_owned(), Arc::new(step));
        self.changed();
    }

    /// Records that the program awaits another party. The wait is persisted if it is new.
    pub(super) fn begin_wait(&self, wait: Wait) -> Waiting<'_> {
        let key = wait.key.clone();
        let mut state = self.state();
        let stored = state.steps.get(&key).filter(|step| step.state == StepState::Waiting);
        let deadline = match stored.and_then(|step| step.deadline) {
            Some(deadline) => {
                let left = deadline.duration_since(Timestamp::now());
                Some(Instant::now() + left.try_into().unwrap_or_default())
            }
            None => wait.timeout.map(|timeout| Instant::now() + timeout),
        };
        if stored.is_none() {
            state.steps.insert(key.clone(), Arc::new(Step::waiting(&wait)));
            if !self.is_ephemeral && !wait.is_for_messages_only() {
                state.pending.waits.push(wait.clone());
                state.request_write(Duration::ZERO);
            }
        }
        state.waiting.insert(key.clone(), (wait, deadline));
        drop(state);
        self.write_requested.notify_one();
        Waiting { table: self, key }
    }

    pub(super) fn waits(&self) -> Vec<Wait> {
        self.state().waiting.values().map(|(wait, _)| wait.clone()).collect()
    }

    /// Subscribes to changes by other parties.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Wakes every part of the run that waits.
    pub(super) fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    pub(super) fn handle_cancel(&self) {
        self.state().is_cancel_handled = true;
    }

    pub(super) fn is_cancel_handled(&self) -> bool {
        self.state().is_cancel_handled
    }

    /// When the pending changes have to be written, and when the next deadline of a wait passes.
    pub(super) fn timers(&self) -> (Option<Instant>, Option<Instant>) {
        let state = self.state();
        let deadline = state.waiting.values().filter_map(|(_, deadline)| *deadline).min();
        (state.write_by, deadline)
    }

    /// Requests that everything recorded so far is written now. Returns the number of the last change, and a receiver
    /// of the number of the last one that is persisted. Returns `None` if there is nothing to write.
    pub(super) fn write_now(&self) -> Option<(u64, watch::Receiver<u64>)> {
        let mut state = self.state();
        if self.is_ephemeral || (state.pending.is_empty() && state.unacknowledged.is_none()) {
            return None;
        }
        state.write_by = Some(Instant::now());
        let last = state.last;
        drop(state);
        self.write_requested.notify_one();
        Some((last, self.persisted.subscribe()))
    }

    /// Moves the pending changes to the unacknowledged ones. They stay there until the journal acknowledges them, so
    /// that an interrupted write is repeated. Returns false if there are no pending changes.
    pub(super) fn take_pending(&self) -> bool {
        let mut state = self.state();
        state.write_by = None;
        if state.pending.is_empty() {
            return false;
        }
        let writes = Arc::new(state.take());
        state.unacknowledged = Some((state.last, writes));
        true
    }

    pub(super) fn unacknowledged(&self) -> Option<Arc<StepWrites>> {
        self.state().unacknowledged.as_ref().map(|(_, writes)| writes.clone())
    }

    pub(super) fn acknowledge(&self) {
        let acknowledged = self.state().unacknowledged.take();
        if let Some((number, _)) = acknowledged {
            self.persisted.send_replace(number);
        }
    }

    /// Takes the pending changes for the last write of this execution.
    pub(super) fn take_last(&self) -> StepWrites {
        self.state().take()
    }

    /// The keys of waits that are stored as steps.
    pub(super) fn stored_waits(&self) -> Vec<String> {
        let state = self.state();
        let stored = state.waiting.values().filter(|(wait, _)| !wait.is_for_messages_only());
        stored.map(|(wait, _)| wait.key.clone()).collect()
    }

    /// Takes over waiting steps as the journal has them.
    pub(super) fn update(&self, steps: Vec<Step>) {
        let mut state = self.state();
        for step in steps {
            let is_waiting = state.steps.get(&step.key).is_some_and(|step| step.state == StepState::Waiting);
            if step.state == StepState::Done && is_waiting {
                state.steps.insert(step.key.clone(), Arc::new(step));
            }
        }
        let now = Instant::now();
        for (_, deadline) in state.waiting.values_mut() {
            *deadline = deadline.map(|deadline| if deadline <= now { now + CLOCK_SKEW } else { deadline });
        }
        drop(state);
        self.changed();
    }
}

impl State {
    /// Records one change, to be written within a time.
    fn request_write(&mut self, within: Duration) {
        let by = Instant::now() + within;
        self.write_by = Some(self.write_by.map_or(by, |earlier| earlier.min(by)));
        self.last += 1;
    }

    fn take(&mut self) -> StepWrites {
        let mut writes = std::mem::take(&mut self.pending);
        let is_progress = !writes.done.is_empty();
        writes.resets_crashes = self.has_crashed && is_progress;
        self.has_crashed &= !is_progress;
        writes
    }
}

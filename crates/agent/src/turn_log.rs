//! The log of one turn: an append-only list of events with a generation. Followers read it by a cursor, whether the
//! turn is executed here or the log was replayed from the journal.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::CallId;
use tokio::sync::watch;
use uuid::Uuid;

use crate::event::ChatEvent;
use crate::transcript::Turn;

/// The events of one turn.
pub struct TurnLog {
    pub turn: u32,
    /// Identifies this list of events. Another process, or another execution of the turn, writes another generation. The
    /// journal's replay is generation 0.
    pub generation: u32,
    /// Followers forward the text to clients from which it cannot be withdrawn.
    pub(crate) is_irrevocable: bool,
    /// The epoch of the claim under which the turn was executed last.
    epoch: AtomicU64,
    /// A follower reads the events one by one, and may reconnect for the rest.
    is_read_in_parts: AtomicBool,
    state: Mutex<State>,
    count: watch::Sender<usize>,
    complete: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    events: Vec<Arc<ChatEvent>>,
    /// Calls whose result (true) or task (false) is in the log.
    reported: HashSet<(CallId, bool)>,
    /// The final events, which are emitted when the end of the turn is persisted.
    end: Vec<ChatEvent>,
    is_complete: bool,
}

impl TurnLog {
    /// An empty log of a new generation.
    pub(crate) fn new(turn: u32) -> Self {
        // Random bits distinguish generations of the same turn.
        let generation = (Uuid::now_v7().as_u128() & 0xffff_ffff) as u32;
        Self::with_generation(turn, generation)
    }

    fn with_generation(turn: u32, generation: u32) -> Self {
        Self {
            turn,
            generation,
            is_irrevocable: false,
            epoch: AtomicU64::new(0),
            is_read_in_parts: AtomicBool::new(false),
            state: Mutex::default(),
            count: watch::Sender::new(0),
            complete: watch::Sender::new(false),
        }
    }

    /// A log with the journaled events of a turn.
    pub(crate) fn replay(turn: &Turn) -> Self {
        let log = Self::with_generation(turn.turn, 0);
        ChatEvent::of(turn).into_iter().for_each(|event| log.emit(event));
        log
    }

    /// The log of an ephemeral turn, whose text cannot be withdrawn.
    pub fn ephemeral() -> Self {
        Self { is_irrevocable: true, ..Self::new(1) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends an event. A result or task of a call that the log contains already is not appended again.
    pub(crate) fn emit(&self, event: ChatEvent) {
        let mut state = self.state();
        let reported = match &event {
            ChatEvent::Result { call_id, .. } => Some((call_id.clone(), true)),
            ChatEvent::Pending { call_id, .. } => Some((call_id.clone(), false)),
            ChatEvent::TurnStart { .. }
            | ChatEvent::Text { .. }
            | ChatEvent::Reasoning { .. }
            | ChatEvent::MessageReset { .. }
            | ChatEvent::Call { .. }
            | ChatEvent::Warning { .. }
            | ChatEvent::MessageDone { .. }
            | ChatEvent::Usage(_)
            | ChatEvent::Error(_)
            | ChatEvent::Done { .. } => None,
        };
        if reported.is_some_and(|call| !state.reported.insert(call)) {
            return;
        }
        let is_last = event.is_last();
        state.events.push(Arc::new(event));
        state.is_complete |= is_last;
        let count = state.events.len();
        drop(state);
        self.count.send_replace(count);
        if is_last {
            self.complete.send_replace(true);
        }
    }

    /// Sets the final events, which are emitted when the end of the turn is persisted.
    pub(crate) fn end(&self, events: Vec<ChatEvent>) {
        self.state().end = events;
    }

    pub(crate) fn emit_end(&self) {
        let events = std::mem::take(&mut self.state().end);
        events.into_iter().for_each(|event| self.emit(event));
    }

    /// Returns the emitted text of a step that is not withdrawn. Returns `None` if there is none.
    pub(crate) fn text_of(&self, number: u32) -> Option<String> {
        let mut emitted = String::new();
        for event in &self.state().events {
            match &**event {
                ChatEvent::Text { step, text } if *step == number => emitted.push_str(text),
                ChatEvent::MessageReset { step } if *step == number => emitted.clear(),
                ChatEvent::Text { .. }
                | ChatEvent::MessageReset { .. }
                | ChatEvent::TurnStart { .. }
                | ChatEvent::Reasoning { .. }
                | ChatEvent::Call { .. }
                | ChatEvent::Pending { .. }
                | ChatEvent::Result { .. }
                | ChatEvent::Warning { .. }
                | ChatEvent::MessageDone { .. }
                | ChatEvent::Usage(_)
                | ChatEvent::Error(_)
                | ChatEvent::Done { .. } => {}
            }
        }
        (!emitted.is_empty()).then_some(emitted)
    }

    /// Returns the events after the first `count`.
    pub fn events(&self, count: usize) -> Vec<Arc<ChatEvent>> {
        self.state().events.get(count..).unwrap_or_default().to_vec()
    }

    /// Subscribes to the number of events. Each receiver counts as a follower.
    pub fn count(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }

    /// Records that a follower reads the events one by one.
    pub(crate) fn read_in_parts(&self) {
        self.is_read_in_parts.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_read_in_parts(&self) -> bool {
        self.is_read_in_parts.load(Ordering::Relaxed)
    }

    /// Subscribes to the completion of the log.
    pub(crate) fn completion(&self) -> watch::Receiver<bool> {
        self.complete.subscribe()
    }

    /// Records the claim under which the turn is executed.
    pub(crate) fn set_epoch(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    /// Returns true if the turn was executed last under this claim of its run.
    pub(crate) fn is_of(&self, epoch: u64) -> bool {
        self.epoch.load(Ordering::Relaxed) == epoch
    }

    /// Returns the number of followers.
    pub fn followers(&self) -> usize {
        self.count.receiver_count()
    }

    /// Returns true if the log contains the last event of the turn.
    pub fn is_complete(&self) -> bool {
        self.state().is_complete
    }
}

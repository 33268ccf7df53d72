//! One circuit of a circuit breaker: its counters, the conditions that open it, and the trial call that closes it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_core::{CallError, ErrorKind};
use tokio::time::Instant;

use super::{BreakerSettings, Circuit, CircuitId, CircuitScope, CircuitState};
use crate::lock::lock;

/// Number of slices in the window of counted calls.
const SLICES: usize = 12;

/// Maximum number of failing tools that a circuit names.
const MAX_NAMED_TOOLS: usize = 5;

/// Retry delay for callers while a trial call is running.
const TRIAL_PAUSE: Duration = Duration::from_secs(1);

/// One circuit, as seen by a call of one tool.
pub(super) struct Breaker {
    pub(super) settings: BreakerSettings,
    pub(super) id: CircuitId,
    pub(super) tool_name: Arc<str>,
    pub(super) counts: Arc<Mutex<Counts>>,
}

impl Breaker {
    pub(super) fn check(&self, now: Instant) -> Result<(), CallError> {
        self.check_counts(&lock(&self.counts), now)
    }

    pub(super) fn enter(&self, now: Instant) -> Result<Pass, CallError> {
        let mut counts = lock(&self.counts);
        self.check_counts(&counts, now)?;
        let is_trial = if let Phase::Open { until } = counts.phase {
            counts.phase = Phase::Trial { opened_until: until };
            counts.era += 1;
            true
        } else {
            false
        };
        Ok(Pass {
            settings: self.settings,
            tool_name: self.tool_name.clone(),
            counts: self.counts.clone(),
            era: counts.era,
            is_trial,
            is_open: true,
        })
    }

    fn check_counts(&self, counts: &Counts, now: Instant) -> Result<(), CallError> {
        let pause = match counts.phase {
            Phase::Open { until } if now < until => until - now,
            Phase::Trial { .. } => TRIAL_PAUSE,
            Phase::Closed | Phase::Open { .. } => return Ok(()),
        };
        let mut circuit = counts.describe(&self.id, &self.tool_name, now);
        circuit.retry_after = whole_seconds(pause);
        Err(circuit.refusal(pause))
    }
}

fn whole_seconds(pause: Duration) -> u64 {
    pause.as_secs() + u64::from(pause.subsec_nanos() > 0)
}

/// A running call in one circuit. Dropped without an outcome, it releases its trial.
pub(super) struct Pass {
    settings: BreakerSettings,
    tool_name: Arc<str>,
    counts: Arc<Mutex<Counts>>,
    /// Number of state changes when the call began. Calls that began before the last change are not counted.
    era: u64,
    is_trial: bool,
    is_open: bool,
}

impl Pass {
    /// Returns true if the circuit has neither opened nor closed since the call began.
    pub(super) fn is_current(&self) -> bool {
        lock(&self.counts).era == self.era
    }

    /// Counts the call. `failure` is its error, if it counts as a failure.
    pub(super) fn end(mut self, failure: Option<ErrorKind>, now: Instant) {
        self.is_open = false;
        let mut counts = lock(&self.counts);
        if counts.era != self.era {
            return;
        }
        if self.is_trial && failure.is_none() {
            counts.close(now);
        }
        counts.count(failure.is_some(), now, self.settings.window);
        let Some(error) = failure else { return };
        counts.blame(&self.tool_name, error, now, self.settings.window);
        let opens = self.is_trial
            || counts.in_a_row >= self.settings.failures_in_a_row
            || counts.mostly_failed(self.settings.least_calls);
        if opens {
            counts.era += 1;
            counts.phase = Phase::Open { until: now + self.settings.open_for };
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.is_open && self.is_trial {
            let mut counts = lock(&self.counts);
            if let Phase::Trial { opened_until } = counts.phase
                && counts.era == self.era
            {
                counts.phase = Phase::Open { until: opened_until };
            }
        }
    }
}

pub(super) struct Counts {
    phase: Phase,
    /// Number of state changes: opened, tried, closed.
    era: u64,
    in_a_row: u32,
    slices: [Slice; SLICES],
    newest: usize,
    newest_since: Instant,
    last_error: Option<ErrorKind>,
    /// Tools whose calls failed, the most recent last, with the time of their last failure.
    failing: Vec<(Arc<str>, Instant)>,
}

#[derive(Clone, Copy, Default)]
struct Slice {
    calls: u32,
    failures: u32,
}

enum Phase {
    Closed,
    Open {
        until: Instant,
    },
    /// A trial call is running.
    Trial {
        opened_until: Instant,
    },
}

impl Counts {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            phase: Phase::Closed,
            era: 0,
            in_a_row: 0,
            slices: [Slice::default(); SLICES],
            newest: 0,
            newest_since: now,
            last_error: None,
            failing: Vec::new(),
        }
    }

    /// Closes the circuit and resets all counters.
    pub(super) fn close(&mut self, now: Instant) {
        *self = Self { era: self.era + 1, ..Self::new(now) };
    }

    /// Returns the state of the circuit. `tool_name` is used if the circuit belongs to one tool.
    pub(super) fn describe(&self, id: &CircuitId, tool_name: &str, now: Instant) -> Circuit {
        let upstream = id.upstream.as_ref().map(|upstream| upstream.as_str().to_owned());
        let (state, retry_after) = match self.phase {
            Phase::Closed => (CircuitState::Closed, 0),
            Phase::Open { until } if now < until => (CircuitState::Open, whole_seconds(until - now)),
            Phase::Open { .. } | Phase::Trial { .. } => (CircuitState::HalfOpen, 0),
        };
        Circuit {
            key: match (&id.tool, &upstream) {
                (Some(_), Some(upstream)) => format!("{tool_name} at {upstream}"),
                (Some(_), None) => tool_name.to_owned(),
                (None, upstream) => upstream.clone().unwrap_or_default(),
            },
            scope: if id.tool.is_some() { CircuitScope::Tool } else { CircuitScope::Connection },
            state,
            failures_in_a_row: self.in_a_row,
            tool_id: id.tool.clone(),
            tool_name: id.tool.as_ref().map(|_| tool_name.into()),
            upstream,
            failing_tools: self.failing.iter().map(|(name, _)| name.clone()).collect(),
            last_error: self.last_error,
            retry_after,
        }
    }

    fn count(&mut self, failed: bool, now: Instant, window: Duration) {
        let slice = (window / SLICES as u32).max(Duration::from_millis(1));
        let mut steps = 0;
        while now.saturating_duration_since(self.newest_since) >= slice {
            self.newest_since += slice;
            self.newest = (self.newest + 1) % SLICES;
            self.slices[self.newest] = Slice::default();
            steps += 1;
            if steps >= SLICES {
                self.newest_since = now;
            }
        }
        let slice = &mut self.slices[self.newest];
        slice.calls += 1;
        slice.failures += u32::from(failed);
        self.in_a_row = if failed { self.in_a_row + 1 } else { 0 };
    }

    /// Records a failing tool and its error.
    fn blame(&mut self, tool: &Arc<str>, error: ErrorKind, now: Instant, window: Duration) {
        self.last_error = Some(error);
        self.failing.retain(|(name, at)| name != tool && now.saturating_duration_since(*at) < window);
        if self.failing.len() >= MAX_NAMED_TOOLS {
            self.failing.remove(0);
        }
        self.failing.push((tool.clone(), now));
    }

    fn mostly_failed(&self, least_calls: u32) -> bool {
        let calls: u32 = self.slices.iter().map(|slice| slice.calls).sum();
        let failures: u32 = self.slices.iter().map(|slice| slice.failures).sum();
        calls >= least_calls && failures * 2 > calls
    }

    pub(super) fn is_idle(&self, now: Instant, idle: Duration) -> bool {
        now.saturating_duration_since(self.newest_since) > idle
    }
}

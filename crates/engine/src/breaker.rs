//! Circuit breakers: when an upstream fails again and again, it is left alone for a while.
//!
//! One circuit per key that a kind gives, within a space and within this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_core::{BreakerKey, CallError, ErrorKind, Message, SpaceId};
use serde::Serialize;
use tokio::time::Instant;

use crate::lock::lock;

haft_core::templates! {
    OPEN = "breaker.open",
        "{key} failed too often and is left alone; it is tried again in {seconds} s",
        "{key} 失败次数过多，已暂停访问；{seconds} 秒后会再次尝试";
}

/// Circuits that nobody has used for a while are forgotten when there are more than this …
const REMEMBERED: usize = 4096;

/// … but they are looked through only so often.
const TIDYING: Duration = Duration::from_secs(1);

/// The window in which calls are counted is cut into so many slices.
const SLICES: usize = 12;

/// When a circuit opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BreakerSettings {
    /// Opens after so many failures in a row.
    pub failures_in_a_row: u32,
    /// Opens when over half of the calls within this time failed …
    pub window: Duration,
    /// … and there were at least so many.
    pub least_calls: u32,
    /// After this time one trial call is let through.
    pub open_for: Duration,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self {
            failures_in_a_row: 5,
            window: Duration::from_secs(60),
            least_calls: 20,
            open_for: Duration::from_secs(30),
        }
    }
}

/// What an operator sees of one circuit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Circuit {
    pub key: String,
    pub state: CircuitState,
    pub failures_in_a_row: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CircuitState {
    Closed,
    Open,
    HalfOpen,
}

type Key = (SpaceId, BreakerKey);

/// All circuits of this process.
pub(crate) struct Breakers {
    settings: BreakerSettings,
    circuits: Mutex<Circuits>,
}

#[derive(Default)]
struct Circuits {
    by_key: HashMap<Key, Arc<Mutex<Counts>>>,
    tidied: Option<Instant>,
}

impl Breakers {
    pub(crate) fn new(settings: BreakerSettings) -> Self {
        Self { settings, circuits: Mutex::default() }
    }

    pub(crate) fn circuit(&self, space: SpaceId, key: BreakerKey, now: Instant) -> Breaker {
        let mut circuits = lock(&self.circuits);
        let due = circuits.tidied.is_none_or(|tidied| now.saturating_duration_since(tidied) >= TIDYING);
        if circuits.by_key.len() > REMEMBERED && due {
            circuits.tidied = Some(now);
            let idle = self.settings.window.max(self.settings.open_for) * 2;
            circuits
                .by_key
                .retain(|_, counts| Arc::strong_count(counts) > 1 || !lock(counts).is_idle(now, idle));
        }
        let counts = circuits.by_key.entry((space, key.clone()));
        let counts = counts.or_insert_with(|| Arc::new(Mutex::new(Counts::new(now))));
        Breaker { settings: self.settings, key, counts: counts.clone() }
    }

    pub(crate) fn list(&self, space: SpaceId, now: Instant) -> Vec<Circuit> {
        let circuits = lock(&self.circuits);
        let mut listed: Vec<Circuit> = circuits
            .by_key
            .iter()
            .filter(|((owner, _), _)| *owner == space)
            .map(|((_, key), counts)| {
                let counts = lock(counts);
                Circuit {
                    key: key.as_str().to_owned(),
                    state: counts.state(now),
                    failures_in_a_row: counts.in_a_row,
                }
            })
            .collect();
        listed.sort_by(|a, b| a.key.cmp(&b.key));
        listed
    }

    /// What is left alone for now, or tried again, in whatever space.
    pub(crate) fn not_closed(&self, now: Instant) -> Vec<(SpaceId, String)> {
        let circuits = lock(&self.circuits);
        let is_closed = |counts: &Mutex<Counts>| lock(counts).state(now) == CircuitState::Closed;
        let open = circuits.by_key.iter().filter(|(_, counts)| !is_closed(counts));
        open.map(|((space, key), _)| (*space, key.as_str().to_owned())).collect()
    }

    /// Closes a circuit; false when there is none of that key.
    pub(crate) fn reset(&self, space: SpaceId, key: &BreakerKey, now: Instant) -> bool {
        let circuits = lock(&self.circuits);
        let Some(counts) = circuits.by_key.get(&(space, key.clone())) else { return false };
        lock(counts).close(now);
        true
    }
}

/// One circuit, as one call sees it.
pub(crate) struct Breaker {
    settings: BreakerSettings,
    key: BreakerKey,
    counts: Arc<Mutex<Counts>>,
}

impl Breaker {
    /// Whether an attempt could be made now. Takes nothing.
    pub(crate) fn check(&self, now: Instant) -> Result<(), CallError> {
        let counts = lock(&self.counts);
        match counts.phase {
            Phase::Open { until } if now < until => Err(self.refusal(until - now)),
            Phase::Trial { .. } => Err(self.refusal(Duration::from_secs(1))),
            Phase::Closed | Phase::Open { .. } => Ok(()),
        }
    }

    /// Lets one attempt through, as the trial when the circuit was open.
    pub(crate) fn enter(&self, now: Instant) -> Result<Pass, CallError> {
        self.check(now)?;
        let mut counts = lock(&self.counts);
        let trial = match counts.phase {
            Phase::Closed => false,
            Phase::Open { until } => {
                counts.phase = Phase::Trial { opened_until: until };
                true
            }
            // Another call took the trial between the check and here.
            Phase::Trial { .. } => return Err(self.refusal(Duration::from_secs(1))),
        };
        if trial {
            counts.era += 1;
        }
        Ok(Pass { settings: self.settings, counts: self.counts.clone(), era: counts.era, trial, open: true })
    }

    fn refusal(&self, pause: Duration) -> CallError {
        let seconds = pause.as_secs_f64().ceil();
        let message = Message::new(&OPEN).with("key", self.key.as_str()).with("seconds", seconds);
        CallError::new(ErrorKind::CircuitOpen, message).retry_after(pause).that_did_nothing()
    }
}

/// One attempt under way. Dropped without a verdict it counts for nothing, and gives a trial back.
pub(crate) struct Pass {
    settings: BreakerSettings,
    counts: Arc<Mutex<Counts>>,
    /// What began before the circuit last opened or closed has no say in what comes after.
    era: u64,
    trial: bool,
    open: bool,
}

impl Pass {
    /// Counts how the attempt ended. Only an unwell upstream is a failure; an
    /// upstream that says no, or asks us to slow down, is alive.
    pub(crate) fn ended(mut self, error: Option<ErrorKind>, now: Instant) {
        self.open = false;
        let failed = error.is_some_and(ErrorKind::is_upstream_failure);
        let mut counts = lock(&self.counts);
        if counts.era != self.era {
            return;
        }
        if self.trial && !failed {
            counts.close(now);
        }
        counts.count(failed, now, self.settings.window);
        let trips = self.trial
            || counts.in_a_row >= self.settings.failures_in_a_row
            || counts.mostly_failed(self.settings.least_calls);
        if failed && trips {
            counts.era += 1;
            counts.phase = Phase::Open { until: now + self.settings.open_for };
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.open && self.trial {
            let mut counts = lock(&self.counts);
            if let Phase::Trial { opened_until } = counts.phase
                && counts.era == self.era
            {
                counts.phase = Phase::Open { until: opened_until };
            }
        }
    }
}

struct Counts {
    phase: Phase,
    /// Counts how often the circuit opened, was tried and closed.
    era: u64,
    in_a_row: u32,
    slices: [Slice; SLICES],
    newest: usize,
    newest_since: Instant,
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
    /// One call tries whether the upstream is back.
    Trial {
        opened_until: Instant,
    },
}

impl Counts {
    fn new(now: Instant) -> Self {
        Self {
            phase: Phase::Closed,
            era: 0,
            in_a_row: 0,
            slices: [Slice::default(); SLICES],
            newest: 0,
            newest_since: now,
        }
    }

    /// Starts counting from nothing.
    fn close(&mut self, now: Instant) {
        *self = Self { era: self.era + 1, ..Self::new(now) };
    }

    fn state(&self, now: Instant) -> CircuitState {
        match self.phase {
            Phase::Closed => CircuitState::Closed,
            Phase::Open { until } if now < until => CircuitState::Open,
            Phase::Open { .. } | Phase::Trial { .. } => CircuitState::HalfOpen,
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

    fn mostly_failed(&self, least_calls: u32) -> bool {
        let calls: u32 = self.slices.iter().map(|slice| slice.calls).sum();
        let failures: u32 = self.slices.iter().map(|slice| slice.failures).sum();
        calls >= least_calls && failures * 2 > calls
    }

    fn is_idle(&self, now: Instant, idle: Duration) -> bool {
        now.saturating_duration_since(self.newest_since) > idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bench {
        breakers: Breakers,
        start: Instant,
    }

    const SERVER: Option<ErrorKind> = Some(ErrorKind::Server);

    impl Bench {
        fn new() -> Self {
            Self { breakers: Breakers::new(BreakerSettings::default()), start: Instant::now() }
        }

        fn space() -> SpaceId {
            SpaceId::from(uuid::Uuid::nil())
        }

        fn breaker(&self) -> Breaker {
            self.breakers.circuit(Self::space(), BreakerKey::new("k"), self.start)
        }

        fn at(&self, seconds: f64) -> Instant {
            self.start + Duration::from_secs_f64(seconds)
        }

        fn call(&self, seconds: f64, error: Option<ErrorKind>) -> Result<(), CallError> {
            let now = self.at(seconds);
            self.breaker().enter(now).map(|pass| pass.ended(error, now))
        }
    }

    #[test]
    fn five_failures_in_a_row_open_it_and_a_trial_after_thirty_seconds_closes_it() {
        let bench = Bench::new();
        for _ in 0..5 {
            bench.call(0.0, SERVER).expect("closed");
        }
        let error = bench.call(1.0, None).expect_err("open");
        assert_eq!(error.kind(), ErrorKind::CircuitOpen);
        assert_eq!(error.pause_asked_for(), Some(Duration::from_secs(29)));
        assert!(bench.call(29.9, None).is_err());
        bench.call(30.0, None).expect("the trial");
        bench.call(30.0, SERVER).expect("closed again, and counting from nothing");
        bench.call(30.0, None).expect("closed");
    }

    #[test]
    fn a_success_ends_the_row() {
        let bench = Bench::new();
        for _ in 0..3 {
            for _ in 0..4 {
                bench.call(0.0, SERVER).expect("closed");
            }
            bench.call(0.0, None).expect("closed");
            // Keeps the share of failures low, so that only the row is at stake.
            for _ in 0..5 {
                bench.call(0.0, None).expect("closed");
            }
        }
        bench.call(0.0, None).expect("closed");
    }

    #[test]
    fn over_half_of_twenty_calls_within_a_minute_open_it() {
        let bench = Bench::new();
        for n in 0..19 {
            let error = if n % 2 == 0 { SERVER } else { None };
            bench.call(f64::from(n), error).expect("fewer than twenty");
        }
        bench.call(19.0, SERVER).expect("the twentieth");
        assert!(bench.call(20.0, None).is_err(), "11 of 20 failed");
    }

    #[test]
    fn failures_older_than_a_minute_are_forgotten() {
        let bench = Bench::new();
        for n in 0..18 {
            let error = if n % 2 == 0 { SERVER } else { None };
            bench.call(0.0, error).expect("fewer than twenty");
        }
        bench.call(120.0, SERVER).expect("closed");
        bench.call(120.0, SERVER).expect("closed");
        bench.call(120.0, None).expect("two of two is less than twenty");
    }

    #[test]
    fn only_an_unwell_upstream_counts() {
        for kind in ErrorKind::ALL {
            let bench = Bench::new();
            for _ in 0..30 {
                let _ = bench.call(0.0, Some(kind));
            }
            let opened = bench.call(0.0, None).is_err();
            let counts = [ErrorKind::Network, ErrorKind::Timeout, ErrorKind::Server].contains(&kind);
            assert_eq!(opened, counts, "{kind}");
        }
    }

    #[test]
    fn one_trial_at_a_time_and_a_failed_one_opens_again() {
        let bench = Bench::new();
        for _ in 0..5 {
            bench.call(0.0, SERVER).expect("closed");
        }
        let trial = bench.breaker().enter(bench.at(31.0)).expect("the trial");
        assert!(bench.call(31.0, None).is_err(), "only one");
        trial.ended(SERVER, bench.at(32.0));
        assert!(bench.call(61.9, None).is_err());
        bench.call(62.0, None).expect("the next trial");
    }

    #[test]
    fn a_trial_that_nobody_waits_for_is_given_back() {
        let bench = Bench::new();
        for _ in 0..5 {
            bench.call(0.0, SERVER).expect("closed");
        }
        drop(bench.breaker().enter(bench.at(31.0)).expect("the trial"));
        bench.call(31.0, None).expect("another trial");
    }

    #[test]
    fn what_began_before_the_circuit_opened_has_no_say_after_it() {
        let bench = Bench::new();
        let late: Vec<Pass> = (0..3).map(|_| bench.breaker().enter(bench.at(0.0)).expect("closed")).collect();
        for _ in 0..5 {
            bench.call(0.0, SERVER).expect("closed");
        }
        let trial = bench.breaker().enter(bench.at(31.0)).expect("the trial");
        for pass in late {
            pass.ended(SERVER, bench.at(31.0));
        }
        trial.ended(None, bench.at(32.0));
        bench.call(32.0, None).expect("the trial closed it");
    }

    #[test]
    fn spaces_do_not_share_circuits_and_an_operator_can_close_one() {
        let bench = Bench::new();
        for _ in 0..5 {
            bench.call(0.0, SERVER).expect("closed");
        }
        let other = SpaceId::from(uuid::Uuid::from_u128(1));
        let elsewhere = bench.breakers.circuit(other, BreakerKey::new("k"), bench.start);
        assert!(elsewhere.enter(bench.at(1.0)).is_ok());

        let listed = bench.breakers.list(Bench::space(), bench.at(1.0));
        let expected = Circuit { key: "k".to_owned(), state: CircuitState::Open, failures_in_a_row: 5 };
        assert_eq!(listed, [expected]);
        assert_eq!(bench.breakers.not_closed(bench.at(1.0)), [(Bench::space(), "k".to_owned())]);
        assert!(bench.breakers.reset(Bench::space(), &BreakerKey::new("k"), bench.at(1.0)));
        assert!(!bench.breakers.reset(Bench::space(), &BreakerKey::new("none"), bench.at(1.0)));
        bench.call(1.0, None).expect("closed by hand");
        assert!(bench.breakers.not_closed(bench.at(1.0)).is_empty());
    }

    #[test]
    fn quiet_circuits_are_forgotten() {
        let bench = Bench::new();
        for n in 0..10_000_u32 {
            let now = bench.at(f64::from(n));
            let breaker = bench.breakers.circuit(Bench::space(), BreakerKey::new(n.to_string()), now);
            breaker.enter(now).expect("closed").ended(None, now);
        }
        assert!(lock(&bench.breakers.circuits).by_key.len() <= REMEMBERED + 1);
    }
}

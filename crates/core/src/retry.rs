//! How often and how patiently a call is repeated, as data. The loop is the engine's.

use std::time::Duration;

use crate::{CallError, Effect};

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Further attempts when the tool does not say.
const DEFAULT_FURTHER_ATTEMPTS: u32 = 3;

/// Which failures of a call are repeated, and after what pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    further_attempts: u32,
    first_pause: Duration,
    repeatable: bool,
}

impl RetryPolicy {
    /// `by_tool` is the number the tool's definition gives, `by_call` the one this call asks for.
    /// Only the tool can allow that a write is repeated whose outcome is not known.
    pub fn new(effect: Effect, by_tool: Option<u32>, by_call: Option<u32>, first_pause: Duration) -> Self {
        Self {
            further_attempts: by_call.or(by_tool).unwrap_or(DEFAULT_FURTHER_ATTEMPTS),
            first_pause,
            repeatable: by_tool.is_some() || effect.is_repeatable(),
        }
    }

    /// Whether this failure may be followed by another attempt.
    pub fn repeats(&self, error: &CallError) -> bool {
        error.is_retryable() && (self.repeatable || error.did_nothing())
    }

    /// The pauses between attempts, before jitter; the iterator ends when we should give up.
    pub fn pauses(self) -> impl Iterator<Item = Duration> {
        (0..self.further_attempts).scan(self.first_pause, |next, _| {
            let pause = (*next).min(LONGEST_PAUSE);
            *next = pause * 2;
            Some(pause)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn policy(effect: Effect, told: Option<u32>) -> RetryPolicy {
        RetryPolicy::new(effect, told, None, Duration::from_secs(1))
    }

    #[test]
    fn pauses_double_up_to_thirty_seconds() {
        let seconds =
            |told| -> Vec<u64> { policy(Effect::Read, told).pauses().map(|pause| pause.as_secs()).collect() };
        assert_eq!(seconds(None), [1, 2, 4]);
        assert_eq!(seconds(Some(0)), [0; 0]);
        assert_eq!(seconds(Some(7)), [1, 2, 4, 8, 16, 30, 30]);
    }

    #[test]
    fn effect_decides_what_is_repeated() {
        let timeout = CallError::text(ErrorKind::Timeout, "late");
        let refused = CallError::text(ErrorKind::Network, "refused").that_did_nothing();
        let wrong = CallError::text(ErrorKind::Validation, "wrong").that_did_nothing();

        for effect in [Effect::Read, Effect::Idempotent] {
            assert!(policy(effect, None).repeats(&timeout));
            assert!(policy(effect, None).repeats(&refused));
            assert!(!policy(effect, None).repeats(&wrong));
        }
        assert!(!policy(Effect::Write, None).repeats(&timeout));
        assert!(policy(Effect::Write, None).repeats(&refused));
        assert!(policy(Effect::Write, Some(2)).repeats(&timeout));
        let by_call = RetryPolicy::new(Effect::Write, None, Some(2), Duration::from_secs(1));
        assert!(!by_call.repeats(&timeout) && by_call.repeats(&refused));
        assert_eq!(by_call.pauses().count(), 2);
        assert!(policy(Effect::Write, None).repeats(&CallError::text(ErrorKind::RateLimit, "slow down")));
        assert!(!policy(Effect::Write, Some(2)).repeats(&wrong));
    }
}

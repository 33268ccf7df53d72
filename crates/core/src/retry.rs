//! The retry policy of a call, as data: the number of retries and the pauses (exponential backoff). The engine
//! runs the loop and adds the jitter.

use std::time::Duration;

use crate::{CallError, Effect};

/// Maximum pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Number of retries if the tool does not set one.
const DEFAULT_FURTHER_ATTEMPTS: u32 = 3;

/// The failures of a call that are retried, and the pauses before each retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    further_attempts: u32,
    first_pause: Duration,
    repeatable: bool,
}

impl RetryPolicy {
    /// Creates a policy. `by_tool` is the number in the tool's definition, `by_call` the one in the options. Only the
    /// tool can permit retries of a write with an unknown outcome.
    pub fn new(effect: Effect, by_tool: Option<u32>, by_call: Option<u32>, first_pause: Duration) -> Self {
        Self {
            further_attempts: by_call.or(by_tool).unwrap_or(DEFAULT_FURTHER_ATTEMPTS),
            first_pause,
            repeatable: by_tool.is_some() || effect.is_repeatable(),
        }
    }

    /// Returns true if this failure may be followed by another attempt.
    pub fn repeats(&self, error: &CallError) -> bool {
        error.is_retryable() && (self.repeatable || error.did_nothing())
    }

    /// Returns the pauses between attempts, before jitter. The iterator ends with the last retry.
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

    fn policy(effect: Effect, further: Option<u32>) -> RetryPolicy {
        RetryPolicy::new(effect, further, None, Duration::from_secs(1))
    }

    #[test]
    fn pauses_double_up_to_thirty_seconds() {
        let seconds = |further| -> Vec<u64> {
            policy(Effect::Read, further).pauses().map(|pause| pause.as_secs()).collect()
        };
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

//! The rate limit of a tool: the number of calls per user, within this process.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use haft_core::tool::RateLimit;
use haft_core::{CallError, ErrorKind, Message, ToolName, UserId};
use tokio::time::Instant;

use crate::lock::lock;

haft_core::templates! {
    LIMITED = "rate.limited",
        "{tool} may be called {perMinute} times a minute; try again in {seconds} s",
        "{tool} 每分钟最多调用 {perMinute} 次；请在 {seconds} 秒后重试";
}

/// Maximum number of users before those with an unused limit are dropped.
const MAX_USERS: usize = 4096;

/// The rate limiter of one tool. Each user has a clock that advances by one interval per call, and may be
/// ahead of the time by the burst.
pub(crate) struct Limiter {
    limit: RateLimit,
    interval: Duration,
    slack: Duration,
    clocks: Mutex<HashMap<Option<UserId>, Instant>>,
}

impl Limiter {
    pub(crate) fn new(limit: RateLimit) -> Self {
        let interval = Duration::from_secs(60) / limit.per_minute.max(1);
        let burst = limit.burst.unwrap_or(limit.per_minute).max(1);
        Self { limit, interval, slack: interval * burst, clocks: Mutex::default() }
    }

    /// Counts one call. Returns an error with the time of the next permitted call if the limit is reached.
    pub(crate) fn take(&self, tool: &ToolName, user: Option<UserId>, now: Instant) -> Result<(), CallError> {
        let mut clocks = lock(&self.clocks);
        if clocks.len() > MAX_USERS {
            clocks.retain(|_, clock| *clock > now);
        }
        let clock = clocks.get(&user).copied().unwrap_or(now).max(now) + self.interval;
        let ahead = clock - now;
        if ahead <= self.slack {
            clocks.insert(user, clock);
            return Ok(());
        }
        drop(clocks);
        let pause = ahead - self.slack;
        let message = Message::new(&LIMITED)
            .with("tool", tool)
            .with("perMinute", self.limit.per_minute)
            .with("seconds", pause.as_secs_f64().ceil());
        Err(CallError::new(ErrorKind::RateLimit, message).retry_after(pause).that_did_nothing())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(per_minute: u32, burst: Option<u32>) -> Limiter {
        Limiter::new(RateLimit { per_minute, burst })
    }

    #[test]
    fn a_burst_passes_and_then_the_pace_holds() {
        let (limiter, tool, start) = (limiter(60, Some(3)), "t".parse().expect("a name"), Instant::now());
        let at = |millis| limiter.take(&tool, None, start + Duration::from_millis(millis));
        assert!(at(0).is_ok() && at(0).is_ok() && at(0).is_ok());
        let refused = at(0).expect_err("the burst is spent");
        assert_eq!(refused.requested_pause(), Some(Duration::from_secs(1)));
        assert_eq!(refused.kind(), ErrorKind::RateLimit);
        assert!(at(999).is_err());
        assert!(at(1000).is_ok());
        assert!(at(1000).is_err());
        assert!(at(9000).is_ok() && at(9000).is_ok() && at(9000).is_ok());
        assert!(at(9000).is_err());
    }

    #[test]
    fn each_user_has_a_separate_limit() {
        let (limiter, tool, now) = (limiter(1, None), "t".parse().expect("a name"), Instant::now());
        let user = |n: u128| Some(UserId::from(uuid::Uuid::from_u128(n)));
        assert!(limiter.take(&tool, user(1), now).is_ok());
        assert!(limiter.take(&tool, user(1), now).is_err());
        assert!(limiter.take(&tool, user(2), now).is_ok());
        assert!(limiter.take(&tool, None, now).is_ok());
    }

    #[test]
    fn users_with_an_unused_limit_are_dropped() {
        let (limiter, tool, start) = (limiter(60, None), "t".parse().expect("a name"), Instant::now());
        for n in 0..10_000_u64 {
            let user = Some(UserId::from(uuid::Uuid::from_u128(u128::from(n))));
            assert!(limiter.take(&tool, user, start + Duration::from_secs(n)).is_ok());
        }
        assert!(limiter.clocks.lock().expect("not poisoned").len() <= MAX_USERS + 1);
    }
}

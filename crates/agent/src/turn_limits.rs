//! The limits of running turns in this process, in total and by user.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::{CallError, ErrorKind, Message, RunId, UserId};

haft_core::templates! {
    TOO_MANY_TURNS = "chat.tooManyTurns",
        "{most} of your turns are already running. Retry when one of them has ended.",
        "您已有 {most} 轮对话正在进行；请等待部分完成后重试";
    PROCESS_IS_FULL = "chat.processIsFull",
        "This server process is already running {most} turns. Retry when some of them have ended.",
        "该服务进程已有 {most} 轮对话正在进行；请等待部分完成后重试";
}

/// The `Retry-After` of a refused turn.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// Limits of running turns. A turn that waits for a person or a task is not running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    pub per_process: usize,
    pub per_user: usize,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self { per_process: 10_000, per_user: 1_000 }
    }
}

/// Counts running turns.
pub(crate) struct RunningTurns {
    limits: TurnLimits,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    /// The number of guards of each running turn, by its run.
    turns: HashMap<RunId, usize>,
    users: HashMap<Option<UserId>, usize>,
}

/// Counts a turn until it is dropped. Several guards of the same run count as one turn.
pub(crate) struct RunningTurn<'a> {
    turns: &'a RunningTurns,
    run: RunId,
    user: Option<UserId>,
}

impl RunningTurns {
    pub(crate) fn new(limits: TurnLimits) -> Self {
        Self { limits, counts: Mutex::default() }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a turn of a user if no limit is reached. A run that is counted already is not counted again.
    pub(crate) fn try_begin(&self, run: RunId, user: Option<UserId>) -> Result<RunningTurn<'_>, CallError> {
        let mut counts = self.counts();
        if !counts.turns.contains_key(&run) {
            let TurnLimits { per_process, per_user } = self.limits;
            let refuse = |message: Message| {
                Err(CallError::new(ErrorKind::RateLimit, message).retry_after(RETRY_AFTER))
            };
            if counts.users.get(&user).copied().unwrap_or_default() >= per_user {
                return refuse(Message::new(&TOO_MANY_TURNS).with("most", per_user));
            }
            if counts.turns.len() >= per_process {
                return refuse(Message::new(&PROCESS_IS_FULL).with("most", per_process));
            }
        }
        counts.add(run, user);
        Ok(RunningTurn { turns: self, run, user })
    }

    /// Counts a turn that this process has claimed already.
    pub(crate) fn begin(&self, run: RunId, user: Option<UserId>) -> RunningTurn<'_> {
        self.counts().add(run, user);
        RunningTurn { turns: self, run, user }
    }
}

impl Counts {
    fn add(&mut self, run: RunId, user: Option<UserId>) {
        let guards = self.turns.entry(run).or_default();
        *guards += 1;
        if *guards == 1 {
            *self.users.entry(user).or_default() += 1;
        }
    }

    fn remove(&mut self, run: RunId, user: Option<UserId>) {
        let Some(guards) = self.turns.get_mut(&run) else { return };
        *guards -= 1;
        if *guards > 0 {
            return;
        }
        self.turns.remove(&run);
        if let Some(count) = self.users.get_mut(&user) {
            *count -= 1;
            if *count == 0 {
                self.users.remove(&user);
            }
        }
    }
}

impl Drop for RunningTurn<'_> {
    fn drop(&mut self) {
        self.turns.counts().remove(self.run, self.user);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn run() -> RunId {
        Uuid::now_v7().into()
    }

    #[test]
    fn limits_apply_to_users_and_to_the_process() {
        let turns = RunningTurns::new(TurnLimits { per_process: 3, per_user: 2 });
        let [one, two] = [1, 2].map(|id| Some(UserId::from(Uuid::from_u128(id))));
        let first = run();
        let first_turn = turns.try_begin(first, one).expect("a free turn");
        let _second_turn = turns.try_begin(run(), one).expect("a free turn");
        let refused = turns.try_begin(run(), one).err().expect("refused");
        assert_eq!((refused.kind(), refused.message().id()), (ErrorKind::RateLimit, TOO_MANY_TURNS.id));
        assert_eq!(refused.requested_pause(), Some(RETRY_AFTER));
        let executed = turns.begin(first, one);
        assert!(turns.try_begin(first, one).is_ok(), "a turn is counted once");
        let _other = turns.try_begin(run(), two).expect("another user is not affected");
        let refused = turns.try_begin(run(), two).err().expect("refused");
        assert_eq!(refused.message().id(), PROCESS_IS_FULL.id);
        drop(first_turn);
        assert!(turns.try_begin(run(), two).is_err(), "the first turn is still executed");
        drop(executed);
        assert!(turns.try_begin(run(), two).is_ok());
        assert!(turns.try_begin(run(), one).is_ok());
    }
}

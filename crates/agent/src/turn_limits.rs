//! The numbers of running turns in this process, in total and by user, and their limits.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_core::UserId;

/// Counts running turns.
#[derive(Default)]
pub(crate) struct RunningTurns(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    users: HashMap<Option<UserId>, usize>,
}

/// One running turn. It counts until it is dropped.
pub(crate) struct RunningTurn<'a> {
    turns: &'a RunningTurns,
    user: Option<UserId>,
}

impl RunningTurns {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of running turns of a user.
    pub(crate) fn of_user(&self, user: Option<UserId>) -> usize {
        self.counts().users.get(&user).copied().unwrap_or_default()
    }

    pub(crate) fn begin(&self, user: Option<UserId>) -> RunningTurn<'_> {
        *self.counts().users.entry(user).or_default() += 1;
        RunningTurn { turns: self, user }
    }
}

impl Drop for RunningTurn<'_> {
    fn drop(&mut self) {
        let mut counts = self.turns.counts();
        if let Some(count) = counts.users.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                counts.users.remove(&self.user);
            }
        }
    }
}

//! Listening to events: who listens, and what all listeners are told of. How one is served is in `stream.rs`.
//!
//! Nothing here publishes: calls are told of by the engine, and changes are kept by the store.

mod change;
mod conversations;
mod filter;
mod frame;
mod place;
mod stream;
mod tasks;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::{CallError, ErrorKind, Message, Template, UserId};
use haft_store::Changes;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

pub(crate) use self::change::ShownChange;
pub(crate) use self::conversations::Moved;
pub(crate) use self::filter::Filter;
pub(crate) use self::place::Place;
pub(crate) use self::stream::EventStream;

haft_core::templates! {
    TOO_MANY = "events.tooMany",
        "This user already has {most} event streams open. Close one of them first.",
        "该用户已打开 {most} 个事件流；请先关闭其中一个";
}

/// So often one user may listen at the same time.
const MOST: usize = 64;

/// So many steps of the change feed a listener may miss. One that missed more looks for itself.
const STEPS: usize = 64;

/// Every message of the events.
pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, filter::TEMPLATES].into_iter().flatten().copied()
}

/// Everyone who listens to events of this server.
pub(crate) struct Listeners {
    changes: broadcast::Sender<Arc<Changes>>,
    conversations: broadcast::Sender<Moved>,
    pub(crate) seats: Seats,
    stop: CancellationToken,
}

impl Default for Listeners {
    fn default() -> Self {
        Self {
            changes: broadcast::Sender::new(STEPS),
            conversations: broadcast::Sender::new(STEPS),
            seats: Seats::default(),
            stop: CancellationToken::new(),
        }
    }
}

impl Listeners {
    /// Cancelled when the server stops: streams have no end of their own.
    pub(crate) fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Tells all that something changed. What it was they read in the store, each as far as it may.
    pub(crate) fn tell(&self, changes: Changes) {
        if changes.identity || !changes.spaces.is_empty() || !changes.news.is_empty() {
            // Nobody may listen; then there is nobody to tell.
            let _ = self.changes.send(Arc::new(changes));
        }
    }

    /// Tells its owner of a conversation that was renamed or deleted.
    pub(crate) fn tell_of(&self, moved: Moved) {
        // Here too nobody may listen.
        let _ = self.conversations.send(moved);
    }

    fn conversations(&self) -> broadcast::Receiver<Moved> {
        self.conversations.subscribe()
    }

    fn changes(&self) -> broadcast::Receiver<Arc<Changes>> {
        self.changes.subscribe()
    }
}

/// How many streams each user has. Each of them holds on to it, to give its seat back.
#[derive(Clone, Default)]
pub(crate) struct Seats(Arc<Mutex<HashMap<UserId, usize>>>);

impl Seats {
    /// A seat for one more stream of a user, unless there are too many.
    pub(crate) fn take(&self, user: UserId) -> Result<Seat, CallError> {
        let mut seats = self.taken();
        let taken = seats.entry(user).or_default();
        if *taken >= MOST {
            let message = Message::new(&TOO_MANY).with("most", MOST);
            return Err(CallError::new(ErrorKind::RateLimit, message));
        }
        *taken += 1;
        Ok(Seat { seats: self.clone(), user })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<UserId, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to one stream. Free again when it is dropped.
pub(crate) struct Seat {
    seats: Seats,
    user: UserId,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = self.seats.taken();
        if let Some(taken) = seats.get_mut(&self.user) {
            *taken -= 1;
            if *taken == 0 {
                seats.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_user_has_so_many_seats_and_gets_one_back() {
        let all = Seats::default();
        let (ada, bob) = (UserId::from(Uuid::from_u128(1)), UserId::from(Uuid::from_u128(2)));
        let mut seats: Vec<Seat> = (0..MOST).map(|_| all.take(ada).expect("a seat")).collect();
        let refused = all.take(ada).map(drop).expect_err("no more");
        assert_eq!(refused.kind(), ErrorKind::RateLimit);
        all.take(bob).map(drop).expect("others have their own");
        seats.pop();
        seats.push(all.take(ada).expect("the one that was given back"));
        assert!(all.take(ada).is_err());
        drop(seats);
        assert!(all.taken().is_empty(), "who has gone is forgotten");
    }
}

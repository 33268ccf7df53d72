//! The events of one turn: the turn that a message began. If its only follower disconnects, the turn is cancelled.

use std::time::Duration;

use haft_core::{CallError, ErrorKind, Message, RunId, SpaceId};
use tokio::time::{sleep, timeout};

use crate::conversations::Conversations;
use crate::event::ChatEvent;
use crate::follower::{FollowedEvent, Follower};
use crate::turn_cursor::TurnCursor;

haft_core::templates! {
    REPLACED = "chat.replaced",
        "This part of the conversation has been replaced.",
        "此处的内容已被替换";
}

/// The interval at which a message is looked up that has not begun a turn.
const POLL: Duration = Duration::from_secs(3);

/// A message whose turn is followed.
#[derive(Debug, Clone)]
pub struct SentMessage {
    pub conversation: RunId,
    /// The id of the message.
    pub message: String,
    /// The position before the message was sent.
    pub cursor: TurnCursor,
}

/// The effect of a disconnect on the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disconnect {
    /// The turn is cancelled, unless it has another follower after this time.
    CancelAfter(Duration),
    /// The turn continues, because the client repeats its request with the same key.
    Continue,
}

/// The events of the turn that a message began.
pub struct TurnStream {
    conversation: RunId,
    /// The number of the turn, once it has begun.
    turn: Option<u32>,
    message: String,
    follower: Follower,
    on_disconnect: CancelOnDisconnect,
    is_over: bool,
}

impl Conversations {
    /// Follows the turn that a message begins.
    pub fn follow_turn(&self, space: SpaceId, sent: SentMessage, disconnect: Disconnect) -> TurnStream {
        let SentMessage { conversation, message, cursor } = sent;
        let follower = self.follow(space, conversation, cursor);
        let on_disconnect = CancelOnDisconnect::new(self, conversation, disconnect);
        TurnStream { conversation, turn: None, message, follower, on_disconnect, is_over: false }
    }
}

impl TurnStream {
    pub fn conversation(&self) -> RunId {
        self.conversation
    }

    /// The number of the turn. `None` before it begins.
    pub fn turn(&self) -> Option<u32> {
        self.turn
    }

    /// Returns the events only when the turn has ended.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { follower: self.follower.by_whole_turns(), ..self }
    }

    /// Waits for the next events of the turn. Returns `None` after its end.
    pub async fn next(&mut self) -> Result<Option<Vec<FollowedEvent>>, CallError> {
        while !self.is_over {
            let Ok(next) = timeout(POLL, self.follower.next()).await else {
                self.check_replaced().await?;
                continue;
            };
            let Some(events) = next? else {
                if self.turn.is_some() {
                    return Ok(None);
                }
                return Err(CallError::text(ErrorKind::Cancelled, "the conversation was deleted"));
            };
            let own: Vec<FollowedEvent> = events.into_iter().filter(|event| self.is_own(event)).collect();
            if !own.is_empty() {
                return Ok(Some(own));
            }
        }
        Ok(None)
    }

    /// Fails if the message was replaced before a turn began with it.
    async fn check_replaced(&self) -> Result<(), CallError> {
        if self.turn.is_some() || self.follower.may_contain(&self.message).await? {
            return Ok(());
        }
        Err(CallError::new(ErrorKind::Conflict, Message::new(&REPLACED)))
    }

    fn is_own(&mut self, followed: &FollowedEvent) -> bool {
        if self.is_over {
            return false;
        }
        if let Some(ChatEvent::TurnStart { message_ids, .. }) = followed.event.as_deref()
            && message_ids.contains(&self.message)
        {
            self.turn = Some(followed.turn);
            self.on_disconnect.turn = Some(followed.turn);
        }
        let is_own = self.turn == Some(followed.turn);
        if is_own && followed.event.as_deref().is_some_and(ChatEvent::is_last) {
            self.is_over = true;
            self.on_disconnect.is_disarmed = true;
        }
        is_own
    }
}

/// Cancels a turn when it is dropped before the end of the turn.
struct CancelOnDisconnect {
    conversations: Conversations,
    conversation: RunId,
    /// The time for another follower to connect.
    grace: Duration,
    turn: Option<u32>,
    is_disarmed: bool,
}

impl CancelOnDisconnect {
    fn new(conversations: &Conversations, conversation: RunId, disconnect: Disconnect) -> Self {
        let (grace, is_disarmed) = match disconnect {
            Disconnect::CancelAfter(grace) => (grace, false),
            Disconnect::Continue => (Duration::ZERO, true),
        };
        Self { conversations: conversations.clone(), conversation, grace, turn: None, is_disarmed }
    }
}

impl Drop for CancelOnDisconnect {
    fn drop(&mut self) {
        let Some(turn) = self.turn.filter(|_| !self.is_disarmed) else { return };
        let (conversations, id, grace) = (self.conversations.clone(), self.conversation, self.grace);
        let cancel_if_unfollowed = move || {
            let log = conversations.turn_logs().find(id).filter(|log| log.turn == turn);
            // The turn may have messages of other clients, which follow it as well.
            if log.is_some_and(|log| !log.is_complete() && log.followers() == 0) {
                conversations.cancel_here(id);
            }
        };
        if grace.is_zero() {
            cancel_if_unfollowed();
            return;
        }
        #[expect(clippy::disallowed_methods, reason = "the task ends after the grace period")]
        tokio::spawn(async move {
            sleep(grace).await;
            cancel_if_unfollowed();
        });
    }
}

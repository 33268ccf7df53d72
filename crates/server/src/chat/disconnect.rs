//! What happens when whoever asked goes away: their turn ends, unless somebody comes back to it in time.

use std::sync::Arc;
use std::time::Duration;

use haft_agent::{Conversations, TurnLog};
use haft_core::RunId;
use tokio::time::sleep;

/// Ends a turn when it is dropped before it was told that the turn is over.
pub(crate) struct Leaving {
    chat: Conversations,
    conversation: RunId,
    /// So long somebody has to come back.
    grace: Duration,
    /// The turn that is theirs, once it has begun.
    turn: Option<u32>,
    is_over: bool,
}

impl Leaving {
    pub(crate) fn new(chat: &Conversations, conversation: RunId, grace: Duration) -> Self {
        Self { chat: chat.clone(), conversation, grace, turn: None, is_over: false }
    }

    pub(crate) fn began(&mut self, turn: u32) {
        self.turn = Some(turn);
    }

    pub(crate) fn over(&mut self) {
        self.is_over = true;
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let Some(turn) = self.turn.filter(|_| !self.is_over) else { return };
        let (chat, id, grace) = (self.chat.clone(), self.conversation, self.grace);
        let is_theirs = move |chat: &Conversations| chat.turn_logs().find(id).filter(|log| log.turn == turn);
        if grace.is_zero() {
            // Others may have spoken in the same turn.
            if is_theirs(&chat).is_some_and(|log| log.followers() == 0) {
                chat.cancel_here(id);
            }
            return;
        }
        #[expect(clippy::disallowed_methods, reason = "it ends by itself within moments")]
        tokio::spawn(async move {
            sleep(grace).await;
            let log: Option<Arc<TurnLog>> = is_theirs(&chat);
            if log.is_some_and(|log| !log.is_complete() && log.followers() == 0) {
                chat.cancel_here(id);
            }
        });
    }
}

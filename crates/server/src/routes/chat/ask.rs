//! Waiting for the turn of what was said, and answering with it in the way that was asked for.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use haft_agent::ChatEvent;
use haft_core::{CallError, Caller, ErrorKind, Message, RunId};
use tokio::time::timeout;

use super::{GRACE, accepted, stream};
use crate::app::AppState;
use crate::chat::disconnect::Leaving;
use crate::chat::follow::{Follow, Place, Told};
use crate::chat::reply::Reply;
use crate::envelope;
use crate::error::{self, Failure};
use crate::request::Asked;
use crate::tasks::Tasks;

haft_core::templates! {
    REPLACED = "chat.replaced",
        "This part of the conversation has been replaced.",
        "此处的内容已被替换";
}

/// What was said and is not answered is looked for this often.
const LOOK: Duration = Duration::from_secs(3);

/// How whoever asks wants to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// When all of it is there.
    Whole,
    /// As it comes.
    Streamed,
    /// At once, without it.
    Detached,
}

/// Something that was said, and how it is to be answered.
pub(crate) struct Answering {
    pub(crate) id: RunId,
    /// The id of what was said.
    pub(crate) letter: String,
    /// What of the conversation was there before.
    pub(crate) place: Place,
    pub(crate) way: Way,
    /// Whoever asked will come again with the same key.
    pub(crate) is_keyed: bool,
}

impl Answering {
    pub(crate) async fn respond(
        self,
        state: &AppState,
        tasks: &Tasks,
        caller: &Caller,
        asked: &Asked,
    ) -> Result<Response, Failure> {
        let grace = match self.way {
            Way::Detached => return Ok(accepted(self.id, &self.letter)),
            Way::Whole => Duration::ZERO,
            Way::Streamed => GRACE,
        };
        let mut turn = OwnTurn::new(tasks, caller, self.id, self.letter, self.place, grace);
        if self.is_keyed {
            turn.leaving.over();
        }
        if self.way == Way::Streamed {
            return Ok(stream::of_turn(state, turn, asked.locale));
        }
        whole(turn.taken_whole(), asked).await
    }
}

async fn whole(mut turn: OwnTurn, asked: &Asked) -> Result<Response, Failure> {
    let mut reply = Reply::default();
    while let Some(told) = turn.next().await? {
        told.iter().filter_map(|told| told.event.as_deref()).for_each(|event| reply.hear(event));
    }
    let data = reply.shown(turn.id, turn.turn.unwrap_or_default());
    match (reply.kind(), &reply.error) {
        (Some(kind), Some(failure)) => Ok(envelope::kept_failure(error::status(kind), failure, data, asked)),
        (Some(_) | None, _) => Ok(envelope::success(StatusCode::OK, data)),
    }
}

/// The turn that something said began, among all that happens in its conversation.
pub(crate) struct OwnTurn {
    pub(crate) id: RunId,
    /// Once it has begun.
    pub(crate) turn: Option<u32>,
    letter: String,
    follow: Follow,
    leaving: Leaving,
    is_over: bool,
}

impl OwnTurn {
    pub(crate) fn new(
        tasks: &Tasks,
        caller: &Caller,
        id: RunId,
        letter: String,
        place: Place,
        grace: Duration,
    ) -> Self {
        let follow = Follow::new(&tasks.conversations, &tasks.journal, caller.space, id, place);
        let leaving = Leaving::new(&tasks.conversations, id, grace);
        Self { id, turn: None, letter, follow, leaving, is_over: false }
    }

    /// For somebody who waits for all of it.
    pub(crate) fn taken_whole(self) -> Self {
        Self { follow: self.follow.patiently(), ..self }
    }

    /// What happens next in it; nothing when it is over.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Told>>, CallError> {
        while !self.is_over {
            let next = timeout(LOOK, self.follow.next()).await;
            let Ok(next) = next else {
                self.check_there().await?;
                continue;
            };
            let Some(told) = next? else {
                if self.turn.is_some() {
                    return Ok(None);
                }
                return Err(CallError::text(ErrorKind::Cancelled, "the conversation was deleted"));
            };
            let own: Vec<Told> = told.into_iter().filter(|told| self.is_own(told)).collect();
            if !own.is_empty() {
                return Ok(Some(own));
            }
        }
        Ok(None)
    }

    /// What was said may have been replaced before anybody could answer it.
    async fn check_there(&self) -> Result<(), CallError> {
        if self.turn.is_some() || self.follow.may_know(&self.letter).await? {
            return Ok(());
        }
        Err(CallError::new(ErrorKind::Conflict, Message::new(&REPLACED)))
    }

    fn is_own(&mut self, told: &Told) -> bool {
        if self.is_over {
            return false;
        }
        if let Some(ChatEvent::TurnStart { message_ids, .. }) = told.event.as_deref()
            && message_ids.contains(&self.letter)
        {
            self.turn = Some(told.turn);
            self.leaving.began(told.turn);
        }
        let is_own = self.turn == Some(told.turn);
        if is_own && told.event.as_deref().is_some_and(ChatEvent::is_last) {
            self.is_over = true;
            self.leaving.over();
        }
        is_own
    }
}

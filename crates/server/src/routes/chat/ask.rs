//! Responds with the turn that a message began: complete, as a stream, or not at all.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use haft_agent::{Disconnect, SentMessage, TurnStream};
use haft_core::Caller;

use super::{GRACE, accepted, stream};
use crate::app::AppState;
use crate::chat::reply::Reply;
use crate::envelope;
use crate::error::{self, Failure};
use crate::request::Asked;
use crate::tasks::Tasks;

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseMode {
    /// With the complete turn.
    Whole,
    /// With the events of the turn.
    Streamed,
    /// At once, without the turn.
    Detached,
}

/// A sent message, and how its request is answered.
pub(crate) struct PendingResponse {
    pub(crate) sent: SentMessage,
    pub(crate) mode: ResponseMode,
    /// The request has a key, with which the client repeats it.
    pub(crate) is_keyed: bool,
}

impl PendingResponse {
    pub(crate) async fn respond(
        self,
        state: &AppState,
        tasks: &Tasks,
        caller: &Caller,
        asked: &Asked,
    ) -> Result<Response, Failure> {
        let grace = match self.mode {
            ResponseMode::Detached => return Ok(accepted(self.sent.conversation, &self.sent.message)),
            ResponseMode::Whole => Duration::ZERO,
            ResponseMode::Streamed => GRACE,
        };
        let disconnect = if self.is_keyed { Disconnect::Continue } else { Disconnect::CancelAfter(grace) };
        let turn = tasks.conversations.follow_turn(caller.space, self.sent, disconnect);
        if self.mode == ResponseMode::Streamed {
            return Ok(stream::of_turn(state, turn, asked.locale));
        }
        whole(turn.whole(), asked).await
    }
}

async fn whole(mut turn: TurnStream, asked: &Asked) -> Result<Response, Failure> {
    let mut reply = Reply::default();
    while let Some(events) = turn.next().await? {
        events.iter().filter_map(|event| event.event.as_deref()).for_each(|event| reply.hear(event));
    }
    let data = reply.shown(turn.conversation(), turn.turn().unwrap_or_default());
    match (reply.kind(), &reply.error) {
        (Some(kind), Some(failure)) => Ok(envelope::kept_failure(error::status(kind), failure, data, asked)),
        (Some(_) | None, _) => Ok(envelope::success(StatusCode::OK, data)),
    }
}

//! Turns as `text/event-stream`.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream::{Stream, try_unfold, unfold};
use haft_agent::{FinishReason, FollowedEvent, Follower, TurnStream};
use haft_core::{CallError, Locale};
use serde_json::json;
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

use crate::api::Needs;
use crate::app::AppState;
use crate::events::Seat;
use crate::visitors::Visitor;

/// After so long without an event something is sent all the same.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// So often it is asked whether a listener may still be here, and so long that may take.
const LOOK: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(2);

/// Tells proxies not to hold events back.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The turn of something that was said, until it is over.
pub(super) fn of_turn(state: &AppState, turn: TurnStream, locale: Locale) -> Response {
    let id = turn.conversation().to_string();
    let pieces = unfold(Some((turn, id)), move |going| async move {
        let (mut turn, id) = going?;
        let piece = match timeout(KEEP_ALIVE, turn.next()).await {
            Err(_) => b":\n\n".to_vec(),
            Ok(Ok(told)) => written(&id, &told?),
            // It cannot be followed any further. Whoever reads hears that, and does not wait.
            Ok(Err(error)) => return Some((Ok(failed(&id, &error, locale)), None)),
        };
        Some((Ok(piece), Some((turn, id))))
    });
    response(state, pieces)
}

/// How a stream ends that cannot tell its turn to the end.
fn failed(conversation: &str, error: &CallError, locale: Locale) -> Vec<u8> {
    let done = json!({"conversationId": conversation, "finishReason": FinishReason::Error.as_str()});
    let error = error.to_json(locale);
    format!("event: error\ndata: {error}\n\nevent: done\ndata: {done}\n\n").into_bytes()
}

/// All that happens in a conversation, for as long as one listens and may.
pub(crate) fn of_conversation(
    state: &AppState,
    visitor: Arc<Visitor>,
    follow: Follower,
    id: String,
) -> Result<Response, CallError> {
    let seat = state.listeners.seats.take(visitor.user.id)?;
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let app = state.clone();
    let listener = Listener { app, visitor, follow, id, looks, quiet: 0, opening: true, _seat: seat };
    let pieces = try_unfold(listener, |mut listener| async move {
        let piece = listener.next().await?;
        Ok::<_, CallError>(piece.map(|piece| (piece, listener)))
    });
    Ok(response(state, pieces))
}

/// Somebody who listens to a conversation.
struct Listener {
    app: AppState,
    visitor: Arc<Visitor>,
    follow: Follower,
    id: String,
    looks: Interval,
    /// So many looks nothing was sent.
    quiet: u64,
    opening: bool,
    _seat: Seat,
}

impl Listener {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, CallError> {
        if std::mem::take(&mut self.opening) {
            return Ok(Some(b"retry: 2000\n\n".to_vec()));
        }
        loop {
            tokio::select! {
                biased;
                _ = self.looks.tick() => {
                    if !self.may_stay().await {
                        return Ok(None);
                    }
                    self.quiet += 1;
                    if self.quiet >= KEEP_ALIVE.as_secs() {
                        self.quiet = 0;
                        return Ok(Some(b":\n\n".to_vec()));
                    }
                }
                told = self.follow.next() => {
                    self.quiet = 0;
                    return Ok(told?.map(|told| written(&self.id, &told)));
                }
            }
        }
    }

    /// Whether the listener may still be here. Rights that cannot be known are not given.
    async fn may_stay(&mut self) -> bool {
        match timeout(PATIENCE, self.app.visitors.again(&self.visitor)).await {
            Ok(Ok(Some(visitor))) if visitor.space == self.visitor.space && visitor.may(Needs::Read) => {
                self.visitor = visitor;
                true
            }
            Ok(Ok(Some(_) | None) | Err(_)) | Err(_) => false,
        }
    }
}

fn written(conversation: &str, told: &[FollowedEvent]) -> Vec<u8> {
    let mut out = Vec::new();
    for FollowedEvent { cursor, turn, event } in told {
        let (name, data) = match event {
            Some(event) => (event.name(), event.data(conversation, *turn)),
            None => ("turn.reset", json!({"turn": turn})),
        };
        // JSON has no line breaks of its own, so it is one line of data.
        out.extend_from_slice(format!("id: {cursor}\nevent: {name}\ndata: {data}\n\n").as_bytes());
    }
    out
}

fn response(
    state: &AppState,
    pieces: impl Stream<Item = Result<Vec<u8>, CallError>> + Send + 'static,
) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        (UNBUFFERED, "no"),
    ];
    let pieces = pieces.take_until(state.listeners.stopping().cancelled_owned());
    (headers, Body::from_stream(pieces)).into_response()
}

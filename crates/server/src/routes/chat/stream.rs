//! Turns as `text/event-stream`.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream::{Stream, try_unfold};
use haft_core::CallError;
use serde_json::json;
use tokio::time::timeout;

use super::ask::OwnTurn;
use crate::app::AppState;
use crate::chat::follow::{Follow, Told};

/// After so long without an event something is sent all the same.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Tells proxies not to hold events back.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The turn of something that was said, until it is over.
pub(super) fn of_turn(state: &AppState, turn: OwnTurn) -> Response {
    let id = turn.id.to_string();
    let pieces = try_unfold((turn, id), |(mut turn, id)| async move {
        let piece = match timeout(KEEP_ALIVE, turn.next()).await {
            Err(_) => Some(b":\n\n".to_vec()),
            Ok(told) => told?.map(|told| written(&id, &told)),
        };
        Ok::<_, CallError>(piece.map(|piece| (piece, (turn, id))))
    });
    response(state, pieces)
}

/// All that happens in a conversation, for as long as one listens.
pub(crate) fn of_conversation(state: &AppState, follow: Follow, id: String) -> Response {
    let pieces = try_unfold((follow, id, true), |(mut follow, id, is_first)| async move {
        if is_first {
            return Ok(Some((b"retry: 2000\n\n".to_vec(), (follow, id, false))));
        }
        let piece = match timeout(KEEP_ALIVE, follow.next()).await {
            Err(_) => Some(b":\n\n".to_vec()),
            Ok(told) => told?.map(|told| written(&id, &told)),
        };
        Ok::<_, CallError>(piece.map(|piece| (piece, (follow, id, false))))
    });
    response(state, pieces)
}

fn written(conversation: &str, told: &[Told]) -> Vec<u8> {
    let mut out = Vec::new();
    for Told { place, turn, event } in told {
        let (name, data) = match event {
            Some(event) => (event.name(), event.data(conversation, *turn)),
            None => ("turn.reset", json!({"turn": turn})),
        };
        // JSON has no line breaks of its own, so it is one line of data.
        out.extend_from_slice(format!("id: {place}\nevent: {name}\ndata: {data}\n\n").as_bytes());
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

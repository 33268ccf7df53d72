//! `GET /api/events`: what changes in the space, and its calls as they are made, for as long as one listens.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse, Response};
use haft_core::{CallError, Message, Violation};
use serde::Deserialize;

use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::error::Failure;
use crate::events::{EventStream, Filter, Place};
use crate::query::Parameters;

haft_core::templates! {
    BAD_ID = "events.badId",
        "must be the id of an event, such as 17 or 17.1763265000123456",
        "必须是事件 id，例如 17 或 17.1763265000123456";
}

/// What a browser sends when it comes again by itself.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Tells proxies not to hold events back.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    types: Option<String>,
    tool: Option<String>,
    last_event_id: Option<String>,
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/events", listen)
            .needs(Needs::Read)
            .says("Stream changes in the space, and its calls on this server")
            .parameter(
                "types",
                "string",
                "Only events with these names, separated by commas; `tool.call.*` matches a prefix",
            )
            .parameter("tool", "string", "Only events of this tool, by id or name")
            .parameter(
                "lastEventId",
                "string",
                "Same as the header `Last-Event-ID`, for clients that cannot send it",
            )
            .answers(200, "EventStream"),
    ]
}

async fn listen(
    State(state): State<AppState>,
    Who(visitor): Who,
    headers: HeaderMap,
    Parameters(wanted): Parameters<Wanted>,
) -> Result<Response, Failure> {
    let Wanted { types, tool, last_event_id } = wanted;
    let filter = Filter::new(types.as_deref(), tool)?;
    let since = since(&headers, last_event_id.as_deref())?;
    let stream = EventStream::begin(state, visitor, filter, since).await?;
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        (UNBUFFERED, "no"),
    ];
    Ok((headers, Body::from_stream(stream.pieces())).into_response())
}

/// The last event that the client knows. The header wins, for it is the newer when a client comes again.
fn since(headers: &HeaderMap, parameter: Option<&str>) -> Result<Option<Place>, CallError> {
    let bad = || CallError::invalid(vec![Violation::new("lastEventId", Message::new(&BAD_ID))]);
    let known = match headers.get(LAST_EVENT_ID) {
        Some(value) => Some(value.to_str().map_err(|_| bad())?),
        None => parameter,
    };
    match known {
        None | Some("") => Ok(None),
        Some(text) => text.parse::<Place>().map(Some).map_err(|_| bad()),
    }
}

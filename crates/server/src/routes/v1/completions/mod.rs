//! `POST /v1/chat/completions`: one answer, whole or as it comes.

mod answer;
mod chunks;
mod request;

use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use haft_core::RunId;

pub(super) use self::answer::{ClientCall, client_calls, finish_reason};

use self::answer::Head;
use self::chunks::Chunks;
use super::error::{Failed, SHOULD_RETRY, json_response};
use super::{models, stream};
use crate::app::AppState;
use crate::auth::Known;
use crate::body::JsonBody;
use crate::error::Failure;
use crate::request::Asked;

/// The conversation that an answer is part of.
const CONVERSATION: HeaderName = HeaderName::from_static("haft-conversation");

pub(super) async fn create(
    State(state): State<AppState>,
    Known(caller): Known,
    asked: Asked,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let wish = request::read(&body).await?;
    let who = models::find(&state, &caller, &wish.model).await?;
    let (model, is_streamed, has_usage) = (wish.model.clone(), wish.is_streamed, wish.has_usage);
    let is_said = wish.is_within();
    let mut course = wish.question(who).begin(&state, &caller, &asked).await?;
    let conversation = course.conversation;
    let head = |run: RunId| Head::new(run, model);
    if is_streamed {
        let chunks = |course: &super::course::Course| Chunks::new(head(course.run), has_usage);
        let response = stream::respond(&state, &asked, course, chunks).await?;
        return Ok(marked(once(response, is_said), conversation));
    }
    let turn = course.end().await?;
    let response = match Failed::of(&turn) {
        Some(failed) => failed.response(),
        None => json_response(StatusCode::OK, &head(course.run).completion(&turn)),
    };
    Ok(marked(once(response, is_said), conversation))
}

/// What was said in a conversation stays said: whoever tries again would say it twice.
fn once(mut response: Response, is_said: bool) -> Response {
    if is_said && !response.status().is_success() {
        response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    }
    response
}

/// Says which conversation an answer is part of.
pub(super) fn marked(mut response: Response, conversation: Option<RunId>) -> Response {
    if let Some(id) = conversation.and_then(|id| HeaderValue::from_str(&id.to_string()).ok()) {
        response.headers_mut().insert(CONVERSATION, id);
    }
    response
}

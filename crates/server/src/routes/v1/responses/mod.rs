//! `POST /v1/responses`: one response, whole or as it comes; kept as a conversation unless `store` is false.

mod answer;
mod earlier;
mod events;
mod items;
mod request;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use self::answer::Head;
use self::events::Events;
use super::completions::marked;
use super::error::{Failed, json_response};
use super::question::{Keep, Question};
use super::reading::check_results;
use super::{models, stream};
use crate::app::AppState;
use crate::auth::Known;
use crate::body::JsonBody;
use crate::error::Failure;
use crate::request::Asked;

pub(super) use self::earlier::TEMPLATES;

pub(super) async fn create(
    State(state): State<AppState>,
    Known(caller): Known,
    asked: Asked,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let wish = request::read(&body).await?;
    let who = models::find(&state, &caller, &wish.model).await?;
    let keep = match (&wish.previous, wish.keep) {
        (Some(previous), _) => earlier::place_after(&state, &caller, previous, &wish.input).await?,
        (None, Some(keep)) => keep,
        (None, None) if wish.is_stored => Keep::New,
        (None, None) => Keep::Not,
    };
    let history = earlier::resolved(&state, &caller, wish.input).await?;
    check_results("input", &history, false)?;
    let question = Question {
        who,
        asking: wish.asking,
        // Instructions hold for one response. System messages in the input stay in the conversation.
        instructions: wish.instructions,
        system: None,
        history,
        param: "input",
        option_path: request::option_path,
        tools: wish.tools,
        keep,
    };
    let mut course = question.begin(&state, &caller, &asked).await?;
    let conversation = course.conversation;
    if wish.is_streamed {
        let events = |course: &super::course::Course| Events::new(Head::new(course, &body));
        let response = stream::respond(&state, &asked, course, events).await?;
        return Ok(marked(response, conversation));
    }
    let turn = course.end().await?;
    let response = match Failed::of(&turn) {
        Some(failed) => failed.response(),
        None => json_response(StatusCode::OK, &Head::new(&course, &body).whole(&turn)),
    };
    Ok(marked(response, conversation))
}

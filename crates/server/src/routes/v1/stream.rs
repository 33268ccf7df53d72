//! Turns as `text/event-stream`, in whatever words they are told.
//!
//! What fails before anything was said is an answer with a status of its own; after that it is told in the stream.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream::unfold;
use haft_agent::{ChatEvent, Turn};
use haft_core::CallError;
use tokio::time::{Instant, timeout, timeout_at};

use super::course::{Course, Heard};
use super::error::Failed;
use crate::app::AppState;
use crate::error::Failure;
use crate::request::Asked;

/// After so long without a word something is sent all the same.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// How a turn is told.
pub(super) trait Telling: Send + 'static {
    /// Before anything else.
    fn begin(&mut self, out: &mut String);
    /// What happened; nothing when all of the turn is told anew.
    fn hear(&mut self, heard: &Heard, out: &mut String) -> Result<(), CallError>;
    /// What it came to.
    fn end(&mut self, turn: &Turn, out: &mut String);
    fn fail(&mut self, failed: &Failed, out: &mut String);
}

/// Answers with a turn as it comes. How it is told is decided once it has begun.
pub(super) async fn respond<T: Telling>(
    state: &AppState,
    asked: &Asked,
    mut course: Course,
    telling: impl FnOnce(&Course) -> T,
) -> Result<Response, Failure> {
    let mut first = Vec::new();
    let until = Instant::now() + KEEP_ALIVE;
    loop {
        let heard = match course.turn() {
            None => course.next().await,
            Some(_) => match timeout_at(until, course.next()).await {
                Ok(heard) => heard,
                Err(_) => break,
            },
        };
        let Some(heard) = heard? else { break };
        let is_begun = heard.iter().any(is_worth_telling);
        first.extend(heard);
        if is_begun {
            break;
        }
    }
    let is_over = first.iter().flatten().any(|event| event.is_last());
    if is_over || first.is_empty() {
        let turn = course.end().await?;
        if let Some(failed) = Failed::of(&turn) {
            return Ok(failed.response());
        }
        let telling = telling(&course);
        let flow = Flow {
            course,
            telling,
            first: Some(first),
            turn: Some(turn),
            asked: asked.clone(),
            is_over: false,
        };
        return Ok(response(state, flow));
    }
    let telling = telling(&course);
    let flow = Flow { course, telling, first: Some(first), turn: None, asked: asked.clone(), is_over: false };
    Ok(response(state, flow))
}

/// Whether there is something to send, or will not be any more.
fn is_worth_telling(heard: &Heard) -> bool {
    heard.as_deref().is_some_and(|event| {
        matches!(
            event,
            ChatEvent::Text { .. }
                | ChatEvent::Reasoning { .. }
                | ChatEvent::Call { .. }
                | ChatEvent::Done { .. }
        )
    })
}

struct Flow<T> {
    course: Course,
    telling: T,
    /// What was heard before the answer began.
    first: Option<Vec<Heard>>,
    /// What it came to, where that is known already.
    turn: Option<Turn>,
    asked: Asked,
    is_over: bool,
}

impl<T: Telling> Flow<T> {
    async fn next(&mut self) -> Option<String> {
        let mut out = String::new();
        while out.is_empty() {
            if self.is_over {
                return None;
            }
            let heard = match self.first.take() {
                Some(first) => {
                    self.telling.begin(&mut out);
                    Ok(Some(first))
                }
                None if self.turn.is_some() => Ok(None),
                None => match timeout(KEEP_ALIVE, self.course.next()).await {
                    Ok(heard) => heard,
                    Err(_) => return Some(": keep-alive\n\n".to_owned()),
                },
            };
            if let Err(error) = self.tell(heard, &mut out).await {
                self.is_over = true;
                self.telling.fail(&Failed::from_error(&error, &self.asked), &mut out);
            }
        }
        Some(out)
    }

    async fn tell(
        &mut self,
        heard: Result<Option<Vec<Heard>>, CallError>,
        out: &mut String,
    ) -> Result<(), CallError> {
        if let Some(heard) = heard? {
            return heard.iter().try_for_each(|heard| self.telling.hear(heard, out));
        }
        let turn = match self.turn.take() {
            Some(turn) => turn,
            None => self.course.end().await?,
        };
        self.is_over = true;
        match Failed::of(&turn) {
            Some(failed) => self.telling.fail(&failed, out),
            None => self.telling.end(&turn, out),
        }
        Ok(())
    }
}

fn response<T: Telling>(state: &AppState, flow: Flow<T>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (UNBUFFERED, "no"),
    ];
    let pieces = unfold(flow, |mut flow| async move {
        let piece = flow.next().await?;
        Some((Ok::<_, Infallible>(piece), flow))
    });
    let pieces = pieces.take_until(state.listeners.stopping().cancelled_owned());
    (headers, Body::from_stream(pieces)).into_response()
}

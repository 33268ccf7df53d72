//! The call log: `GET /api/tool-calls[/{id}]`, `GET /api/tool-calls/{id}/curl`, `POST /api/tool-calls/{id}/replay`.

mod curl;
mod replay;
mod shown;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::{AgentId, CallError, ErrorKind, Message, Source, SpaceId, Template, UserId};
use haft_store::{CallFilter, CallStatus, LoggedCall};
use jiff::Timestamp;
use serde::Deserialize;

use self::shown::{Shown, ShownWithBodies};
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::envelope;
use crate::error::Failure;
use crate::query::{ListOf, Named, Parameters};

haft_core::templates! {
    NO_SUCH_CALL = "toolCalls.notFound",
        "there is no call {name} in the call log",
        "没有调用记录 {name}";
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/tool-calls", list)
            .needs(Needs::Read)
            .says("List logged calls, newest first; any page may be short or empty, not only the last")
            .parameter("tool", "string", "Only calls of this tool, by id or name")
            .parameter("agent", "string", "Only calls for this agent, by id or name")
            .parameter("user", "string", "Only calls of this user, by id or name; `me` for your own")
            .parameter("status", "success|failed|cancelled", "Only calls with this outcome")
            .parameter("kind", "string", "Only calls that failed with this kind of error")
            .parameter(
                "source",
                "api|chat|flow|mcp|cli|task|library",
                "Only calls that came through this interface",
            )
            .parameter("from", "date-time", "Only calls that started at or after this time")
            .parameter("to", "date-time", "Only calls that started before this time")
            .parameter(
                "text",
                "string",
                "Only calls with these words in the tool's name or the error; `refus*` matches a prefix",
            )
            .pages()
            .answers(200, "ToolCallPage"),
        Route::get("/tool-calls/{id}", read)
            .needs(Needs::Read)
            .says("Get a logged call with its arguments and result")
            .answers(200, "ToolCall"),
        curl::route(),
        replay::route(),
    ]
}

pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, curl::TEMPLATES, replay::TEMPLATES].into_iter().flatten().copied()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    tool: Option<String>,
    agent: Option<String>,
    user: Option<String>,
    status: Option<CallStatus>,
    kind: Option<ErrorKind>,
    source: Option<Source>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    text: Option<String>,
    limit: Option<u32>,
    cursor: Option<String>,
}

async fn list(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(filter): Parameters<Filter>,
) -> Result<Response, Failure> {
    let Filter { tool, agent, user, status, kind, source, from, to, text, limit, cursor } = filter;
    let page = ListOf { limit, cursor }.checked()?;
    let user = match user {
        None => None,
        Some(name) => match user_of(&state, visitor.user.id, &name).await? {
            Some(user) => Some(user),
            // No user of that name made a call.
            None => return Ok(envelope::page([(); 0], None)),
        },
    };
    let agent = match agent {
        None => None,
        Some(name) => match agent_of(&state, visitor.space, &name).await? {
            Some(agent) => Some(agent),
            // No call was ever made for an agent that nobody knows.
            None => return Ok(envelope::page([(); 0], None)),
        },
    };
    let filter = CallFilter { tool, agent, user, status, kind, source, from, to, text };
    let (calls, next) = state.log.find(visitor.space, &filter, &page).await?;
    let calls: Vec<Shown<'_>> = calls.iter().map(Shown::from).collect();
    Ok(envelope::page(&calls, next))
}

async fn read(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
) -> Result<Response, Failure> {
    let call = find(&state, visitor.space, &id).await?;
    Ok(envelope::success(StatusCode::OK, ShownWithBodies::from(&call)))
}

/// A call of the space, by its id or that of its row.
async fn find(state: &AppState, space: SpaceId, id: &str) -> Result<LoggedCall, CallError> {
    let found = state.log.get(space, id).await?;
    found.ok_or_else(|| {
        let message = Message::new(&NO_SUCH_CALL).with("name", id);
        CallError::new(ErrorKind::NotFound, message).detail("what", "call")
    })
}

/// Returns the user whom a filter names by `me`, an id or a name, or `None` if no user has the name.
///
/// Callers show an empty list for an unknown name, so that a member of one space does not learn which users exist.
pub(super) async fn user_of(state: &AppState, own: UserId, named: &str) -> Result<Option<UserId>, CallError> {
    if named == "me" {
        return Ok(Some(own));
    }
    match named.parse::<UserId>() {
        Ok(id) => Ok(Some(id)),
        Err(_) => Ok(state.store.find_user_by_name(named).await?.map(|user| user.id)),
    }
}

/// An id is taken as it is: calls outlive the agent they were made for.
pub(crate) async fn agent_of(
    state: &AppState,
    space: SpaceId,
    name: &str,
) -> Result<Option<AgentId>, CallError> {
    match name.parse::<AgentId>() {
        Ok(id) => Ok(Some(id)),
        Err(_) => Ok(state.store.get_agent(space, name).await?.map(|agent| agent.id)),
    }
}

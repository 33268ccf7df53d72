//! Conversations: `GET/PATCH/DELETE /api/conversations[/{id}]`, going on with one, stopping its turn, following it,
//! and taking it along. Each is its user's alone.

mod export;
mod tool_context;

use std::collections::HashMap;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use haft_agent::{
    ContinueMessage, FinishReason, InboxMessage, NewInboxMessage, SentMessage, SpaceUser, Transcript,
    TurnCursor, UserMessage, result_file_suffix, result_files,
};
use haft_core::{
    AgentId, ArtifactRef, CallError, Caller, ErrorKind, Message, RunId, SpaceId, Template, UserId, Violation,
};
use haft_runs::{Run, RunWithSteps, Step};
use haft_store::ConversationFilter;
use serde::Deserialize;
use serde_json::{Value, json};

use super::chat::ask::{PendingResponse, ResponseMode};
use super::chat::{asked_at, last_cursor, letter_id, of_conversation, tasks, was_said};
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::{Known, Who};
use crate::body::{JsonBody, MaybeJsonBody, read as body_of};
use crate::chat::{find_conversation, messages, said_in, shown, transcript};
use crate::envelope;
use crate::error::Failure;
use crate::events::Moved;
use crate::query::{ListOf, Named, Parameters};
use crate::request::{Asked, Keyed};
use crate::tasks::key_of;

haft_core::templates! {
    NO_SUCH_CONVERSATION = "conversations.notFound",
        "there is no conversation {name}",
        "没有对话 {name}";
    NOTHING_TO_GO_ON = "conversations.nothingToGoOn",
        "There is nothing to continue: the last turn has its answer. Send a message.",
        "没有可继续的内容：上一轮已有回答；请发送消息";
    UNDER_WAY = "conversations.underWay",
        "A turn is already running.",
        "已有一轮正在进行";
    BAD_TITLE = "conversations.badTitle",
        "must have 1 to {most} characters",
        "必须为 1 到 {most} 个字符";
    BAD_PLACE = "conversations.badPlace",
        "must be the id of an event of this conversation, such as 3 or 3-1a2b-17",
        "必须是该对话的事件 id，例如 3 或 3-1a2b-17";
}

const LONGEST_TITLE: usize = 200;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/conversations", list)
            .needs(Needs::Read)
            .says("List your own conversations, most recently changed first")
            .parameter("q", "string", "Part of the title")
            .parameter("agent", "string", "Only conversations with this agent, by id or name")
            .pages()
            .answers(200, "ConversationPage"),
        Route::get("/conversations/{id}", read)
            .needs(Needs::Read)
            .says("Get a conversation with its turns")
            .answers(200, "Conversation"),
        Route::patch("/conversations/{id}", rename)
            .needs(Needs::Call)
            .says("Rename a conversation")
            .takes("ConversationPatch")
            .answers(200, "ConversationFacts"),
        Route::delete("/conversations/{id}", remove)
            .needs(Needs::Call)
            .says("Delete a conversation with all its messages")
            .answers(200, "ConversationFacts"),
        Route::post("/conversations/{id}/continue", go_on)
            .needs(Needs::Call)
            .says("Continue a conversation with a new message, or from where its last turn ended")
            .takes("ContinueConversation")
            .answers(200, "ChatReply")
            .answers(202, "ChatAccepted"),
        Route::post("/conversations/{id}/cancel", cancel)
            .needs(Needs::Call)
            .says("Cancel the running turn; the conversation is not deleted")
            .answers(200, "ConversationFacts"),
        Route::get("/conversations/{id}/events", events)
            .needs(Needs::Read)
            .says("Stream the events of a conversation")
            .parameter(
                "after",
                "string",
                "Same as the header `Last-Event-ID`, for clients that cannot send it",
            )
            .answers(200, "EventStream"),
        Route::get("/conversations/{id}/export", export::export)
            .needs(Needs::Read)
            .says("Export a conversation as a file")
            .parameter("format", "string", "`json` (default) or `markdown`")
            .answers(200, "ConversationFile"),
        Route::get("/conversations/{id}/tool-context", tool_context::read)
            .needs(Needs::Read)
            .says("List the tools of a conversation, with its calls and their results")
            .answers(200, "ToolContext"),
    ]
}

pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, export::TEMPLATES].into_iter().flatten().copied()
}

pub(crate) fn missing(name: &str) -> CallError {
    let message = Message::new(&NO_SUCH_CONVERSATION).with("name", name);
    CallError::new(ErrorKind::NotFound, message).detail("what", "conversation")
}

/// A conversation of who asks.
pub(crate) async fn find(state: &AppState, caller: &Caller, name: &str) -> Result<Run, CallError> {
    let (Ok(id), Some(user)) = (name.parse::<RunId>(), caller.user) else { return Err(missing(name)) };
    let found = tasks(state)?.journal.conversation(caller.space, user, id).await?;
    found.filter(|run| run.labels.conversation.is_some()).ok_or_else(|| missing(name))
}

/// The same with all that was said in it, for who says more.
pub(crate) async fn find_whole(
    state: &AppState,
    caller: &Caller,
    name: &str,
) -> Result<RunWithSteps, CallError> {
    let (Ok(id), Some(user)) = (name.parse::<RunId>(), caller.user) else { return Err(missing(name)) };
    find_conversation(&tasks(state)?.journal, caller.space, user, id).await?.ok_or_else(|| missing(name))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    q: Option<String>,
    agent: Option<String>,
    limit: Option<u32>,
    cursor: Option<String>,
}

async fn list(
    State(state): State<AppState>,
    Known(caller): Known,
    Parameters(filter): Parameters<Filter>,
) -> Result<Response, Failure> {
    let Filter { q, agent, limit, cursor } = filter;
    let page = ListOf { limit, cursor }.checked()?;
    let Some(user) = caller.user else { return Ok(envelope::page(Vec::<Value>::new(), None)) };
    let agent = match agent {
        Some(name) => match state.store.agent(caller.space, &name).await? {
            Some(agent) => Some(agent.id.to_string()),
            None => return Ok(envelope::page(Vec::<Value>::new(), None)),
        },
        None => None,
    };
    let filter = ConversationFilter { words: q.filter(|words| !words.trim().is_empty()), agent };
    let (runs, next) = tasks(&state)?.journal.conversations(caller.space, user, &filter, &page).await?;
    let mut names = HashMap::new();
    let mut items = Vec::with_capacity(runs.len());
    for run in &runs {
        items.push(facts(&state, run, &mut names).await?);
    }
    Ok(envelope::page(&items, next))
}

/// The facts of a conversation, with the name of its agent.
async fn facts(
    state: &AppState,
    run: &Run,
    names: &mut HashMap<String, Option<String>>,
) -> Result<Value, CallError> {
    let name = match &run.labels.agent {
        Some(id) => {
            if !names.contains_key(id) {
                let known = id.parse::<AgentId>().map(|id| id.to_string()).unwrap_or_default();
                let agent = state.store.agent(run.space, &known).await?;
                names.insert(id.clone(), agent.map(|agent| agent.spec.name.clone()));
            }
            names.get(id).cloned().flatten()
        }
        None => None,
    };
    Ok(shown::facts(run, name.as_deref()))
}

async fn read(
    State(state): State<AppState>,
    Known(caller): Known,
    Named(name): Named,
) -> Result<Response, Failure> {
    let run = find(&state, &caller, &name).await?;
    let transcript = transcript(&tasks(&state)?.journal, &run).await?;
    let mut data = facts(&state, &run, &mut HashMap::new()).await?;
    data["turns"] = transcript.turns.iter().map(shown::turn).collect();
    data["pending"] = json!(shown::pending(&transcript));
    data["lastEventId"] = json!(transcript.last_cursor().to_string());
    Ok(envelope::success(StatusCode::OK, data))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Patch {
    title: String,
}

async fn rename(
    State(state): State<AppState>,
    Known(caller): Known,
    Named(name): Named,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let run = find(&state, &caller, &name).await?;
    let Patch { title } = body_of(body)?;
    let title = title.trim();
    if title.is_empty() || title.chars().count() > LONGEST_TITLE {
        let message = Message::new(&BAD_TITLE).with("most", LONGEST_TITLE);
        return Err(CallError::invalid(vec![Violation::new("title", message)]).into());
    }
    if let Some(user) = caller.user {
        tasks(&state)?.journal.rename(caller.space, user, run.id, title).await?;
        let status = shown::status(&run);
        state.listeners.tell_of(Moved { space: caller.space, user, id: run.id, status });
    }
    let run = find(&state, &caller, &name).await?;
    Ok(envelope::success(StatusCode::OK, facts(&state, &run, &mut HashMap::new()).await?))
}

async fn remove(
    State(state): State<AppState>,
    Known(caller): Known,
    Named(name): Named,
) -> Result<Response, Failure> {
    let run = find(&state, &caller, &name).await?;
    let tasks = tasks(&state)?;
    let data = facts(&state, &run, &mut HashMap::new()).await?;
    tasks.conversations.cancel_here(run.id);
    let steps = tasks.journal.steps(caller.space, run.id).await?;
    for (_, task) in said_in(&run, &steps)?.pending() {
        if let Ok(task) = task.task_id.parse() {
            tasks.conversations.cancel_task(SpaceUser { space: caller.space, user: caller.user }, task).await;
        }
    }
    if let Some(user) = caller.user {
        tasks.journal.delete_conversation(caller.space, user, run.id).await?;
        remove_files(&state, caller.space, user, &steps).await?;
        let status = "deleted";
        state.listeners.tell_of(Moved { space: caller.space, user, id: run.id, status });
    }
    Ok(envelope::success(StatusCode::OK, data))
}

/// Takes away the files in which large results of a conversation were kept, and no others of its user's.
async fn remove_files(
    state: &AppState,
    space: SpaceId,
    user: UserId,
    steps: &[Step],
) -> Result<(), CallError> {
    for (handle, call) in result_files(steps) {
        let Some(id) = ArtifactRef::parse(&handle).and_then(|file| file.id.parse().ok()) else { continue };
        let file = state.store.get_artifact(space, user, id).await?;
        if file.is_some_and(|file| file.name.ends_with(&result_file_suffix(&call))) {
            state.store.delete_artifact(space, user, id).await?;
        }
    }
    Ok(())
}

/// Stops what is under way, wherever that is.
async fn cancel(
    State(state): State<AppState>,
    Known(caller): Known,
    Named(name): Named,
) -> Result<Response, Failure> {
    let run = find(&state, &caller, &name).await?;
    let tasks = tasks(&state)?;
    tasks.conversations.cancel(caller.space, run.id).await?;
    Ok(envelope::success(StatusCode::OK, facts(&state, &run, &mut HashMap::new()).await?))
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Continue {
    messages: Option<Value>,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    detach: bool,
}

async fn go_on(
    State(state): State<AppState>,
    Known(caller): Known,
    asked: Asked,
    Keyed(key): Keyed,
    Named(name): Named,
    MaybeJsonBody(body): MaybeJsonBody,
) -> Result<Response, Failure> {
    let whole = find_whole(&state, &caller, &name).await?;
    let key = key.map(|key| key_of(&key, &name, &body)).transpose()?;
    let Continue { messages, stream, detach } = body_of(body)?;
    let tasks = tasks(&state)?;
    let id = letter_id(key.as_ref());
    let message = match messages {
        Some(given) => {
            let messages = messages::read(&given, false).map_err(CallError::invalid)?;
            InboxMessage::User(UserMessage {
                id: id.clone(),
                messages,
                replaces: None,
                tools: Vec::new(),
                asked: asked_at(&asked),
            })
        }
        None => {
            if !was_said(tasks, &caller, whole.run.id, key.as_ref()).await? {
                check_unfinished(&said_in(&whole.run, &whole.steps)?)?;
            }
            InboxMessage::Continue(ContinueMessage { id: id.clone(), asked: asked_at(&asked) })
        }
    };
    let is_keyed = key.is_some();
    let (run, cursor) =
        (whole.run.id, if is_keyed { TurnCursor::default() } else { last_cursor(tasks, &whole)? });
    if !tasks.conversations.send(&caller, whole.run.id, NewInboxMessage { message, key }).await? {
        return Err(missing(&name).into());
    }
    let mode = match (stream, detach) {
        (_, true) => ResponseMode::Detached,
        (true, false) => ResponseMode::Streamed,
        (false, false) => ResponseMode::Whole,
    };
    let sent = SentMessage { conversation: run, message: id, cursor };
    PendingResponse { sent, mode, is_keyed }.respond(&state, tasks, &caller, &asked).await
}

/// There is something to go on with where a turn ended without its answer.
fn check_unfinished(transcript: &Transcript) -> Result<(), CallError> {
    let conflict = |template| Err(CallError::new(ErrorKind::Conflict, Message::new(template)));
    match transcript.turns.last().map(|turn| turn.end.as_ref().map(|end| end.finish)) {
        Some(None) => conflict(&UNDER_WAY),
        Some(Some(
            FinishReason::Error | FinishReason::Cancelled | FinishReason::MaxSteps | FinishReason::ToolCalls,
        )) => Ok(()),
        Some(Some(FinishReason::Stop | FinishReason::ToolStop)) | None => conflict(&NOTHING_TO_GO_ON),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct After {
    after: Option<String>,
}

async fn events(
    State(state): State<AppState>,
    Known(caller): Known,
    Who(visitor): Who,
    Named(name): Named,
    headers: HeaderMap,
    Parameters(After { after }): Parameters<After>,
) -> Result<Response, Failure> {
    let run = find(&state, &caller, &name).await?;
    let tasks = tasks(&state)?;
    let known = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let cursor = match known.or(after.as_deref()).filter(|known| !known.is_empty()) {
        Some(known) => known
            .parse()
            .map_err(|()| CallError::invalid(vec![Violation::new("after", Message::new(&BAD_PLACE))]))?,
        None => transcript(&tasks.journal, &run).await?.last_cursor(),
    };
    let follow = tasks.conversations.follow(caller.space, run.id, cursor);
    Ok(of_conversation(&state, visitor, follow, run.id.to_string())?)
}

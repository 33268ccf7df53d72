//! Asking an agent: `POST /api/chat` and `POST /api/chat/with-tools`, answered at once, as it comes, or not waited for.

pub(crate) mod ask;
mod stream;

pub(crate) use stream::of_conversation;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_agent::{
    ConversationInput, InboxMessage, ModelChoice, ModelParameters, Models as _, NewConversation,
    NewInboxMessage, Retention, SentMessage, SpaceUser, TurnCursor, TurnRequest, UserMessage, format_schema,
};
use haft_core::agent::Agent;
use haft_core::error::ROOT;
use haft_core::tool::input::camel_keys;
use haft_core::{CallError, Caller, ErrorKind, Message, ModelOptions, RunId, Violation};
use haft_engine::now;
use haft_runs::{RunKey, RunWithSteps};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use self::ask::{PendingResponse, ResponseMode};
use super::saving::{Form, form, misfits};
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Known;
use crate::body::JsonBody;
use crate::chat::{messages, said_in};
use crate::envelope;
use crate::error::Failure;
use crate::request::{Asked, Keyed};
use crate::tasks::{Tasks, key_of};

haft_core::templates! {
    UNSUPPORTED_OPTION = "chat.unsupportedOption",
        "is not supported by the provider {provider}, or not with this value; leave it out, or set drop_params to true",
        "服务商 {provider} 不支持该字段或该值；请去掉该字段，或将 drop_params 设为 true";
    NO_CHAT = "chat.notHere",
        "Conversations are not available here: no server is running. Start one with haft serve.",
        "此处没有可进行对话的服务；请用 haft serve 启动服务";
    NO_SUCH_AGENT = "chat.noSuchAgent",
        "there is no agent {name}",
        "没有智能体 {name}";
    AGENT_OFF = "chat.switchedOff",
        "The agent {name} is switched off.",
        "智能体 {name} 已停用";
    OTHER_AGENT = "chat.otherAgent",
        "The conversation belongs to another agent.",
        "该对话属于另一个智能体";
    NO_SUCH_TOOL = "chat.noSuchTool",
        "there is no tool {name}",
        "没有工具 {name}";
    ONLY_NEW = "chat.onlyNew",
        "can only be set when a conversation starts",
        "只能在新建对话时指定";
    NO_SUCH_TURN = "chat.noSuchTurn",
        "The conversation has no turn {turn}.",
        "该对话没有第 {turn} 轮";
}

static BODY: Form = LazyLock::new(|| form(include_str!("chat.json")));

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::post("/chat", chat)
            .needs(Needs::Call)
            .says("Send a message to an agent or a model and get the response; with `stream`, as events")
            .takes("ChatRequest")
            .answers(200, "ChatReply")
            .answers(202, "ChatAccepted"),
        Route::post("/chat/with-tools", with_tools)
            .needs(Needs::Call)
            .says("Send a message to an agent or a model, with tools for this request only")
            .takes("ChatWithToolsRequest")
            .answers(200, "ChatReply")
            .answers(202, "ChatAccepted"),
    ]
}

pub(crate) fn all_templates() -> impl Iterator<Item = &'static haft_core::Template> {
    [TEMPLATES, crate::chat::messages::TEMPLATES].into_iter().flatten().copied()
}

/// What a body asks for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wish {
    agent_id: Option<String>,
    #[serde(default)]
    messages: Value,
    conversation_id: Option<RunId>,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    detach: bool,
    replaces: Option<u32>,
    #[serde(default)]
    tools: Vec<String>,
    provider: Option<String>,
    model: Option<String>,
    #[serde(default)]
    options: Map<String, Value>,
}

async fn chat(
    State(state): State<AppState>,
    Known(caller): Known,
    asked: Asked,
    Keyed(key): Keyed,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let key = key.map(|key| key_of(&key, "chat", &body)).transpose()?;
    answer(&state, caller, &asked, key, body, false).await
}

async fn with_tools(
    State(state): State<AppState>,
    Known(caller): Known,
    asked: Asked,
    Keyed(key): Keyed,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let key = key.map(|key| key_of(&key, "chat/with-tools", &body)).transpose()?;
    answer(&state, caller, &asked, key, body, true).await
}

async fn answer(
    state: &AppState,
    caller: Caller,
    asked: &Asked,
    key: Option<RunKey>,
    body: Value,
    takes_tools: bool,
) -> Result<Response, Failure> {
    let wish = read(body, takes_tools)?;
    let tasks = tasks(state)?;
    let mode = match (wish.stream, wish.detach) {
        (_, true) => ResponseMode::Detached,
        (true, false) => ResponseMode::Streamed,
        (false, false) => ResponseMode::Whole,
    };
    check_tools(state, &caller, &wish.tools).await?;
    let said = |messages| UserMessage {
        id: letter_id(key.as_ref()),
        messages,
        replaces: wish.replaces,
        tools: wish.tools.clone(),
        asked: asked_at(asked),
    };
    let (conversation, said) = match wish.conversation_id {
        Some(id) => {
            let messages = messages::read(&wish.messages, false).map_err(CallError::invalid)?;
            let whole = super::conversations::find_whole(state, &caller, &id.to_string()).await?;
            check_new(&wish)?;
            check_agent(state, &caller, &wish, whole.run.labels.agent.as_deref()).await?;
            // What was said before with the same key is answered once more, and changes nothing.
            if let Some(turn) = wish.replaces
                && !was_said(tasks, &caller, id, key.as_ref()).await?
            {
                check_turn(&whole, turn)?;
                // The replaced turn is not needed any more.
                tasks.conversations.cancel(caller.space, id).await?;
            }
            (Some(whole), said(messages))
        }
        None => (None, said(messages::read(&wish.messages, true).map_err(CallError::invalid)?)),
    };
    let message = said.id.clone();
    let is_keyed = key.is_some();
    let (id, cursor) = match conversation {
        Some(whole) => {
            let id = whole.run.id;
            let cursor = if is_keyed { TurnCursor::default() } else { last_cursor(tasks, &whole)? };
            if !tasks
                .conversations
                .send(&caller, id, NewInboxMessage { message: InboxMessage::User(said), key })
                .await?
            {
                return Err(super::conversations::missing(&id.to_string()).into());
            }
            (id, cursor)
        }
        None => {
            let input = begun(state, &caller, &wish, said).await?;
            let (id, retention) = (RunId::from(Uuid::now_v7()), Retention::Conversation);
            let new = NewConversation { id, input, retention, key };
            (tasks.conversations.start(&caller, new).await?, TurnCursor::default())
        }
    };
    let sent = SentMessage { conversation: id, message, cursor };
    let answering = PendingResponse { sent, mode, is_keyed };
    answering.respond(state, tasks, &caller, asked).await
}

fn read(body: Value, takes_tools: bool) -> Result<Wish, CallError> {
    let mut body = camel_keys(body);
    if let Value::Object(fields) = &mut body {
        fields.retain(|_, value| !value.is_null());
    }
    let mut violations = misfits(&BODY, &body);
    if !takes_tools && body.get("tools").is_some() {
        violations.push(Violation::new("tools", Message::new(&messages::UNKNOWN_FIELD)));
    }
    if !violations.is_empty() {
        return Err(CallError::invalid(violations));
    }
    let wrong = |error: serde_json::Error| {
        CallError::invalid(vec![Violation::new(ROOT, Message::verbatim(error.to_string()))])
    };
    serde_json::from_value(body).map_err(wrong)
}

/// What carries conversations on; an error where nobody does.
pub(crate) fn tasks(state: &AppState) -> Result<&Tasks, CallError> {
    let none = || CallError::new(ErrorKind::BadRequest, Message::new(&NO_CHAT));
    state.tasks.get().ok_or_else(none)
}

/// The id of what is said: its own, or the same again for the same key.
pub(crate) fn letter_id(key: Option<&RunKey>) -> String {
    match key {
        Some(key) => format!("key-{}-{}", key.key, key.digest.get(..12).unwrap_or_default()),
        None => Uuid::now_v7().to_string(),
    }
}

pub(crate) fn asked_at(asked: &Asked) -> TurnRequest {
    let (request, trace) = (Some(asked.id.to_string()), asked.trace.clone());
    TurnRequest { at: now(), locale: asked.locale, request, terms: None, trace }
}

/// The agent that a body names.
pub(crate) async fn agent(state: &AppState, caller: &Caller, name: &str) -> Result<Arc<Agent>, CallError> {
    let found = state.store.agent(caller.space, name).await?;
    let none = || {
        let message = Message::new(&NO_SUCH_AGENT).with("name", name);
        CallError::new(ErrorKind::NotFound, message).detail("what", "agent")
    };
    let agent = found.ok_or_else(none)?;
    if agent.spec.is_active {
        return Ok(agent);
    }
    Err(CallError::new(ErrorKind::ToolDisabled, Message::new(&AGENT_OFF).with("name", name)))
}

/// A conversation that begins, once it is known that somebody can be asked.
async fn begun(
    state: &AppState,
    caller: &Caller,
    wish: &Wish,
    first: UserMessage,
) -> Result<ConversationInput, CallError> {
    let agent = match &wish.agent_id {
        Some(name) => Some(agent(state, caller, name).await?),
        None => None,
    };
    let own = ModelChoice { provider: wish.provider.clone(), model: wish.model.clone() };
    let wanted = own.or(agent.as_deref());
    let within = |violation: Violation| violation.within("options");
    let refuse =
        |violations: Vec<Violation>| CallError::invalid(violations.into_iter().map(within).collect());
    let options = read_options(wish.options.clone()).await.map_err(refuse)?;
    let chosen = state.models.find(SpaceUser { space: caller.space, user: caller.user }, &wanted).await?;
    let own_options = agent.as_ref().map(|agent| agent.spec.config.options.clone()).unwrap_or_default();
    let all = options.or(&own_options);
    all.check_supported().map_err(refuse)?;
    let unsupported = chosen.model.unsupported(&all);
    if let Some(name) = unsupported.first().filter(|_| !all.drops_unsupported()) {
        return Err(unsupported_option(&format!("options.{name}"), &chosen.provider));
    }
    Ok(ConversationInput {
        agent: agent.map(|agent| agent.id),
        first,
        source: caller.source,
        asking: ModelParameters { wanted: own, options, ..ModelParameters::default() },
        client_tools: Vec::new(),
    })
}

/// Reads the model options of a body, and compiles the schema of their response format off the async threads.
pub(crate) async fn read_options(fields: Map<String, Value>) -> Result<ModelOptions, Vec<Violation>> {
    let options = ModelOptions::read(fields)?;
    format_schema(&options).await?;
    Ok(options)
}

/// The error for an option that a provider does not have.
pub(crate) fn unsupported_option(path: &str, provider: &str) -> CallError {
    let message = Message::new(&UNSUPPORTED_OPTION).with("provider", provider);
    CallError::invalid(vec![Violation::new(path, message)])
}

/// Who is asked is said when a conversation begins.
fn check_new(wish: &Wish) -> Result<(), CallError> {
    let has_options = !wish.options.is_empty();
    let said =
        [("provider", wish.provider.is_some()), ("model", wish.model.is_some()), ("options", has_options)];
    let violation =
        |(field, is_said): (&str, bool)| is_said.then(|| Violation::new(field, Message::new(&ONLY_NEW)));
    let violations: Vec<Violation> = said.into_iter().filter_map(violation).collect();
    if violations.is_empty() { Ok(()) } else { Err(CallError::invalid(violations)) }
}

async fn check_agent(
    state: &AppState,
    caller: &Caller,
    wish: &Wish,
    known: Option<&str>,
) -> Result<(), CallError> {
    let Some(name) = &wish.agent_id else { return Ok(()) };
    let agent = agent(state, caller, name).await?;
    if known == Some(agent.id.to_string().as_str()) {
        return Ok(());
    }
    Err(CallError::invalid(vec![Violation::new("agentId", Message::new(&OTHER_AGENT))]))
}

async fn check_tools(state: &AppState, caller: &Caller, names: &[String]) -> Result<(), CallError> {
    if names.is_empty() {
        return Ok(());
    }
    let tools = state.tools_of(caller).await?;
    let missing = names.iter().enumerate().filter(|(_, name)| tools.get(name).is_none());
    let violations = missing.map(|(place, name)| {
        Violation::new(format!("tools.{place}"), Message::new(&NO_SUCH_TOOL).with("name", name))
    });
    let violations: Vec<Violation> = violations.collect();
    if violations.is_empty() { Ok(()) } else { Err(CallError::invalid(violations)) }
}

/// Whether something was said in a conversation before, with the same key.
pub(crate) async fn was_said(
    tasks: &Tasks,
    caller: &Caller,
    conversation: RunId,
    key: Option<&RunKey>,
) -> Result<bool, CallError> {
    match key {
        Some(key) => tasks.journal.was_sent(caller.space, conversation, key).await,
        None => Ok(false),
    }
}

fn check_turn(whole: &RunWithSteps, turn: u32) -> Result<(), CallError> {
    let transcript = said_in(&whole.run, &whole.steps)?;
    if transcript.turns.iter().any(|known| known.turn == turn) {
        return Ok(());
    }
    let message = Message::new(&NO_SUCH_TURN).with("turn", turn);
    Err(CallError::invalid(vec![Violation::new("replaces", message)]))
}

/// The position before the running turn, or after the last turn.
pub(crate) fn last_cursor(tasks: &Tasks, whole: &RunWithSteps) -> Result<TurnCursor, CallError> {
    tasks.conversations.last_cursor(&whole.run, &whole.steps)
}

/// The answer to somebody who does not wait.
pub(crate) fn accepted(id: RunId, message: &str) -> Response {
    envelope::success(StatusCode::ACCEPTED, json!({"conversationId": id, "messageId": message}))
}

/// Whoever follows a stream has so long to come back.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_good() {
        assert!(BODY.is_ok());
    }
}

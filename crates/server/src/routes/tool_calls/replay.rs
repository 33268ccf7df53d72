//! `POST /api/tool-calls/{id}/replay`: a logged call once more, on the current version.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use haft_core::{Binding, CallError, CallOptions, Caller, ErrorKind, Message};
use haft_engine::CallRequest;
use haft_store::LoggedCall;
use serde::Deserialize;
use serde_json::Value;

use super::find;
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Known;
use crate::body::{MaybeJsonBody, read_as_written};
use crate::error::Failure;
use crate::query::Named;
use crate::request::Asked;
use crate::routes::execute::bound;
use crate::tasks::{self, How};

haft_core::templates! {
    CUT = "replay.cut",
        "The arguments of call {call} were too long to be stored completely. Replay it with your own arguments.",
        "调用 {call} 的参数过长，未完整保存，无法原样重复；请用自己的 arguments 重放";
    MASKED = "replay.masked",
        "The stored arguments of call {call} contain redacted values. Replay it with your own arguments.",
        "调用 {call} 的参数中有已被遮盖的内容，无法原样重复；请用自己的 arguments 重放";
    NO_ARGUMENTS = "replay.noArguments",
        "The arguments of call {call} are not in the call log. Replay it with your own arguments.",
        "调用 {call} 的参数没有记录；请用自己的 arguments 重放";
    OTHER_TOOL = "replay.otherTool",
        "The tool of call {call} no longer exists, and {name} is now another tool. Call that tool directly.",
        "调用 {call} 的工具已不存在，现在名为 {name} 的是另一个工具；请直接调用它";
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Replay {
    arguments: Option<Value>,
}

pub(super) fn route() -> Route {
    Route::post("/tool-calls/{id}/replay", replay)
        .needs(Needs::Call)
        .says("Repeat a logged call, with the current version of its tool and without the cache")
        .takes("Replay")
        .answers(200, "ToolExecutionResult")
        .answers(202, "AcceptedTask")
}

async fn replay(
    State(state): State<AppState>,
    Known(caller): Known,
    asked: Asked,
    Named(id): Named,
    MaybeJsonBody(body): MaybeJsonBody,
) -> Result<Response, Failure> {
    // The names within the arguments are the tool's own and stay as they are.
    let Replay { arguments } = read_as_written(body)?;
    let call = find(&state, caller.space, &id).await?;
    let arguments = match arguments {
        Some(arguments) => arguments,
        None => logged_arguments(&call)?,
    };
    let tool = tool_of(&state, &caller, &call).await?;
    let agent = match call.row.agent {
        Some(agent) => state.store.get_agent(caller.space, &agent.to_string()).await?,
        None => None,
    };
    // An agent that is gone has no say any more, and is named all the same.
    let binding = match &agent {
        Some(agent) => bound(&state, &caller, agent, &tool).await?,
        None => None,
    };
    // Whatever version was called, this is about the one that counts now.
    let binding = binding.map(|bound| Arc::new(Binding { version: None, ..Binding::clone(&bound.binding) }));
    let options = CallOptions {
        agent: call.row.agent,
        conversation: call.row.conversation,
        binding,
        ..CallOptions::default().fresh().replay_of(call.row.call_id).trace(asked.trace.clone())
    };
    tasks::execute(&state, &caller, &asked, CallRequest { tool, arguments, options }, How::default()).await
}

/// What the call was given, unless something of it is gone.
pub(super) fn logged_arguments(call: &LoggedCall) -> Result<Value, CallError> {
    let LoggedCall { row, bodies } = call;
    let gone =
        |template| CallError::new(ErrorKind::Conflict, Message::new(template).with("call", &row.call_id));
    if bodies.arguments.is_empty() {
        return Err(gone(&NO_ARGUMENTS));
    }
    if row.arguments_cut {
        return Err(gone(&CUT));
    }
    if !row.replayable {
        return Err(gone(&MASKED));
    }
    serde_json::from_str(&bodies.arguments).map_err(|_| gone(&NO_ARGUMENTS))
}

/// The tool by its id, whatever it is called now; by its name when it is gone, so that the answer says which.
async fn tool_of(state: &AppState, caller: &Caller, call: &LoggedCall) -> Result<String, CallError> {
    let tools = state.tools_of(caller).await?;
    let name = call.row.tool_name.to_string();
    // Whoever named no tool that was there may mean the one that is there now.
    let Some((id, _)) = &call.row.tool else { return Ok(name) };
    let by_id = id.to_string();
    if tools.get(&by_id).is_some_and(|tool| tool.id == *id) {
        return Ok(by_id);
    }
    if tools.get(&name).is_none() {
        return Ok(name);
    }
    let message = Message::new(&OTHER_TOOL).with("call", &call.row.call_id).with("name", &name);
    Err(CallError::new(ErrorKind::NotFound, message).detail("what", "tool"))
}

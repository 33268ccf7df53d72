//! `POST /api/tool-calls/{id}/replay`: a logged call once more, on the current version.

use axum::extract::State;
use axum::response::Response;
use haft_core::error::ROOT;
use haft_core::mask::MASKED;
use haft_core::{CallError, CallOptions, Caller, ErrorKind, Message, Violation};
use haft_engine::CallRequest;
use haft_store::LoggedCall;
use serde::Deserialize;
use serde_json::Value;

use super::find;
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Known;
use crate::body::JsonBody;
use crate::envelope;
use crate::error::Failure;
use crate::query::Named;
use crate::request::{Asked, Traced};

haft_core::templates! {
    CUT = "replay.cut",
        "the arguments of call {call} were too long to be kept whole; send the arguments with the replay",
        "调用 {call} 的参数过长，未完整保存；请在重放时提供 arguments";
    MASKED_ARGUMENTS = "replay.masked",
        "the arguments of call {call} hold a secret that was masked; send the arguments with the replay",
        "调用 {call} 的参数含有已被遮盖的密钥；请在重放时提供 arguments";
    NO_ARGUMENTS = "replay.noArguments",
        "the arguments of call {call} are not on record; send the arguments with the replay",
        "调用 {call} 的参数没有记录；请在重放时提供 arguments";
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Replay {
    arguments: Option<Value>,
}

pub(super) fn route() -> Route {
    Route::post("/tool-calls/{id}/replay", replay)
        .needs(Needs::Call)
        .says("Makes a call again that is on record, on the current version of its tool")
        .takes("Replay")
        .answers(200, "ToolExecutionResult")
}

async fn replay(
    State(state): State<AppState>,
    Known(caller): Known,
    asked: Asked,
    Traced(trace_parent): Traced,
    Named(id): Named,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    // The names within the arguments are the tool's own and stay as they are.
    let Replay { arguments } = serde_json::from_value(body).map_err(unreadable)?;
    let call = find(&state, caller.space, &id).await?;
    let arguments = match arguments {
        Some(arguments) => arguments,
        None => logged_arguments(&call)?,
    };
    let tool = tool_of(&state, &caller, &call).await?;
    let options = CallOptions { trace_parent, ..CallOptions::default().replay_of(call.row.call_id) };
    let result = state.tools.call(&caller, CallRequest { tool, arguments, options }).await?;
    Ok(envelope::outcome(&result, &asked))
}

fn unreadable(error: serde_json::Error) -> CallError {
    CallError::invalid(vec![Violation::new(ROOT, Message::verbatim(error.to_string()))])
}

/// What the call was given, unless something of it is gone.
fn logged_arguments(call: &LoggedCall) -> Result<Value, CallError> {
    let LoggedCall { row, bodies } = call;
    let gone =
        |template| CallError::new(ErrorKind::Conflict, Message::new(template).with("call", &row.call_id));
    if row.arguments_cut {
        return Err(gone(&CUT));
    }
    if bodies.arguments.contains(MASKED) {
        return Err(gone(&MASKED_ARGUMENTS));
    }
    serde_json::from_str(&bodies.arguments).map_err(|_| gone(&NO_ARGUMENTS))
}

/// The tool by its id, whatever it is called now; by its name when it is gone, so that the answer says which.
async fn tool_of(state: &AppState, caller: &Caller, call: &LoggedCall) -> Result<String, CallError> {
    let tools = state.tools_of(caller).await?;
    let id = call.row.tool.as_ref().map(|(id, _)| id.to_string());
    let known = id.filter(|id| tools.get(id).is_some());
    Ok(known.unwrap_or_else(|| call.row.tool_name.to_string()))
}

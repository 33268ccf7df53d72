//! `GET /api/tool-calls/{id}/curl`: a logged call as a command to paste, with its secrets as variables.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use haft_core::secret::SCHEME;
use haft_core::shell::{Command, ShellPart};
use haft_core::{CallError, Caller, CurlCommand, ErrorKind, Message, ToolVersion};
use haft_store::LoggedCall;
use serde::Serialize;
use serde_json::{Value, json};

use super::find;
use super::replay::logged_arguments;
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Known;
use crate::envelope;
use crate::error::Failure;
use crate::query::Named;
use crate::request::Asked;

haft_core::templates! {
    TOKEN = "curl.token",
        "HAFT_TOKEN is a token that may call tools",
        "HAFT_TOKEN 是可以调用工具的令牌";
}

/// Where this server is when nobody says.
const HERE: &str = "127.0.0.1:7420";

#[derive(Serialize)]
struct Shown {
    command: String,
    /// As they stand behind `secret://`.
    secrets: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

pub(super) fn route() -> Route {
    Route::get("/tool-calls/{id}/curl", curl)
        .needs(Needs::Read)
        .says("Get a logged call as a cURL command, with variables instead of secrets")
        .answers(200, "CurlCommand")
}

async fn curl(
    State(state): State<AppState>,
    Known(caller): Known,
    asked: Asked,
    Named(id): Named,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let call = find(&state, caller.space, &id).await?;
    let arguments = logged_arguments(&call)?;
    let Tool { version, name } = tool_of(&state, &caller, &call).await?;
    let own = || of_haft(&base(&state, &headers), &name, &arguments);
    let made = match version.space_id {
        // What comes with the program sends nothing that anybody else could send.
        None => own()?,
        Some(_) => {
            let sent = of_tool(&state, caller, version.clone(), &call, arguments.clone()).await?;
            sent.map_or_else(own, Ok)?
        }
    };
    let notes: Vec<String> = made.notes.iter().map(|note| note.render(asked.locale)).collect();
    let named = |secret: String| secret.strip_prefix(SCHEME).unwrap_or(&secret).to_owned();
    let shown = Shown {
        command: made.command,
        secrets: made.secrets.iter().map(|secret| named(secret.to_string())).collect(),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
    };
    Ok(envelope::success(StatusCode::OK, shown))
}

/// The tool of a call.
struct Tool {
    /// As the call was made with it, or as it is now where that is not kept.
    version: Arc<ToolVersion>,
    /// What it is called now.
    name: String,
}

async fn tool_of(state: &AppState, caller: &Caller, call: &LoggedCall) -> Result<Tool, CallError> {
    let tools = state.tools_of(caller).await?;
    let unknown = || tools.unknown(&call.row.tool_name);
    let (id, number) = call.row.tool.as_ref().ok_or_else(unknown)?;
    let live = tools.get(&id.to_string()).filter(|live| live.id == *id);
    let kept = match &live {
        Some(live) if live.version == *number || live.space_id.is_none() => None,
        Some(_) | None => state.store.get_version(caller.space, id, *number).await?.map(Arc::new),
    };
    let version = kept.or_else(|| live.clone()).ok_or_else(unknown)?;
    let name = live.as_ref().unwrap_or(&version).spec.name.to_string();
    Ok(Tool { version, name })
}

/// The request of a tool that makes one.
async fn of_tool(
    state: &AppState,
    caller: Caller,
    version: Arc<ToolVersion>,
    call: &LoggedCall,
    arguments: Value,
) -> Result<Option<CurlCommand>, CallError> {
    let (tools, call_id) = (state.tools.clone(), call.row.call_id.clone());
    let work = tokio::task::spawn_blocking(move || {
        tools.prepare_stored(&version)?.as_curl(&caller, &call_id, arguments)
    });
    work.await.unwrap_or_else(|error| Err(unwritten().caused_by(error)))
}

/// The call as this server takes it.
fn of_haft(base: &str, tool: &str, arguments: &Value) -> Result<CurlCommand, CallError> {
    let (url, body) = (format!("{base}/api/tools/{tool}/execute"), json!({"arguments": arguments}));
    let mut command = Command::default();
    command.bare("curl").bare("-X").bare("POST").word(&[ShellPart::Plain(&url)]);
    command.option("-H", &[ShellPart::Plain("Authorization: Bearer "), ShellPart::Variable("HAFT_TOKEN")]);
    command.option("-H", &[ShellPart::Plain("Content-Type: application/json")]);
    command.option("--data-raw", &[ShellPart::Plain(&body.to_string())]);
    let command = command.finish().ok_or_else(unwritten)?;
    Ok(CurlCommand { command, secrets: Vec::new(), notes: vec![Message::new(&TOKEN)] })
}

fn unwritten() -> CallError {
    CallError::text(ErrorKind::Internal, "the command could not be written")
}

/// Where whoever asks reaches this server.
fn base(state: &AppState, headers: &HeaderMap) -> String {
    let base = state.url_of(headers, "");
    if base.is_empty() { format!("http://{HERE}") } else { base }
}

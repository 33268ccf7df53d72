//! Imports: `POST /api/tools/import/{openapi,curl,postman,har}`. All tools of an import are stored, or none.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::error::ROOT;
use haft_core::tool::input::{self, ToolInput, camel_keys};
use haft_core::{CallError, Caller, ErrorKind, Message, ToolId, ToolSpec, ToolVersion, Violation};
use haft_egress::{Hosts, Limits, Policy, Request, ToolPolicy};
use haft_engine::{Expected, PreparedTool, ToolService, now};
use haft_http::import::{self, CurlOptions, Imported, ImportedTool, OpenApiOptions};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;
use url::Url;
use uuid::Uuid;

use crate::app::AppState;
use crate::auth::Known;
use crate::body::JsonBody;
use crate::envelope;
use crate::error::ApiError;
use crate::request::Asked;

haft_core::templates! {
    ONE_SOURCE = "import.oneSource",
        "must be given, or url: exactly one of the two",
        "必须提供，或提供 url：两者只能有一个";
    NOT_FETCHED = "import.notFetched",
        "{host} answered {status} instead of a document",
        "{host} 返回 {status}，而不是文档";
    NOTHING = "import.nothing",
        "nothing in it can become a tool; the report in details.skipped says why",
        "其中没有可以成为工具的内容；原因见 details.skipped";
    OTHER_TOOL = "import.otherTool",
        "{name} is taken by a tool that no import made; give this import a name of its own",
        "{name} 已被非导入的工具占用；请为此次导入指定名称";
}

/// A document from a URL may be so large, and take so long.
const DOCUMENT_BYTES: usize = 32 << 20;
const DOCUMENT_TIME: Duration = Duration::from_secs(30);

/// So many differences of one tool are told.
const MOST_CHANGES: usize = 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OpenApiImport {
    name: Option<String>,
    /// The document, as text or as it is.
    spec: Option<Value>,
    url: Option<Url>,
    base_url: Option<String>,
    #[serde(default)]
    only: Vec<String>,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CurlImport {
    command: String,
    name: Option<String>,
    description: Option<String>,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DocumentImport {
    document: Value,
    name: Option<String>,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    tools: Vec<ToolReport>,
    skipped: Vec<SkippedReport>,
    /// Names that the tools' secrets have; values never go out.
    secrets: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolReport {
    name: String,
    description: String,
    method: String,
    path: String,
    input_schema: Value,
    change: Change,
    /// Where the definition differs from the version before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<String>,
}

#[derive(Serialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "camelCase")]
enum Change {
    Created,
    Updated,
    Unchanged,
}

#[derive(Serialize)]
struct SkippedReport {
    operation: String,
    reason: String,
}

/// `POST /api/tools/import/openapi`
pub(crate) async fn openapi(
    State(state): State<AppState>,
    Known(caller): Known,
    asked: Asked,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let fail = |error| ApiError::new(error, &asked);
    let body: OpenApiImport = read(body).map_err(fail)?;
    let dry_run = body.dry_run;
    let text = match (&body.spec, &body.url) {
        (Some(spec), None) => Document::of(spec),
        (None, Some(url)) => Document::Text(fetch(&state, &caller, url).await.map_err(fail)?),
        (Some(_), Some(_)) | (None, None) => {
            let violation = Violation::new("spec", Message::new(&ONE_SOURCE));
            return Err(fail(CallError::invalid(vec![violation])));
        }
    };
    let options =
        OpenApiOptions { name: body.name, base_url: body.base_url, source: body.url, only: body.only };
    let imported = off_thread(move || import::openapi(&text.read()?, &options)).await.map_err(fail)?;
    store(&state, &caller, &asked, imported, dry_run).await
}

/// `POST /api/tools/import/curl`
pub(crate) async fn curl(
    State(state): State<AppState>,
    Known(caller): Known,
    asked: Asked,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let fail = |error| ApiError::new(error, &asked);
    let CurlImport { command, name, description, dry_run } = read(body).map_err(fail)?;
    let options = CurlOptions { name, description };
    let imported = off_thread(move || import::curl(&command, &options)).await.map_err(fail)?;
    store(&state, &caller, &asked, imported, dry_run).await
}

/// `POST /api/tools/import/postman`
pub(crate) async fn postman(
    State(state): State<AppState>,
    Known(caller): Known,
    asked: Asked,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    document(state, caller, asked, body, import::postman).await
}

/// `POST /api/tools/import/har`
pub(crate) async fn har(
    State(state): State<AppState>,
    Known(caller): Known,
    asked: Asked,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    document(state, caller, asked, body, import::har).await
}

type Importer = fn(&Value, Option<&str>) -> Result<Imported, Vec<Violation>>;

async fn document(
    state: AppState,
    caller: Caller,
    asked: Asked,
    body: Value,
    importer: Importer,
) -> Result<Response, ApiError> {
    let fail = |error| ApiError::new(error, &asked);
    let DocumentImport { document, name, dry_run } = read(body).map_err(fail)?;
    let text = Document::of(&document);
    let imported = off_thread(move || importer(&text.read()?, name.as_deref())).await.map_err(fail)?;
    store(&state, &caller, &asked, imported, dry_run).await
}

/// A document that was given: as text, or as JSON already.
enum Document {
    Text(String),
    Read(Value),
}

impl Document {
    fn of(given: &Value) -> Self {
        match given.as_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Read(given.clone()),
        }
    }

    fn read(self) -> Result<Value, Vec<Violation>> {
        match self {
            Self::Text(text) => import::parse_document(&text),
            Self::Read(document) => Ok(document),
        }
    }
}

fn read<T: DeserializeOwned>(body: Value) -> Result<T, CallError> {
    serde_json::from_value(camel_keys(body))
        .map_err(|error| CallError::invalid(vec![Violation::new(ROOT, Message::verbatim(error.to_string()))]))
}

/// Large documents take long to read.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Vec<Violation>> + Send + 'static,
) -> Result<T, CallError> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|error| {
        CallError::text(ErrorKind::Internal, "the import could not be read").caused_by(error)
    })?;
    done.map_err(CallError::invalid)
}

/// Fetches a document as a tool would: the address is the caller's.
async fn fetch(state: &AppState, caller: &Caller, url: &Url) -> Result<String, CallError> {
    let hosts = Hosts::parse(["*"]).unwrap_or_default();
    let policy = ToolPolicy::new(url, hosts);
    let request = Request::new(axum::http::Method::GET, url)?;
    let limits = Limits { deadline: Some(Instant::now() + DOCUMENT_TIME), bytes: DOCUMENT_BYTES };
    let answer = state.settings.egress.send(Policy::Tool(caller.space, &policy), request, limits).await?;
    if !answer.status.is_success() {
        let message =
            Message::new(&NOT_FETCHED).with("host", answer.from.host_str()).with("status", answer.status);
        return Err(CallError::new(ErrorKind::Execution, message));
    }
    Ok(String::from_utf8_lossy(&answer.body).into_owned())
}

/// Compares what was found with what is there, and puts it there unless it is a dry run.
async fn store(
    state: &AppState,
    caller: &Caller,
    asked: &Asked,
    imported: Imported,
    dry_run: bool,
) -> Result<Response, ApiError> {
    let fail = |error| ApiError::new(error, asked);
    let Imported { tools, skipped, secrets } = imported;
    let skipped: Vec<SkippedReport> = skipped
        .into_iter()
        .map(|skipped| SkippedReport {
            operation: skipped.operation,
            reason: skipped.reason.render(asked.locale),
        })
        .collect();
    if tools.is_empty() {
        let details = serde_json::to_value(&skipped).unwrap_or_default();
        let error = CallError::new(ErrorKind::Validation, Message::new(&NOTHING)).detail("skipped", details);
        return Err(fail(error));
    }
    let (engine, owner) = (state.tools.clone(), caller.clone());
    let planned = tokio::task::spawn_blocking(move || plan(&engine, &owner, tools)).await;
    let planned = planned.unwrap_or_else(|error| {
        Err(CallError::text(ErrorKind::Internal, "the import could not be checked").caused_by(error))
    });
    let (reports, changes) = planned.map_err(fail)?;
    let names = secrets.iter().map(|secret| secret.name.clone()).collect();
    if !dry_run {
        state.tools.in_space(caller.space).put_all(changes).map_err(fail)?;
        for secret in secrets {
            if let Some(value) = secret.value {
                state.settings.secrets.keep(caller.space, &secret.name, value);
            }
        }
    }
    let status = if dry_run { StatusCode::OK } else { StatusCode::CREATED };
    Ok(envelope::success(status, Report { tools: reports, skipped, secrets: names }))
}

type Planned = (Vec<ToolReport>, Vec<(ToolVersion, PreparedTool, Expected)>);

/// What would change, by name: the same definition again changes nothing.
fn plan(engine: &ToolService, caller: &Caller, tools: Vec<ImportedTool>) -> Result<Planned, CallError> {
    let there = engine.in_space(caller.space);
    let (mut reports, mut changes) = (Vec::new(), Vec::new());
    for ImportedTool { definition, method, path } in tools {
        let ToolInput { spec, .. } = input::parse(Value::Object(definition)).map_err(CallError::invalid)?;
        let prepared = engine.prepare(spec)?;
        let spec = prepared.spec().clone();
        let before = there.get(spec.name.as_str());
        if before.as_ref().is_some_and(|before| before.space_id.is_none() || before.spec.kind != spec.kind) {
            let message = Message::new(&OTHER_TOOL).with("name", &spec.name);
            return Err(CallError::new(ErrorKind::Conflict, message));
        }
        let different = before.as_ref().map(|before| differences(&before.spec, &spec));
        let change = match &different {
            None => Change::Created,
            Some(different) if different.is_empty() => Change::Unchanged,
            Some(_) => Change::Updated,
        };
        reports.push(ToolReport {
            name: spec.name.to_string(),
            description: spec.description.clone(),
            method,
            path,
            input_schema: prepared.input_schema().clone(),
            change,
            changes: different.unwrap_or_default(),
        });
        let at = now();
        let (version, expected) = match before {
            Some(_) if change == Change::Unchanged => continue,
            Some(before) => {
                let version = ToolVersion {
                    spec,
                    version: before.version + 1,
                    updated_at: at,
                    ..ToolVersion::clone(&before)
                };
                (version, Expected::Version(before.version))
            }
            None => {
                let id = ToolId::Uuid(Uuid::now_v7());
                let (space_id, owner_id) = (Some(caller.space), caller.user);
                let version =
                    ToolVersion { id, space_id, owner_id, spec, version: 1, created_at: at, updated_at: at };
                (version, Expected::Absent)
            }
        };
        changes.push((version, prepared, expected));
    }
    Ok((reports, changes))
}

/// Dotted paths at which two definitions differ.
fn differences(before: &ToolSpec, after: &ToolSpec) -> Vec<String> {
    let value = |spec: &ToolSpec| serde_json::to_value(spec).unwrap_or_default();
    let mut found = Vec::new();
    differ("", &value(before), &value(after), &mut found);
    found
}

fn differ(path: &str, before: &Value, after: &Value, found: &mut Vec<String>) {
    if before == after || found.len() >= MOST_CHANGES {
        return;
    }
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let none = Value::Null;
            let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
            for name in names {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                differ(&path, before.get(name).unwrap_or(&none), after.get(name).unwrap_or(&none), found);
            }
        }
        _ => found.push(path.to_owned()),
    }
}

//! Tools: `POST/GET /api/tools`, `GET/PUT/DELETE /api/tools/{id}`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use haft_core::tool::input::{self, ToolInput};
use haft_core::{CallError, Caller, ErrorKind, Message, ToolId, ToolVersion, Violation};
use haft_engine::{Expected, PreparedTool, SpaceTools, ToolService, now};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::app::AppState;
use crate::auth::Known;
use crate::body::JsonBody;
use crate::envelope;
use crate::error::ApiError;
use crate::query::{Named, Parameters};
use crate::request::Asked;

haft_core::templates! {
    KEPT_BY_SERVER = "tools.keptByServer",
        "is set by the server and cannot be changed; leave it out",
        "由服务器设置，不能修改；请省略";
    PROVIDED_BY_CODE = "tools.providedByCode",
        "{name} comes with the program and cannot be changed",
        "{name} 由程序提供，不能修改";
    BAD_IF_MATCH = "tools.badIfMatch",
        "If-Match must be a version such as \"3\"",
        "If-Match 必须是版本号，例如 \"3\"";
    BAD_LIMIT = "tools.badLimit",
        "limit must be between 1 and {most}",
        "limit 必须在 1 到 {most} 之间";
}

const PAGE: usize = 50;
const LARGEST_PAGE: usize = 200;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Saving {
    /// All checks are made and nothing is stored.
    #[serde(default, alias = "dry_run")]
    dry_run: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filter {
    #[serde(rename = "type")]
    kind: Option<String>,
    category: Option<String>,
    q: Option<String>,
    active: Option<bool>,
    owner: Option<Owner>,
    limit: Option<usize>,
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Owner {
    System,
    Me,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    items: &'a [Arc<ToolVersion>],
    next_cursor: Option<String>,
    total: usize,
}

/// `GET /api/tools`: by name, a page at a time.
pub(crate) async fn list(
    State(state): State<AppState>,
    Known(caller): Known,
    asked: Asked,
    Parameters(filter): Parameters<Filter>,
) -> Result<Response, ApiError> {
    let limit = filter.limit.unwrap_or(PAGE);
    if !(1..=LARGEST_PAGE).contains(&limit) {
        let message = Message::new(&BAD_LIMIT).with("most", LARGEST_PAGE);
        return Err(ApiError::with_status(StatusCode::BAD_REQUEST, message, &asked));
    }
    let mut tools = state.tools.in_space(caller.space).list();
    tools.retain(|tool| filter.takes(tool, &caller));
    let after = |tool: &Arc<ToolVersion>| {
        filter.cursor.as_deref().is_some_and(|cursor| tool.spec.name.as_str() <= cursor)
    };
    let start = tools.partition_point(after);
    let items = &tools[start..tools.len().min(start + limit)];
    let more = start + items.len() < tools.len();
    let next_cursor = items.last().filter(|_| more).map(|tool| tool.spec.name.to_string());
    Ok(envelope::success(StatusCode::OK, Page { items, next_cursor, total: tools.len() }))
}

impl Filter {
    fn takes(&self, tool: &ToolVersion, caller: &Caller) -> bool {
        let spec = &tool.spec;
        let holds = |text: &str, part: &str| text.to_lowercase().contains(&part.to_lowercase());
        self.kind.as_ref().is_none_or(|kind| spec.kind.as_str().eq_ignore_ascii_case(kind))
            && self.category.as_deref().is_none_or(|category| spec.category.as_deref() == Some(category))
            && self.q.as_ref().is_none_or(|q| holds(spec.name.as_str(), q) || holds(&spec.description, q))
            && self.active.is_none_or(|active| spec.is_active == active)
            && self.owner.as_ref().is_none_or(|owner| match owner {
                Owner::System => tool.owner_id.is_none(),
                Owner::Me => tool.owner_id.is_some() && tool.owner_id == caller.user,
            })
    }
}

/// `POST /api/tools`
pub(crate) async fn create(
    State(state): State<AppState>,
    Known(caller): Known,
    asked: Asked,
    Parameters(saving): Parameters<Saving>,
    JsonBody(definition): JsonBody,
) -> Result<Response, ApiError> {
    let fail = |error| ApiError::new(error, &asked);
    let (kept, prepared) = prepare(&state.tools, definition).await.map_err(fail)?;
    let now = now();
    let version = ToolVersion {
        id: ToolId::Uuid(Uuid::now_v7()),
        space_id: Some(caller.space),
        owner_id: caller.user,
        spec: prepared.spec().clone(),
        version: 1,
        created_at: now,
        updated_at: now,
    };
    // A new tool has no id, version or dates yet to be equal to; its owner and space are known.
    check_kept(&kept, &version, &["spaceId", "ownerId"]).map_err(fail)?;
    let tools = state.tools.in_space(caller.space);
    if saving.dry_run {
        tools.check_put(&version, Expected::Absent).map_err(fail)?;
        return Ok(envelope::success(StatusCode::OK, &version));
    }
    let tool = tools.put(version, prepared, Expected::Absent).map_err(fail)?;
    Ok(tagged(envelope::success(StatusCode::CREATED, &tool), &tool))
}

/// `GET /api/tools/{id}`
pub(crate) async fn read(
    State(state): State<AppState>,
    Known(caller): Known,
    asked: Asked,
    Named(id): Named,
) -> Result<Response, ApiError> {
    let tool = find(state.tools.in_space(caller.space), &id).map_err(|error| ApiError::new(error, &asked))?;
    Ok(tagged(envelope::success(StatusCode::OK, &tool), &tool))
}

/// `PUT /api/tools/{id}`: a change makes a new version; the same again makes none.
pub(crate) async fn replace(
    State(state): State<AppState>,
    Known(caller): Known,
    asked: Asked,
    Named(id): Named,
    Parameters(saving): Parameters<Saving>,
    headers: HeaderMap,
    JsonBody(definition): JsonBody,
) -> Result<Response, ApiError> {
    let fail = |error| ApiError::new(error, &asked);
    let tools = state.tools.in_space(caller.space);
    let before = changeable(tools, &id).map_err(fail)?;
    let expected = if_match(&headers, &asked)?.unwrap_or(before.version);
    let (kept, prepared) = prepare(&state.tools, definition).await.map_err(fail)?;
    check_kept(&kept, &before, &input::KEPT_BY_SERVER).map_err(fail)?;
    let version = ToolVersion {
        spec: prepared.spec().clone(),
        version: before.version + 1,
        updated_at: now(),
        ..ToolVersion::clone(&before)
    };
    tools.check_put(&version, Expected::Version(expected)).map_err(fail)?;
    if version.spec == before.spec {
        return Ok(tagged(envelope::success(StatusCode::OK, &before), &before));
    }
    if saving.dry_run {
        return Ok(envelope::success(StatusCode::OK, &version));
    }
    let tool = tools.put(version, prepared, Expected::Version(before.version)).map_err(fail)?;
    Ok(tagged(envelope::success(StatusCode::OK, &tool), &tool))
}

/// `DELETE /api/tools/{id}`: answers what was there.
pub(crate) async fn remove(
    State(state): State<AppState>,
    Known(caller): Known,
    asked: Asked,
    Named(id): Named,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let fail = |error| ApiError::new(error, &asked);
    let tools = state.tools.in_space(caller.space);
    let tool = changeable(tools, &id).map_err(fail)?;
    let removed = tools.remove(&tool.id, if_match(&headers, &asked)?).map_err(fail)?;
    Ok(envelope::success(StatusCode::OK, &removed))
}

fn find(tools: SpaceTools<'_>, id: &str) -> Result<Arc<ToolVersion>, CallError> {
    tools.get(id).ok_or_else(|| tools.unknown(id))
}

fn changeable(tools: SpaceTools<'_>, id: &str) -> Result<Arc<ToolVersion>, CallError> {
    let tool = find(tools, id)?;
    if tool.space_id.is_none() {
        let message = Message::new(&PROVIDED_BY_CODE).with("name", &tool.spec.name);
        return Err(CallError::new(ErrorKind::Permission, message));
    }
    Ok(tool)
}

/// Reads and compiles a definition, off the async threads.
pub(super) async fn prepare(
    tools: &ToolService,
    definition: Value,
) -> Result<(Map<String, Value>, PreparedTool), CallError> {
    let tools = tools.clone();
    let work = tokio::task::spawn_blocking(move || {
        let ToolInput { spec, kept_by_server } = input::parse(definition).map_err(CallError::invalid)?;
        Ok((kept_by_server, tools.prepare(spec)?))
    });
    work.await.unwrap_or_else(|error| {
        Err(CallError::text(ErrorKind::Internal, "the definition could not be checked").caused_by(error))
    })
}

/// Fields that the server sets may come along, as long as they say what is so.
fn check_kept(kept: &Map<String, Value>, tool: &ToolVersion, comparable: &[&str]) -> Result<(), CallError> {
    let actual = serde_json::to_value(tool).unwrap_or_default();
    let differs = |(name, value): &(&String, &Value)| {
        !(comparable.contains(&name.as_str()) && actual[name.as_str()] == **value)
    };
    let violations: Vec<Violation> = kept
        .iter()
        .filter(|(_, value)| !value.is_null())
        .filter(differs)
        .map(|(name, _)| Violation::new(name.as_str(), Message::new(&KEPT_BY_SERVER)))
        .collect();
    if violations.is_empty() { Ok(()) } else { Err(CallError::invalid(violations)) }
}

/// The version a change builds upon, where the request says so.
fn if_match(headers: &HeaderMap, asked: &Asked) -> Result<Option<u64>, ApiError> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let version =
        value.to_str().ok().map(|text| text.trim().trim_matches('"')).and_then(|text| text.parse().ok());
    match version {
        Some(version) => Ok(Some(version)),
        None => Err(ApiError::with_status(StatusCode::BAD_REQUEST, Message::new(&BAD_IF_MATCH), asked)),
    }
}

fn tagged(mut response: Response, tool: &ToolVersion) -> Response {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", tool.version)) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

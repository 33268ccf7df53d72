//! Versions of a tool: looked at, compared, approved, and gone back to.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use haft_core::{CallError, ErrorKind, Message, SpaceId, ToolId, ToolVersion};
use haft_store::VersionInfo;
use serde::Deserialize;
use serde_json::json;

use super::list::bad_cursor;
use super::{changeable, check_version_rights, find};
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::{Known, Who};
use crate::body::{JsonBody, read};
use crate::difference::differences;
use crate::envelope::{self, tagged};
use crate::error::Failure;
use crate::query::{ListOf, Named, NamedWithin, Parameters, if_match};

haft_core::templates! {
    NO_SUCH_VERSION = "tools.noSuchVersion",
        "there is no version {version} of it",
        "没有版本 {version}";
    ROLLED_BACK = "tools.rolledBack",
        "back to version {version}",
        "回滚到版本 {version}";
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/tools/{id}/versions", list)
            .needs(Needs::Read)
            .says("List the versions of a tool, newest first")
            .pages()
            .answers(200, "VersionList"),
        Route::get("/tools/{id}/versions/{version}", one)
            .needs(Needs::Read)
            .says("Get a version of a tool")
            .answers(200, "Tool"),
        Route::get("/tools/{id}/diff", diff)
            .needs(Needs::Read)
            .says("Compare two versions of a tool")
            .parameter(
                "from",
                "integer",
                "Version number. Default: the version before `to`; the first version is compared with itself",
            )
            .parameter("to", "integer", "Version number. Default: the live version")
            .answers(200, "ToolDiff"),
        Route::post("/tools/{id}/rollback", roll_back)
            .needs(Needs::Edit)
            .says("Roll back: create a new version from an earlier one")
            .takes("RollBack")
            .answers(200, "Tool"),
        Route::post("/tools/{id}/approve", approve)
            .needs(Needs::Edit)
            .says("Approve a held version; it becomes the live one")
            .takes("RollBack")
            .answers(200, "Tool"),
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    version: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Between {
    from: Option<u64>,
    to: Option<u64>,
}

async fn list(
    State(state): State<AppState>,
    Known(caller): Known,
    Named(id): Named,
    Parameters(page): Parameters<ListOf>,
) -> Result<Response, Failure> {
    let page = page.checked()?;
    let last = page.cursor.as_deref().map(|cursor| cursor.parse::<u64>().map_err(|_| bad_cursor()));
    let last = last.transpose()?;
    let tool = find(&state, caller.space, &id).await?;
    let mut items = state.store.versions(caller.space, &tool.id).await?;
    items.retain(|item: &VersionInfo| last.is_none_or(|last| item.version < last));
    let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(|item| item.version.to_string());
    Ok(envelope::page(&items, next))
}

async fn one(
    State(state): State<AppState>,
    Known(caller): Known,
    NamedWithin(id, version): NamedWithin,
) -> Result<Response, Failure> {
    let tool = find(&state, caller.space, &id).await?;
    let number = version.parse().map_err(|_| no_such(&version))?;
    let version = get(&state, caller.space, &tool.id, number).await?;
    Ok(tagged(envelope::success(StatusCode::OK, &version), version.version))
}

async fn diff(
    State(state): State<AppState>,
    Known(caller): Known,
    Named(id): Named,
    Parameters(Between { from, to }): Parameters<Between>,
) -> Result<Response, Failure> {
    let tool = find(&state, caller.space, &id).await?;
    let to = to.unwrap_or(tool.version);
    let from = from.unwrap_or(to.saturating_sub(1).max(1));
    let after = get(&state, caller.space, &tool.id, to).await?;
    let before = get(&state, caller.space, &tool.id, from).await?;
    let value = |version: &ToolVersion| serde_json::to_value(&version.spec).unwrap_or_default();
    let changes = differences(&value(&before), &value(&after));
    Ok(envelope::success(StatusCode::OK, json!({"from": from, "to": to, "changes": changes})))
}

async fn roll_back(
    State(state): State<AppState>,
    Known(caller): Known,
    Who(visitor): Who,
    Named(id): Named,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let Which { version } = read(body)?;
    let tool = changeable(&state, caller.space, &id).await?;
    let kept = get(&state, caller.space, &tool.id, version).await?;
    check_version_rights(&state, &visitor, kept).await?;
    let expected = if_match(&headers)?.unwrap_or(tool.version);
    let note = Message::new(&ROLLED_BACK).with("version", version).render(caller.locale);
    let store = state.store_for(&visitor);
    let tool = store.roll_back(caller.space, &tool.id, version, expected, &note, caller.user).await?;
    state.tools.renew(caller.space).await?;
    Ok(tagged(envelope::success(StatusCode::OK, &tool), tool.version))
}

async fn approve(
    State(state): State<AppState>,
    Known(caller): Known,
    Who(visitor): Who,
    Named(id): Named,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let Which { version } = read(body)?;
    let tool = changeable(&state, caller.space, &id).await?;
    let kept = get(&state, caller.space, &tool.id, version).await?;
    check_version_rights(&state, &visitor, kept).await?;
    let expected = if_match(&headers)?.unwrap_or(tool.version);
    let tool = state.store_for(&visitor).approve_version(caller.space, &tool.id, version, expected).await?;
    state.tools.renew(caller.space).await?;
    Ok(tagged(envelope::success(StatusCode::OK, &tool), tool.version))
}

async fn get(state: &AppState, space: SpaceId, id: &ToolId, version: u64) -> Result<ToolVersion, CallError> {
    let found = state.store.get_version(space, id, version).await?;
    found.ok_or_else(|| no_such(&version.to_string()))
}

fn no_such(version: &str) -> CallError {
    let message = Message::new(&NO_SUCH_VERSION).with("version", version);
    CallError::new(ErrorKind::NotFound, message).detail("what", "version")
}

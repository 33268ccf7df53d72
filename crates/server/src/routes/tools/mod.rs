//! Tools: `POST/GET /api/tools`, `GET/PUT/PATCH/DELETE /api/tools/{id}`.

mod categories;
mod exchange;
pub(crate) mod list;
mod save;
mod versions;

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use haft_core::tool::input::{self, camel_keys};
use haft_core::{CallError, Caller, ErrorKind, Message, SpaceId, Template, ToolId, ToolVersion, Violation};
use haft_engine::{Expected, SpaceTools, now};
use haft_store::Force;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::{Known, Who};
use crate::body::JsonBody;
use crate::envelope::{self, tagged};
use crate::error::Failure;
use crate::query::{Forced, Named, Parameters, if_match};
use crate::routes::saving::{Saving, check_version, complete_title, merge};
use crate::visitors::Visitor;
pub(crate) use save::{Definition, check_rights, check_version_rights, prepare, save_all};
use save::{Place, new_secrets, prepare_for, save, secret_names};

haft_core::templates! {
    KEPT_BY_SERVER = "tools.keptByServer",
        "is set by the server and cannot be changed; leave it out",
        "由服务器设置，不能修改；请省略";
    PROVIDED_BY_CODE = "tools.providedByCode",
        "{name} comes with the program and cannot be changed",
        "{name} 由程序提供，不能修改";
    NOT_AN_OBJECT = "tools.notAnObject",
        "must be an object",
        "必须是对象";
}

pub(crate) fn routes() -> Vec<Route> {
    let mut routes = vec![
        Route::post("/tools", create)
            .needs(Needs::Edit)
            .says("Create a tool")
            .dry_run()
            .takes("ToolInput")
            .answers(201, "Tool"),
        Route::get("/tools/{id}", read)
            .needs(Needs::Read)
            .says("Get a tool by id or name")
            .answers(200, "Tool"),
        Route::put("/tools/{id}", replace)
            .needs(Needs::Edit)
            .says("Replace a tool's definition; a change creates a new version, an identical definition does not")
            .dry_run()
            .takes("ToolInput")
            .answers(200, "Tool"),
        Route::patch("/tools/{id}", patch)
            .needs(Needs::Edit)
            .says("Update fields of a tool's definition; null removes a field")
            .dry_run()
            .takes("ToolPatch")
            .answers(200, "Tool"),
        Route::delete("/tools/{id}", remove)
            .needs(Needs::Edit)
            .says("Delete a tool with its versions; if agents use it, force is required and unbinds it")
            .parameter("force", "boolean", "Also if agents use it")
            .answers(200, "Tool"),
        Route::post("/tools/{id}/circuit/reset", reset_circuit)
            .needs(Needs::Edit)
            .says("Close the circuit breakers that calls of the tool pass, in any version")
            .answers(200, "CircuitReset"),
    ];
    routes.extend(list::routes());
    routes.extend(categories::routes());
    routes.extend(versions::routes());
    routes.extend(exchange::routes());
    routes
}

pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    let own = [TEMPLATES, list::TEMPLATES, save::TEMPLATES, versions::TEMPLATES];
    own.into_iter().flatten().copied().chain(exchange::all_templates())
}

async fn create(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(saving): Parameters<Saving>,
    JsonBody(definition): JsonBody,
) -> Result<Response, Failure> {
    let taken = Arc::new(secret_names(&state, visitor.space).await?);
    let checked = prepare_for(&state, &visitor, definition, Place::New, &taken).await?;
    let Definition { server_fields, prepared, secrets } = checked;
    let now = now();
    let version = ToolVersion {
        id: ToolId::Uuid(Uuid::now_v7()),
        space_id: Some(visitor.space),
        owner_id: Some(visitor.user.id),
        spec: prepared.spec().clone(),
        version: 1,
        created_at: now,
        updated_at: now,
    };
    // A new tool has no id, version or dates yet to be equal to; its owner and space are known.
    check_kept(&server_fields, &version, &["spaceId", "ownerId"])?;
    state.tools.in_space(visitor.space).check_put(&version, Expected::Absent)?;
    if saving.dry_run {
        return Ok(envelope::success(StatusCode::OK, &version));
    }
    let tool = save(&state, &visitor, version, None, secrets).await?;
    Ok(tagged(envelope::success(StatusCode::CREATED, &tool), tool.version))
}

async fn read(
    State(state): State<AppState>,
    Known(caller): Known,
    Named(id): Named,
) -> Result<Response, Failure> {
    let mut tool = find(&state, caller.space, &id).await?;
    list::localize(&mut tool, caller.locale);
    Ok(tagged(envelope::success(StatusCode::OK, &tool), tool.version))
}

async fn replace(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    Parameters(saving): Parameters<Saving>,
    headers: HeaderMap,
    JsonBody(definition): JsonBody,
) -> Result<Response, Failure> {
    let before = changeable(&state, visitor.space, &id).await?;
    let expected = if_match(&headers)?.unwrap_or(before.version);
    put(&state, &visitor, (before, expected), definition, saving).await
}

/// A definition with some fields changed is one that replaces the old.
async fn patch(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    Parameters(saving): Parameters<Saving>,
    headers: HeaderMap,
    JsonBody(changes): JsonBody,
) -> Result<Response, Failure> {
    let before = changeable(&state, visitor.space, &id).await?;
    let expected = if_match(&headers)?.unwrap_or(before.version);
    let Value::Object(mut changes) = camel_keys(changes) else {
        let violation = Violation::new(haft_core::error::ROOT, Message::new(&NOT_AN_OBJECT));
        return Err(CallError::invalid(vec![violation]).into());
    };
    let mut definition = serde_json::to_value(&before.spec).unwrap_or_default();
    complete_title(&definition, &mut changes);
    merge(&mut definition, Value::Object(changes));
    put(&state, &visitor, (before, expected), definition, saving).await
}

/// Puts a definition in the place of the version that it builds upon.
async fn put(
    state: &AppState,
    visitor: &Visitor,
    (before, expected): (Arc<ToolVersion>, u64),
    definition: Value,
    saving: Saving,
) -> Result<Response, Failure> {
    let space = visitor.space;
    let taken = Arc::new(secret_names(state, space).await?);
    let checked = prepare_for(state, visitor, definition, Place::Of(before.clone()), &taken).await?;
    let Definition { server_fields, prepared, secrets } = checked;
    check_kept(&server_fields, &before, &input::SERVER_FIELDS)?;
    let version = ToolVersion {
        spec: prepared.spec().clone(),
        version: before.version + 1,
        updated_at: now(),
        ..ToolVersion::clone(&before)
    };
    let tools = state.tools.in_space(space);
    if tools.get(&before.id.to_string()).is_some() {
        tools.check_put(&version, Expected::Version(expected))?;
    } else {
        // One that cannot be called is not in the catalogue, and can be mended all the same.
        check_version(before.spec.name.as_str(), before.version, expected)?;
        tools.check_put(&version, Expected::Absent)?;
    }
    if version.spec == before.spec {
        let secrets = new_secrets(state, space, secrets).await?;
        if !saving.dry_run && !secrets.is_empty() {
            save_all(state, visitor, Vec::new(), secrets).await?;
        }
        return Ok(tagged(envelope::success(StatusCode::OK, &before), before.version));
    }
    if saving.dry_run {
        return Ok(envelope::success(StatusCode::OK, &version));
    }
    let tool = save(state, visitor, version, Some(expected), secrets).await?;
    Ok(tagged(envelope::success(StatusCode::OK, &tool), tool.version))
}

/// Answers what was there.
async fn remove(
    State(state): State<AppState>,
    Known(caller): Known,
    Named(id): Named,
    Parameters(forced): Parameters<Forced>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let tool = changeable(&state, caller.space, &id).await?;
    let force = if forced.force { Force::Yes } else { Force::No };
    let store = state.store.acting_for(caller.user);
    store.delete_tool(caller.space, &tool.id, if_match(&headers)?, force).await?;
    state.tools.renew(caller.space).await?;
    Ok(envelope::success(StatusCode::OK, &tool))
}

async fn reset_circuit(
    State(state): State<AppState>,
    Known(caller): Known,
    Named(id): Named,
) -> Result<Response, Failure> {
    let tools = state.tools_of(&caller).await?;
    let tool = tools.get(&id).ok_or_else(|| tools.unknown(&id))?;
    let was_there = tools.reset_circuits_of(&tool.id);
    Ok(envelope::success(StatusCode::OK, json!({"reset": was_there})))
}

/// The tool of that id or name; also one that is kept and cannot be called.
pub(super) async fn find(state: &AppState, space: SpaceId, id: &str) -> Result<Arc<ToolVersion>, CallError> {
    state.tools.make_ready(space).await?;
    let tools = state.tools.in_space(space);
    if let Some(tool) = tools.get(id) {
        return Ok(tool);
    }
    let kept = state.store.find_tool(space, id).await?;
    kept.map(Arc::new).ok_or_else(|| tools.unknown(id))
}

pub(super) async fn changeable(
    state: &AppState,
    space: SpaceId,
    id: &str,
) -> Result<Arc<ToolVersion>, CallError> {
    let tool = find(state, space, id).await?;
    if tool.space_id.is_none() {
        let message = Message::new(&PROVIDED_BY_CODE).with("name", &tool.spec.name);
        return Err(CallError::new(ErrorKind::Permission, message));
    }
    Ok(tool)
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

impl AppState {
    /// The tools that a caller sees, loaded.
    pub(crate) async fn tools_of(&self, caller: &Caller) -> Result<SpaceTools<'_>, CallError> {
        self.tools.make_ready(caller.space).await?;
        Ok(self.tools.in_space(caller.space))
    }
}

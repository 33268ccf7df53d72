//! Agents: `POST/GET /api/agents`, `GET/PUT/PATCH/DELETE /api/agents/{id}`. What they are bound to is further down.

mod bind;
mod bindings;
mod coming;
mod complete;
pub(crate) mod input;
mod shown;
mod tool_config;
mod tools;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use haft_core::agent::{Agent, AgentSpec};
use haft_core::{AgentId, CallError, ErrorKind, Message, SpaceId, Template};
use haft_engine::now;
use haft_store::AgentFilter;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

pub(crate) use self::bind::Binder;
pub(crate) use self::coming::ComingTools;
pub(crate) use self::complete::complete;
use self::complete::patched;
use self::input::AgentInput;
pub(crate) use self::shown::Shown;
use super::saving::{Saving, check_version, taken};
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::body::JsonBody;
use crate::envelope::{self, tagged};
use crate::error::Failure;
use crate::query::{ListOf, Named, Parameters, if_match};
use crate::visitors::Visitor;

haft_core::templates! {
    NO_SUCH_AGENT = "agents.notFound",
        "there is no agent {name}",
        "没有智能体 {name}";
}

pub(crate) fn routes() -> Vec<Route> {
    let mut routes = vec![
        Route::post("/agents", create)
            .needs(Needs::Edit)
            .says("Create an agent with its tools")
            .dry_run()
            .takes("AgentInput")
            .answers(201, "Agent"),
        Route::get("/agents", list)
            .needs(Needs::Read)
            .says("List agents by name")
            .parameter("q", "string", "Part of the name or the description")
            .parameter("active", "boolean", "true: only active ones; false: only inactive ones")
            .parameter("category", "string", "Only this category")
            .pages()
            .answers(200, "AgentPage"),
        Route::get("/agents/{id}", read)
            .needs(Needs::Read)
            .says("Get an agent by id or name")
            .answers(200, "Agent"),
        Route::put("/agents/{id}", replace)
            .needs(Needs::Edit)
            .says("Replace an agent; without toolIds and bindings it keeps its tools")
            .dry_run()
            .takes("AgentInput")
            .answers(200, "Agent"),
        Route::patch("/agents/{id}", patch)
            .needs(Needs::Edit)
            .says("Update fields of an agent; null resets a field to its default")
            .dry_run()
            .takes("AgentPatch")
            .answers(200, "Agent"),
        Route::delete("/agents/{id}", remove)
            .needs(Needs::Edit)
            .says("Delete an agent; its tools are not deleted")
            .answers(200, "Agent"),
    ];
    routes.extend(tools::routes());
    routes.extend(bindings::routes());
    routes
}

pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    let own = [
        TEMPLATES,
        bind::TEMPLATES,
        bindings::TEMPLATES,
        complete::TEMPLATES,
        input::TEMPLATES,
        tool_config::TEMPLATES,
    ];
    own.into_iter().flatten().copied()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    q: Option<String>,
    active: Option<bool>,
    category: Option<String>,
    limit: Option<u32>,
    cursor: Option<String>,
}

async fn list(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(filter): Parameters<Filter>,
) -> Result<Response, Failure> {
    let Filter { q, active, category, limit, cursor } = filter;
    let page = ListOf { limit, cursor }.checked()?;
    let filter = AgentFilter { q, is_active: active, category };
    let (agents, next) = state.store.list_agents(visitor.space, &filter, &page).await?;
    let agents: Vec<Shown<'_>> = agents.iter().map(Shown::from).collect();
    Ok(envelope::page(&agents, next))
}

async fn create(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(saving): Parameters<Saving>,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let (space, owner) = (visitor.space, Some(visitor.user.id));
    let binder = Binder::new(&state, &visitor, &[]).await?;
    // A new agent has no id, version or dates yet to be equal to; its owner and space are known.
    let kept = json!({"spaceId": space, "ownerId": owner});
    let spec = complete(input::agent(body).await, &binder, None, &kept).await?;
    if saving.dry_run {
        check_free(&state, space, &spec.name, None).await?;
        let now = now();
        let id = AgentId::from(Uuid::now_v7());
        let agent = Agent {
            id,
            space_id: space,
            owner_id: owner,
            spec,
            version: 1,
            created_at: now,
            updated_at: now,
        };
        return Ok(envelope::success(StatusCode::OK, Shown::from(&agent)));
    }
    let agent = state.store_for(&visitor).create_agent(space, owner, spec).await?;
    Ok(tagged(envelope::success(StatusCode::CREATED, Shown::from(&agent)), agent.version))
}

async fn read(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
) -> Result<Response, Failure> {
    let agent = find(&state, visitor.space, &id).await?;
    Ok(tagged(envelope::success(StatusCode::OK, Shown::from(&agent)), agent.version))
}

async fn replace(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    Parameters(saving): Parameters<Saving>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let before = find(&state, visitor.space, &id).await?;
    let expected = if_match(&headers)?.unwrap_or(before.version);
    put((&state, &visitor), before, input::agent(body).await, saving, expected).await
}

/// An agent with some fields changed is one that replaces the old.
async fn patch(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    Parameters(saving): Parameters<Saving>,
    headers: HeaderMap,
    JsonBody(changes): JsonBody,
) -> Result<Response, Failure> {
    let before = find(&state, visitor.space, &id).await?;
    let expected = if_match(&headers)?.unwrap_or(before.version);
    let body = patched(&before, changes);
    put((&state, &visitor), before, input::agent(body).await, saving, expected).await
}

/// Answers what was there.
async fn remove(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let agent = find(&state, visitor.space, &id).await?;
    let expected = if_match(&headers)?;
    state.store_for(&visitor).delete_agent(visitor.space, agent.id, expected).await?;
    Ok(envelope::success(StatusCode::OK, Shown::from(&agent)))
}

async fn put(
    (state, visitor): (&AppState, &Visitor),
    before: Agent,
    input: AgentInput,
    saving: Saving,
    expected: u64,
) -> Result<Response, Failure> {
    let binder = Binder::new(state, visitor, &before.spec.bindings).await?;
    let kept = serde_json::to_value(Shown::from(&before)).unwrap_or_default();
    let spec = complete(input, &binder, Some(&before.spec), &kept).await?;
    if saving.dry_run {
        check_version(&before.spec.name, before.version, expected)?;
        check_free(state, before.space_id, &spec.name, Some(before.id)).await?;
        let agent = if spec == before.spec {
            before
        } else {
            Agent { spec, version: before.version + 1, updated_at: now(), ..before }
        };
        return Ok(envelope::success(StatusCode::OK, Shown::from(&agent)));
    }
    let agent = save((state, visitor), before, spec, expected).await?;
    Ok(tagged(envelope::success(StatusCode::OK, Shown::from(&agent)), agent.version))
}

/// Keeps an agent that changed, bindings included; the same again makes no version.
async fn save(
    (state, visitor): (&AppState, &Visitor),
    before: Agent,
    spec: AgentSpec,
    expected: u64,
) -> Result<Agent, CallError> {
    if spec == before.spec && expected == before.version {
        return Ok(before);
    }
    state.store_for(visitor).put_agent(before.space_id, before.id, spec, expected).await
}

/// The agent of that id or name.
async fn find(state: &AppState, space: SpaceId, name: &str) -> Result<Agent, CallError> {
    let found = state.store.get_agent(space, name).await?;
    found.ok_or_else(|| {
        let message = Message::new(&NO_SUCH_AGENT).with("name", name);
        CallError::new(ErrorKind::NotFound, message).detail("what", "agent")
    })
}

/// Says when another agent has the name.
async fn check_free(
    state: &AppState,
    space: SpaceId,
    name: &str,
    own: Option<AgentId>,
) -> Result<(), CallError> {
    match state.store.get_agent(space, name).await? {
        Some(holder) if Some(holder.id) != own => Err(taken(name)),
        Some(_) | None => Ok(()),
    }
}

//! Bindings: `POST /api/agents/{id}/tools`, `PATCH/DELETE /api/agents/{id}/tools/{toolId}`.
//!
//! They are part of the agent: each change is one of the agent, and makes its next version.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use haft_core::agent::{Agent, AgentBinding, AgentSpec};
use haft_core::tool::input::camel_keys;
use haft_core::{CallError, ErrorKind, Message, Violation};
use serde_json::{Value, json};

use super::bind::{Binder, Start};
use super::input::{MOST_BINDINGS, Wanted, binding};
use super::{find, save, tool_config};
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::body::JsonBody;
use crate::envelope::{self, tagged};
use crate::error::Failure;
use crate::query::{Named, NamedWithin, Parameters, if_match};
use crate::routes::saving::{Saving, check_version, merge, refuse};
use crate::routes::tools::KEPT_BY_SERVER;

haft_core::templates! {
    NOT_BOUND = "agents.notBound",
        "The agent {agent} has no tool {name}.",
        "智能体 {agent} 没有工具 {name}";
    BAD_COUNT = "agents.badCount",
        "must contain 1 to {most} bindings",
        "必须包含 1 到 {most} 个绑定";
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/agents/{id}/tools", add)
            .needs(Needs::Edit)
            .says("Bind one or more tools to an agent; existing bindings are updated")
            .dry_run()
            .takes("BindingInput")
            .answers(201, "Bindings")
            .answers(200, "Bindings"),
        Route::patch("/agents/{id}/tools/{toolId}", change)
            .needs(Needs::Edit)
            .says("Update fields of a binding; null resets a field to its default")
            .dry_run()
            .takes("BindingPatch")
            .answers(200, "Binding"),
        Route::delete("/agents/{id}/tools/{toolId}", remove)
            .needs(Needs::Edit)
            .says("Remove a tool from an agent")
            .answers(200, "Binding"),
    ]
}

async fn add(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    Parameters(saving): Parameters<Saving>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let before = find(&state, visitor.space, &id).await?;
    let expected = if_match(&headers)?.unwrap_or(before.version);
    let mut violations = Vec::new();
    let is_list = body.is_array();
    let wanted = read(body, &mut violations);
    let binder = Binder::new(&state, &visitor, &before.spec.bindings).await?;
    let bound = binder.bind(wanted, Start::Stored, &mut violations).await?;
    refuse(violations)?;
    let spec = with(&before.spec, &bound, &binder);
    let is_new = spec.bindings.len() > before.spec.bindings.len() && !saving.dry_run;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let response = match bound.as_slice() {
        [one] if !is_list => envelope::success(status, one),
        all => envelope::success(status, all),
    };
    if saving.dry_run {
        check_version(&before.spec.name, before.version, expected)?;
        return Ok(response);
    }
    let agent = save((&state, &visitor), before, spec, expected).await?;
    Ok(tagged(response, agent.version))
}

async fn change(
    State(state): State<AppState>,
    Who(visitor): Who,
    NamedWithin(id, tool): NamedWithin,
    Parameters(saving): Parameters<Saving>,
    headers: HeaderMap,
    JsonBody(changes): JsonBody,
) -> Result<Response, Failure> {
    let before = find(&state, visitor.space, &id).await?;
    let expected = if_match(&headers)?.unwrap_or(before.version);
    let binder = Binder::new(&state, &visitor, &before.spec.bindings).await?;
    let stored = binder.stored(&tool).ok_or_else(|| not_bound(&before, &tool))?;
    let mut violations = Vec::new();
    let wanted = patched(stored, changes, &binder, &mut violations);
    let changed = binder.bind(wanted.into_iter().collect(), Start::Fresh, &mut violations).await?;
    refuse(violations)?;
    let spec = with(&before.spec, &changed, &binder);
    if saving.dry_run {
        check_version(&before.spec.name, before.version, expected)?;
        return Ok(envelope::success(StatusCode::OK, changed.first()));
    }
    let agent = save((&state, &visitor), before, spec, expected).await?;
    Ok(tagged(envelope::success(StatusCode::OK, changed.first()), agent.version))
}

/// Answers what was there.
async fn remove(
    State(state): State<AppState>,
    Who(visitor): Who,
    NamedWithin(id, tool): NamedWithin,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let before = find(&state, visitor.space, &id).await?;
    let expected = if_match(&headers)?.unwrap_or(before.version);
    let binder = Binder::new(&state, &visitor, &before.spec.bindings).await?;
    let removed = binder.stored(&tool).cloned().ok_or_else(|| not_bound(&before, &tool))?;
    let mut spec = before.spec.clone();
    spec.bindings.retain(|binding| binding.tool_id != removed.tool_id);
    let agent = save((&state, &visitor), before, spec, expected).await?;
    Ok(tagged(envelope::success(StatusCode::OK, removed), agent.version))
}

/// Reads one binding, or a list of them.
fn read(body: Value, violations: &mut Vec<Violation>) -> Vec<Wanted> {
    let bodies = match body {
        Value::Array(bodies) => bodies,
        one @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
            return binding(one, "", violations).into_iter().collect();
        }
    };
    if !(1..=MOST_BINDINGS).contains(&bodies.len()) {
        let message = Message::new(&BAD_COUNT).with("most", MOST_BINDINGS);
        violations.push(Violation::new(haft_core::error::ROOT, message));
        return Vec::new();
    }
    let bodies = bodies.into_iter().enumerate();
    bodies.filter_map(|(at, body)| binding(body, &at.to_string(), violations)).collect()
}

/// A binding as it is stored, with a patch merged into it.
fn patched(
    stored: &AgentBinding,
    changes: Value,
    binder: &Binder<'_>,
    violations: &mut Vec<Violation>,
) -> Option<Wanted> {
    let mut changes = camel_keys(changes);
    if let Some(overrides) = changes.get_mut("overrides") {
        *overrides = camel_keys(overrides.take());
    }
    // Names first: otherwise another spelling would stand beside the value that it shall replace.
    if let Some(Value::Object(config)) = changes.get_mut("toolConfig")
        && let Some(tool) = binder.live(&stored.tool_id)
    {
        *config = tool_config::named(std::mem::take(config), &tool.spec);
    }
    if let Value::Object(fields) = &mut changes
        && let Some(given) = fields.shift_remove("toolId")
    {
        let meant = given.as_str().and_then(|given| binder.id_of(given));
        if !given.is_null() && meant.as_ref() != Some(&stored.tool_id) {
            violations.push(Violation::new("toolId", Message::new(&KEPT_BY_SERVER)));
        }
    }
    let mut whole = json!(stored);
    merge(&mut whole, changes);
    binding(whole, "", violations)
}

/// The agent with some bindings added, or put in the place of others.
fn with(spec: &AgentSpec, bound: &[AgentBinding], binder: &Binder<'_>) -> AgentSpec {
    let is_replaced = |before: &AgentBinding| bound.iter().any(|binding| binding.tool_id == before.tool_id);
    let kept = spec.bindings.iter().filter(|before| !is_replaced(before));
    let bindings = kept.chain(bound).cloned().collect();
    AgentSpec { bindings: binder.sorted(bindings), ..spec.clone() }
}

fn not_bound(agent: &Agent, tool: &str) -> CallError {
    let message = Message::new(&NOT_BOUND).with("agent", &agent.spec.name).with("name", tool);
    CallError::new(ErrorKind::NotFound, message).detail("what", "binding")
}

//! Definitions as files: `GET /api/tools/export`, and `POST /api/tools/import`, which takes the same back.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::agent::{Agent, AgentSpec};
use haft_core::tool::input::KEPT_BY_SERVER;
use haft_core::{CallError, ErrorKind, Message, SpaceId, ToolId, ToolVersion, Violation};
use haft_engine::{Expected, now};
use haft_store::{AgentFilter, Apply, Force, Page, PutTool, VersionState};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::save::{Definition, Place, new_secrets, prepare_for, secret_names};
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::body::{JsonBody, read};
use crate::difference::{Difference, differences};
use crate::envelope;
use crate::error::Failure;
use crate::query::Parameters;
use crate::routes::agents::{Binder, Shown, complete, input};
use crate::routes::saving::Saving;
use crate::visitors::Visitor;

haft_core::templates! {
    TWICE = "exchange.twice",
        "{name} is given twice",
        "{name} 重复给出";
    NOTHING_TO_PRUNE = "exchange.nothingToPrune",
        "must be given with prune: what is not among them is removed",
        "使用 prune 时必须提供：不在其中的都会被移除";
    STILL_BOUND = "exchange.stillBound",
        "agents that stay use tools that would be removed: {agents}; with force they lose them",
        "保留的智能体仍在使用将被移除的工具：{agents}；使用 force 可将工具从中移除";
}

const UPDATED: &str = "updated";

/// So many agents are read at a time.
const PAGE: u32 = 1000;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/tools/export", export)
            .needs(Needs::Read)
            .says("The space's own tools and agents as definitions, without ids, dates and secrets")
            .answers(200, "Export"),
        Route::post("/tools/import", import)
            .needs(Needs::Edit)
            .says("Makes tools and agents what the definitions say, matched by name; all or none")
            .dry_run()
            .takes("ImportDefinitions")
            .answers(200, "ImportDefinitionsReport"),
    ]
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Definitions {
    tools: Option<Vec<Value>>,
    /// Agents are left alone where none are given.
    agents: Option<Vec<Value>>,
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    prune: bool,
    /// Removes tools also where agents that stay use them.
    #[serde(default)]
    force: bool,
}

#[derive(Serialize, Default)]
struct Report {
    tools: Vec<Changed>,
    agents: Vec<Changed>,
}

#[derive(Serialize)]
struct Changed {
    name: String,
    change: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<Difference>,
}

impl Changed {
    fn of(name: &str, before: Option<(&Value, &Value)>) -> Self {
        let changes = before.map(|(before, after)| differences(before, after));
        let change = match &changes {
            None => "created",
            Some(changes) if changes.is_empty() => "unchanged",
            Some(_) => UPDATED,
        };
        Self { name: name.to_owned(), change, changes: changes.unwrap_or_default() }
    }

    fn removed(name: &str) -> Self {
        Self { name: name.to_owned(), change: "removed", changes: Vec::new() }
    }
}

async fn export(State(state): State<AppState>, Who(visitor): Who) -> Result<Response, Failure> {
    let tools = own_tools(&state, visitor.space).await?;
    let agents = all_agents(&state, visitor.space).await?;
    let definitions: Vec<Value> = tools.iter().map(|tool| definition(tool)).collect();
    let agents: Vec<Value> = agents.iter().map(|agent| by_name(&state, agent)).collect();
    Ok(envelope::success(StatusCode::OK, json!({"tools": definitions, "agents": agents})))
}

async fn import(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(saving): Parameters<Saving>,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let Definitions { tools, agents, dry_run, prune, force } = read(body)?;
    if prune && tools.is_none() {
        return Err(CallError::invalid(vec![Violation::new("tools", Message::new(&NOTHING_TO_PRUNE))]).into());
    }
    let tools = tools.unwrap_or_default();
    let mut violations = Vec::new();
    let mut report = Report::default();
    let mut apply = Apply { force: if force { Force::Yes } else { Force::No }, ..Apply::default() };
    let coming = plan_tools(&state, &visitor, tools, (&mut apply, &mut report), &mut violations).await?;
    if prune {
        let named: HashSet<&ToolId> = coming.iter().map(|tool| &tool.id).collect();
        for tool in own_tools(&state, visitor.space).await? {
            if !named.contains(&tool.id) {
                report.tools.push(Changed::removed(tool.spec.name.as_str()));
                apply.gone_tools.push(tool.id.clone());
            }
        }
    }
    if let Some(agents) = agents {
        plan_agents(&state, &visitor, (agents, &coming, prune), (&mut apply, &mut report), &mut violations)
            .await?;
    }
    if !violations.is_empty() {
        return Err(CallError::invalid(violations).into());
    }
    check_bound(&state, visitor.space, &apply).await?;
    if !(dry_run || saving.dry_run) {
        state.store_for(&visitor).apply(visitor.space, apply, Some(visitor.user.id)).await?;
        state.secrets.forget(visitor.space);
        state.tools.renew(visitor.space).await?;
    }
    Ok(envelope::success(StatusCode::OK, report))
}

/// Tools as they will be, each with the id it has or gets.
async fn plan_tools(
    state: &AppState,
    visitor: &Visitor,
    definitions: Vec<Value>,
    (apply, report): (&mut Apply, &mut Report),
    violations: &mut Vec<Violation>,
) -> Result<Vec<Arc<ToolVersion>>, CallError> {
    let mut coming: Vec<Arc<ToolVersion>> = Vec::new();
    let mut taken = Arc::new(secret_names(state, visitor.space).await?);
    for (at, definition) in definitions.into_iter().enumerate() {
        let path = format!("tools.{at}");
        let checked = prepare_for(state, visitor, definition, Place::Named, &taken).await;
        let Definition { prepared, secrets, .. } = match checked {
            Ok(definition) => definition,
            Err(error) if !error.violations().is_empty() => {
                violations.extend(error.violations().iter().cloned().map(|found| found.within(&path)));
                continue;
            }
            Err(error) => return Err(error),
        };
        let spec = prepared.spec().clone();
        if coming.iter().any(|tool| tool.spec.name == spec.name) {
            let message = Message::new(&TWICE).with("name", &spec.name);
            violations.push(Violation::new(format!("{path}.name"), message));
            continue;
        }
        let tools = state.tools.in_space(visitor.space);
        let before = tools.get(spec.name.as_str()).filter(|tool| tool.space_id.is_some());
        let at = now();
        let version = match &before {
            Some(before) => ToolVersion { spec, updated_at: at, ..ToolVersion::clone(before) },
            None => ToolVersion {
                id: ToolId::Uuid(Uuid::now_v7()),
                space_id: Some(visitor.space),
                owner_id: Some(visitor.user.id),
                spec,
                version: 1,
                created_at: at,
                updated_at: at,
            },
        };
        let expected = before.as_ref().map(|before| before.version);
        tools.check_put(&version, expected.map_or(Expected::Absent, Expected::Version))?;
        let value = |version: &ToolVersion| serde_json::to_value(&version.spec).unwrap_or_default();
        let after = value(&version);
        let was = before.as_ref().map(|before| value(before));
        Arc::make_mut(&mut taken).extend(secrets.iter().map(|(name, _)| name.clone()));
        let secrets = new_secrets(state, visitor.space, secrets).await?;
        let mut changed = Changed::of(version.spec.name.as_str(), was.as_ref().map(|was| (was, &after)));
        let is_same = was.as_ref() == Some(&after);
        if is_same && !secrets.is_empty() {
            // Another credential under the name that it had.
            changed.change = UPDATED;
        }
        report.tools.push(changed);
        apply.secrets.extend(secrets);
        if !is_same {
            let put = PutTool {
                version: version.clone(),
                expected,
                state: VersionState::Live,
                note: String::new(),
            };
            apply.tools.push(put);
        }
        coming.push(Arc::new(version));
    }
    Ok(coming)
}

async fn plan_agents(
    state: &AppState,
    visitor: &Visitor,
    (definitions, coming, prune): (Vec<Value>, &[Arc<ToolVersion>], bool),
    (apply, report): (&mut Apply, &mut Report),
    violations: &mut Vec<Violation>,
) -> Result<(), CallError> {
    let there = all_agents(state, visitor.space).await?;
    let mut named = HashSet::new();
    for (at, definition) in definitions.into_iter().enumerate() {
        let name = definition.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let before = there.iter().find(|agent| agent.spec.name == name);
        let bindings = before.map(|agent| agent.spec.bindings.as_slice()).unwrap_or_default();
        let binder = Binder::new(state, visitor, bindings).await?.with(coming);
        let read = input::agent(definition);
        let spec = match complete(read, &binder, before.map(|agent| &agent.spec), &Value::Null).await {
            Ok(spec) => spec,
            Err(error) if !error.violations().is_empty() => {
                let within = |found: Violation| found.within(&format!("agents.{at}"));
                violations.extend(error.violations().iter().cloned().map(within));
                continue;
            }
            Err(error) => return Err(error),
        };
        if !named.insert(name.clone()) {
            let message = Message::new(&TWICE).with("name", &name);
            violations.push(Violation::new(format!("agents.{at}.name"), message));
            continue;
        }
        let (was, after) = (before.map(|agent| json!(agent.spec)), json!(spec));
        report.agents.push(Changed::of(&name, was.as_ref().map(|was| (was, &after))));
        if was.as_ref() != Some(&after) {
            apply.agents.push((before.map(|agent| (agent.id, agent.version)), spec));
        }
    }
    for agent in there.iter().filter(|agent| prune && !named.contains(&agent.spec.name)) {
        report.agents.push(Changed::removed(&agent.spec.name));
        apply.gone_agents.push(agent.id);
    }
    Ok(())
}

/// Tools that agents use which stay are removed only by force.
async fn check_bound(state: &AppState, space: SpaceId, apply: &Apply) -> Result<(), CallError> {
    if apply.force == Force::Yes || apply.gone_tools.is_empty() {
        return Ok(());
    }
    let there = all_agents(state, space).await?;
    let is_there = |agent: &&Agent| {
        let is_changed = apply.agents.iter().any(|(before, _)| before.is_some_and(|(id, _)| id == agent.id));
        !is_changed && !apply.gone_agents.contains(&agent.id)
    };
    let staying = there.iter().filter(is_there).map(|agent| &agent.spec);
    let uses_gone =
        |agent: &&AgentSpec| agent.bindings.iter().any(|binding| apply.gone_tools.contains(&binding.tool_id));
    let users = staying.chain(apply.agents.iter().map(|(_, spec)| spec)).filter(uses_gone);
    let users: Vec<&str> = users.map(|agent| agent.name.as_str()).collect();
    if users.is_empty() {
        return Ok(());
    }
    let message = Message::new(&STILL_BOUND).with("agents", users.join(", "));
    Err(CallError::new(ErrorKind::Conflict, message).detail("agents", json!(users)))
}

async fn own_tools(state: &AppState, space: SpaceId) -> Result<Vec<Arc<ToolVersion>>, CallError> {
    state.tools.make_ready(space).await?;
    let mut tools = state.tools.in_space(space).list();
    tools.retain(|tool| tool.space_id.is_some());
    Ok(tools)
}

async fn all_agents(state: &AppState, space: SpaceId) -> Result<Vec<Agent>, CallError> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = Page { limit: PAGE, cursor };
        let (agents, next) = state.store.list_agents(space, &AgentFilter::default(), &page).await?;
        all.extend(agents);
        match next {
            Some(next) => cursor = Some(next),
            None => return Ok(all),
        }
    }
}

/// What somebody could have written: without what the server sets.
fn definition(tool: &ToolVersion) -> Value {
    serde_json::to_value(&tool.spec).unwrap_or_default()
}

/// An agent whose tools are named, since ids mean nothing elsewhere.
fn by_name(state: &AppState, agent: &Agent) -> Value {
    let mut shown = serde_json::to_value(Shown::from(agent)).unwrap_or_default();
    let tools = state.tools.in_space(agent.space_id);
    let name = |id: &Value| {
        let found = id.as_str().and_then(|id| tools.get(id));
        found.map_or_else(|| id.clone(), |tool| json!(tool.spec.name))
    };
    if let Value::Object(fields) = &mut shown {
        for field in KEPT_BY_SERVER {
            fields.shift_remove(field);
        }
        fields.shift_remove("toolIds");
        let bindings = fields.get_mut("bindings").and_then(Value::as_array_mut);
        for binding in bindings.into_iter().flatten() {
            binding["toolId"] = name(&binding["toolId"]);
            // Versions are counted anew elsewhere.
            if let Value::Object(binding) = binding {
                binding.shift_remove("pinnedVersion");
            }
        }
    }
    shown
}

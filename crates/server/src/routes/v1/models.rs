//! What `model` may be: `GET /v1/models[/{id}]`, and who is meant by a name.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::future::join_all;
use haft_agent::{ModelChoice, SpaceUser};
use haft_core::{AgentId, CallError, Caller, ModelOptions};
use haft_store::{AgentFilter, Page};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::error::{json_response, missing};
use crate::app::AppState;
use crate::auth::Known;
use crate::error::Failure;
use crate::models::Provided;
use crate::query::Named;

haft_core::templates! {
    NO_SUCH_MODEL = "v1.noSuchModel",
        "There is no agent or model {name}. GET /v1/models lists them.",
        "没有智能体或模型 {name}；可用的见 GET /v1/models";
    MODEL_OFF = "v1.modelOff",
        "The agent {name} is switched off.",
        "智能体 {name} 已停用";
}

/// A provider that does not list its models in time is left out.
const PATIENCE: Duration = Duration::from_secs(3);

/// More agents than any list shows.
const MOST: u32 = 1000;

const OWNER: &str = "haft";

/// Who is asked.
#[derive(Debug, Clone, Default)]
pub(super) struct Who {
    pub(super) agent: Option<AgentId>,
    /// Where it is no agent.
    pub(super) wanted: ModelChoice,
    /// The model that will be asked, whoever it is.
    pub(super) asks: ModelChoice,
    /// The options of the agent.
    pub(super) options: ModelOptions,
}

/// Who is meant by a name: an agent, a provider's model, or a model that some provider has.
pub(super) async fn find(state: &AppState, caller: &Caller, name: &str) -> Result<Who, CallError> {
    if let Some(agent) = state.store.agent(caller.space, name).await? {
        if !agent.spec.is_active {
            return Err(missing("model", "model_not_found", &MODEL_OFF, name));
        }
        let asks = ModelChoice::default().or(Some(&*agent));
        let options = agent.spec.config.options.clone();
        return Ok(Who { agent: Some(agent.id), wanted: ModelChoice::default(), asks, options });
    }
    let by = |provider: String, model: &str| {
        let wanted = ModelChoice { provider: Some(provider), model: Some(model.to_owned()) };
        Who { agent: None, asks: wanted.clone(), wanted, options: ModelOptions::default() }
    };
    if let Some((provider, model)) = name.split_once('/').filter(|(_, model)| !model.is_empty())
        && let Some(found) = state.models.named(caller.space, provider).await?
    {
        return Ok(by(found.name.clone(), model));
    }
    let all = state.models.all(caller.space).await?;
    let written = all.iter().find(|provider| provider.models.iter().any(|model| model == name));
    if let Some(found) = written {
        return Ok(by(found.name.clone(), name));
    }
    let asker = SpaceUser { space: caller.space, user: caller.user };
    let listed = join_all(all.iter().map(|provider| names(state, provider, asker))).await;
    let listed = all.iter().zip(listed).find(|(_, names)| names.iter().any(|model| model == name));
    match listed {
        Some((found, _)) => Ok(by(found.name.clone(), name)),
        None => Err(missing("model", "model_not_found", &NO_SUCH_MODEL, name)),
    }
}

/// The models of a provider, as far as it says in time.
async fn names(state: &AppState, provider: &Provided, asker: SpaceUser) -> Vec<String> {
    let listing = async {
        let ready = state.models.ready(provider, asker).await?;
        provider.names(&ready).await
    };
    match timeout(PATIENCE, listing).await {
        Ok(Ok(names)) => names,
        Ok(Err(_)) | Err(_) => Vec::new(),
    }
}

pub(super) async fn list(State(state): State<AppState>, Known(caller): Known) -> Result<Response, Failure> {
    let page = Page::first(MOST);
    let (agents, _) = state.store.list_agents(caller.space, &AgentFilter::default(), &page).await?;
    let mut data: Vec<Value> = agents
        .iter()
        .filter(|agent| agent.spec.is_active)
        .map(|agent| model(&agent.spec.name, agent.created_at.as_second(), OWNER))
        .collect();
    let all = state.models.all(caller.space).await?;
    let asker = SpaceUser { space: caller.space, user: caller.user };
    let listed = join_all(all.iter().map(|provider| names(&state, provider, asker))).await;
    for (provider, names) in all.iter().zip(listed) {
        let shown = |name: &String| model(&format!("{}/{name}", provider.name), 0, &provider.name);
        data.extend(names.iter().map(shown));
    }
    Ok(json_response(StatusCode::OK, &json!({"object": "list", "data": data})))
}

pub(super) async fn read(
    State(state): State<AppState>,
    Known(caller): Known,
    Named(name): Named,
) -> Result<Response, Failure> {
    let who = find(&state, &caller, &name).await?;
    let shown = match who.agent {
        Some(_) => {
            let agent = state.store.agent(caller.space, &name).await?;
            model(&name, agent.map(|agent| agent.created_at.as_second()).unwrap_or_default(), OWNER)
        }
        None => model(&name, 0, who.wanted.provider.as_deref().unwrap_or(OWNER)),
    };
    Ok(json_response(StatusCode::OK, &shown))
}

fn model(id: &str, created: i64, owner: &str) -> Value {
    json!({"id": id, "object": "model", "created": created, "owned_by": owner})
}

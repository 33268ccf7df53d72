//! Definitions in the form that another server understands: with names in place of ids, and without credentials.

use std::collections::HashMap;

use haft_core::alert::{AlertSpec, number};
use haft_core::{AgentId, CallError, SpaceId, ToolId, ToolSpec, ToolVersion};
use serde_json::{Value, json};

use super::{providers, tools};
use crate::app::AppState;

/// The kind of tools that ask an agent, and the fields of its config that name one.
const AGENT_KIND: (&str, [&str; 2]) = ("agent", ["agent", "agentId"]);

/// The names that ids of a space stand for.
pub(super) struct Names {
    agents: HashMap<AgentId, String>,
    tools: HashMap<ToolId, String>,
    /// Of the space's own providers.
    providers: HashMap<String, String>,
    /// Stored tools that this server cannot use.
    pub(super) unusable: Vec<ToolVersion>,
}

impl Names {
    pub(super) async fn of(state: &AppState, space: SpaceId) -> Result<Self, CallError> {
        state.tools.make_ready(space).await?;
        state.tools.renew(space).await?;
        let usable = state.tools.in_space(space).list();
        let unusable = tools::unusable(state, space, &usable).await?;
        let named = usable.iter().map(AsRef::as_ref).chain(&unusable);
        let tools = named.map(|tool: &ToolVersion| (tool.id.clone(), tool.spec.name.to_string())).collect();
        let providers = providers::all(state, space).await?;
        let providers = providers.into_iter().map(|provider| (provider.id.to_string(), provider.spec.name));
        Ok(Self {
            agents: state.store.agent_names(space).await?,
            tools,
            providers: providers.collect(),
            unusable,
        })
    }

    /// Adds a tool that comes in the same request.
    pub(super) fn add_tool(&mut self, id: &ToolId, name: &str) {
        self.tools.insert(id.clone(), name.to_owned());
    }

    /// The name of a tool, or its id if it is gone.
    pub(super) fn tool_name(&self, id: &ToolId) -> String {
        self.tools.get(id).cloned().unwrap_or_else(|| id.to_string())
    }

    /// Whether the tool of an alert was deleted.
    pub(super) fn is_without_tool(&self, spec: &AlertSpec) -> bool {
        spec.tool.as_ref().is_some_and(|tool| !self.tools.contains_key(tool))
    }

    /// The name of a provider that is given by name or id.
    pub(super) fn provider<'a>(&'a self, named: &'a str) -> &'a str {
        self.providers.get(named).map_or(named, String::as_str)
    }

    /// A tool. One that asks an agent by its id names it instead.
    pub(super) fn tool(&self, spec: &ToolSpec) -> Value {
        let mut definition = serde_json::to_value(spec).unwrap_or_default();
        let (kind, fields) = AGENT_KIND;
        if spec.kind.as_str() == kind {
            for field in fields {
                let id = spec.config.get(field).and_then(Value::as_str).and_then(|id| id.parse().ok());
                if let Some(name) = id.and_then(|id: AgentId| self.agents.get(&id)) {
                    definition["config"][field] = json!(name);
                }
            }
        }
        definition
    }

    /// An alert. The address of its webhook may be a credential and is masked.
    pub(super) fn alert(&self, spec: &AlertSpec) -> Value {
        let mut definition = serde_json::to_value(spec).unwrap_or_default();
        definition["tool"] = spec.tool.as_ref().map_or(Value::Null, |tool| self.tool_name(tool).into());
        definition["above"] = number(spec.above);
        definition["webhook"] = json!(spec.masked_webhook());
        definition
    }
}

//! Agents of an import, matched by name.

use std::collections::{HashMap, HashSet};

use haft_core::agent::{Agent, AgentSpec};
use haft_core::{CallError, SpaceId, ToolVersion};
use haft_store::{AgentFilter, Page};
use serde_json::{Value, json};

use super::{Changed, PAGE, Plan};
use crate::app::AppState;
use crate::routes::agents::{Binder, complete, input};

pub(super) async fn all(state: &AppState, space: SpaceId) -> Result<Vec<Agent>, CallError> {
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

impl Plan<'_> {
    pub(super) async fn agents(&mut self, definitions: Vec<Value>) -> Result<(), CallError> {
        let there = all(self.state, self.space()).await?;
        let by_name: HashMap<&str, &Agent> =
            there.iter().map(|agent| (agent.spec.name.as_str(), agent)).collect();
        let mut named = HashSet::new();
        for (at, mut definition) in definitions.into_iter().enumerate() {
            if self.is_over() {
                return Ok(());
            }
            let path = format!("agents.{at}");
            let name = definition.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let before = by_name.get(name.as_str()).copied();
            self.resolve_pins(&mut definition, &path).await?;
            if let Some(before) = before {
                self.resolve_unusable(&mut definition, before);
            }
            match self.agent(definition, before).await {
                Ok((spec, was)) => {
                    if !self.is_twice(&path, &name, !named.insert(name.clone())) {
                        self.plan_agent(before, was, spec);
                    }
                }
                Err(error) => self.refuse_one(&path, error)?,
            }
        }
        for agent in there.iter().filter(|agent| self.prune && !named.contains(&agent.spec.name)) {
            self.report.agents.push(Changed::removed(&agent.spec.name));
            self.apply.deleted_agents.push(agent.id);
        }
        Ok(())
    }

    /// Replaces the names of bound tools that this server cannot use by their ids, so that their bindings stay.
    fn resolve_unusable(&self, definition: &mut Value, before: &Agent) {
        let is_bound = |tool: &&ToolVersion| {
            before.spec.bindings.iter().any(|binding| binding.tool_id == tool.id)
                && self.coming.named(tool.spec.name.as_str()).is_none()
        };
        let bound: Vec<&ToolVersion> = self.names.unusable.iter().filter(is_bound).collect();
        let bindings = definition.get_mut("bindings").and_then(Value::as_array_mut);
        for binding in bindings.into_iter().flatten() {
            let named = binding.get("toolId").and_then(Value::as_str).unwrap_or_default();
            if let Some(tool) = bound.iter().find(|tool| tool.spec.name.as_str() == named) {
                binding["toolId"] = tool.id.to_string().into();
            }
        }
    }

    /// The agent that a definition describes, and the one that is there, with its bindings in the same order.
    async fn agent(
        &self,
        definition: Value,
        before: Option<&Agent>,
    ) -> Result<(AgentSpec, Option<AgentSpec>), CallError> {
        let bindings = before.map(|agent| agent.spec.bindings.as_slice()).unwrap_or_default();
        let binder = Binder::new(self.state, self.visitor, bindings).await?.with(&self.coming);
        let before = before.map(|agent| &agent.spec);
        let mut spec = complete(input::agent(definition).await, &binder, before, &Value::Null).await?;
        if let Some(before) = before
            && self.provider_name(&spec) == self.provider_name(before)
        {
            // The same provider by id or name.
            spec.config.provider.clone_from(&before.config.provider);
        }
        // Names of tools may have changed since its bindings were sorted.
        let sorted =
            |spec: &AgentSpec| AgentSpec { bindings: binder.sorted(spec.bindings.clone()), ..spec.clone() };
        Ok((sorted(&spec), before.map(sorted)))
    }

    fn provider_name<'b>(&'b self, spec: &'b AgentSpec) -> Option<&'b str> {
        spec.config.provider.as_deref().map(|named| self.names.provider(named))
    }

    fn plan_agent(&mut self, before: Option<&Agent>, was: Option<AgentSpec>, spec: AgentSpec) {
        let is_same = was.as_ref() == Some(&spec);
        let (was, after) = (was.map(|was| json!(was)), json!(spec));
        self.report.agents.push(Changed::new(&spec.name, was.as_ref(), &after));
        if !is_same {
            self.apply.agents.push((before.map(|agent| (agent.id, agent.version)), spec));
        }
    }
}

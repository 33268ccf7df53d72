//! Bulk changes: applies a document of tools, agents, providers, alerts and secrets to a space in one
//! transaction.

use haft_core::agent::AgentSpec;
use haft_core::alert::AlertSpec;
use haft_core::id::{AlertId, ProviderId};
use haft_core::provider::ProviderSpec;
use haft_core::{AgentId, CallError, SpaceId, ToolId, UserId};
use secrecy::SecretString;

use crate::store::Force;
use crate::tools::PutTool;
use crate::{Store, agents, alerts, providers, tools};

/// The changes that one document makes to a space.
#[derive(Default)]
pub struct Apply {
    pub tools: Vec<PutTool>,
    pub secrets: Vec<(String, SecretString)>,
    /// Agents to create, or to replace if an id and expected version are given.
    pub agents: Vec<(Option<(AgentId, u64)>, AgentSpec)>,
    pub providers: Vec<(Option<(ProviderId, u64)>, ProviderSpec)>,
    pub alerts: Vec<(Option<(AlertId, u64)>, AlertSpec)>,
    pub deleted_agents: Vec<AgentId>,
    pub deleted_tools: Vec<ToolId>,
    pub deleted_providers: Vec<ProviderId>,
    pub deleted_alerts: Vec<AlertId>,
    /// Whether tools that agents still bind may be deleted; their bindings are removed.
    pub force: Force,
}

impl Apply {
    /// Returns true if no change is requested.
    pub fn is_empty(&self) -> bool {
        let Self { tools, secrets, agents, providers, alerts, force: _, .. } = self;
        let Self { deleted_agents, deleted_tools, deleted_providers, deleted_alerts, .. } = self;
        let is_written = !(tools.is_empty()
            && secrets.is_empty()
            && agents.is_empty()
            && providers.is_empty()
            && alerts.is_empty());
        let is_deleted = !(deleted_agents.is_empty()
            && deleted_tools.is_empty()
            && deleted_providers.is_empty()
            && deleted_alerts.is_empty());
        !is_written && !is_deleted
    }
}

impl Store {
    /// Applies all changes in one transaction.
    pub async fn apply(&self, space: SpaceId, apply: Apply, by: Option<UserId>) -> Result<(), CallError> {
        if apply.is_empty() {
            return Ok(());
        }
        let mut change = self.change(space).await?;
        for id in apply.deleted_agents {
            agents::remove(&mut change, space, id, None).await?;
        }
        for id in apply.deleted_providers {
            providers::remove(&mut change, space, id, None).await?;
        }
        for id in apply.deleted_alerts {
            alerts::remove(self, &mut change, space, id, None).await?;
        }
        tools::put_all(self, &mut change, space, apply.tools, &apply.secrets, by).await?;
        for (before, spec) in apply.agents {
            match before {
                Some((id, expected)) => agents::replace(&mut change, space, id, spec, expected).await?,
                None => agents::add(&mut change, space, by, spec).await?,
            };
        }
        for (before, spec) in apply.providers {
            match before {
                Some((id, expected)) => providers::replace(&mut change, space, id, spec, expected).await?,
                None => providers::add(&mut change, space, spec).await?,
            };
        }
        for (before, spec) in apply.alerts {
            match before {
                Some((id, expected)) => alerts::replace(self, &mut change, space, id, spec, expected).await?,
                None => alerts::add(self, &mut change, space, by, spec).await?,
            };
        }
        for id in &apply.deleted_tools {
            tools::remove(&mut change, space, id, None, apply.force).await?;
        }
        change.commit().await
    }
}

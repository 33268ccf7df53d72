//! Many definitions at once: tools, agents, providers, alerts and secrets of a space become what a document says,
//! in one transaction.

use haft_core::agent::AgentSpec;
use haft_core::alert::AlertSpec;
use haft_core::id::{AlertId, ProviderId};
use haft_core::provider::ProviderSpec;
use haft_core::{AgentId, CallError, SpaceId, ToolId, UserId};
use secrecy::SecretString;

use crate::store::Force;
use crate::tools::PutTool;
use crate::{Store, agents, alerts, providers, tools};

/// The changes that one document makes in a space.
#[derive(Default)]
pub struct Apply {
    pub tools: Vec<PutTool>,
    pub secrets: Vec<(String, SecretString)>,
    /// New ones, and those that replace a version.
    pub agents: Vec<(Option<(AgentId, u64)>, AgentSpec)>,
    pub providers: Vec<(Option<(ProviderId, u64)>, ProviderSpec)>,
    pub alerts: Vec<(Option<(AlertId, u64)>, AlertSpec)>,
    pub gone_agents: Vec<AgentId>,
    pub gone_tools: Vec<ToolId>,
    pub gone_providers: Vec<ProviderId>,
    pub gone_alerts: Vec<AlertId>,
    /// Whether tools that agents still bind are deleted, and taken from those agents.
    pub force: Force,
}

impl Apply {
    /// Whether there is nothing to change.
    pub fn is_empty(&self) -> bool {
        let Self { tools, secrets, agents, providers, alerts, force: _, .. } = self;
        let Self { gone_agents, gone_tools, gone_providers, gone_alerts, .. } = self;
        let is_written = !(tools.is_empty()
            && secrets.is_empty()
            && agents.is_empty()
            && providers.is_empty()
            && alerts.is_empty());
        let is_deleted = !(gone_agents.is_empty()
            && gone_tools.is_empty()
            && gone_providers.is_empty()
            && gone_alerts.is_empty());
        !is_written && !is_deleted
    }
}

impl Store {
    /// Makes all changes of a document, or none.
    pub async fn apply(&self, space: SpaceId, apply: Apply, by: Option<UserId>) -> Result<(), CallError> {
        if apply.is_empty() {
            return Ok(());
        }
        let mut change = self.change(space).await?;
        for id in apply.gone_agents {
            agents::remove(&mut change, space, id, None).await?;
        }
        for id in apply.gone_providers {
            providers::remove(&mut change, space, id, None).await?;
        }
        for id in apply.gone_alerts {
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
        for id in &apply.gone_tools {
            tools::remove(&mut change, space, id, None, apply.force).await?;
        }
        change.commit().await
    }
}

//! Many definitions at once: tools, agents and secrets of a space are made what they shall be, all of them or none.

use haft_core::agent::{Agent, AgentSpec};
use haft_core::{AgentId, CallError, SpaceId, ToolId, ToolVersion, UserId};
use secrecy::SecretString;

use crate::store::Force;
use crate::tools::PutTool;
use crate::{Store, agents, tools};

/// What a space shall become.
#[derive(Default)]
pub struct Apply {
    pub tools: Vec<PutTool>,
    pub secrets: Vec<(String, SecretString)>,
    /// New ones, and those that take the place of a version.
    pub agents: Vec<(Option<(AgentId, u64)>, AgentSpec)>,
    pub gone_agents: Vec<AgentId>,
    pub gone_tools: Vec<ToolId>,
    /// Whether tools go that agents still bind when all else is done, and are taken from them.
    pub force: Force,
}

impl Apply {
    /// Whether the space is what it shall become already.
    fn is_empty(&self) -> bool {
        let Self { tools, secrets, agents, gone_agents, gone_tools, force: _ } = self;
        tools.is_empty()
            && secrets.is_empty()
            && agents.is_empty()
            && gone_agents.is_empty()
            && gone_tools.is_empty()
    }
}

impl Store {
    pub async fn apply(
        &self,
        space: SpaceId,
        apply: Apply,
        by: Option<UserId>,
    ) -> Result<(Vec<ToolVersion>, Vec<Agent>), CallError> {
        if apply.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let mut change = self.change(space).await?;
        for id in apply.gone_agents {
            agents::remove(&mut change, space, id, None).await?;
        }
        let tools = tools::put_all(self, &mut change, space, apply.tools, &apply.secrets, by).await?;
        let mut kept = Vec::with_capacity(apply.agents.len());
        for (before, spec) in apply.agents {
            kept.push(match before {
                Some((id, expected)) => agents::replace(&mut change, space, id, spec, expected).await?,
                None => agents::add(&mut change, space, by, spec).await?,
            });
        }
        for id in &apply.gone_tools {
            tools::remove(&mut change, space, id, None, apply.force).await?;
        }
        change.commit().await?;
        Ok((tools, kept))
    }
}

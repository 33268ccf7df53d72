//! An agent as the API shows it.

use haft_core::agent::{Agent, AgentBinding, AgentConfig};
use haft_core::{AgentId, Locale, SpaceId, ToolId, UserId};
use jiff::Timestamp;
use serde::Serialize;

/// With its bindings, and with their short form.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Shown<'a> {
    id: AgentId,
    space_id: SpaceId,
    owner_id: Option<UserId>,
    name: &'a str,
    category: Option<&'a str>,
    description: &'a str,
    system_prompt: &'a str,
    is_active: bool,
    locale: Option<Locale>,
    config: &'a AgentConfig,
    tool_ids: Vec<&'a ToolId>,
    bindings: &'a [AgentBinding],
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    created_at: Timestamp,
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    updated_at: Timestamp,
    version: u64,
}

impl<'a> From<&'a Agent> for Shown<'a> {
    fn from(agent: &'a Agent) -> Self {
        let spec = &agent.spec;
        Self {
            id: agent.id,
            space_id: agent.space_id,
            owner_id: agent.owner_id,
            name: &spec.name,
            category: spec.category.as_deref(),
            description: &spec.description,
            system_prompt: &spec.system_prompt,
            is_active: spec.is_active,
            locale: spec.locale,
            config: &spec.config,
            tool_ids: spec.tool_ids(),
            bindings: &spec.bindings,
            created_at: agent.created_at,
            updated_at: agent.updated_at,
            version: agent.version,
        }
    }
}

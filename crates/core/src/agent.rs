//! What an agent is: a model with instructions, and the tools bound to it. Nothing here talks to a model.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    AgentId, Binding, Locale, ModelOptions, Policy, PolicyRule, SpaceId, ToolConfig, ToolId, UserId,
    Violation,
};

/// An agent as somebody defined it, with its bindings: one thing, with one version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSpec {
    pub name: String,
    #[serde(default)]
    pub category: Option<String>,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub system_prompt: String,
    #[serde(default = "yes")]
    pub is_active: bool,
    /// The caller's language when absent.
    #[serde(default)]
    pub locale: Option<Locale>,
    #[serde(default)]
    pub config: AgentConfig,
    #[serde(default)]
    pub bindings: Vec<AgentBinding>,
}

/// Which model an agent asks, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentConfig {
    /// The default provider when absent.
    pub provider: Option<String>,
    /// The provider's first model when absent.
    pub model: Option<String>,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u32>,
    pub max_steps: u32,
    /// Calls of one turn.
    pub max_calls: u32,
    /// How long one turn may work, without what it waits for.
    pub max_seconds: u64,
    /// What one turn may read and write in all.
    pub max_total_tokens: u64,
    pub parallel_tool_calls: bool,
    /// As the model's API takes it.
    pub tool_choice: Option<Value>,
    /// Further options of the model, in OpenAI's spelling.
    #[serde(skip_serializing_if = "ModelOptions::is_empty")]
    pub options: ModelOptions,
    pub resume: Resume,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            provider: None,
            model: None,
            temperature: None,
            max_tokens: None,
            max_steps: 16,
            max_calls: 128,
            max_seconds: 1800,
            max_total_tokens: 2_000_000,
            parallel_tool_calls: true,
            tool_choice: None,
            options: ModelOptions::default(),
            resume: Resume::Auto,
        }
    }
}

/// What happens when a task of an agent ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Resume {
    /// The agent takes a turn at once.
    #[default]
    Auto,
    /// The agent waits for the user's next message.
    Manual,
}

/// How one agent uses one tool, as it is written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentBinding {
    pub tool_id: ToolId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned_version: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// Of `policy` ask: only when this holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_when: Option<String>,
    /// Smaller first.
    #[serde(default)]
    pub sort_order: i64,
    #[serde(default)]
    pub tool_config: Map<String, Value>,
    #[serde(default)]
    pub overrides: Overrides,
    #[serde(default = "yes")]
    pub is_enabled: bool,
}

/// What a binding says in place of the tool's definition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Overrides {
    #[serde(rename = "async", skip_serializing_if = "Option::is_none")]
    pub run_async: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_ttl: Option<u64>,
}

fn yes() -> bool {
    true
}

impl AgentSpec {
    /// An agent with nothing but a name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            category: None,
            description: String::new(),
            system_prompt: String::new(),
            is_active: true,
            locale: None,
            config: AgentConfig::default(),
            bindings: Vec::new(),
        }
    }

    /// The short form of the bindings, in their order.
    pub fn tool_ids(&self) -> Vec<&ToolId> {
        let mut bindings: Vec<&AgentBinding> = self.bindings.iter().collect();
        bindings.sort_by_key(|binding| binding.sort_order);
        bindings.into_iter().map(|binding| &binding.tool_id).collect()
    }
}

impl AgentBinding {
    /// A binding that adds nothing.
    pub fn new(tool_id: ToolId) -> Self {
        Self {
            tool_id,
            pinned_version: None,
            policy: None,
            ask_when: None,
            sort_order: 0,
            tool_config: Map::new(),
            overrides: Overrides::default(),
            is_enabled: true,
        }
    }

    /// The part of it that a call needs.
    pub fn to_binding(&self) -> Result<Binding, Violation> {
        let policy = PolicyRule::read(self.policy, self.ask_when.as_deref())?;
        Ok(Binding {
            tool_config: ToolConfig::parse(self.tool_config.clone())?,
            policy,
            version: self.pinned_version,
            cache_ttl: self.overrides.cache_ttl,
        })
    }
}

/// An agent of a space.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    pub id: AgentId,
    pub space_id: SpaceId,
    pub owner_id: Option<UserId>,
    #[serde(flatten)]
    pub spec: AgentSpec,
    pub version: u64,
    #[serde(serialize_with = "crate::timestamp::serialize")]
    pub created_at: Timestamp,
    #[serde(serialize_with = "crate::timestamp::serialize")]
    pub updated_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_said_has_its_default() {
        let spec: AgentSpec =
            serde_json::from_value(json!({"name": "clerk", "bindings": [{"toolId": "calculator"}]}))
                .expect("an agent");
        assert_eq!(spec.config.max_steps, 16);
        assert!(spec.config.parallel_tool_calls && spec.is_active);
        assert!(spec.bindings.iter().all(|binding| binding.is_enabled));
        let again: AgentSpec = serde_json::from_value(json!(spec)).expect("the same again");
        assert_eq!(spec, again);
    }

    #[test]
    fn tool_ids_come_in_the_order_of_the_bindings() {
        let binding = |name: &'static str, sort_order| AgentBinding {
            sort_order,
            ..AgentBinding::new(ToolId::Named(crate::ToolName::constant(name)))
        };
        let spec = AgentSpec { bindings: vec![binding("b", 2), binding("a", 1)], ..AgentSpec::new("clerk") };
        let ids: Vec<String> = spec.tool_ids().into_iter().map(ToString::to_string).collect();
        assert_eq!(ids, ["a", "b"]);
    }
}

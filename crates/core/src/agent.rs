//! Agents: a model with instructions, and the tools bound to it. Nothing here calls a model.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    AgentId, Binding, Locale, ModelOptions, Policy, PolicyRule, SpaceId, ToolConfig, ToolId, UserId,
    Violation,
};

/// The definition of an agent with its bindings, versioned as a whole.
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
    /// `None` stands for the caller's language.
    #[serde(default)]
    pub locale: Option<Locale>,
    #[serde(default)]
    pub config: AgentConfig,
    #[serde(default)]
    pub bindings: Vec<AgentBinding>,
}

/// The model of an agent, its parameters, and the limits of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentConfig {
    /// `None` stands for the default provider.
    pub provider: Option<String>,
    /// `None` stands for the provider's first model.
    pub model: Option<String>,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u32>,
    pub max_steps: u32,
    /// Maximum number of calls per turn.
    pub max_calls: u32,
    /// Maximum working time of a turn, without the time it is suspended.
    pub max_seconds: u64,
    /// Maximum number of input and output tokens of a turn.
    pub max_total_tokens: u64,
    pub parallel_tool_calls: bool,
    /// In the form that the model's API accepts.
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

/// The reaction of an agent when one of its tasks ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Resume {
    /// The agent starts a turn immediately.
    #[default]
    Auto,
    /// The agent waits for the user's next message.
    Manual,
}

/// The definition of how one agent uses one tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentBinding {
    pub tool_id: ToolId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned_version: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// With `policy` ask: approval is required only if this condition holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_when: Option<String>,
    /// Bindings are ordered by ascending value.
    #[serde(default)]
    pub sort_order: i64,
    #[serde(default)]
    pub tool_config: Map<String, Value>,
    #[serde(default)]
    pub overrides: Overrides,
    #[serde(default = "yes")]
    pub is_enabled: bool,
}

/// Settings of a binding that override the tool's definition.
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
    /// Creates the definition of an active agent without instructions or tools, with the default configuration.
    /// Does not validate the name.
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

    /// Returns the ids of the bound tools, in the order of the bindings.
    pub fn tool_ids(&self) -> Vec<&ToolId> {
        let mut bindings: Vec<&AgentBinding> = self.bindings.iter().collect();
        bindings.sort_by_key(|binding| binding.sort_order);
        bindings.into_iter().map(|binding| &binding.tool_id).collect()
    }
}

impl AgentBinding {
    /// Creates a binding without overrides.
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

    /// Returns the part that a call needs.
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
    fn absent_fields_have_their_defaults() {
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

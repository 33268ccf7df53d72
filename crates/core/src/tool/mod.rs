//! What a tool is: the definition a person writes, and the immutable versions that are kept of it.
//!
//! Plain data. How a definition is read from JSON, with its aliases and flat
//! form, is in [`input`]; nothing here runs a tool.

pub mod input;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::schema::any_arguments;
use crate::{Effect, KindName, Locale, Policy, SpaceId, ToolId, ToolName, UserId};

/// A tool as somebody defined it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpec {
    /// What the model calls it.
    pub name: ToolName,
    /// When to use it, for the model.
    pub description: String,
    /// The same for people who read Chinese, of a tool that comes with the program.
    #[serde(skip)]
    pub description_zh: Option<&'static str>,
    #[serde(default)]
    pub category: Option<String>,
    /// What people see; the name when absent.
    #[serde(default)]
    pub title: Option<Title>,
    #[serde(default)]
    pub icon: Option<String>,
    #[serde(rename = "type")]
    pub kind: KindName,
    /// Absent only until the kind has generated one.
    #[serde(default)]
    pub input_schema: Option<Value>,
    #[serde(default)]
    pub output_schema: Option<Value>,
    /// Runs as a durable run; the agent goes on without waiting.
    #[serde(default, rename = "async")]
    pub run_async: bool,
    /// What the kind needs.
    #[serde(default)]
    pub config: Map<String, Value>,
    /// For one attempt, in milliseconds.
    #[serde(default = "default_timeout")]
    pub timeout: u64,
    /// Over all attempts and pauses of one call, in milliseconds.
    #[serde(default = "default_total_timeout")]
    pub total_timeout: u64,
    /// What the kind says, when absent.
    #[serde(default)]
    pub effect: Option<Effect>,
    #[serde(default)]
    pub policy: Option<Policy>,
    /// Of `policy` ask: only when this holds, as `amount > 100`.
    #[serde(default)]
    pub ask_when: Option<String>,
    /// Further attempts after the first; the effect decides when absent.
    #[serde(default)]
    pub retry_count: Option<u32>,
    /// The first pause, in milliseconds.
    #[serde(default = "default_retry_delay")]
    pub retry_delay: u64,
    /// How long an answer is kept, in seconds; 0 for not at all.
    #[serde(default)]
    pub cache_ttl: u64,
    #[serde(default)]
    pub rate_limit: Option<RateLimit>,
    /// Calls of this tool at once.
    #[serde(default)]
    pub max_concurrency: Option<u32>,
    /// The order in the task queue.
    #[serde(default)]
    pub priority: i32,
    #[serde(default = "yes")]
    pub is_active: bool,
}

pub(crate) const DEFAULT_TIMEOUT: u64 = 30_000;
pub(crate) const DEFAULT_TOTAL_TIMEOUT: u64 = 120_000;
const DEFAULT_RETRY_DELAY: u64 = 1_000;

fn default_timeout() -> u64 {
    DEFAULT_TIMEOUT
}

fn default_total_timeout() -> u64 {
    DEFAULT_TOTAL_TIMEOUT
}

fn default_retry_delay() -> u64 {
    DEFAULT_RETRY_DELAY
}

fn yes() -> bool {
    true
}

impl ToolSpec {
    /// A definition with nothing but what every tool must have.
    pub fn new(name: ToolName, description: impl Into<String>, kind: KindName) -> Self {
        Self {
            name,
            description: description.into(),
            description_zh: None,
            category: None,
            title: None,
            icon: None,
            kind,
            input_schema: None,
            output_schema: None,
            run_async: false,
            config: Map::new(),
            timeout: DEFAULT_TIMEOUT,
            total_timeout: DEFAULT_TOTAL_TIMEOUT,
            effect: None,
            policy: None,
            ask_when: None,
            retry_count: None,
            retry_delay: DEFAULT_RETRY_DELAY,
            cache_ttl: 0,
            rate_limit: None,
            max_concurrency: None,
            priority: 0,
            is_active: true,
        }
    }

    /// The tool as a model is told of it: `{"type": "function", "function": {…}}`.
    pub fn definition(&self) -> Value {
        let parameters = self.input_schema.clone().unwrap_or_else(any_arguments);
        json!({
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": parameters},
        })
    }

    /// The description as people read it; models get [`Self::description`].
    pub fn description_in(&self, locale: Locale) -> &str {
        self.description_zh.filter(|_| locale == Locale::Zh).unwrap_or(&self.description)
    }

    /// What people see.
    pub fn title(&self, locale: Locale) -> &str {
        match (&self.title, locale) {
            (None, _) => self.name.as_str(),
            (Some(Title::Text(text)), _) => text,
            (Some(Title::Localized { en, .. }), Locale::En) => en,
            (Some(Title::Localized { zh, .. }), Locale::Zh) => zh,
        }
    }
}

/// A title: one text, or one for each language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Title {
    Text(String),
    Localized { en: String, zh: String },
}

/// How many calls one user may make of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimit {
    pub per_minute: u32,
    /// How many at once after a pause; one minute's worth when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
}

/// One version of a tool. A change makes another one; this one stays as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolVersion {
    pub id: ToolId,
    /// None for what everyone sees.
    pub space_id: Option<SpaceId>,
    pub owner_id: Option<UserId>,
    #[serde(flatten)]
    pub spec: ToolSpec,
    pub version: u64,
    #[serde(serialize_with = "crate::timestamp::serialize")]
    pub created_at: Timestamp,
    #[serde(serialize_with = "crate::timestamp::serialize")]
    pub updated_at: Timestamp,
}

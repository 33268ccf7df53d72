//! Tools: their definitions, and the immutable versions of them.
//!
//! Plain data. [`input`] parses definitions from JSON, with aliases and the flat form; nothing here runs a
//! tool.

pub mod input;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::schema::any_arguments;
use crate::{Effect, KindName, Locale, Policy, SpaceId, ToolId, ToolName, UserId};

/// The definition of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpec {
    /// The name by which models call it.
    pub name: ToolName,
    /// When to use it, for the model.
    pub description: String,
    /// The Chinese description of a built-in tool, for people.
    #[serde(skip)]
    pub description_zh: Option<&'static str>,
    #[serde(default)]
    pub category: Option<String>,
    /// The display title; the name if `None`.
    #[serde(default)]
    pub title: Option<Title>,
    #[serde(default)]
    pub icon: Option<String>,
    #[serde(rename = "type")]
    pub kind: KindName,
    /// `None` only until the kind has generated one.
    #[serde(default)]
    pub input_schema: Option<Value>,
    #[serde(default)]
    pub output_schema: Option<Value>,
    /// True for tools that run as tasks; the agent continues without waiting.
    #[serde(default, rename = "async")]
    pub run_async: bool,
    /// The settings of the kind.
    #[serde(default)]
    pub config: Map<String, Value>,
    /// Timeout of one attempt, in milliseconds.
    #[serde(default = "default_timeout")]
    pub timeout: u64,
    /// Timeout of the whole call with all attempts and pauses, in milliseconds.
    #[serde(default = "default_total_timeout")]
    pub total_timeout: u64,
    /// Overrides the effect that the kind reports.
    #[serde(default)]
    pub effect: Option<Effect>,
    #[serde(default)]
    pub policy: Option<Policy>,
    /// With `policy` ask: approval is required only if this condition holds, such as `amount > 100`.
    #[serde(default)]
    pub ask_when: Option<String>,
    /// Number of retries after the first attempt. If `None`, the effect decides.
    #[serde(default)]
    pub retry_count: Option<u32>,
    /// The first pause between attempts, in milliseconds.
    #[serde(default = "default_retry_delay")]
    pub retry_delay: u64,
    /// Cache TTL of results in seconds; 0 turns the cache off.
    #[serde(default)]
    pub cache_ttl: u64,
    #[serde(default)]
    pub rate_limit: Option<RateLimit>,
    /// Maximum number of concurrent calls of this tool.
    #[serde(default)]
    pub max_concurrency: Option<u32>,
    /// Priority in the task queue.
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
    /// Creates a definition with the required fields and defaults.
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

    /// Returns the tool as models get it: `{"type": "function", "function": {…}}`.
    pub fn definition(&self) -> Value {
        let parameters = self.input_schema.clone().unwrap_or_else(any_arguments);
        json!({
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": parameters},
        })
    }

    /// Returns the description for people; models get [`Self::description`].
    pub fn description_in(&self, locale: Locale) -> &str {
        self.description_zh.filter(|_| locale == Locale::Zh).unwrap_or(&self.description)
    }

    /// Returns the display title.
    pub fn title(&self, locale: Locale) -> &str {
        match (&self.title, locale) {
            (None, _) => self.name.as_str(),
            (Some(Title::Text(text)), _) => text,
            (Some(Title::Localized { en, .. }), Locale::En) => en,
            (Some(Title::Localized { zh, .. }), Locale::Zh) => zh,
        }
    }
}

/// A title: one text, or one per language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Title {
    Text(String),
    Localized { en: String, zh: String },
}

/// Maximum number of calls of one tool by one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimit {
    pub per_minute: u32,
    /// Maximum number of calls at once after a pause; one minute's worth if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
}

/// One immutable version of a tool. A change creates another one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolVersion {
    pub id: ToolId,
    /// `None` for a tool that is visible in every space.
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

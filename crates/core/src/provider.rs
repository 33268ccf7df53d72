//! Where models are asked: a provider's address and the name of its key. The key itself never appears here.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::SpaceId;
use crate::id::ProviderId;

/// A provider as somebody wrote it down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderSpec {
    pub name: String,
    pub kind: ProviderKind,
    /// The kind's own address when absent.
    #[serde(default)]
    pub base_url: Option<String>,
    /// A reference, `secret://NAME`.
    #[serde(default)]
    pub api_key: Option<String>,
    /// Asked of the provider when empty.
    #[serde(default)]
    pub models: Vec<String>,
    /// The answers of one that is scripted; none of any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<Value>,
    /// Whether its models have no native tool calls, so that a call at the end of a text is one. Of any other model
    /// such a text is prose.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text_tool_calls: bool,
    /// Whether the address is the word of who runs the server, and may lead anywhere. One of a user's is looked
    /// at as a tool's is.
    #[serde(default)]
    pub by_operator: bool,
}

/// What a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// Also everything compatible with it.
    Openai,
    Anthropic,
    Gemini,
    Ollama,
    /// Reads its answers from a list, for tests.
    Scripted,
}

/// A provider of a space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
    pub id: ProviderId,
    pub space_id: SpaceId,
    #[serde(flatten)]
    pub spec: ProviderSpec,
    pub version: u64,
    #[serde(serialize_with = "crate::timestamp::serialize")]
    pub created_at: Timestamp,
    #[serde(serialize_with = "crate::timestamp::serialize")]
    pub updated_at: Timestamp,
}

//! Model providers: address, dialect, and the name of the key. The key itself is never stored here.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::SpaceId;
use crate::id::ProviderId;

/// The definition of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderSpec {
    pub name: String,
    pub kind: ProviderKind,
    /// `None` stands for the default address of the kind.
    #[serde(default)]
    pub base_url: Option<String>,
    /// A reference, `secret://NAME`.
    #[serde(default)]
    pub api_key: Option<String>,
    /// Requested from the provider if empty.
    #[serde(default)]
    pub models: Vec<String>,
    /// The responses of a scripted provider; `None` for any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<Value>,
    /// True if its models have no native tool calls, so that a call at the end of a text is executed. For
    /// other models such a text is prose.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text_tool_calls: bool,
    /// True if the operator configured the address, which may then be any address. An address set by a user
    /// is checked like a tool's.
    #[serde(default)]
    pub by_operator: bool,
}

/// The dialect of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// Also compatible servers.
    Openai,
    Anthropic,
    Gemini,
    Ollama,
    /// Returns scripted responses, for tests.
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

//! Validated names: of a tool, and of a kind of tool.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The name by which a model calls a tool: `[a-zA-Z0-9_-]`, 1 to 64 bytes, and not in the form of an id, so
/// that a URL path can contain either.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct ToolName(Arc<str>);

/// Why a text is not a valid tool name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("a tool name has 1 to 64 letters, digits, `_` or `-`")]
    Malformed,
    #[error("a tool name may not have the form of an id")]
    LooksLikeId,
}

/// Names of the tools that an agent's turn adds. No stored tool may have one of them.
pub const FIND_TOOLS: &str = "find_tools";
pub const TASK_RESULT: &str = "task_result";
pub const READ_RESULT: &str = "read_result";

pub const RESERVED_NAMES: [&str; 3] = [FIND_TOOLS, TASK_RESULT, READ_RESULT];

impl ToolName {
    /// Wraps a constant of the code. A test of the declaring crate must check that it parses.
    pub fn constant(name: &'static str) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ToolName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if text.is_empty() || text.len() > 64 || !text.bytes().all(fits) {
            return Err(NameError::Malformed);
        }
        if uuid::Uuid::try_parse(text).is_ok() {
            return Err(NameError::LooksLikeId);
        }
        Ok(Self(text.into()))
    }
}

impl TryFrom<String> for ToolName {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<ToolName> for String {
    fn from(name: ToolName) -> Self {
        name.0.as_ref().to_owned()
    }
}

impl std::borrow::Borrow<str> for ToolName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Serialize for ToolName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The `type` of a tool: `http`, `mcp`, … Case-insensitive. The set is open, because embedding programs may
/// add kinds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(from = "String")]
pub struct KindName(Arc<str>);

impl KindName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for KindName {
    fn from(text: &str) -> Self {
        Self(text.to_ascii_lowercase().into())
    }
}

impl From<String> for KindName {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<KindName> for String {
    fn from(name: KindName) -> Self {
        name.0.as_ref().to_owned()
    }
}

impl Serialize for KindName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Display for KindName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_follows_the_rules_of_model_apis() {
        for good in ["a", "get_weather-2", &"x".repeat(64), "UPPER", "0"] {
            assert_eq!(good.parse::<ToolName>().map(String::from), Ok(good.to_owned()));
        }
        for bad in ["", "a b", "a.b", "天气", "a/b", &"x".repeat(65), "a\n"] {
            assert_eq!(bad.parse::<ToolName>(), Err(NameError::Malformed), "{bad:?}");
        }
        for id in ["0190b5a0-0000-7000-8000-000000000000", "0190b5a0000070008000000000000000"] {
            assert_eq!(id.parse::<ToolName>(), Err(NameError::LooksLikeId));
        }
    }

    #[test]
    fn a_kind_is_read_without_regard_to_case() {
        assert_eq!(KindName::from("HTTP"), KindName::from("http"));
    }
}

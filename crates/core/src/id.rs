//! Ids: a separate type for each noun, so that they cannot be confused.
//!
//! Creating ids needs a clock and happens elsewhere; here they only parse and print.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::ToolName;

/// Declares id types, all of them UUIDv7.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                Uuid::try_parse(text).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

ids! {
    /// A space: the resources that a team shares, isolated from other spaces.
    SpaceId;
    /// A person, or a program that acts for one.
    UserId;
    /// An agent: a model with instructions and tools.
    AgentId;
    /// One conversation with an agent.
    ConversationId;
    /// One durable run.
    RunId;
    /// A token.
    TokenId;
    /// A model provider.
    ProviderId;
    /// An alert.
    AlertId;
    /// An uploaded file.
    ArtifactId;
}

/// A tool: its constant name if code provides it (built-in, native), or a UUIDv7 if a user created it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ToolId {
    Uuid(Uuid),
    Named(ToolName),
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(id) => id.fmt(f),
            Self::Named(name) => name.fmt(f),
        }
    }
}

/// One logical call of one tool, with any number of attempts. A caller may set its own (a model's `call_…`),
/// so this is text: 1 to 128 visible ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct CallId(Arc<str>);

/// Why a text is not a valid call id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a call id has 1 to 128 visible ASCII characters")]
pub struct CallIdError;

impl CallId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Uuid> for CallId {
    fn from(id: Uuid) -> Self {
        let mut buffer = Uuid::encode_buffer();
        Self(Arc::from(&*id.hyphenated().encode_lower(&mut buffer)))
    }
}

impl FromStr for CallId {
    type Err = CallIdError;

    fn from_str(text: &str) -> Result<Self, CallIdError> {
        if text.is_empty() || text.len() > 128 || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(CallIdError);
        }
        Ok(Self(text.into()))
    }
}

impl TryFrom<String> for CallId {
    type Error = CallIdError;

    fn try_from(text: String) -> Result<Self, CallIdError> {
        text.parse()
    }
}

impl From<CallId> for String {
    fn from(id: CallId) -> Self {
        id.0.as_ref().to_owned()
    }
}

impl Serialize for CallId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One request to a server: a UUIDv7, or an id given by the caller. It links a response to log lines.
/// Formatted only when it is written, so passing it along is cheap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestId {
    Made(Uuid),
    Given(Arc<str>),
}

impl From<Uuid> for RequestId {
    fn from(id: Uuid) -> Self {
        Self::Made(id)
    }
}

impl FromStr for RequestId {
    type Err = CallIdError;

    /// Accepts the same characters as a call id.
    fn from_str(text: &str) -> Result<Self, CallIdError> {
        text.parse::<CallId>().map(|CallId(text)| Self::Given(text))
    }
}

impl Serialize for RequestId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Made(id) => id.fmt(f),
            Self::Given(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_id_is_a_uuid_or_plain_text() {
        assert_eq!("order-7".parse::<RequestId>().map(|id| id.to_string()), Ok("order-7".to_owned()));
        assert_eq!(RequestId::from(Uuid::nil()).to_string(), Uuid::nil().to_string());
        assert_eq!("a b".parse::<RequestId>(), Err(CallIdError));
    }

    #[test]
    fn a_call_id_is_valid_in_a_header() {
        for good in ["call_abc123", "0190b5a0-0000-7000-8000-000000000000", "toolu_01:a/b"] {
            assert_eq!(good.parse::<CallId>().map(String::from), Ok(good.to_owned()));
        }
        for bad in ["", "a b", "a\r\nX-Evil: 1", "调用", &"x".repeat(129)] {
            assert_eq!(bad.parse::<CallId>(), Err(CallIdError), "{bad:?}");
        }
    }

    #[test]
    fn a_tool_id_is_a_name_or_a_uuid() {
        let read = |text: &str| serde_json::from_value::<ToolId>(serde_json::json!(text));
        assert!(matches!(read("calculator"), Ok(ToolId::Named(_))));
        assert!(matches!(read("0190b5a0-0000-7000-8000-000000000000"), Ok(ToolId::Uuid(_))));
        assert!(read("a b").is_err());
    }
}

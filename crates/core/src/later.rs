//! Answers that come later: an upstream that takes a job on is asked again, or calls back.
//!
//! Plain data, which outlives the process. Who waits, and where, is the engine's and the run's.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::Progress;

/// How the answer of a call comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reply {
    /// With the attempt.
    #[default]
    Now,
    /// With the attempt, or when somebody looks again.
    Polled,
    /// Somebody calls us back, within so long.
    CalledBack { within: Duration },
}

/// An answer that is still to come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Later {
    /// What the kind needs to look again, in whatever process.
    pub state: Value,
    /// After so long it is time to look. Nothing where somebody calls back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
}

/// A call whose answer comes later, and that nobody waits for in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parked {
    /// What its record will be called.
    pub id: Uuid,
    /// Attempts that it took until it was taken on.
    pub attempts: u32,
    pub later: Later,
}

/// A parked call that goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct Resumed {
    pub parked: Parked,
    /// What somebody called back with.
    pub came: Option<CallbackBody>,
}

/// What somebody called back with, as it came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallbackBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// In base64, so that nothing of it changes on its way.
    pub body: String,
}

//! Deferred results: an upstream accepts a job and is polled for its result, or delivers it by callback.
//!
//! Plain data that survives the process. Waiting is implemented by the engine and by runs.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::Progress;

/// The way in which a call delivers its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultDelivery {
    /// With the attempt.
    #[default]
    Now,
    /// With the attempt, or by polling.
    Polled,
    /// By a callback, at most `within` after the attempt.
    Callback { within: Duration },
}

/// The state of a deferred result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingResult {
    /// The state that the kind needs for polling, in any process.
    pub state: Value,
    /// Delay until the next poll. `None` if the upstream calls back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
}

/// A call whose result is deferred and not awaited in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeferredCall {
    /// The id of its record.
    pub id: Uuid,
    /// Number of attempts until the upstream accepted the call.
    pub attempts: u32,
    pub later: PendingResult,
}

/// A deferred call that is continued.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumedCall {
    pub parked: DeferredCall,
    /// The body of the callback, if there was one.
    pub came: Option<CallbackBody>,
}

/// The unmodified body of a callback.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallbackBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// In base64, to preserve every byte.
    pub body: String,
}

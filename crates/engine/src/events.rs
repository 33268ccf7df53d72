//! Events of calls, for subscribers.

use std::sync::Arc;
use std::time::Duration;

use haft_core::call::{CallInfo, ProgressSink};
use haft_core::timestamp::rfc3339;
use haft_core::{AgentId, CallId, ConversationId, ErrorKind, Progress, SpaceId};
use jiff::Timestamp;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use tokio::sync::broadcast;

use crate::clock::now;

/// An event of one call.
#[derive(Debug, Clone)]
pub struct CallEvent {
    pub stage: Stage,
    pub call_id: CallId,
    /// The tool's name, or the name given by the caller if there is no such tool.
    pub tool: Arc<str>,
    pub space: SpaceId,
    pub agent: Option<AgentId>,
    pub conversation: Option<ConversationId>,
    pub attempt: u32,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    Started,
    Progress(Progress),
    /// An attempt failed; another follows after the pause.
    Retrying {
        error: ErrorKind,
        pause: Duration,
    },
    Completed {
        duration: Duration,
        cached: bool,
    },
    Failed {
        duration: Duration,
        error: ErrorKind,
    },
    Cancelled {
        duration: Duration,
    },
}

impl Stage {
    /// Returns the event's name, the same on every stream.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Started => "tool.call.started",
            Self::Progress(_) => "tool.call.progress",
            Self::Retrying { .. } => "tool.call.retrying",
            Self::Completed { .. } => "tool.call.completed",
            Self::Failed { .. } => "tool.call.failed",
            Self::Cancelled { .. } => "tool.call.cancelled",
        }
    }
}

impl Serialize for CallEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("type", self.stage.name())?;
        fields.serialize_entry("callId", &self.call_id)?;
        fields.serialize_entry("tool", &self.tool)?;
        fields.serialize_entry("spaceId", &self.space)?;
        fields.serialize_entry("agentId", &self.agent)?;
        fields.serialize_entry("conversationId", &self.conversation)?;
        fields.serialize_entry("attempt", &self.attempt)?;
        fields.serialize_entry("at", &rfc3339(self.at))?;
        let millis = |duration: &Duration| duration.as_millis() as u64;
        match &self.stage {
            Stage::Started => {}
            Stage::Progress(progress) => fields.serialize_entry("progress", progress)?,
            Stage::Retrying { error, pause } => {
                fields.serialize_entry("error", error)?;
                fields.serialize_entry("pause", &millis(pause))?;
            }
            Stage::Completed { duration, cached } => {
                fields.serialize_entry("duration", &millis(duration))?;
                fields.serialize_entry("cached", cached)?;
            }
            Stage::Failed { duration, error } => {
                fields.serialize_entry("duration", &millis(duration))?;
                fields.serialize_entry("error", error)?;
            }
            Stage::Cancelled { duration } => fields.serialize_entry("duration", &millis(duration))?,
        }
        fields.end()
    }
}

/// The broadcast channel of events. It costs almost nothing without subscribers. A slow subscriber loses
/// events and receives their number.
#[derive(Clone)]
pub(crate) struct Events(broadcast::Sender<Arc<CallEvent>>);

impl Events {
    pub(crate) fn new(capacity: usize) -> Self {
        Self(broadcast::Sender::new(capacity.max(1)))
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Arc<CallEvent>> {
        self.0.subscribe()
    }

    pub(crate) fn subscribers(&self) -> usize {
        self.0.receiver_count()
    }

    pub(crate) fn publish(&self, event: impl FnOnce() -> CallEvent) {
        if self.0.receiver_count() > 0 {
            // The last subscriber may have disconnected since the check.
            let _ = self.0.send(Arc::new(event()));
        }
    }
}

impl ProgressSink for Events {
    fn progress(&self, call: &CallInfo, attempt: u32, progress: Progress) {
        self.publish(|| CallEvent {
            stage: Stage::Progress(progress),
            call_id: call.call_id.clone(),
            tool: call.tool.as_str().into(),
            space: call.space,
            agent: call.agent,
            conversation: call.conversation,
            attempt,
            at: now(),
        });
    }
}

/// Combines two progress sinks into one.
pub(crate) fn both(
    one: Option<Arc<dyn ProgressSink>>,
    other: Option<Arc<dyn ProgressSink>>,
) -> Option<Arc<dyn ProgressSink>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Arc::new(Both(one, other))),
        (one, other) => one.or(other),
    }
}

struct Both(Arc<dyn ProgressSink>, Arc<dyn ProgressSink>);

impl ProgressSink for Both {
    fn progress(&self, call: &CallInfo, attempt: u32, progress: Progress) {
        self.0.progress(call, attempt, progress.clone());
        self.1.progress(call, attempt, progress);
    }
}

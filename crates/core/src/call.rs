//! Calls: options, caller, and the context that a tool's code receives.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use secrecy::SecretString;
use serde::ser::{SerializeMap as _, Serializer};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::mask::Mask;
use crate::{
    AgentId, Allowance, ArtifactBytes, ArtifactRef, Artifacts, Binding, CallError, CallId, ConversationId,
    Locale, RequestId, ResumedCall, SecretRef, Secrets, SpaceId, ToolName, TraceParent, TraceState, UserId,
    artifact,
};

/// The interface that a call came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Api,
    Chat,
    Flow,
    Mcp,
    Cli,
    Task,
    Library,
}

impl Source {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Chat => "chat",
            Self::Flow => "flow",
            Self::Mcp => "mcp",
            Self::Cli => "cli",
            Self::Task => "task",
            Self::Library => "library",
        }
    }
}

/// The caller of a tool, and the interface it uses.
#[derive(Debug, Clone)]
pub struct Caller {
    pub space: SpaceId,
    pub user: Option<UserId>,
    pub source: Source,
    pub locale: Locale,
    /// The id of the network request, if there is one.
    pub request: Option<RequestId>,
}

/// Options of one call. `None` stands for the tool's own setting.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    pub timeout: Option<Duration>,
    pub retries: Option<u32>,
    pub retry_delay: Option<Duration>,
    pub validation: Validation,
    pub freshness: Freshness,
    pub run: RunMode,
    pub call_id: Option<CallId>,
    /// The id of the call's record, a new UUIDv7, for callers that look up the record later.
    pub log_id: Option<Uuid>,
    pub agent: Option<AgentId>,
    pub conversation: Option<ConversationId>,
    /// The logged call that this one repeats.
    pub replay_of: Option<CallId>,
    /// The span of the caller's trace that the call is part of.
    pub trace_parent: Option<TraceParent>,
    pub trace_state: Option<TraceState>,
    pub binding: Option<Arc<Binding>>,
    pub consent: Consent,
    /// Nesting depth: the number of agents and flows around the call.
    pub depth: u32,
    /// The remaining budget of the turn that makes the call.
    pub allowance: Option<Arc<Allowance>>,
    /// The URL at which an upstream delivers its result.
    pub callback_url: Option<Arc<str>>,
    /// The deferred call that this one continues.
    pub resumed: Option<Arc<ResumedCall>>,
    /// An additional receiver of the tool's progress.
    pub progress: Option<Arc<dyn ProgressSink>>,
    pub cancel: Option<CancellationToken>,
}

/// Approval by a person, if the policy requires it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Consent {
    #[default]
    None,
    Given,
}

/// How a call treats arguments of a wrong type. Both modes validate the arguments against the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Validation {
    /// Converts arguments that the schema rejects if their meaning is certain: a number to a string, and text to the
    /// number, boolean, array or object that it contains. Does not convert values that are too large for a list of
    /// errors.
    #[default]
    Gentle,
    /// Converts nothing. Arguments given as JSON text are rejected too.
    Strict,
}

/// Use of cached results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Freshness {
    #[default]
    Cached,
    /// The tool is called; its result is cached for other callers.
    Fresh,
}

/// Real or dry execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunMode {
    #[default]
    Real,
    /// All checks run and a preview is returned; nothing is sent.
    Dry,
}

impl CallOptions {
    #[must_use]
    pub fn timeout_ms(mut self, milliseconds: u64) -> Self {
        self.timeout = Some(Duration::from_millis(milliseconds));
        self
    }

    #[must_use]
    pub fn retries(mut self, further_attempts: u32) -> Self {
        self.retries = Some(further_attempts);
        self
    }

    #[must_use]
    pub fn retry_delay_ms(mut self, milliseconds: u64) -> Self {
        self.retry_delay = Some(Duration::from_millis(milliseconds));
        self
    }

    /// Turns off coercion of arguments.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.validation = Validation::Strict;
        self
    }

    /// Does not use cached results.
    #[must_use]
    pub fn fresh(mut self) -> Self {
        self.freshness = Freshness::Fresh;
        self
    }

    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.run = RunMode::Dry;
        self
    }

    #[must_use]
    pub fn call_id(mut self, id: CallId) -> Self {
        self.call_id = Some(id);
        self
    }

    #[must_use]
    pub fn agent(mut self, agent: AgentId) -> Self {
        self.agent = Some(agent);
        self
    }

    #[must_use]
    pub fn conversation(mut self, conversation: ConversationId) -> Self {
        self.conversation = Some(conversation);
        self
    }

    #[must_use]
    pub fn replay_of(mut self, call: CallId) -> Self {
        self.replay_of = Some(call);
        self
    }

    #[must_use]
    pub fn trace_parent(mut self, parent: TraceParent) -> Self {
        self.trace_parent = Some(parent);
        self
    }

    /// Makes the call part of the caller's trace, if there is one.
    #[must_use]
    pub fn trace(mut self, trace: Option<(TraceParent, Option<TraceState>)>) -> Self {
        let (parent, state) = trace.unzip();
        (self.trace_parent, self.trace_state) = (parent, state.flatten());
        self
    }

    #[must_use]
    pub fn binding(mut self, binding: Arc<Binding>) -> Self {
        self.binding = Some(binding);
        self
    }

    /// Marks the call as approved by a person.
    #[must_use]
    pub fn approved(mut self) -> Self {
        self.consent = Consent::Given;
        self
    }

    /// Sets a token that cancels the call.
    #[must_use]
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.cancel = Some(token);
        self
    }
}

/// The context that a tool's code receives for one attempt. Cheap to clone.
#[derive(Clone)]
pub struct CallContext {
    inner: Arc<CallInfo>,
    attempt: u32,
    cancel: CancellationToken,
    resumed: Option<Arc<ResumedCall>>,
}

/// The part of a context that all attempts share.
pub struct CallInfo {
    pub call_id: CallId,
    pub tool: ToolName,
    pub space: SpaceId,
    pub user: Option<UserId>,
    pub agent: Option<AgentId>,
    pub conversation: Option<ConversationId>,
    /// The id of the network request of the call.
    pub request: Option<RequestId>,
    pub locale: Locale,
    pub deadline: Instant,
    /// The secrets that the tool's kind requested.
    pub secrets: Arc<Secrets>,
    /// The store of files, if there is one.
    pub artifacts: Option<Arc<dyn Artifacts>>,
    pub progress: Option<Arc<dyn ProgressSink>>,
    /// Nesting depth: the number of agents and flows around the call.
    pub depth: u32,
    /// The remaining budget of the turn that made the call.
    pub allowance: Option<Arc<Allowance>>,
    /// The URL at which an upstream delivers its result.
    pub callback_url: Option<Arc<str>>,
    /// The caller's trace, which is propagated to outgoing requests.
    pub trace: Option<(TraceParent, Option<TraceState>)>,
    /// Released when the work ends: a blocking function may outlive its attempt.
    pub place: Option<Box<dyn Any + Send + Sync>>,
}

/// Receives progress of tools.
pub trait ProgressSink: Send + Sync {
    fn progress(&self, call: &CallInfo, attempt: u32, progress: Progress);
}

impl fmt::Debug for dyn ProgressSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressSink")
    }
}

/// The progress of a call, as in the Model Context Protocol.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(from = "StoredProgress")]
pub struct Progress {
    /// The amount of work that is done; 0 if only `message` is known.
    pub progress: f64,
    /// The amount of work in total, if known.
    pub total: Option<f64>,
    pub message: Option<String>,
}

impl Progress {
    /// Creates a report that `progress` of `total` is done.
    pub fn of(progress: f64, total: f64) -> Self {
        Self { progress, total: Some(total), message: None }
    }

    /// Creates a report without an amount.
    pub fn message(message: impl Into<String>) -> Self {
        Self::default().with_message(message)
    }

    /// Sets the message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Returns the part that is done, from 0 to 1. Returns `None` if the total is unknown.
    pub fn fraction(&self) -> Option<f64> {
        let fraction = self.progress / self.total.filter(|total| *total > 0.0)?;
        fraction.is_finite().then(|| fraction.clamp(0.0, 1.0))
    }
}

/// Written with the derived `fraction`, the only amount in earlier versions.
impl Serialize for Progress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("progress", &self.progress)?;
        if let Some(total) = self.total {
            fields.serialize_entry("total", &total)?;
        }
        if let Some(fraction) = self.fraction() {
            fields.serialize_entry("fraction", &fraction)?;
        }
        if let Some(message) = &self.message {
            fields.serialize_entry("message", message)?;
        }
        fields.end()
    }
}

/// Stored progress, including the form `{fraction?, message}` of earlier versions.
#[derive(Deserialize)]
struct StoredProgress {
    progress: Option<f64>,
    total: Option<f64>,
    fraction: Option<f64>,
    message: Option<String>,
}

impl From<StoredProgress> for Progress {
    fn from(stored: StoredProgress) -> Self {
        let StoredProgress { progress, total, fraction, message } = stored;
        let message = message.filter(|message| !message.is_empty());
        match (progress, fraction) {
            (Some(progress), _) => Self { progress, total, message },
            (None, Some(fraction)) => Self { progress: fraction, total: Some(1.0), message },
            (None, None) => Self { progress: 0.0, total: None, message },
        }
    }
}

impl CallContext {
    /// Creates the context of the first attempt.
    pub fn new(info: CallInfo) -> Self {
        Self { inner: Arc::new(info), attempt: 1, cancel: CancellationToken::new(), resumed: None }
    }

    /// Returns the context of the next attempt, with its own cancellation token.
    #[must_use]
    pub fn next_attempt(&self) -> Self {
        Self { attempt: self.attempt + 1, cancel: CancellationToken::new(), ..self.clone() }
    }

    /// Returns the context for fetching a deferred result.
    #[must_use]
    pub fn resuming(&self, resumed: Arc<ResumedCall>) -> Self {
        Self { resumed: Some(resumed), cancel: CancellationToken::new(), ..self.clone() }
    }

    /// Returns the state that the kind stored for its deferred result, and the callback if there was one. The
    /// kind must not send its request again.
    pub fn resumed(&self) -> Option<&ResumedCall> {
        self.resumed.as_deref()
    }

    /// Returns the caller's trace, for the headers of outgoing requests.
    pub fn trace(&self) -> Option<&(TraceParent, Option<TraceState>)> {
        self.inner.trace.as_ref()
    }

    /// Returns the URL at which an upstream delivers its result. Returns `None` if callbacks are not
    /// possible.
    pub fn callback_url(&self) -> Option<&str> {
        self.inner.callback_url.as_deref()
    }

    /// Returns the id that all attempts of the call share: an idempotency key for upstreams.
    pub fn call_id(&self) -> &CallId {
        &self.inner.call_id
    }

    pub fn tool(&self) -> &ToolName {
        &self.inner.tool
    }

    pub fn space(&self) -> SpaceId {
        self.inner.space
    }

    pub fn user(&self) -> Option<UserId> {
        self.inner.user
    }

    pub fn agent(&self) -> Option<AgentId> {
        self.inner.agent
    }

    pub fn conversation(&self) -> Option<ConversationId> {
        self.inner.conversation
    }

    pub fn locale(&self) -> Locale {
        self.inner.locale
    }

    /// Returns the number of agents and flows around the call.
    pub fn depth(&self) -> u32 {
        self.inner.depth
    }

    /// Returns the remaining budget of the turn that made the call. Models and tools called on its behalf
    /// draw on it.
    pub fn allowance(&self) -> Option<&Arc<Allowance>> {
        self.inner.allowance.as_ref()
    }

    /// Returns the id of the network request of the call.
    pub fn request(&self) -> Option<&RequestId> {
        self.inner.request.as_ref()
    }

    /// Returns the number of the attempt, starting at 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns the deadline of the whole call, with all its attempts.
    pub fn deadline(&self) -> Instant {
        self.inner.deadline
    }

    /// Returns the value of a secret that the tool's kind requested.
    pub fn secret(&self, secret: &SecretRef) -> Option<&SecretString> {
        self.inner.secrets.get(secret)
    }

    /// Returns the mask for the call's secrets. The engine applies it to every result.
    pub fn mask(&self) -> Option<&Arc<Mask>> {
        self.inner.secrets.mask()
    }

    /// Returns the file that a text refers to: `artifact://ID`, or its URL on this server.
    pub fn artifact_in(&self, text: &str) -> Option<ArtifactRef> {
        ArtifactRef::parse(text).or_else(|| self.inner.artifacts.as_ref()?.of_url(text))
    }

    /// Reads a file with the permissions of the caller, up to `most` bytes.
    pub async fn artifact(&self, artifact: &ArtifactRef, most: u64) -> Result<ArtifactBytes, CallError> {
        match &self.inner.artifacts {
            Some(artifacts) => artifacts.read(self.inner.space, self.inner.user, artifact, most).await,
            None => Err(artifact::not_found(&artifact.id)),
        }
    }

    /// Returns a token that is cancelled when the attempt ends: cancelled, timed out, or the caller
    /// disconnected.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Reports progress to subscribers.
    pub fn progress(&self, progress: Progress) {
        if let Some(sink) = &self.inner.progress {
            sink.progress(&self.inner, self.attempt, progress);
        }
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext")
            .field("call_id", &self.inner.call_id)
            .field("tool", &self.inner.tool)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn progress_is_written_with_its_fraction_and_read_in_the_earlier_form_too() {
        for (progress, written) in [
            (
                Progress::of(2.0, 5.0).with_message("page 2"),
                json!({"progress": 2.0, "total": 5.0, "fraction": 0.4, "message": "page 2"}),
            ),
            (Progress { progress: 7.0, ..Progress::default() }, json!({"progress": 7.0})),
            (Progress::message("started"), json!({"progress": 0.0, "message": "started"})),
            (Progress::of(1.0, 0.0), json!({"progress": 1.0, "total": 0.0})),
        ] {
            assert_eq!(json!(progress), written);
            assert_eq!(Progress::deserialize(&written).expect("progress"), progress);
        }
        for (earlier, read) in [
            (json!({"fraction": 0.4, "message": "running"}), Progress::of(0.4, 1.0).with_message("running")),
            (json!({"fraction": 0.4, "message": ""}), Progress::of(0.4, 1.0)),
            (json!({"message": "running"}), Progress::message("running")),
        ] {
            assert_eq!(Progress::deserialize(&earlier).expect("progress"), read, "{earlier}");
        }
    }
}

//! A call as it is asked for, who asks, and what the tool's code gets to know of it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::mask::Mask;
use crate::{
    AgentId, Allowance, ArtifactBytes, ArtifactRef, Artifacts, Binding, CallError, CallId, ConversationId,
    Locale, RequestId, Resumed, SecretRef, Secrets, SpaceId, ToolName, TraceParent, TraceState, UserId,
    artifact,
};

/// The door a call came through.
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
    /// The word for it, as JSON has it.
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

/// Who calls, and through which door.
#[derive(Debug, Clone)]
pub struct Caller {
    pub space: SpaceId,
    pub user: Option<UserId>,
    pub source: Source,
    pub locale: Locale,
    /// The request that the call came with, where it came over the network.
    pub request: Option<RequestId>,
}

/// How one call shall be made. What is not said comes from the tool.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    pub timeout: Option<Duration>,
    pub retries: Option<u32>,
    pub retry_delay: Option<Duration>,
    pub validation: Validation,
    pub freshness: Freshness,
    pub run: RunMode,
    pub call_id: Option<CallId>,
    /// The id of the call's record, a UUIDv7 of now, for whoever must find the record again.
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
    /// So many agents and flows it is within.
    pub depth: u32,
    /// What the turn may still cost that makes the call.
    pub allowance: Option<Arc<Allowance>>,
    /// Where an upstream finds us when it has its answer.
    pub callback_url: Option<Arc<str>>,
    /// The call was parked, and goes on.
    pub resumed: Option<Arc<Resumed>>,
    /// Where the tool's progress goes besides.
    pub progress: Option<Arc<dyn ProgressSink>>,
    pub cancel: Option<CancellationToken>,
}

/// Whether a person approved the call, where its policy asks for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Consent {
    #[default]
    None,
    Given,
}

/// Whether arguments that almost fit are made to fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Validation {
    /// `"3"` is taken for 3 where only a number fits.
    #[default]
    Gentle,
    Strict,
}

/// Whether an answer that was kept will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Freshness {
    #[default]
    Kept,
    /// The tool is really called; its answer is kept for others as always.
    Fresh,
}

/// Whether the tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunMode {
    #[default]
    Real,
    /// All checks are made and what would be done is shown; nothing is sent.
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

    /// Arguments are taken as they are, without gentle coercion.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.validation = Validation::Strict;
        self
    }

    /// No answer of an earlier call will do.
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

    /// A person approved it.
    #[must_use]
    pub fn approved(mut self) -> Self {
        self.consent = Consent::Given;
        self
    }

    /// Cancelling the token cancels the call.
    #[must_use]
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.cancel = Some(token);
        self
    }
}

/// What a tool's code gets to know of the call it works for. Cheap to clone.
#[derive(Clone)]
pub struct CallContext {
    inner: Arc<CallInfo>,
    attempt: u32,
    cancel: CancellationToken,
    resumed: Option<Arc<Resumed>>,
}

/// The part of a context that is the same for all attempts.
pub struct CallInfo {
    pub call_id: CallId,
    pub tool: ToolName,
    pub space: SpaceId,
    pub user: Option<UserId>,
    pub agent: Option<AgentId>,
    pub conversation: Option<ConversationId>,
    /// The request that it came with.
    pub request: Option<RequestId>,
    pub locale: Locale,
    pub deadline: Instant,
    /// Those that the tool's kind asked for.
    pub secrets: Arc<Secrets>,
    /// Where files are kept, if anywhere.
    pub artifacts: Option<Arc<dyn Artifacts>>,
    pub progress: Option<Arc<dyn ProgressSink>>,
    /// So many agents and flows the call is within.
    pub depth: u32,
    /// What the turn may still cost that made the call.
    pub allowance: Option<Arc<Allowance>>,
    /// Where an upstream finds us when it has its answer.
    pub callback_url: Option<Arc<str>>,
    /// The caller's trace, which outgoing requests carry on.
    pub trace: Option<(TraceParent, Option<TraceState>)>,
    /// Kept until nobody works on the call any more: a blocking function may outlive its attempt.
    pub place: Option<Box<dyn Any + Send + Sync>>,
}

/// Where a tool's progress goes.
pub trait ProgressSink: Send + Sync {
    fn progress(&self, call: &CallInfo, attempt: u32, progress: Progress);
}

impl fmt::Debug for dyn ProgressSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressSink")
    }
}

/// How far a call has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Between 0 and 1, when it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fraction: Option<f64>,
    pub message: String,
}

impl CallContext {
    /// For the first attempt.
    pub fn new(info: CallInfo) -> Self {
        Self { inner: Arc::new(info), attempt: 1, cancel: CancellationToken::new(), resumed: None }
    }

    /// The same call, one attempt later, with a cancellation of its own.
    #[must_use]
    pub fn next_attempt(&self) -> Self {
        Self { attempt: self.attempt + 1, cancel: CancellationToken::new(), ..self.clone() }
    }

    /// The same call when it is time to look for its answer.
    #[must_use]
    pub fn resuming(&self, resumed: Arc<Resumed>) -> Self {
        Self { resumed: Some(resumed), cancel: CancellationToken::new(), ..self.clone() }
    }

    /// What the kind said when the answer was to come later, and what has come since. Nothing is sent again then.
    pub fn resumed(&self) -> Option<&Resumed> {
        self.resumed.as_deref()
    }

    /// The caller's trace, for the headers of outgoing requests.
    pub fn trace(&self) -> Option<&(TraceParent, Option<TraceState>)> {
        self.inner.trace.as_ref()
    }

    /// Where an upstream finds us when it has its answer; nothing where nobody would hear it.
    pub fn callback_url(&self) -> Option<&str> {
        self.inner.callback_url.as_deref()
    }

    /// The same for every attempt of one call: the key that makes a repeat safe.
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

    /// So many agents and flows it is within.
    pub fn depth(&self) -> u32 {
        self.inner.depth
    }

    /// What the turn may still cost that made the call; whoever asks models and tools on its behalf spends of it.
    pub fn allowance(&self) -> Option<&Arc<Allowance>> {
        self.inner.allowance.as_ref()
    }

    /// The request that the call came with.
    pub fn request(&self) -> Option<&RequestId> {
        self.inner.request.as_ref()
    }

    /// 1 for the first.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// When the whole call, with all its attempts, must be over.
    pub fn deadline(&self) -> Instant {
        self.inner.deadline
    }

    /// The value of a secret that the tool's kind asked for.
    pub fn secret(&self, secret: &SecretRef) -> Option<&SecretString> {
        self.inner.secrets.get(secret)
    }

    /// What takes the call's secrets out of a text; the engine does so with every answer.
    pub fn mask(&self) -> Option<&Arc<Mask>> {
        self.inner.secrets.mask()
    }

    /// The file that a text names: `artifact://ID`, or our own address of it.
    pub fn artifact_in(&self, text: &str) -> Option<ArtifactRef> {
        ArtifactRef::parse(text).or_else(|| self.inner.artifacts.as_ref()?.of_url(text))
    }

    /// Reads a file as whoever calls may, unless it is larger than `most`.
    pub async fn artifact(&self, artifact: &ArtifactRef, most: u64) -> Result<ArtifactBytes, CallError> {
        match &self.inner.artifacts {
            Some(kept) => kept.read(self.inner.space, self.inner.user, artifact, most).await,
            None => Err(artifact::not_found(&artifact.id)),
        }
    }

    /// Cancelled when nobody waits for this attempt any more: cancelled, timed out, gone away.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Tells subscribers how far the call has come.
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

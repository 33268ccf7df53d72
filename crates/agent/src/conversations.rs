//! Conversations: their services, and how a conversation is started, continued and cancelled.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use haft_core::{CallError, Caller, ErrorKind, RunId, SpaceId};
use haft_engine::ToolService;
use haft_engine::context::{Listeners, ToolCallListener};
use haft_runs::{Executor, NewRun, RunContext, RunKey, RunLabels, Runs};
use serde_json::Value;

use crate::conversation_input::ConversationInput;
use crate::host::ConversationHost;
use crate::inbox::{ChatRole, InboxMessage};
use crate::models::{Models, SpaceUser};
use crate::toolbox_cache::ToolboxCache;
use crate::transcript::Transcript;
use crate::turn_limits::{RunningTurns, TurnLimits};
use crate::turn_logs::TurnLogs;
use crate::turn_runner::request_of;

/// The program name of conversation runs.
pub(crate) const NAME: &str = "chat";

/// Maximum number of characters of a title.
const LONGEST_TITLE: usize = 80;

/// Conversations. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Conversations(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) tools: ToolService,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) host: Arc<dyn ConversationHost>,
    pub(crate) turn_logs: TurnLogs,
    pub(crate) running: RunningTurns,
    pub(crate) toolbox_cache: ToolboxCache,
    pub(crate) max_crashes: u32,
    pub(crate) listeners: Listeners,
    /// Set once the worker exists, which needs the program of conversations.
    pub(crate) runs: OnceLock<Runs>,
}

/// The time for which a conversation is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// Until its user deletes it.
    Conversation,
    /// Until its turn has ended, including the calls that the client executes.
    UntilToolResults,
}

/// Settings of conversations.
#[derive(Debug, Clone, Copy, Default)]
pub struct ConversationSettings {
    /// Number of crashes without progress after which a turn ends with an error. 0 for no limit.
    pub max_crashes: u32,
    pub limits: TurnLimits,
}

/// A conversation to start.
pub struct NewConversation {
    pub id: RunId,
    pub input: ConversationInput,
    pub retention: Retention,
    /// A start with the key of an earlier conversation returns that conversation.
    pub key: Option<RunKey>,
}

/// A message to a conversation.
pub struct NewInboxMessage {
    pub message: InboxMessage,
    /// A message with the key of an earlier message is not sent again.
    pub key: Option<RunKey>,
}

impl From<InboxMessage> for NewInboxMessage {
    fn from(message: InboxMessage) -> Self {
        Self { message, key: None }
    }
}

impl Conversations {
    pub fn new(
        tools: ToolService,
        models: Arc<dyn Models>,
        host: Arc<dyn ConversationHost>,
        settings: ConversationSettings,
    ) -> Self {
        Self(Arc::new(Inner {
            tools,
            models,
            host,
            turn_logs: TurnLogs::default(),
            running: RunningTurns::new(settings.limits),
            toolbox_cache: ToolboxCache::default(),
            max_crashes: settings.max_crashes,
            listeners: Listeners::default(),
            runs: OnceLock::new(),
        }))
    }

    /// Sets the worker that executes conversations.
    pub fn set_runs(&self, runs: Runs) {
        // There is one worker in a process.
        let _ = self.0.runs.set(runs);
    }

    /// Adds a listener that receives the result of every call, including deferred ones.
    pub fn on_tool_call(&self, listener: impl ToolCallListener + 'static) {
        self.0.listeners.add(listener);
    }

    pub fn turn_logs(&self) -> &TurnLogs {
        &self.0.turn_logs
    }

    pub(crate) fn runs(&self) -> Result<&Runs, CallError> {
        let none = || CallError::text(ErrorKind::Internal, "this process has no worker that executes runs");
        self.0.runs.get().ok_or_else(none)
    }

    /// Starts a conversation in this process, and returns after it is persisted; or returns the conversation that was
    /// started with the same key.
    pub async fn start(&self, caller: &Caller, new: NewConversation) -> Result<RunId, CallError> {
        let _starting = self.0.running.try_begin(new.id, caller.user)?;
        let NewConversation { id, input, retention, key } = new;
        let agent = input.agent.map(|agent| agent.to_string());
        let conversation = (retention == Retention::Conversation).then(|| id.to_string());
        let new = NewRun {
            id,
            space: caller.space,
            user: caller.user,
            program: NAME,
            labels: RunLabels {
                lane: agent.clone().unwrap_or_else(|| NAME.to_owned()),
                lane_limit: None,
                name: title(&input),
                call_id: None,
                agent,
                conversation,
            },
            input: Arc::new(serde_json::to_value(&input).unwrap_or_default()),
            priority: 0,
            delay: Duration::ZERO,
            max_crashes: self.0.max_crashes,
            key,
            parent: None,
            executor: Executor::AnyWorker,
        };
        Ok(self.runs()?.start_here(new).await?.0.id)
    }

    /// Sends a message to a conversation, and returns after it is persisted. Returns false if the conversation has ended.
    pub async fn send(
        &self,
        caller: &Caller,
        conversation: RunId,
        new: NewInboxMessage,
    ) -> Result<bool, CallError> {
        let _sending = self.0.running.try_begin(conversation, caller.user)?;
        let NewInboxMessage { message, key } = new;
        let message = serde_json::to_value(message).unwrap_or(Value::Null);
        self.runs()?.send(caller.space, conversation, message, key).await
    }

    /// Logs the beginning of the last turn.
    pub(crate) fn log_start(&self, cx: &RunContext, input: &ConversationInput, transcript: &Transcript) {
        let Some(turn) = transcript.turns.last() else { return };
        tracing::info!(
            conversation.id = %cx.run().id, request.id = request_of(turn).map(display), turn = turn.turn,
            agent.id = input.agent.map(|agent| agent.to_string()), "Chat: received"
        );
    }

    /// Cancels a task that a conversation started, if that is still possible.
    pub async fn cancel_task(&self, owner: SpaceUser, task: RunId) {
        self.0.host.cancel_task(owner, task).await;
    }

    /// Returns true if this process executes the conversation now.
    pub fn is_executing(&self, id: RunId) -> bool {
        self.runs().is_ok_and(|runs| runs.is_executing(id))
    }

    /// Cancels the running turn of a conversation, whichever process executes it.
    pub async fn cancel(&self, space: SpaceId, conversation: RunId) -> Result<(), CallError> {
        self.cancel_here(conversation);
        // The request is also stored for a turn that is about to suspend, or that another process executes.
        self.0.host.request_cancel(space, conversation).await
    }

    /// Cancels the turn if this process executes it. Returns false if it does not.
    pub fn cancel_here(&self, id: RunId) -> bool {
        self.runs().is_ok_and(|runs| runs.cancel_here(id))
    }
}

/// The beginning of the first message of the user, as one line.
fn title(input: &ConversationInput) -> String {
    let first = input.first.messages.iter().find(|message| message.role == ChatRole::User);
    let text = first.map(|message| message.text_content()).unwrap_or_default();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= LONGEST_TITLE {
        return line;
    }
    let cut: String = line.chars().take(LONGEST_TITLE - 1).collect();
    format!("{}…", cut.trim_end())
}

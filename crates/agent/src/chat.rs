//! Conversations: what they are carried on with, and how one is begun, spoken to and stopped.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use haft_core::{CallError, Caller, ErrorKind, Message, RunId, SpaceId, UserId};
use haft_engine::ToolService;
use haft_engine::context::{Listeners, ToolCallListener};
use haft_runs::{Executor, NewRun, RunKey, RunLabels, Runs};
use serde_json::Value;

use crate::chat_run::ChatRun;
use crate::known_tools::KnownTools;
use crate::live::Live;
use crate::models::Models;
use crate::said::{Letter, Role};
use crate::surroundings::Surroundings;

haft_core::templates! {
    TOO_MANY_TURNS = "chat.tooManyTurns",
        "{most} of your turns are already running. Retry when one of them has ended.",
        "您已有 {most} 轮对话正在进行；请等待部分完成后重试";
}

/// What a run of this program is called.
pub(crate) const NAME: &str = "chat";

/// So many turns of one user are under way in one process, at most.
const MOST_TURNS: usize = 64;

/// After so long there may be room again.
const PAUSE: Duration = Duration::from_secs(2);

/// A title has so many characters, at most.
const LONGEST_TITLE: usize = 80;

/// Conversations. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Chat(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) tools: ToolService,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) around: Arc<dyn Surroundings>,
    pub(crate) live: Live,
    pub(crate) known_tools: KnownTools,
    pub(crate) max_crashes: u32,
    pub(crate) listeners: Listeners,
    /// Known once there are runs, which know this program.
    pub(crate) runs: OnceLock<Runs>,
}

/// Whether a conversation is there to be found again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// Until somebody deletes it.
    Kept,
    /// Until its turn is over, with whatever whoever asked has to carry out themselves.
    Parked,
}

impl Chat {
    pub fn new(
        tools: ToolService,
        models: Arc<dyn Models>,
        around: Arc<dyn Surroundings>,
        max_crashes: u32,
    ) -> Self {
        Self(Arc::new(Inner {
            tools,
            models,
            around,
            live: Live::default(),
            known_tools: KnownTools::default(),
            max_crashes,
            listeners: Listeners::default(),
            runs: OnceLock::new(),
        }))
    }

    /// Tells it where its runs are carried on.
    pub fn runs_at(&self, runs: Runs) {
        // There is one worker in a process.
        let _ = self.0.runs.set(runs);
    }

    /// Adds somebody who hears of every result, also of those that come later.
    pub fn on_tool_call(&self, listener: impl ToolCallListener + 'static) {
        self.0.listeners.add(listener);
    }

    pub fn live(&self) -> &Live {
        &self.0.live
    }

    pub(crate) fn runs(&self) -> Result<&Runs, CallError> {
        let none = || CallError::text(ErrorKind::Internal, "this process has no worker that executes runs");
        self.0.runs.get().ok_or_else(none)
    }

    /// Starts a conversation in this process, and returns after it is persisted; or returns the one that was started with
    /// the same key.
    pub async fn start(
        &self,
        caller: &Caller,
        id: RunId,
        chat: &ChatRun,
        keeping: Keeping,
        key: Option<RunKey>,
    ) -> Result<RunId, CallError> {
        self.check_room(caller)?;
        let agent = chat.agent.map(|agent| agent.to_string());
        let conversation = (keeping == Keeping::Kept).then(|| id.to_string());
        let new = NewRun {
            id,
            space: caller.space,
            user: caller.user,
            program: NAME,
            labels: RunLabels {
                lane: agent.clone().unwrap_or_else(|| NAME.to_owned()),
                lane_limit: None,
                name: title(chat),
                call_id: None,
                agent,
                conversation,
            },
            input: Arc::new(serde_json::to_value(chat).unwrap_or_default()),
            priority: 0,
            delay: Duration::ZERO,
            max_crashes: self.0.max_crashes,
            key,
            parent: None,
            executor: Executor::AnyWorker,
        };
        Ok(self.runs()?.start_here(new).await?.0.id)
    }

    /// One user's turns may not take the place of all others'.
    pub(crate) fn check_room(&self, caller: &Caller) -> Result<(), CallError> {
        if self.0.live.of_user(caller.user) < MOST_TURNS {
            return Ok(());
        }
        let message = Message::new(&TOO_MANY_TURNS).with("most", MOST_TURNS);
        Err(CallError::new(ErrorKind::RateLimit, message).retry_after(PAUSE))
    }

    /// Sends a message to a conversation, and returns after it is persisted. Returns false if the conversation has ended.
    pub async fn send(
        &self,
        caller: &Caller,
        conversation: RunId,
        letter: &Letter,
        key: Option<RunKey>,
    ) -> Result<bool, CallError> {
        self.check_room(caller)?;
        let message = serde_json::to_value(letter).unwrap_or(Value::Null);
        self.runs()?.send(caller.space, conversation, message, key).await
    }

    /// Ends a task that a conversation began, as far as that is possible.
    pub async fn cancel_task(&self, space: SpaceId, user: Option<UserId>, task: RunId) {
        self.0.around.cancel(space, user, task).await;
    }

    /// Returns true if this process executes the conversation now.
    pub fn is_executing(&self, id: RunId) -> bool {
        self.runs().is_ok_and(|runs| runs.is_executing(id))
    }

    /// Ends the turn that this process carries on; false when it is not here.
    pub fn stop_here(&self, id: RunId) -> bool {
        self.runs().is_ok_and(|runs| runs.cancel_here(id))
    }
}

/// The first words of the user, as a line.
fn title(chat: &ChatRun) -> String {
    let said = chat.first.messages.iter().find(|message| message.role == Role::User);
    let words = said.map(|message| message.words()).unwrap_or_default();
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= LONGEST_TITLE {
        return line;
    }
    let cut: String = line.chars().take(LONGEST_TITLE - 1).collect();
    format!("{}…", cut.trim_end())
}

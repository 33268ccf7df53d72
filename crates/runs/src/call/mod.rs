//! The call of a tool as a run: a task. What is kept of it, and how it ends.
//!
//! `program` executes a task, `approval` asks a person first, `later` handles
//! results that arrive later, and `retry` checks who may retry.

mod approval;
mod begin;
mod later;
mod logged;
mod program;
mod retry;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use haft_core::call::{Freshness, Validation};
use haft_core::{
    AgentId, Binding, CallError, CallId, CallOptions, Caller, ConversationId, ErrorKind, Locale, Message,
    RunId, Source, SpaceId, Template, ToolExecutionResult, TraceParent, TraceState, UserId,
};
use haft_engine::CallRequest;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::{Halt, RunContext};
use crate::run::{Ended, Run, RunStatus};

pub use begin::Begin;
pub use later::{CALLBACK, attempt};
pub use logged::{CallHistory, LogTail, LoggedResult, find_logged};
pub use program::CallProgram;

pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [approval::TEMPLATES, logged::TEMPLATES, program::TEMPLATES, retry::TEMPLATES]
        .into_iter()
        .flatten()
        .copied()
}

/// What a step is called that waits for a person.
pub const APPROVAL: &str = "approval";

/// Gives out the addresses at which upstreams call back.
pub trait Callbacks: Send + Sync {
    /// The address for an attempt of a run whose answer is due then. The same attempt has the same address.
    fn url(&self, space: SpaceId, run: RunId, attempt: u64, due: Timestamp) -> Result<String, CallError>;
}

/// A call that is a run: all that it takes to make it, in whatever process.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRun {
    /// The tool's id.
    pub tool: String,
    pub name: String,
    /// The version that was looked at.
    pub version: u64,
    /// As they were let in.
    pub arguments: Value,
    /// The same as they may be shown, where that is not the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Value>,
    pub call_id: CallId,
    pub user: Option<UserId>,
    pub source: Source,
    pub locale: Locale,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_delay: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_of: Option<CallId>,
    /// No answer of an earlier call will do.
    #[serde(default)]
    pub fresh: bool,
    /// A person has to be asked, whatever the tool itself says.
    #[serde(default)]
    pub asks: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// So many seconds that person has.
    pub patience: u64,
    /// So many agents and flows it is within.
    #[serde(default, skip_serializing_if = "is_none")]
    pub depth: u32,
    /// The version that a binding means, whatever counts now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<u64>,
    /// The user who retried the run last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retried_by: Option<UserId>,
    /// How often a user retried the run.
    #[serde(default, skip_serializing_if = "is_none")]
    pub user_retries: u32,
    /// The trace of the request that started the call. Every attempt belongs to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<(TraceParent, Option<TraceState>)>,
}

fn is_none(count: &u32) -> bool {
    *count == 0
}

/// What a person said.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    pub is_approved: bool,
    /// In place of those that were shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// The same as they may be shown, where that is not the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<UserId>,
    /// By somebody who holds a link, in the place of whoever made it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_link: bool,
}

impl CallRun {
    /// The steps that are done anew when somebody tries it once more. What a person approved stays so.
    pub const ANEW: [&str; 5] = [program::CALL, later::LATER, later::POLL, CALLBACK, later::DUE];

    /// The call that a run is.
    pub fn of(run: &Run) -> Result<Self, Halt> {
        Self::deserialize(&*run.input).map_err(program::unreadable)
    }

    /// The call with the arguments of its newest edit in place of its own.
    pub(crate) fn approved_in(self, context: &RunContext) -> Self {
        self.with_edits(approval::decided(context))
    }

    pub fn caller(&self, run: &Run) -> Caller {
        Caller { space: run.space, user: self.user, source: self.source, locale: self.locale, request: None }
    }

    /// What is left to heed of the binding that let it in: its values are among the arguments, and who is to be
    /// asked is known.
    pub(crate) fn binding(&self) -> Option<Binding> {
        self.pinned.map(|version| Binding { version: Some(version), ..Binding::default() })
    }

    /// The call as the engine is asked for it. Its arguments were made to fit when it was taken on.
    pub fn request(&self) -> CallRequest {
        let options = CallOptions {
            timeout: self.timeout.map(Duration::from_millis),
            retries: self.retries,
            retry_delay: self.retry_delay.map(Duration::from_millis),
            validation: Validation::Strict,
            freshness: if self.fresh { Freshness::Fresh } else { Freshness::Cached },
            call_id: Some(self.call_id.clone()),
            agent: self.agent,
            conversation: self.conversation,
            replay_of: self.replay_of.clone(),
            depth: self.depth,
            binding: self.binding().map(Arc::new),
            ..CallOptions::default()
        };
        let options = options.trace(self.trace.clone());
        CallRequest { tool: self.tool.clone(), arguments: self.arguments.clone(), options }
    }

    /// How the run ends that got this result.
    pub fn ended(&self, result: &ToolExecutionResult) -> Ended {
        let kind = result.error().map(CallError::kind);
        let status = match kind {
            None => RunStatus::Succeeded,
            Some(ErrorKind::Cancelled) => RunStatus::Cancelled,
            Some(ErrorKind::Unknown) => RunStatus::Unknown,
            Some(_) => RunStatus::Failed,
        };
        // What a person or the caller's own mistake ended is nothing to look after.
        let is_settled = matches!(kind, Some(ErrorKind::Denied | ErrorKind::Validation));
        let is_dead_letter = status == RunStatus::Failed && !is_settled;
        Ended { status, output: program::shown(result, self.locale), is_dead_letter }
    }

    /// How it ends when somebody cancels it before it began.
    pub fn cancelled(&self) -> Ended {
        let error = CallError::new(ErrorKind::Cancelled, Message::new(&program::CANCELLED));
        self.ended(&program::failure(self.call_id.clone(), &self.name, error))
    }
}

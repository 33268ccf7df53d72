//! A tool call as a run: a task. The crate has the input of its run, its program, and its end.
//!
//! `program.rs` executes a task, `approval.rs` asks a person first, `deferred.rs` handles results that arrive later,
//! `logged_result.rs` searches the call log after a crash, and `retry.rs` checks who may retry. No SQL, no HTTP.

mod approval;
mod deferred;
mod logged_result;
mod new_task;
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
use haft_runs::{Halt, Run, RunContext, RunEnd, RunStatus};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use deferred::{CALLBACK, attempt};
pub use logged_result::{CallHistory, LogTail, LoggedResult, find_logged};
pub use new_task::NewTask;
pub use program::CallProgram;

/// Returns every message of this crate.
pub fn all_templates() -> impl Iterator<Item = &'static Template> {
    [approval::TEMPLATES, logged_result::TEMPLATES, program::TEMPLATES, retry::TEMPLATES]
        .into_iter()
        .flatten()
        .copied()
}

/// The kind of a wait for a person's decision.
pub const APPROVAL: &str = "approval";

/// Creates the addresses to which upstreams send deferred results.
pub trait Callbacks: Send + Sync {
    /// Returns the address for an attempt of a run whose result is due at `due`. The same attempt has the same address.
    fn url(&self, space: SpaceId, run: RunId, attempt: u64, due: Timestamp) -> Result<String, CallError>;
}

/// The input of a task: everything that any process needs to make the call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRun {
    /// The tool's id.
    pub tool: String,
    pub name: String,
    /// The tool's version when the call was accepted.
    pub version: u64,
    /// The validated arguments.
    pub arguments: Value,
    /// The arguments with secrets removed, if they have any.
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
    /// True if a cached result is not accepted.
    #[serde(default)]
    pub fresh: bool,
    /// True if the call needs an approval even if the tool's policy does not require an approval.
    #[serde(default)]
    pub asks: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The timeout of an approval, in seconds.
    pub patience: u64,
    /// The number of agents and flows around the call.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depth: u32,
    /// The tool's version that the call is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<u64>,
    /// The user who retried the run last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retried_by: Option<UserId>,
    /// Number of retries of the run by users.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub user_retries: u32,
    /// The trace of the request that started the call. Every attempt belongs to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<(TraceParent, Option<TraceState>)>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The decision of a person about a call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    pub is_approved: bool,
    /// Edited arguments that replace the original ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// The edited arguments with secrets removed, if they have any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<UserId>,
    /// True if the holder of a link decided on behalf of the user who created the link.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_link: bool,
}

impl CallRun {
    /// The steps that are executed again after a retry by a user. Approvals remain.
    pub const REPEATED_STEPS: [&str; 5] =
        [program::CALL, deferred::POLLED_STATE, deferred::POLL, CALLBACK, deferred::DUE];

    /// Reads the input of a task.
    pub fn of(run: &Run) -> Result<Self, Halt> {
        Self::deserialize(&*run.input).map_err(program::unreadable)
    }

    /// Returns the call with the arguments of its newest edit, if a person edited them.
    pub(crate) fn approved_in(self, context: &RunContext) -> Self {
        self.with_edits(approval::decided(context).iter().map(Arc::as_ref))
    }

    pub fn caller(&self, run: &Run) -> Caller {
        Caller { space: run.space, user: self.user, source: self.source, locale: self.locale, request: None }
    }

    /// The binding to a tool version. The values and the policy of the original binding were applied when the call
    /// was accepted.
    pub(crate) fn binding(&self) -> Option<Binding> {
        self.pinned.map(|version| Binding { version: Some(version), ..Binding::default() })
    }

    /// The request to the engine. The arguments were coerced when the call was accepted.
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

    /// The end of a task with this result.
    pub fn ended(&self, result: &ToolExecutionResult) -> RunEnd {
        let kind = result.error().map(CallError::kind);
        let status = match kind {
            None => RunStatus::Succeeded,
            Some(ErrorKind::Cancelled) => RunStatus::Cancelled,
            Some(ErrorKind::Unknown) => RunStatus::Unknown,
            Some(_) => RunStatus::Failed,
        };
        // A denial and invalid arguments need no attention of an operator.
        let is_settled = matches!(kind, Some(ErrorKind::Denied | ErrorKind::Validation));
        let is_dead_letter = status == RunStatus::Failed && !is_settled;
        RunEnd { status, output: program::rendered(result, self.locale), is_dead_letter }
    }

    /// The end of a task that is cancelled before it begins.
    pub fn cancelled(&self) -> RunEnd {
        let error = CallError::new(ErrorKind::Cancelled, Message::new(&program::CANCELLED));
        self.ended(&program::failure(self.call_id.clone(), &self.name, error))
    }
}

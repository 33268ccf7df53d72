//! Tasks as callers see them.

use haft_core::{CallError, Message, RunId, SpaceId, UserId, Violation};
use haft_runs::{Run, RunStatus};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::tasks::shown_status;

haft_core::templates! {
    BAD_STATUS = "tasks.badStatus",
        "{status} is not a task status. Known: {known}",
        "{status} 不是有效的任务状态：{known}";
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Shown<'a> {
    id: RunId,
    space_id: SpaceId,
    user_id: Option<UserId>,
    call_id: Option<&'a str>,
    tool_id: &'a str,
    tool_name: &'a str,
    agent_id: Option<&'a str>,
    conversation_id: Option<&'a str>,
    arguments: Option<&'a Value>,
    status: &'static str,
    /// What it waits for, where it waits.
    waiting_for: Option<&'a str>,
    /// When it begins, or goes on by itself.
    #[serde(serialize_with = "haft_core::timestamp::serialize_optional")]
    due_at: Option<Timestamp>,
    priority: i32,
    progress: Option<&'a Value>,
    /// Somebody wants it to end.
    cancel_asked: bool,
    dead_letter: bool,
    /// How often a worker took it.
    claims: u64,
    /// And how often one died with it.
    deaths: u32,
    /// The outcome of its call, once it has ended.
    result: Option<&'a Value>,
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    created_at: Timestamp,
    #[serde(serialize_with = "haft_core::timestamp::serialize_optional")]
    started_at: Option<Timestamp>,
    #[serde(serialize_with = "haft_core::timestamp::serialize_optional")]
    ended_at: Option<Timestamp>,
}

impl<'a> From<&'a Run> for Shown<'a> {
    fn from(run: &'a Run) -> Self {
        let waits = matches!(run.status, RunStatus::Scheduled | RunStatus::Waiting);
        Self {
            id: run.id,
            space_id: run.space,
            user_id: run.user,
            call_id: run.labels.call_id.as_deref(),
            tool_id: &run.labels.lane,
            tool_name: &run.labels.name,
            agent_id: run.labels.agent.as_deref(),
            conversation_id: run.labels.conversation.as_deref(),
            arguments: run.input.get("shown").or_else(|| run.input.get("arguments")),
            status: shown_status(run.status),
            waiting_for: run.waiting_for.as_deref(),
            due_at: run.due_at.filter(|_| waits),
            priority: run.priority,
            progress: run.progress.as_ref(),
            cancel_asked: run.is_cancel_requested,
            dead_letter: run.is_dead_letter,
            claims: run.epoch,
            deaths: run.crashes,
            result: run.output.as_ref(),
            created_at: run.created_at,
            started_at: run.started_at,
            ended_at: run.ended_at,
        }
    }
}

/// Reads `queued,running`.
pub(super) fn statuses(text: &str) -> Result<Vec<RunStatus>, CallError> {
    let mut found = Vec::new();
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let known = RunStatus::ALL.into_iter().filter(|status| shown_status(*status) == word);
        let before = found.len();
        found.extend(known);
        if found.len() == before {
            let known = "queued, running, waiting, succeeded, failed, cancelled, unknown";
            let message = Message::new(&BAD_STATUS).with("status", word).with("known", known);
            return Err(CallError::invalid(vec![Violation::new("status", message)]));
        }
    }
    Ok(found)
}

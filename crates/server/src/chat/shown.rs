//! A conversation as doors show it: its facts, its turns, and what is still to come.

use haft_agent::{CallState, StepCall, Transcript, Turn, TurnStep, message_json};
use haft_core::timestamp::rfc3339;
use haft_runs::{Run, RunStatus};
use serde_json::{Value, json};

/// The facts of a conversation, without what was said.
pub(crate) fn facts(run: &Run, agent: Option<&str>) -> Value {
    json!({
        "id": run.id,
        "title": run.labels.name,
        "agentId": run.labels.agent,
        "agentName": agent,
        "status": status(run),
        "createdAt": rfc3339(run.created_at),
        "updatedAt": rfc3339(run.changed_at),
    })
}

/// How it stands: at rest, at work, or waiting for a person or a task.
pub(crate) fn status(run: &Run) -> &'static str {
    standing(run.status, run.waiting_for.as_deref())
}

pub(crate) fn standing(status: RunStatus, waiting_for: Option<&str>) -> &'static str {
    match (status, waiting_for) {
        (RunStatus::Waiting, None | Some(haft_runs::INBOX)) => "idle",
        (RunStatus::Waiting, Some(_)) => "waiting",
        (RunStatus::Queued | RunStatus::Scheduled | RunStatus::Running, _) => "running",
        (RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled | RunStatus::Unknown, _) => "idle",
    }
}

pub(crate) fn turn(turn: &Turn) -> Value {
    let mut shown = json!({
        "turn": turn.turn,
        "input": turn.input.iter().flat_map(message_json).collect::<Vec<_>>(),
        "steps": turn.steps.iter().map(step).collect::<Vec<_>>(),
        "message": null,
        "finishReason": null,
        "usage": turn.usage(),
        "model": turn.steps.last().map(|step| step.response.model.as_str()),
        "startedAt": rfc3339(turn.setup.at),
    });
    if let Some(end) = &turn.end {
        shown["message"] = json!({"role": "assistant", "content": end.text});
        shown["finishReason"] = json!(end.finish.as_str());
        shown["endedAt"] = json!(rfc3339(end.at));
        if let Some(error) = &end.error {
            shown["error"] = error.clone();
        }
    }
    let warnings: Vec<&str> = turn.warnings().collect();
    if !warnings.is_empty() {
        shown["warnings"] = json!(warnings);
    }
    shown
}

fn step(step: &TurnStep) -> Value {
    let answer = &step.response;
    let mut shown = json!({
        "step": step.step,
        "text": answer.text,
        "calls": step.calls.iter().map(call).collect::<Vec<_>>(),
        "model": answer.model,
        "at": rfc3339(answer.at),
        "ms": answer.ms,
    });
    if let Some(thought) = answer.reasoning.as_ref().filter(|thought| !thought.text.is_empty()) {
        shown["reasoning"] = json!(thought.text);
    }
    if let Some(usage) = answer.usage {
        shown["usage"] = json!(usage);
    }
    shown
}

fn call(call: &StepCall) -> Value {
    let mut shown =
        json!({"callId": call.call_id, "name": call.name, "arguments": call.arguments, "status": "running"});
    match &call.state {
        CallState::Running => {}
        CallState::Awaited(task) | CallState::Pending(task) => {
            shown["status"] = json!("pending");
            shown["taskId"] = json!(task.task_id);
            shown["reason"] = json!(task.reason);
        }
        CallState::Done(result) => {
            shown["status"] = json!("done");
            shown["result"] = Value::clone(result);
        }
    }
    shown
}

/// Calls whose results are still to come.
pub(crate) fn pending(transcript: &Transcript) -> Vec<Value> {
    let shown = |(call, task): (&StepCall, &haft_agent::CallTask)| json!({"callId": call.call_id, "taskId": task.task_id, "name": call.name, "reason": task.reason});
    transcript.pending().map(shown).collect()
}

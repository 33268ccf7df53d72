//! Approvals of a call: the question to a person, the decision, and the tool versions for which a decision holds.
//!
//! A denial, or an approval that expired, holds for the call. An approval holds for the version it was given for.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use haft_core::{CallError, ErrorKind, Message};
use haft_engine::PreflightedCall;
use haft_runs::{Halt, RunContext, Step, StepState, Wait, WaitOutcome};
use serde::Deserialize;
use serde_json::{Value, json};

use super::program::{CallProgram, unreadable};
use super::{APPROVAL, CallRun, Decision};

haft_core::templates! {
    DENIED = "task.denied",
        "{tool} was not approved",
        "{tool} 未获批准";
    DENIED_NOTE = "task.deniedNote",
        "{tool} was not approved: {note}",
        "{tool} 未获批准：{note}";
    EXPIRED = "task.expired",
        "{tool} was not approved within {seconds} seconds",
        "{tool} 在 {seconds} 秒内无人批准";
}

impl CallProgram {
    /// Waits until a person approves this version of the tool. Returns the arguments if the person edited them.
    pub(super) async fn ask(
        &self,
        context: &RunContext,
        call: &CallRun,
        preflighted: &PreflightedCall,
        is_edit_refused: bool,
    ) -> Result<Option<Value>, Halt> {
        let spec = &preflighted.tool.spec;
        let caller = call.caller(context.run());
        let redacted = self
            .tools
            .redact_arguments(&caller, &call.tool, call.binding().as_ref(), &preflighted.arguments)
            .await?;
        let wait = Wait {
            key: key(preflighted.tool.version),
            kind: APPROVAL.to_owned(),
            details: Some(json!({
                "toolId": preflighted.tool.id,
                "toolName": spec.name,
                "version": preflighted.tool.version,
                "approvedVersion": approved_version(context),
                "isEditRefused": is_edit_refused,
                "effect": preflighted.effect,
                "arguments": redacted.for_people,
                "because": call.because.as_ref().or(preflighted.because.as_ref()),
            })),
            timeout: Some(Duration::from_secs(call.patience)),
        };
        let decision = match context.wait(wait).await? {
            WaitOutcome::Delivered(decision) => Decision::deserialize(decision).map_err(unreadable)?,
            WaitOutcome::Expired => return Err(not_approved()),
        };
        if decision.is_approved { Ok(decision.arguments) } else { Err(not_approved()) }
    }

    /// Asks a person about the original arguments if this version of the tool accepts only those. Returns `Ok` if it
    /// refuses them too, or if they were not edited.
    pub(super) async fn ask_without_edit(&self, context: &RunContext, edited: &CallRun) -> Result<(), Halt> {
        let arguments = CallRun::of(context.run())?.arguments;
        if arguments == edited.arguments {
            return Ok(());
        }
        let original = CallRun { arguments, ..edited.clone() };
        let caller = original.caller(context.run());
        let preflighted = match self.tools.preflight(&caller, original.request()).await {
            Ok(preflighted) => preflighted,
            Err(error) if error.kind() == ErrorKind::Unavailable => return Err(Halt::Release),
            Err(_) => return Ok(()),
        };
        // An approval that was given for the edited arguments does not hold for the original ones.
        if context.output(&key(preflighted.tool.version)).is_none() {
            self.ask(context, &original, &preflighted, true).await?;
        }
        Ok(())
    }
}

impl CallRun {
    /// The call with the arguments of its newest edit. An edit ends with a question that was asked without it, because
    /// the new version of the tool refused it.
    #[must_use]
    pub fn with_edits<'a>(self, steps: impl Iterator<Item = &'a Step>) -> Self {
        let mut questions: Vec<&Step> = steps.filter(|step| is_question(step)).collect();
        questions.sort_by_key(|step| Reverse(question_version(step)));
        for step in questions {
            let edit = decision(step).filter(|decision| decision.is_approved);
            if let Some(arguments) = edit.and_then(|decision| decision.arguments) {
                return Self { arguments, ..self };
            }
            if step.details.as_ref().is_some_and(|details| details["isEditRefused"] == true) {
                break;
            }
        }
        self
    }

    /// Returns whether a person denied the call. An approval that expired is not a denial.
    pub fn is_denied(steps: &[Step]) -> bool {
        steps.iter().any(|step| decision(step).is_some_and(|decision| !decision.is_approved))
    }
}

/// The key of the step that asks a person about a version of the tool.
fn key(version: u64) -> String {
    format!("{APPROVAL}:{version}")
}

fn is_question(step: &Step) -> bool {
    step.wait_kind.as_deref() == Some(APPROVAL)
}

/// The decision of a person. Returns `None` for other steps, and while the person has not decided.
fn decision(step: &Step) -> Option<Decision> {
    Decision::deserialize(step.output.as_deref().filter(|_| is_question(step))?).ok()
}

/// A guard: [`refusal`] ends a run that was not approved before it gets here.
fn not_approved() -> Halt {
    Halt::Failed(CallError::text(ErrorKind::Internal, "a call that was not approved was about to be made"))
}

/// The approvals of a run that are decided or expired.
pub(super) fn decided(context: &RunContext) -> Vec<Arc<Step>> {
    let steps = context.steps().into_iter();
    steps.filter(|step| is_question(step) && step.state == StepState::Done).collect()
}

/// Returns why a call may not be made: a person denied it, or its approval expired.
pub(super) fn refusal(context: &RunContext, call: &CallRun) -> Result<Option<CallError>, Halt> {
    let tool = &call.name;
    for step in decided(context) {
        let message = match (step.is_expired, &step.output) {
            (true, _) | (false, None) => {
                Message::new(&EXPIRED).with("tool", tool).with("seconds", call.patience)
            }
            (false, Some(decision)) => match Decision::deserialize(&**decision).map_err(unreadable)? {
                Decision { is_approved: true, .. } => continue,
                Decision { note: Some(note), .. } => {
                    Message::new(&DENIED_NOTE).with("tool", tool).with("note", note)
                }
                Decision { note: None, .. } => Message::new(&DENIED).with("tool", tool),
            },
        };
        return Ok(Some(CallError::new(ErrorKind::Denied, message)));
    }
    Ok(None)
}

/// The version of the tool that an approval asks about.
fn question_version(step: &Step) -> u64 {
    step.details.as_ref().and_then(|details| details["version"].as_u64()).unwrap_or_default()
}

/// The newest version of the tool that a person approved for this call.
pub(super) fn approved_version(context: &RunContext) -> Option<u64> {
    decided(context).iter().map(|step| question_version(step)).max()
}

//! Ephemeral turns, which are not stored and end with their process.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{Allowance, CallError, Caller, ConversationId, ErrorKind, RunId};
use haft_runs::{Halt, Run, RunContext};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::conversation_input::ConversationInput;
use crate::conversations::{Conversations, NAME};
use crate::model_request::cancelled;
use crate::transcript::{CallState, Transcript, Turn, key};
use crate::turn_log::TurnLog;
use crate::turn_runner::{OpenTurn, TurnMode};

/// The agents and flows that enclose a turn.
#[derive(Debug, Clone, Default)]
pub struct EnclosingTurn {
    /// Number of enclosing agents and flows.
    pub depth: u32,
    /// The conversation in the records of calls.
    pub conversation: Option<ConversationId>,
    /// The rest of the enclosing budgets.
    pub allowance: Option<Arc<Allowance>>,
}

/// An ephemeral turn to execute.
pub struct EphemeralTurn {
    pub input: ConversationInput,
    /// Receives the events of the turn.
    pub log: Arc<TurnLog>,
    pub enclosing: EnclosingTurn,
    pub cancel: CancellationToken,
}

/// Maximum time of waiting for a task.
const TASK_TIMEOUT: Duration = Duration::from_secs(3600);

impl Conversations {
    /// Executes a turn that is not stored.
    pub async fn run_ephemeral(&self, caller: &Caller, turn: EphemeralTurn) -> Result<Turn, CallError> {
        let EphemeralTurn { input, log, enclosing, cancel } = turn;
        // The turn of a called agent is part of the turn that called it.
        let _running = match enclosing.depth {
            0 => Some(self.0.running.try_begin(Uuid::now_v7().into(), caller.user)?),
            _ => None,
        };
        // Log entries name the enclosing conversation.
        let id = RunId::from(enclosing.conversation.map_or_else(Uuid::now_v7, Uuid::from));
        let run = Run::ephemeral(id, caller.space, caller.user, NAME, Value::Null);
        let cx = RunContext::ephemeral(run, cancel);
        let mut transcript = Transcript::default();
        transcript.begin_only_turn(&input);
        self.log_start(&cx, &input, &transcript);
        transcript.emit_to(&log);
        let mut turn = OpenTurn {
            conversations: self,
            cx: &cx,
            input: input.in_turn(&transcript),
            transcript: &mut transcript,
            log,
            mode: TurnMode::Ephemeral,
            enclosing,
        };
        loop {
            match turn.run().await {
                Ok(_) => break,
                Err(Halt::Suspend(_)) => turn.wait_for_task(caller).await?,
                Err(Halt::Failed(error)) => return Err(error),
                Err(Halt::Release) => {
                    let message = "A service that the response needs is unavailable. Retry in a moment.";
                    return Err(CallError::text(ErrorKind::Unavailable, message));
                }
                Err(halt @ Halt::Lost) => {
                    return Err(CallError::text(ErrorKind::Internal, format!("the turn stopped: {halt:?}")));
                }
            }
        }
        turn.log.emit_end();
        let ended = transcript.turns.pop();
        ended.ok_or_else(|| CallError::text(ErrorKind::Internal, "the turn is missing"))
    }
}

impl OpenTurn<'_> {
    /// Waits until one of the tasks has ended without which the turn cannot continue.
    async fn wait_for_task(&self, caller: &Caller) -> Result<(), CallError> {
        let Some(last) = self.transcript.open().and_then(|turn| turn.steps.last()) else { return Ok(()) };
        let awaited = last.calls.iter().enumerate().find_map(|(index, call)| match &call.state {
            CallState::Awaited(task) => Some((index, call, task.task_id.parse::<RunId>().ok()?)),
            CallState::Running | CallState::Pending(_) | CallState::Done(_) => None,
        });
        let Some((index, call, task)) = awaited else { return Ok(()) };
        let cancel = self.cx.cancellation().clone();
        let runs = self.conversations.runs()?;
        let ended = tokio::select! {
            ended = runs.wait_for(caller.space, task, TASK_TIMEOUT) => ended?,
            // The turn handles its cancellation.
            () = cancel.cancelled() => return Ok(()),
        };
        let output = ended.and_then(|run| run.output).unwrap_or_else(|| {
            crate::call_result::failed(&call.call_id, &call.name, cancelled(), caller.locale)
        });
        self.cx.fulfil(&key::call(1, last.step, index), output);
        Ok(())
    }
}

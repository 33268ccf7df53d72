//! A turn that nobody keeps: the same loop, forgotten when it is over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use haft_core::{Allowance, CallError, Caller, ConversationId, ErrorKind, RunId};
use haft_runs::{Halt, Run, RunContext};
use jiff::Timestamp;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::conversation_input::ConversationInput;
use crate::conversations::{Conversations, NAME};
use crate::event::ChatEvent;
use crate::inbox::InboxMessage;
use crate::model_request::cancelled;
use crate::transcript::{CallState, Transcript, Turn, TurnSetup, key};
use crate::turn_log::TurnLog;
use crate::turn_runner::{TurnMode, request_of};

/// What a turn is within: the turns of agents that asked this one.
#[derive(Debug, Clone, Default)]
pub struct EnclosingTurn {
    /// So many agents and flows.
    pub depth: u32,
    /// Where calls are on record.
    pub conversation: Option<ConversationId>,
    /// What they may still cost, all together.
    pub allowance: Option<Arc<Allowance>>,
}

/// A call that became a task is waited for so long.
const PATIENCE: Duration = Duration::from_secs(3600);

impl Conversations {
    /// Takes one turn. Whoever holds the talk hears of it while it happens.
    pub async fn once(
        &self,
        caller: &Caller,
        chat: &ConversationInput,
        log: &Arc<TurnLog>,
        enclosing: EnclosingTurn,
        cancel: CancellationToken,
    ) -> Result<Turn, CallError> {
        // What an agent asks is part of the turn that asks it.
        let _running = match enclosing.depth {
            0 => {
                self.check_limits(caller)?;
                Some(self.0.running.begin(caller.user))
            }
            _ => None,
        };
        // In the log it is part of the conversation that it is within.
        let id = RunId::from(enclosing.conversation.map_or_else(Uuid::now_v7, Uuid::from));
        let run = Run::ephemeral(id, caller.space, caller.user, NAME, Value::Null);
        let cx = RunContext::ephemeral(run, cancel);
        let setup = TurnSetup { from: 0, to: 0, replaces: None, kept: BTreeMap::new(), at: Timestamp::now() };
        let input = vec![InboxMessage::User(chat.first.clone())];
        let turn = Turn { turn: 1, setup, input, steps: Vec::new(), end: None };
        tracing::info!(
            conversation.id = %id, request.id = request_of(&turn).map(display), turn = 1,
            agent.id = chat.agent.map(|agent| agent.to_string()), "Chat: received"
        );
        log.emit(ChatEvent::start(&turn));
        let mut transcript = Transcript { turns: vec![turn], last: 1, ..Transcript::default() };
        let mode = TurnMode { is_kept: false, is_durable: false, crashes: 0, enclosing };
        loop {
            match self.turn(&cx, chat, &mut transcript, log, &mode).await {
                Ok(_) => {
                    log.emit_end();
                    let taken = transcript.turns.pop();
                    return taken.ok_or_else(|| CallError::text(ErrorKind::Internal, "the turn is gone"));
                }
                Err(Halt::Suspend(_)) => self.wait_for_tasks(&cx, caller, &transcript).await?,
                Err(Halt::Failed(error)) => return Err(error),
                Err(Halt::Release) => {
                    let message = "something that the answer needs is away for now";
                    return Err(CallError::text(ErrorKind::Unavailable, message));
                }
                Err(halt @ Halt::Lost) => {
                    return Err(CallError::text(ErrorKind::Internal, format!("the turn stopped: {halt:?}")));
                }
            }
        }
    }

    /// Waits until one of the tasks has ended that the turn cannot go on without.
    async fn wait_for_tasks(
        &self,
        cx: &RunContext,
        caller: &Caller,
        transcript: &Transcript,
    ) -> Result<(), CallError> {
        let Some(last) = transcript.open().and_then(|turn| turn.steps.last()) else { return Ok(()) };
        let awaited = last.calls.iter().enumerate().find_map(|(place, call)| match &call.state {
            CallState::Awaited(task) => Some((place, task.task_id.parse::<RunId>().ok()?)),
            CallState::Running | CallState::Pending(_) | CallState::Done(_) => None,
        });
        let Some((place, task)) = awaited else { return Ok(()) };
        let cancel = cx.cancellation().clone();
        let ended = tokio::select! {
            ended = self.runs()?.wait_for(caller.space, task, PATIENCE) => ended?,
            // The turn itself says what follows from that.
            () = cancel.cancelled() => return Ok(()),
        };
        let output = ended.and_then(|run| run.output).unwrap_or_else(|| {
            let call = last.calls.get(place);
            let (id, name) = call.map(|call| (call.call_id.clone(), call.name.clone())).unzip();
            let id = id.unwrap_or_else(|| Uuid::from(task).into());
            crate::call_result::failed(&id, name.as_deref().unwrap_or_default(), cancelled(), caller.locale)
        });
        cx.fulfil(&key::call(1, last.step, place), output);
        Ok(())
    }
}

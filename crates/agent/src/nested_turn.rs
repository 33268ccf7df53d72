//! A turn that is part of another run, such as a flow. Its steps are journaled in that run, so it continues after a
//! crash, and its writes are not repeated.

use std::sync::Arc;

use haft_core::{CallError, ErrorKind};
use haft_runs::{Halt, RunContext};

use crate::conversation_input::ConversationInput;
use crate::conversations::Conversations;
use crate::ephemeral_turn::EnclosingTurn;
use crate::transcript::{Transcript, Turn, key};
use crate::turn_log::TurnLog;
use crate::turn_runner::{OpenTurn, TurnMode};

/// A turn to execute in another run.
pub struct NestedTurn {
    pub input: ConversationInput,
    /// Receives the events of the turn. After a crash, it starts with the journaled events.
    pub log: Arc<TurnLog>,
    pub enclosing: EnclosingTurn,
}

impl Conversations {
    /// Executes a turn in a run. `cx` must be a scope of the run that only this turn uses, such as
    /// `cx.scope("agent:writer")`: the keys of its steps are the same in each turn.
    pub async fn run_nested(&self, cx: &RunContext, turn: NestedTurn) -> Result<Turn, Halt> {
        let NestedTurn { input, log, enclosing } = turn;
        let mut transcript = Transcript::of(&input, |key| cx.find(key));
        if transcript.turns.is_empty() {
            transcript.begin_only_turn(&input);
            self.log_start(cx, &input, &transcript);
            let setup = transcript.turns.last().map(|turn| serde_json::to_value(&turn.setup));
            cx.put(&key::setup(1), setup.transpose().ok().flatten().unwrap_or_default());
        }
        transcript.emit_to(&log);
        let mut turn = OpenTurn {
            conversations: self,
            cx,
            input: input.in_turn(&transcript),
            transcript: &mut transcript,
            log,
            mode: TurnMode::Nested,
            enclosing,
        };
        turn.run().await?;
        // Followers receive the end when it is persisted.
        cx.persist().await?;
        turn.log.emit_end();
        let ended = transcript.turns.pop();
        ended.ok_or_else(|| CallError::text(ErrorKind::Internal, "the turn is missing").into())
    }
}

//! One turn: the model responds, its calls are executed, and it responds again, until the turn ends.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::future::select_all;
use haft_core::{CallError, ErrorKind, Locale, Message};
use haft_runs::{Halt, RunContext, Wait};
use tokio::time::Instant;

use crate::conversation_input::ConversationInput;
use crate::conversations::Conversations;
use crate::ephemeral_turn::EnclosingTurn;
use crate::inbox::InboxMessage;
use crate::model_request::cancelled;
use crate::prompt::Images;
use crate::transcript::{FinishReason, Transcript, Turn, TurnStep};
use crate::turn_context::TurnContext;
use crate::turn_end::{TurnOutcome, response_warning};
use crate::turn_log::TurnLog;

haft_core::templates! {
    DIED = "chat.died",
        "All {deaths} server processes that worked on this turn crashed.",
        "处理本轮的 {deaths} 个服务进程均中途终止";
}

/// The interruption of a turn before its final response.
pub(crate) enum Interruption {
    Halt(Halt),
    Failed(CallError),
    /// The time limit passed in the middle of a response.
    OutOfTime,
}

impl From<Halt> for Interruption {
    fn from(halt: Halt) -> Self {
        Self::Halt(halt)
    }
}

impl From<CallError> for Interruption {
    fn from(error: CallError) -> Self {
        Self::Failed(error)
    }
}

/// The run to which a turn belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnMode {
    /// A conversation, which also receives results that arrive after a turn.
    Conversation,
    /// A run that is stored until the client has sent the results of its calls.
    UntilToolResults,
    /// Another run that contains the turn, such as a flow.
    Nested,
    /// None: the turn is not stored.
    Ephemeral,
}

impl TurnMode {
    /// Returns true if results may arrive after the turn.
    pub(crate) fn receives_results(self) -> bool {
        match self {
            Self::Conversation => true,
            Self::UntilToolResults | Self::Nested | Self::Ephemeral => false,
        }
    }

    /// Returns true if the turn continues after a crash.
    pub(crate) fn is_durable(self) -> bool {
        match self {
            Self::Conversation | Self::UntilToolResults | Self::Nested => true,
            Self::Ephemeral => false,
        }
    }
}

/// The open turn of a transcript.
pub(crate) struct OpenTurn<'a> {
    pub(crate) conversations: &'a Conversations,
    pub(crate) cx: &'a RunContext,
    /// The input with the overrides of this turn.
    pub(crate) input: Cow<'a, ConversationInput>,
    pub(crate) transcript: &'a mut Transcript,
    pub(crate) log: Arc<TurnLog>,
    pub(crate) mode: TurnMode,
    pub(crate) enclosing: EnclosingTurn,
}

impl OpenTurn<'_> {
    /// Executes the turn to its end.
    pub(crate) async fn run(&mut self) -> Result<FinishReason, Halt> {
        if self.transcript.open().is_none() {
            return Ok(FinishReason::Stop);
        }
        let result = self.run_steps().await;
        self.end_with(result).await
    }

    /// Ends the turn without a response, because too many processes crashed while they executed it.
    pub(crate) async fn give_up(&mut self, crashes: u32) -> Result<FinishReason, Halt> {
        let message = Message::new(&DIED).with("deaths", crashes);
        self.end_with(Err(CallError::new(ErrorKind::Internal, message).into())).await
    }

    async fn end_with(&mut self, result: Result<TurnOutcome, Interruption>) -> Result<FinishReason, Halt> {
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(Interruption::Halt(Halt::Failed(error))) => TurnOutcome::failed(error),
            Err(Interruption::Halt(halt)) => return Err(halt),
            Err(Interruption::Failed(error)) if error.kind() == ErrorKind::Cancelled => {
                TurnOutcome::from(FinishReason::Cancelled)
            }
            Err(Interruption::OutOfTime) => TurnOutcome::from(FinishReason::MaxSteps),
            Err(Interruption::Failed(error)) => TurnOutcome::failed(error),
        };
        self.settle_unknown_calls().await;
        Ok(self.end(outcome))
    }

    async fn run_steps(&mut self) -> Result<TurnOutcome, Interruption> {
        let context = self.prepare().await?;
        let images = context.load_images(self.conversations, self.transcript).await;
        let runner =
            TurnRunner { turn: self, context, images, warnings: Vec::new(), is_last_response: false };
        runner.run().await
    }
}

/// The next action of a turn.
#[derive(Debug)]
enum Next {
    /// Request a response of the model.
    Ask,
    /// Execute the calls of the last response.
    RunCalls,
    /// Wait for the tasks without which the turn cannot continue.
    Wait(Vec<Wait>),
    End(FinishReason),
}

/// Executes the steps of an open turn.
pub(crate) struct TurnRunner<'r, 'a> {
    pub(crate) turn: &'r mut OpenTurn<'a>,
    pub(crate) context: TurnContext,
    pub(crate) images: Images,
    pub(crate) warnings: Vec<String>,
    /// True if a limit of the turn is reached, so that the last response may not call tools.
    pub(crate) is_last_response: bool,
}

impl TurnRunner<'_, '_> {
    async fn run(mut self) -> Result<TurnOutcome, Interruption> {
        let mut next = match self.last_step() {
            Some(_) => self.after_response(),
            None => Next::Ask,
        };
        loop {
            next = match next {
                Next::Ask => match self.ask().await {
                    Err(Interruption::OutOfTime) => {
                        // The emitted part of the response is the result.
                        if !self.is_last_response {
                            self.warnings.push(self.context.render(&self.context.time_limit_reached()));
                        }
                        Next::End(FinishReason::MaxSteps)
                    }
                    asked => {
                        asked?;
                        self.after_response()
                    }
                },
                Next::RunCalls => {
                    self.stop_if_cancelled().await?;
                    self.run_calls().await?;
                    self.stop_if_cancelled().await?;
                    self.after_calls()
                }
                Next::Wait(waits) => {
                    self.wait(waits).await?;
                    Next::RunCalls
                }
                Next::End(finish) => {
                    return Ok(TurnOutcome { finish, warnings: self.warnings, error: None });
                }
            };
        }
    }

    pub(crate) fn last_step(&self) -> Option<&TurnStep> {
        self.turn.transcript.open()?.steps.last()
    }

    fn after_response(&mut self) -> Next {
        let Some(last) = self.last_step() else { return Next::Ask };
        if !last.calls.is_empty() {
            return Next::RunCalls;
        }
        let is_limited = self.is_last_response || last.step > self.context.budget.steps;
        let warning = response_warning(&last.response).map(Message::new);
        self.warnings.extend(warning.map(|warning| self.context.render(&warning)));
        Next::End(if is_limited { FinishReason::MaxSteps } else { FinishReason::Stop })
    }

    fn after_calls(&self) -> Next {
        let waits = self.awaited_tasks();
        if !waits.is_empty() {
            return Next::Wait(waits);
        }
        self.context.ends_after_calls(self.turn.transcript).map_or(Next::Ask, Next::End)
    }

    async fn stop_if_cancelled(&mut self) -> Result<(), Interruption> {
        if !self.context.cancel.is_cancelled() {
            return Ok(());
        }
        self.abandon_calls().await;
        Err(cancelled().into())
    }

    /// Waits until one of the tasks has ended. A run that consists of the turn suspends. A nested turn awaits the tasks,
    /// so that the other parts of its run continue.
    async fn wait(&mut self, waits: Vec<Wait>) -> Result<(), Halt> {
        match self.turn.mode {
            TurnMode::Conversation | TurnMode::UntilToolResults | TurnMode::Ephemeral => {
                Err(Halt::Suspend(waits))
            }
            TurnMode::Nested => {
                let (cx, began) = (self.turn.cx, Instant::now());
                let ended = select_all(waits.into_iter().map(|wait| Box::pin(cx.wait(wait))));
                tokio::select! {
                    (ended, ..) = ended => drop(ended?),
                    () = self.context.cancel.cancelled() => {}
                }
                self.context.waited += began.elapsed();
                Ok(())
            }
        }
    }
}

/// The id of the last request that sent an inbox message of the turn.
pub(crate) fn request_of(turn: &Turn) -> Option<&str> {
    turn.input.iter().rev().find_map(|message| message.turn_request()?.request.as_deref())
}

pub(crate) fn locale_of(turn: &Turn) -> Locale {
    let request = turn.input.iter().filter_map(InboxMessage::turn_request).next_back();
    request.map_or_else(Locale::default, |request| request.locale)
}

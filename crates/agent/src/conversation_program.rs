//! A conversation as a run: it takes what was sent to it, takes a turn, and waits for more, for as long as it is there.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use haft_core::agent::Resume;
use haft_core::{BoxFuture, CallError, ErrorKind, Locale, RunId};
use haft_runs::{GiveUpReason, Halt, Program, Run, RunContext, RunEnd, RunStatus, Wait};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::call_result::from_json;
use crate::conversation_input::ConversationInput;
use crate::conversations::{Conversations, NAME};
use crate::ephemeral_turn::EnclosingTurn;
use crate::event::ChatEvent;
use crate::inbox::{InboxMessage, TaskEnded, UserMessage};
use crate::transcript::{FinishReason, Transcript, Turn, TurnSetup, key};
use crate::turn_context::TurnLabels;
use crate::turn_runner::{TurnMode, request_of};

/// What whoever asked has to carry out themselves is waited for so long.
const PARKED: Duration = Duration::from_secs(3600);

/// Conversations, as runs.
struct ChatProgram(Conversations);

impl ChatProgram {
    async fn log(&self, cx: &RunContext) -> Result<RunEnd, Halt> {
        let _running = self.0.0.running.begin(cx.run().user);
        let chat = &ConversationInput::of(cx.run())?;
        let transcript = &mut Transcript::of(chat, |key| cx.find(key));
        let is_kept = cx.run().labels.conversation.is_some();
        // Crashes belong to the turn that was executed: the counter is reset whenever the run suspends.
        let mut crashes = cx.run().crashes;
        let mut is_again = false;
        loop {
            let is_between = transcript.open().is_none() && transcript.last > 0;
            if is_between && cx.cancellation().is_cancelled() && !self.opens(cx, chat, transcript).await? {
                // The cancelled turn was over already. Later messages are not cancelled.
                cx.handle_cancel();
                return Err(Halt::Suspend(vec![self.next_message(transcript, cx, is_kept)]));
            }
            if transcript.open().is_none() {
                self.begin(cx, chat, is_kept, transcript, is_again).await?;
            }
            is_again = true;
            let turn = transcript.last;
            let before = || transcript.open().into_iter().flat_map(ChatEvent::of).collect();
            let log = self.0.turn_logs().begin(cx.run(), turn, before);
            let (crashes, enclosing) = (std::mem::take(&mut crashes), EnclosingTurn::default());
            let mode = TurnMode { is_kept, is_durable: true, crashes, enclosing };
            let turned = AssertUnwindSafe(self.0.turn(cx, chat, transcript, &log, &mode));
            let finish = match turned.catch_unwind().await {
                Ok(finish) => finish?,
                Err(_) => {
                    let error = CallError::text(ErrorKind::Internal, "the turn stopped unexpectedly");
                    *transcript = Transcript::of(chat, |key| cx.find(key));
                    self.0.fail(cx, transcript, &log, error)
                }
            };
            if !is_kept && finish != FinishReason::ToolCalls {
                return Ok(RunEnd {
                    status: RunStatus::Succeeded,
                    output: json!({"finish": finish}),
                    is_dead_letter: false,
                });
            }
            if cx.cancellation().is_cancelled() {
                cx.handle_cancel();
                // The next claim, which is not cancelled, receives the pending messages.
                return Err(Halt::Suspend(vec![self.next_message(transcript, cx, is_kept)]));
            }
        }
    }

    /// Waits until there is something to take a turn for, and begins it.
    async fn begin(
        &self,
        cx: &RunContext,
        chat: &ConversationInput,
        is_kept: bool,
        transcript: &mut Transcript,
        is_again: bool,
    ) -> Result<(), Halt> {
        let is_first = transcript.last == 0;
        while !is_first && !self.opens(cx, chat, transcript).await? {
            let at_most = (!is_kept).then_some(PARKED);
            let arrived = cx.receive(&transcript.received_total.to_string(), at_most).await?;
            if arrived.is_empty() {
                let message = "no client returned in time";
                return Err(Halt::Failed(CallError::text(ErrorKind::Timeout, message)));
            }
            if is_again {
                // The message arrived before the run suspended, so the end of the last turn is not emitted yet.
                cx.persist().await?;
                self.0.turn_logs().released(cx.run().id);
            }
            transcript.received_total += 1;
            let arrived =
                arrived.iter().filter_map(|inbox_message| InboxMessage::deserialize(inbox_message).ok());
            let arrived: Vec<InboxMessage> =
                arrived.inspect(|inbox_message| self.hear(cx.run(), inbox_message, transcript)).collect();
            transcript.pending_messages.extend(arrived);
        }
        let mut input: Vec<InboxMessage> = std::mem::take(&mut transcript.pending_messages);
        if is_first {
            input.insert(0, InboxMessage::User(chat.first.clone()));
        }
        let setup = TurnSetup {
            from: transcript.received,
            to: transcript.received_total,
            replaces: input.iter().filter_map(replaces).min(),
            kept: self.0.store_large(cx.run(), &input).await,
            at: Timestamp::now(),
        };
        transcript.last += 1;
        transcript.received = setup.to;
        if let Some(replaced) = setup.replaces {
            transcript.turns.retain(|earlier| earlier.turn < replaced);
        }
        cx.put(&key::setup(transcript.last), serde_json::to_value(&setup).unwrap_or_default());
        let turn = Turn { turn: transcript.last, setup, input, steps: Vec::new(), end: None };
        tracing::info!(
            conversation.id = %cx.run().id, request.id = request_of(&turn).map(display), turn = turn.turn,
            agent.id = chat.agent.map(|agent| agent.to_string()), "Chat: received"
        );
        transcript.turns.push(turn);
        transcript.add_client_results();
        Ok(())
    }

    /// Tells of a task that has ended, whenever the model hears of it.
    fn hear(&self, run: &Run, inbox_message: &InboxMessage, transcript: &Transcript) {
        let result = match inbox_message {
            InboxMessage::TaskEnded(ended) => from_json(&ended.output),
            InboxMessage::User(_) | InboxMessage::Continue(_) | InboxMessage::ToolResults(_) => None,
        };
        let Some(result) = result else { return };
        let is_its = |turn: &&Turn| turn.calls().any(|call| call.call_id == result.call_id);
        let turn = transcript.turns.iter().find(is_its);
        let request = turn.and_then(request_of).and_then(|request| request.parse().ok());
        let turn = turn.map_or(transcript.last, |turn| turn.turn);
        self.0.done(TurnLabels { space: run.space, conversation: run.id, request, turn }, &result);
    }

    /// Whether there is something to take a turn for: somebody spoke, or a task ended and the agent does not wait.
    async fn opens(
        &self,
        cx: &RunContext,
        chat: &ConversationInput,
        transcript: &Transcript,
    ) -> Result<bool, Halt> {
        let heard = &transcript.pending_messages;
        if heard.iter().any(|inbox_message| inbox_message.id().is_some()) {
            return Ok(true);
        }
        let last = transcript.turns.last().and_then(|turn| turn.end.as_ref());
        let is_theirs = last.is_some_and(|end| end.finish == FinishReason::ToolCalls);
        // Nothing to take a turn for, or somebody else has to come back first.
        if heard.is_empty() || is_theirs {
            return Ok(false);
        }
        let resume = match chat.agent {
            Some(agent) => {
                let agent = self.0.agent(cx.run().space, &agent.to_string()).await;
                agent.map(|agent| agent.spec.config.resume)
            }
            None => Ok(Resume::Auto),
        };
        match resume.map_err(Halt::from) {
            Ok(resume) => Ok(resume == Resume::Auto),
            // An agent that is gone or off takes no turn of its own.
            Err(Halt::Failed(_)) => Ok(false),
            Err(halt) => Err(halt),
        }
    }

    /// The wait for further messages.
    fn next_message(&self, transcript: &Transcript, cx: &RunContext, is_kept: bool) -> Wait {
        cx.message_wait(&transcript.received_total.to_string(), (!is_kept).then_some(PARKED))
    }
}

fn replaces(inbox_message: &InboxMessage) -> Option<u32> {
    match inbox_message {
        InboxMessage::User(UserMessage { replaces, .. }) => *replaces,
        InboxMessage::Continue(_) | InboxMessage::ToolResults(_) | InboxMessage::TaskEnded(_) => None,
    }
}

impl Transcript {
    /// What came of a task, where that is known.
    pub fn ended(&self, call: &str) -> Option<&Value> {
        let inbox_messages = self.turns.iter().flat_map(|turn| &turn.input).chain(&self.pending_messages);
        let mut ended = inbox_messages.filter_map(|inbox_message| match inbox_message {
            InboxMessage::TaskEnded(ended) => Some(ended),
            InboxMessage::User(_) | InboxMessage::Continue(_) | InboxMessage::ToolResults(_) => None,
        });
        ended.find(|TaskEnded { name, .. }| name == call).map(|ended| &ended.output)
    }
}

impl Program for ChatProgram {
    fn name(&self) -> &'static str {
        NAME
    }

    fn run<'a>(&'a self, context: &'a RunContext) -> BoxFuture<'a, Result<RunEnd, Halt>> {
        Box::pin(self.log(context))
    }

    fn is_lasting(&self) -> bool {
        true
    }

    fn released(&self, run: RunId) {
        self.0.turn_logs().released(run);
    }

    fn give_up<'a>(&'a self, context: &'a RunContext, reason: GiveUpReason) -> BoxFuture<'a, RunEnd> {
        Box::pin(async move {
            let error = match reason {
                GiveUpReason::Failed(error) => error.to_json(Locale::En),
                GiveUpReason::Crashes | GiveUpReason::Cancelled | GiveUpReason::Denied => {
                    json!({"kind": ErrorKind::Internal})
                }
            };
            tracing::warn!(conversation.id = %context.run().id, %error, "A conversation that could not continue was ended");
            self.0.turn_logs().fail(context.run().id, &error);
            RunEnd { status: RunStatus::Failed, output: json!({"error": error}), is_dead_letter: false }
        })
    }
}

/// What is to be registered with the worker.
pub fn program(chat: Conversations) -> Arc<dyn Program> {
    Arc::new(ChatProgram(chat))
}

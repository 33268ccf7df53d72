//! A conversation as a run: it receives messages, executes a turn, and waits for more messages, until it is deleted.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use haft_core::agent::Resume;
use haft_core::{BoxFuture, CallError, ErrorKind, Locale, RunId};
use haft_runs::{GiveUpReason, Halt, Program, RunContext, RunEnd, RunStatus, Wait};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::call_result::from_json;
use crate::conversation_input::ConversationInput;
use crate::conversations::{Conversations, NAME};
use crate::ephemeral_turn::EnclosingTurn;
use crate::event::ChatEvent;
use crate::inbox::{InboxMessage, UserMessage};
use crate::transcript::{FinishReason, Transcript, Turn, TurnSetup, key};
use crate::turn_context::TurnLabels;
use crate::turn_end::TurnOutcome;
use crate::turn_log::TurnLog;
use crate::turn_runner::{OpenTurn, TurnMode, request_of};

/// The time within which a client sends the results of its calls, if the conversation is not stored for its user.
const TOOL_RESULTS_TIMEOUT: Duration = Duration::from_secs(3600);

/// The program of conversations.
struct ConversationProgram(Conversations);

/// Returns the program of conversations for the worker.
pub fn program(conversations: Conversations) -> Arc<dyn Program> {
    Arc::new(ConversationProgram(conversations))
}

/// One execution of a conversation.
struct ConversationRunner<'a> {
    conversations: &'a Conversations,
    cx: &'a RunContext,
    input: ConversationInput,
    transcript: Transcript,
    mode: TurnMode,
    /// Number of crashes since the turn persisted its last step. It applies to the first turn of an execution.
    crashes: u32,
    /// True after the first turn of this execution.
    has_ended_turn: bool,
}

impl<'a> ConversationRunner<'a> {
    fn new(conversations: &'a Conversations, cx: &'a RunContext) -> Result<Self, Halt> {
        let input = ConversationInput::of(cx.run())?;
        let transcript = Transcript::of(&input, |key| cx.find(key));
        let mode = match cx.run().labels.conversation {
            Some(_) => TurnMode::Conversation,
            None => TurnMode::UntilToolResults,
        };
        let crashes = cx.run().crashes;
        Ok(Self { conversations, cx, input, transcript, mode, crashes, has_ended_turn: false })
    }

    async fn run(mut self) -> Result<RunEnd, Halt> {
        loop {
            let is_between_turns = self.transcript.open().is_none() && self.transcript.last > 0;
            if is_between_turns && self.cx.cancellation().is_cancelled() && !self.can_begin_turn().await? {
                // The cancelled turn had ended already. Later messages are not cancelled.
                return Err(self.suspend_cancelled());
            }
            if self.transcript.open().is_none() {
                self.receive_input().await?;
                self.begin_turn().await;
            }
            let finish = self.run_turn().await?;
            self.has_ended_turn = true;
            if self.mode != TurnMode::Conversation && finish != FinishReason::ToolCalls {
                let output = json!({"finish": finish});
                return Ok(RunEnd { status: RunStatus::Succeeded, output, is_dead_letter: false });
            }
            if self.cx.cancellation().is_cancelled() {
                // The next claim, which is not cancelled, receives the pending messages.
                return Err(self.suspend_cancelled());
            }
        }
    }

    fn suspend_cancelled(&self) -> Halt {
        self.cx.handle_cancel();
        Halt::Suspend(vec![self.next_message()])
    }

    /// Executes the open turn to its end.
    async fn run_turn(&mut self) -> Result<FinishReason, Halt> {
        let transcript = &self.transcript;
        let earlier = || transcript.open().into_iter().flat_map(ChatEvent::of).collect();
        let log = self.conversations.turn_logs().begin(self.cx.run(), transcript.last, earlier);
        let crashes = std::mem::take(&mut self.crashes);
        let max_crashes = self.cx.run().max_crashes;
        match crashes >= max_crashes && max_crashes > 0 {
            true => self.open_turn(&log).give_up(crashes).await,
            false => {
                let mut turn = self.open_turn(&log);
                match AssertUnwindSafe(turn.run()).catch_unwind().await {
                    Ok(result) => result,
                    Err(_) => Ok(self.fail_turn(&log)),
                }
            }
        }
    }

    fn open_turn(&mut self, log: &Arc<TurnLog>) -> OpenTurn<'_> {
        OpenTurn {
            conversations: self.conversations,
            cx: self.cx,
            input: self.input.in_turn(&self.transcript),
            transcript: &mut self.transcript,
            log: log.clone(),
            mode: self.mode,
            enclosing: EnclosingTurn::default(),
        }
    }

    /// Ends a turn that panicked.
    fn fail_turn(&mut self, log: &Arc<TurnLog>) -> FinishReason {
        let error = CallError::text(ErrorKind::Internal, "the turn stopped unexpectedly");
        let cx = self.cx;
        self.transcript = Transcript::of(&self.input, |key| cx.find(key));
        self.open_turn(log).end(TurnOutcome::failed(error))
    }

    /// Waits until there is input for a turn.
    async fn receive_input(&mut self) -> Result<(), Halt> {
        while self.transcript.last > 0 && !self.can_begin_turn().await? {
            let name = self.transcript.received_total.to_string();
            let messages = self.cx.receive(&name, self.message_timeout()).await?;
            if messages.is_empty() {
                let message = "The client sent no results of its calls in time.";
                return Err(Halt::Failed(CallError::text(ErrorKind::Timeout, message)));
            }
            if self.has_ended_turn {
                // The message arrived before the run suspended, so the end of the last turn is not emitted yet.
                self.cx.persist().await?;
                self.conversations.turn_logs().released(self.cx.run().id);
            }
            self.transcript.received_total += 1;
            let messages = messages.iter().filter_map(|message| InboxMessage::deserialize(message).ok());
            let messages: Vec<InboxMessage> = messages.collect();
            messages.iter().for_each(|message| self.notify_task_end(message));
            self.transcript.pending_messages.extend(messages);
        }
        Ok(())
    }

    /// Begins a turn with the received messages.
    async fn begin_turn(&mut self) {
        let (cx, transcript) = (self.cx, &mut self.transcript);
        let mut input: Vec<InboxMessage> = std::mem::take(&mut transcript.pending_messages);
        if transcript.last == 0 {
            input.insert(0, InboxMessage::User(self.input.first.clone()));
        }
        let setup = TurnSetup {
            from: transcript.received,
            to: transcript.received_total,
            replaces: input.iter().filter_map(replaced_turn).min(),
            kept: self.conversations.store_large(cx.run(), &input).await,
            at: Timestamp::now(),
        };
        cx.put(&key::setup(transcript.last + 1), serde_json::to_value(&setup).unwrap_or_default());
        transcript.begin_turn(setup, input);
        self.conversations.log_start(cx, &self.input, &self.transcript);
    }

    /// Notifies listeners of a task that has ended, even if no turn begins with it.
    fn notify_task_end(&self, message: &InboxMessage) {
        let result = match message {
            InboxMessage::TaskEnded(ended) => from_json(&ended.output),
            InboxMessage::User(_) | InboxMessage::Continue(_) | InboxMessage::ToolResults(_) => None,
        };
        let Some(result) = result else { return };
        let (run, transcript) = (self.cx.run(), &self.transcript);
        let is_origin = |turn: &&Turn| turn.calls().any(|call| call.call_id == result.call_id);
        let turn = transcript.turns.iter().find(is_origin);
        let request = turn.and_then(request_of).and_then(|request| request.parse().ok());
        let turn = turn.map_or(transcript.last, |turn| turn.turn);
        let labels = TurnLabels { space: run.space, conversation: run.id, request, turn };
        self.conversations.notify(&labels, &result);
    }

    /// Returns true if there is input for a turn: a message of the user, or the end of a task if the agent resumes then.
    async fn can_begin_turn(&self) -> Result<bool, Halt> {
        let pending = &self.transcript.pending_messages;
        if pending.iter().any(|message| message.id().is_some()) {
            return Ok(true);
        }
        let last = self.transcript.turns.last().and_then(|turn| turn.end.as_ref());
        let awaits_client = last.is_some_and(|end| end.finish == FinishReason::ToolCalls);
        if pending.is_empty() || awaits_client {
            return Ok(false);
        }
        let resume = match self.input.agent {
            Some(agent) => {
                let agent = self.conversations.agent(self.cx.run().space, &agent.to_string()).await;
                agent.map(|agent| agent.spec.config.resume)
            }
            None => Ok(Resume::Auto),
        };
        match resume.map_err(Halt::from) {
            Ok(resume) => Ok(resume == Resume::Auto),
            // A deleted or inactive agent does not resume.
            Err(Halt::Failed(_)) => Ok(false),
            Err(halt) => Err(halt),
        }
    }

    /// The timeout of a wait for messages. `None` for a stored conversation.
    fn message_timeout(&self) -> Option<Duration> {
        (self.mode != TurnMode::Conversation).then_some(TOOL_RESULTS_TIMEOUT)
    }

    /// The wait for further messages.
    fn next_message(&self) -> Wait {
        self.cx.message_wait(&self.transcript.received_total.to_string(), self.message_timeout())
    }
}

fn replaced_turn(message: &InboxMessage) -> Option<u32> {
    match message {
        InboxMessage::User(UserMessage { replaces, .. }) => *replaces,
        InboxMessage::Continue(_) | InboxMessage::ToolResults(_) | InboxMessage::TaskEnded(_) => None,
    }
}

impl Program for ConversationProgram {
    fn name(&self) -> &'static str {
        NAME
    }

    fn run<'a>(&'a self, context: &'a RunContext) -> BoxFuture<'a, Result<RunEnd, Halt>> {
        Box::pin(async move {
            let _running = self.0.0.running.begin(context.run().id, context.run().user);
            ConversationRunner::new(&self.0, context)?.run().await
        })
    }

    fn is_lasting(&self) -> bool {
        true
    }

    fn released(&self, run: RunId) {
        self.0.turn_logs().released(run);
    }

    fn give_up<'a>(&'a self, context: &'a RunContext, reason: GiveUpReason) -> BoxFuture<'a, RunEnd> {
        Box::pin(async move {
            let error: Value = match reason {
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

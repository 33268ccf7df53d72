//! Where a turn stands: all that it is carried on with, what it may still cost, and what it says of itself.

use std::sync::Arc;
use std::time::Duration;

use haft_core::agent::{Agent, AgentConfig};
use haft_core::{
    Allowance, CallOptions, Caller, ConversationId, ErrorKind, ExhaustedAllowance, Message, RequestId, RunId,
    SpaceId, ToolExecutionResult,
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::conversations::Conversations;
use crate::event::{ChatEvent, steps_of};
use crate::models::{SelectedModel, SpaceUser};
use crate::toolbox::{CallTarget, Toolbox};
use crate::transcript::{CallState, FinishReason, StepCall, StoredResponse, Transcript, Turn, arguments};
use crate::turn_log::TurnLog;

haft_core::templates! {
    NO_MORE_STEPS = "chat.noMoreSteps",
        "The turn reached its limit of {most} steps. The answer is based on what was known by then.",
        "已达到 {most} 步上限；回答基于当时已知的信息";
    NO_MORE_TIME = "chat.noMoreTime",
        "The turn reached its limit of {most} seconds. The answer is based on what was known by then.",
        "已达到 {most} 秒上限；回答基于当时已知的信息";
    NO_MORE_TOKENS = "chat.noMoreTokens",
        "The turn reached its limit of {most} tokens. The answer is based on what was known by then.",
        "已达到 {most} 个 token 上限；回答基于当时已知的信息";
    OUTER_SPENT = "chat.outerSpent",
        "The calling turn has used up its limits. The answer is based on what was known by then.",
        "发起询问的那一轮额度已用完；回答基于当时已知的信息";
}

/// The tool that ends a turn.
pub(crate) const STOP: &str = "stop_response";

/// All that a turn is carried on with.
pub(crate) struct TurnContext {
    pub(crate) conversation: RunId,
    pub(crate) turn: u32,
    pub(crate) caller: Caller,
    pub(crate) agent: Option<Arc<Agent>>,
    pub(crate) toolbox: Toolbox,
    pub(crate) chosen: SelectedModel,
    pub(crate) log: Arc<TurnLog>,
    pub(crate) cancel: CancellationToken,
    pub(crate) budget: TurnBudget,
    /// What is left of it, also for the agents that this one asks.
    pub(crate) allowance: Arc<Allowance>,
    /// So long the turn was worked on before it was taken up now.
    pub(crate) worked: Duration,
    /// The conversation that calls are on record with.
    pub(crate) recorded: Option<ConversationId>,
    /// Somebody may find the conversation again.
    pub(crate) is_kept: bool,
    /// It goes on after a crash.
    pub(crate) is_durable: bool,
    /// So many agents and flows it is within.
    pub(crate) depth: u32,
    pub(crate) began: Instant,
}

/// What a turn may cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnBudget {
    pub(crate) steps: u32,
    pub(crate) calls: usize,
    pub(crate) time: Duration,
    tokens: u64,
}

impl TurnBudget {
    pub(crate) fn of(agent: Option<&Agent>) -> Self {
        let none = AgentConfig::default();
        let config = agent.map_or(&none, |agent| &agent.spec.config);
        Self {
            steps: config.max_steps.max(1),
            calls: config.max_calls as usize,
            time: Duration::from_secs(config.max_seconds),
            tokens: config.max_total_tokens,
        }
    }

    /// What is left of it after all that a turn did so far.
    pub(crate) fn left(
        self,
        turn: Option<&Turn>,
        toolbox: &Toolbox,
        outer: Option<Arc<Allowance>>,
    ) -> Allowance {
        let (mut calls, mut tokens) = (self.calls as u64, self.tokens);
        tokens = tokens.saturating_sub(turn.map(Turn::tokens).unwrap_or_default());
        for call in turn.into_iter().flat_map(Turn::calls) {
            let inner = match &call.state {
                // It is about to be made, and takes its own then.
                CallState::Running => continue,
                // It was refused, and took nothing.
                CallState::Done(result) if is_refused(result) => continue,
                // What became a task spent of its own.
                CallState::Done(result) if call.task.is_none() && toolbox.is_agent(&call.name) => {
                    Some([&result["data"], &result["error"]["details"]])
                }
                CallState::Done(_) | CallState::Pending(_) | CallState::Awaited(_) => None,
            };
            let cost = |what: &str| {
                let told = inner.iter().flatten().find_map(|inner| inner[what].as_u64());
                told.unwrap_or_default()
            };
            calls = calls.saturating_sub(1 + cost("calls"));
            tokens = tokens.saturating_sub(cost("tokens"));
        }
        Allowance::new(calls, tokens, outer)
    }
}

/// Whether a call was not made because of what it would have cost.
fn is_refused(result: &Value) -> bool {
    result["attempts"] == 0 && result["error"]["kind"] == json!(ErrorKind::BudgetExceeded)
}

impl TurnContext {
    /// The user of the turn.
    pub(crate) fn owner(&self) -> SpaceUser {
        SpaceUser { space: self.caller.space, user: self.caller.user }
    }

    /// Returns the options that all calls of the turn share.
    pub(crate) fn options(&self, call: &StepCall, transcript: &Transcript) -> CallOptions {
        let options = CallOptions {
            call_id: Some(call.call_id.clone()),
            agent: self.agent.as_ref().map(|agent| agent.id),
            conversation: self.recorded,
            depth: self.depth + 1,
            allowance: Some(self.allowance.clone()),
            ..CallOptions::default()
        };
        options.trace(transcript.open().and_then(Turn::trace).cloned())
    }

    pub(crate) fn say(&self, message: &Message) -> String {
        message.render(self.caller.locale)
    }

    /// What of the budget is spent, where the next answer has to be the last.
    pub(crate) fn spent(&self, transcript: &Transcript) -> Option<Message> {
        let open = transcript.open()?;
        let TurnBudget { steps, tokens, .. } = self.budget;
        if steps_of(open) >= steps {
            return Some(Message::new(&NO_MORE_STEPS).with("most", steps));
        }
        if self.left().is_zero() {
            return Some(self.no_more_time());
        }
        match self.allowance.has_tokens() {
            Ok(()) => None,
            Err(ExhaustedAllowance::Own) => Some(Message::new(&NO_MORE_TOKENS).with("most", tokens)),
            Err(ExhaustedAllowance::Outer) => Some(Message::new(&OUTER_SPENT)),
        }
    }

    /// So long the turn may still be worked on. Waiting for a person, or for what comes later, does not count.
    pub(crate) fn left(&self) -> Duration {
        self.budget.time.saturating_sub(self.worked + self.began.elapsed())
    }

    pub(crate) fn no_more_time(&self) -> Message {
        Message::new(&NO_MORE_TIME).with("most", self.budget.time.as_secs())
    }

    /// Whether a call ended the turn, or whoever asked has calls to carry out.
    pub(crate) fn over(&self, transcript: &Transcript) -> Option<FinishReason> {
        let last = transcript.open()?.steps.last()?;
        let is_client = |call: &StepCall| {
            call.state == CallState::Running
                && matches!(self.toolbox.target(&call.name), Some(CallTarget::Client))
        };
        if last.calls.iter().any(is_client) {
            return Some(FinishReason::ToolCalls);
        }
        last.calls.iter().any(|call| self.stops(call)).then_some(FinishReason::ToolStop)
    }

    fn stops(&self, call: &StepCall) -> bool {
        let CallState::Done(result) = &call.state else { return false };
        let is_it = match self.toolbox.target(&call.name) {
            Some(CallTarget::Tool(bound)) => bound.id == STOP,
            Some(
                CallTarget::Client | CallTarget::FindTools | CallTarget::TaskResult | CallTarget::ReadResult,
            )
            | None => false,
        };
        is_it && result["success"] == true
    }

    /// Tells of an answer what was not told while it came.
    pub(crate) fn emit(&self, step: u32, answer: &StoredResponse) {
        for message in &answer.warnings {
            tracing::warn!(
                conversation.id = %self.conversation, request.id = self.caller.request.as_ref().map(display),
                turn = self.turn, step, "Chat: {message}"
            );
            self.log.emit(ChatEvent::Warning { message: message.clone() });
        }
        for call in answer.calls.iter().filter_map(begun) {
            tracing::info!(
                conversation.id = %self.conversation, request.id = self.caller.request.as_ref().map(display),
                turn = self.turn, step, call.id = %call.call_id, tool.name = call.name, "Chat: tool call"
            );
            self.log.emit(ChatEvent::called(step, &call));
        }
    }

    /// The turn as the log has it.
    pub(crate) fn logged(&self) -> TurnLabels {
        let Caller { space, request, .. } = &self.caller;
        TurnLabels {
            space: *space,
            conversation: self.conversation,
            request: request.clone(),
            turn: self.turn,
        }
    }
}

/// A turn as the log has it.
pub(crate) struct TurnLabels {
    pub(crate) space: SpaceId,
    pub(crate) conversation: RunId,
    pub(crate) request: Option<RequestId>,
    pub(crate) turn: u32,
}

impl Conversations {
    /// Says in the log what came of a call, and tells who listens.
    pub(crate) fn done(&self, turn: TurnLabels, result: &ToolExecutionResult) {
        let kind = || Some(self.0.tools.in_space(turn.space).get(&result.tool_name)?.spec.kind.to_string());
        tracing::info!(
            conversation.id = %turn.conversation, request.id = turn.request.as_ref().map(display), turn = turn.turn,
            call.id = %result.call_id, tool.name = %result.tool_name, tool.kind = kind(),
            call.ms = result.execution_time.as_millis() as u64, call.attempts = result.attempts,
            call.outcome = result.error().map_or_else(|| "success".to_owned(), |error| error.kind().to_string()),
            "Chat: tool done"
        );
        self.0.listeners.notify(result);
    }
}

/// A call that nothing has come of yet.
pub(crate) fn begun(call: &haft_llm::Call) -> Option<StepCall> {
    let (name, arguments) = (call.name.clone(), arguments(&call.arguments));
    let (call_id, state) = (call.id.parse().ok()?, CallState::Running);
    Some(StepCall { call_id, name, arguments, task: None, state })
}

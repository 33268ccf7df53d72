//! The context of a turn: its caller, agent, tools and model, its limits, and its events.

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
use crate::stored_response::StoredResponse;
use crate::toolbox::{CallTarget, Toolbox};
use crate::transcript::{CallState, FinishReason, StepCall, Transcript, Turn, arguments};
use crate::turn_log::TurnLog;
use crate::turn_runner::TurnMode;

haft_core::templates! {
    NO_MORE_STEPS = "chat.noMoreSteps",
        "The turn reached its limit of {most} steps. The answer is based on the information up to then.",
        "已达到 {most} 步上限；回答基于当时已知的信息";
    NO_MORE_TIME = "chat.noMoreTime",
        "The turn reached its limit of {most} seconds. The answer is based on the information up to then.",
        "已达到 {most} 秒上限；回答基于当时已知的信息";
    NO_MORE_TOKENS = "chat.noMoreTokens",
        "The turn reached its limit of {most} tokens. The answer is based on the information up to then.",
        "已达到 {most} 个 token 上限；回答基于当时已知的信息";
    OUTER_SPENT = "chat.outerSpent",
        "The calling turn has used up its limits. The answer is based on the information up to then.",
        "发起询问的那一轮额度已用完；回答基于当时已知的信息";
}

/// The tool that ends a turn.
pub(crate) const STOP: &str = "stop_response";

/// The context of a turn that is executed.
pub(crate) struct TurnContext {
    pub(crate) conversation: RunId,
    pub(crate) turn: u32,
    pub(crate) caller: Caller,
    pub(crate) agent: Option<Arc<Agent>>,
    pub(crate) toolbox: Toolbox,
    pub(crate) model: SelectedModel,
    pub(crate) log: Arc<TurnLog>,
    pub(crate) cancel: CancellationToken,
    pub(crate) budget: TurnBudget,
    /// The rest of the budget, which the turn shares with the agents that it calls.
    pub(crate) allowance: Arc<Allowance>,
    /// The execution time of the turn before this execution.
    pub(crate) worked: Duration,
    /// The conversation in the records of calls.
    pub(crate) recorded: Option<ConversationId>,
    pub(crate) mode: TurnMode,
    /// Number of enclosing agents and flows.
    pub(crate) depth: u32,
    pub(crate) began: Instant,
    /// The time of this execution that the turn waited for tasks.
    pub(crate) waited: Duration,
}

/// The limits of a turn.
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

    /// Returns the rest of the budget after the journaled part of the turn.
    pub(crate) fn remaining(
        self,
        turn: Option<&Turn>,
        toolbox: &Toolbox,
        outer: Option<Arc<Allowance>>,
    ) -> Allowance {
        let (mut calls, mut tokens) = (self.calls as u64, self.tokens);
        tokens = tokens.saturating_sub(turn.map(Turn::tokens).unwrap_or_default());
        for call in turn.into_iter().flat_map(Turn::calls) {
            let inner = match &call.state {
                // The call is counted when it is executed.
                CallState::Running => continue,
                // A refused call costs nothing.
                CallState::Done(result) if is_refused(result) => continue,
                // A task has a separate budget.
                CallState::Done(result) if call.task.is_none() && toolbox.is_agent(&call.name) => {
                    Some([&result["data"], &result["error"]["details"]])
                }
                CallState::Done(_) | CallState::Pending(_) | CallState::Awaited(_) => None,
            };
            let cost = |name: &str| {
                let reported = inner.iter().flatten().find_map(|inner| inner[name].as_u64());
                reported.unwrap_or_default()
            };
            calls = calls.saturating_sub(1 + cost("calls"));
            tokens = tokens.saturating_sub(cost("tokens"));
        }
        Allowance::new(calls, tokens, outer)
    }
}

/// Returns true if a call was not executed because of a limit.
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

    pub(crate) fn render(&self, message: &Message) -> String {
        message.render(self.caller.locale)
    }

    /// Returns the message about a reached limit, after which the next response is the last one.
    pub(crate) fn reached_limit(&self, transcript: &Transcript) -> Option<Message> {
        let open = transcript.open()?;
        let TurnBudget { steps, tokens, .. } = self.budget;
        if steps_of(open) >= steps {
            return Some(Message::new(&NO_MORE_STEPS).with("most", steps));
        }
        if self.time_left().is_zero() {
            return Some(self.time_limit_reached());
        }
        match self.allowance.has_tokens() {
            Ok(()) => None,
            Err(ExhaustedAllowance::Own) => Some(Message::new(&NO_MORE_TOKENS).with("most", tokens)),
            Err(ExhaustedAllowance::Outer) => Some(Message::new(&OUTER_SPENT)),
        }
    }

    /// The execution time that is left. Time of waiting for people and tasks does not count.
    pub(crate) fn time_left(&self) -> Duration {
        let executed = self.began.elapsed().saturating_sub(self.waited);
        self.budget.time.saturating_sub(self.worked + executed)
    }

    pub(crate) fn time_limit_reached(&self) -> Message {
        Message::new(&NO_MORE_TIME).with("most", self.budget.time.as_secs())
    }

    /// Returns the reason for which the turn ends after the calls of the last step. Returns `None` if it continues.
    pub(crate) fn ends_after_calls(&self, transcript: &Transcript) -> Option<FinishReason> {
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
        let is_stop = match self.toolbox.target(&call.name) {
            Some(CallTarget::Tool(bound)) => bound.id == STOP,
            Some(
                CallTarget::Client | CallTarget::FindTools | CallTarget::TaskResult | CallTarget::ReadResult,
            )
            | None => false,
        };
        is_stop && result["success"] == true
    }

    /// Emits the warnings and calls of a response, which were not emitted while it streamed.
    pub(crate) fn emit_response(&self, step: u32, response: &StoredResponse) {
        for message in &response.warnings {
            tracing::warn!(
                conversation.id = %self.conversation, request.id = self.caller.request.as_ref().map(display),
                turn = self.turn, step, "Chat: {message}"
            );
            self.log.emit(ChatEvent::Warning { message: message.clone() });
        }
        for call in response.calls.iter().filter_map(open_call) {
            tracing::info!(
                conversation.id = %self.conversation, request.id = self.caller.request.as_ref().map(display),
                turn = self.turn, step, call.id = %call.call_id, tool.name = call.name, "Chat: tool call"
            );
            self.log.emit(ChatEvent::called(step, &call));
        }
    }

    /// The identity of the turn for the log.
    pub(crate) fn labels(&self) -> TurnLabels {
        let Caller { space, request, .. } = &self.caller;
        TurnLabels {
            space: *space,
            conversation: self.conversation,
            request: request.clone(),
            turn: self.turn,
        }
    }
}

/// The identity of a turn for the log.
pub(crate) struct TurnLabels {
    pub(crate) space: SpaceId,
    pub(crate) conversation: RunId,
    pub(crate) request: Option<RequestId>,
    pub(crate) turn: u32,
}

impl Conversations {
    /// Logs the result of a call, and notifies listeners.
    pub(crate) fn notify(&self, turn: &TurnLabels, result: &ToolExecutionResult) {
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

/// Returns a call of a response as a call without a result. Returns `None` if its id is invalid.
pub(crate) fn open_call(call: &haft_llm::Call) -> Option<StepCall> {
    let (name, arguments) = (call.name.clone(), arguments(&call.arguments));
    let (call_id, state) = (call.id.parse().ok()?, CallState::Running);
    Some(StepCall { call_id, name, arguments, task: None, state })
}

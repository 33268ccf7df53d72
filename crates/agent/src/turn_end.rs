//! The end of a turn: its final text and events, and the results of calls that are not executed.

use std::sync::Arc;

use haft_core::{AgentId, Binding, CallError, CallOptions, Caller, Source, SpaceId, Template};
use haft_llm::EndReason;
use jiff::Timestamp;

use crate::call_history::LoggedCalls;
use crate::call_result::failed;
use crate::conversations::Conversations;
use crate::deferred_calls::task_id;
use crate::event::{ChatEvent, steps_of};
use crate::model_request::cancelled;
use crate::stored_response::StoredResponse;
use crate::toolbox::{CallTarget, OfferedTool};
use crate::transcript::{CallState, FinishReason, Turn, TurnEnd, key};
use crate::turn_context::STOP;
use crate::turn_runner::{OpenTurn, TurnRunner, locale_of, request_of};

haft_core::templates! {
    CUT_SHORT = "chat.cutShort",
        "The response is cut off: the model reached its output limit.",
        "模型输出达到长度上限，回答在此处中断";
    REFUSED = "chat.refused",
        "The model or its provider refused to answer this.",
        "模型或其服务商拒绝回答";
    FILTERED = "chat.filtered",
        "The response is cut off: the provider's content filter stopped it.",
        "服务商的内容审核中断了回答";
    SAID_NOTHING = "chat.saidNothing",
        "The model returned an empty response.",
        "模型没有给出任何内容";
}

/// The outcome of a turn.
pub(crate) struct TurnOutcome {
    pub(crate) finish: FinishReason,
    pub(crate) warnings: Vec<String>,
    pub(crate) error: Option<CallError>,
}

impl TurnOutcome {
    pub(crate) fn failed(error: CallError) -> Self {
        Self { finish: FinishReason::Error, warnings: Vec::new(), error: Some(error) }
    }
}

impl From<FinishReason> for TurnOutcome {
    fn from(finish: FinishReason) -> Self {
        Self { finish, warnings: Vec::new(), error: None }
    }
}

impl OpenTurn<'_> {
    /// Stores the end of the turn. Its events are emitted when the end is persisted.
    pub(crate) fn end(&mut self, outcome: TurnOutcome) -> FinishReason {
        let TurnOutcome { finish, warnings, error } = outcome;
        let Some(open) = self.transcript.turns.last_mut() else { return finish };
        let (turn, locale) = (open.turn, locale_of(open));
        if let Some(error) = &error {
            tracing::warn!(
                conversation.id = %self.cx.run().id, request.id = request_of(open).map(display), turn, kind = %error.kind(), %error,
                "Chat: the turn failed"
            );
        }
        let text = match finish {
            // The text that was emitted before the interruption remains.
            FinishReason::Cancelled | FinishReason::MaxSteps => {
                self.log.text_of(steps_of(open) + 1).unwrap_or_else(|| final_text(open))
            }
            FinishReason::Stop | FinishReason::ToolStop | FinishReason::Error | FinishReason::ToolCalls => {
                final_text(open)
            }
        };
        let end = TurnEnd {
            finish,
            text,
            error: error.map(|error| error.to_json(locale)),
            warnings,
            usage: open.usage(),
            at: Timestamp::now(),
        };
        let ms = end.at.duration_since(open.setup.at).as_millis();
        tracing::info!(
            conversation.id = %self.cx.run().id, request.id = request_of(open).map(display), turn, chat.finish = finish.as_str(),
            chat.steps = steps_of(open), chat.total_ms = ms as u64, "Chat: finished"
        );
        self.cx.put(&key::end(turn), serde_json::to_value(&end).unwrap_or_default());
        self.log.end(ChatEvent::ended(open, &end));
        open.end = Some(end);
        finish
    }

    /// Sets the result of writes that were running during a crash to unknown.
    pub(crate) async fn settle_unknown_calls(&mut self) {
        let (run, cx) = (self.cx.run(), self.cx);
        let Some(turn) = self.transcript.turns.last_mut() else { return };
        let (number, locale) = (turn.turn, locale_of(turn));
        let caller = Caller { space: run.space, user: run.user, source: Source::Chat, locale, request: None };
        let Some(last) = turn.steps.last_mut() else { return };
        for (index, call) in last.calls.iter_mut().enumerate() {
            let key = key::call(number, last.step, index);
            if call.state == CallState::Running && cx.is_unknown(&key) {
                let agent = self.input.agent;
                let binding = self.conversations.binding(caller.space, agent, &call.name).await;
                let call_id = Some(call.call_id.clone());
                let options = CallOptions { call_id, agent, binding, ..CallOptions::default() };
                let logged = LoggedCalls { conversations: self.conversations, cx, caller: &caller };
                let result = logged.unknown(call, options).await;
                cx.put(&key, result.clone());
                call.state = CallState::Done(Arc::new(result));
            }
        }
    }
}

impl TurnRunner<'_, '_> {
    /// Cancels the tasks of open calls, and sets the results of calls that are not executed.
    pub(crate) async fn abandon_calls(&mut self) {
        let Some(last) = self.last_step() else { return };
        let (cx, context) = (self.turn.cx, &self.context);
        for (index, call) in last.calls.iter().enumerate() {
            let key = key::call(context.turn, last.step, index);
            match &call.state {
                CallState::Pending(_) | CallState::Done(_) => continue,
                CallState::Running if cx.is_unknown(&key) => continue,
                CallState::Running | CallState::Awaited(_) => {}
            }
            // The result of a cancelled task arrives when the task has ended.
            let host = &self.turn.conversations.0.host;
            host.cancel_task(context.owner(), task_id(&call.call_id)).await;
            if call.state == CallState::Running {
                cx.put(&key, failed(&call.call_id, &call.name, cancelled(), context.caller.locale));
            }
        }
        self.read_results();
        self.emit_results();
    }
}

impl Conversations {
    /// Returns the binding of an agent's tool. Returns `None` if the agent or the tool no longer exists.
    async fn binding(&self, space: SpaceId, agent: Option<AgentId>, tool: &str) -> Option<Arc<Binding>> {
        let agent = self.0.host.agent(space, &agent?.to_string()).await.ok()??;
        let tool = self.0.tools.in_space(space).get(tool)?;
        let binding = agent.spec.bindings.iter().find(|binding| binding.tool_id == tool.id)?;
        binding.to_binding().ok().map(Arc::new)
    }
}

/// Returns true if the tool ends the turn with its text.
pub(crate) fn ends_turn(offered: &OfferedTool) -> bool {
    match &offered.target {
        CallTarget::Tool(bound) => bound.id == STOP,
        CallTarget::Client | CallTarget::FindTools | CallTarget::TaskResult | CallTarget::ReadResult => false,
    }
}

/// Returns the warning about a final response that is incomplete, refused or empty. A refusal under a response format is a warning itself.
pub(crate) fn response_warning(response: &StoredResponse) -> Option<&'static Template> {
    if response.refusal().is_some() {
        return None;
    }
    let is_empty = response.text.trim().is_empty();
    match response.end {
        EndReason::Length => Some(&CUT_SHORT),
        EndReason::Refused => Some(&REFUSED),
        EndReason::Filtered if is_empty => Some(&REFUSED),
        EndReason::Filtered => Some(&FILTERED),
        EndReason::Stop | EndReason::ToolCalls | EndReason::Malformed | EndReason::Other => {
            is_empty.then_some(&SAID_NOTHING)
        }
    }
}

/// The text of the last response, or of the tool that ended the turn.
fn final_text(turn: &Turn) -> String {
    let Some(last) = turn.steps.last() else { return String::new() };
    let stopped = last.calls.iter().find_map(|call| match &call.state {
        CallState::Done(result) if call.name == STOP => result["data"]["message"].as_str(),
        CallState::Done(_) | CallState::Running | CallState::Awaited(_) | CallState::Pending(_) => None,
    });
    stopped.unwrap_or_else(|| last.response.user_text()).to_owned()
}

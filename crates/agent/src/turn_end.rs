//! How a turn ends: its last words, what is said of them, and what becomes of calls that nobody waits for.

use std::sync::Arc;

use haft_core::{AgentId, Binding, CallError, CallOptions, Caller, Source, SpaceId, Template};
use haft_llm::EndReason;
use haft_runs::RunContext;
use jiff::Timestamp;

use crate::conversation_input::ConversationInput;
use crate::conversations::Conversations;
use crate::event::{ChatEvent, steps_of};
use crate::model_request::cancelled;
use crate::tool_calls::task_id;
use crate::toolbox::{CallTarget, OfferedTool};
use crate::transcript::{CallState, FinishReason, StoredResponse, Transcript, Turn, TurnEnd, key};
use crate::turn_context::{STOP, TurnContext};
use crate::turn_log::TurnLog;
use crate::turn_runner::{locale_of, request_of};

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

impl Conversations {
    /// Ends the open turn as failed.
    pub(crate) fn fail(
        &self,
        cx: &RunContext,
        transcript: &mut Transcript,
        log: &TurnLog,
        error: CallError,
    ) -> FinishReason {
        self.end(cx, transcript, log, (FinishReason::Error, Vec::new(), Some(error)))
    }

    pub(crate) fn end(
        &self,
        cx: &RunContext,
        transcript: &mut Transcript,
        log: &TurnLog,
        (finish, warnings, error): (FinishReason, Vec<String>, Option<CallError>),
    ) -> FinishReason {
        let locale = transcript.open().map(locale_of).unwrap_or_default();
        let Some(open) = transcript.turns.last_mut() else { return finish };
        let turn = open.turn;
        if let Some(error) = &error {
            tracing::warn!(
                conversation.id = %cx.run().id, request.id = request_of(open).map(display), turn, kind = %error.kind(), %error,
                "Chat: the turn failed"
            );
        }
        let text = match finish {
            // What was told before nobody wanted more of it, or the time was over, stays.
            FinishReason::Cancelled | FinishReason::MaxSteps => {
                log.text_of(steps_of(open) + 1).unwrap_or_else(|| last_words(open))
            }
            FinishReason::Stop | FinishReason::ToolStop | FinishReason::Error | FinishReason::ToolCalls => {
                last_words(open)
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
            conversation.id = %cx.run().id, request.id = request_of(open).map(display), turn, chat.finish = finish.as_str(),
            chat.steps = steps_of(open), chat.total_ms = ms as u64, "Chat: finished"
        );
        cx.put(&key::end(turn), serde_json::to_value(&end).unwrap_or_default());
        log.end(ChatEvent::ended(open, &end));
        open.end = Some(end);
        finish
    }

    /// Says of calls that nobody wants any more that they are not carried out, and ends the tasks they became.
    pub(crate) async fn abandon(&self, cx: &RunContext, at: &TurnContext, transcript: &mut Transcript) {
        let Some(last) = transcript.open().and_then(|turn| turn.steps.last()) else { return };
        let step = last.step;
        for (place, call) in last.calls.iter().enumerate() {
            let key = key::call(at.turn, step, place);
            match &call.state {
                CallState::Pending(_) | CallState::Done(_) => continue,
                CallState::Running if cx.is_unknown(&key) => continue,
                CallState::Running | CallState::Awaited(_) => {}
            }
            // What became of the task is told when it has ended; what was to become one never does.
            self.0.host.cancel_task(at.owner(), task_id(&call.call_id)).await;
            if call.state == CallState::Running {
                let (id, name) = (&call.call_id, &call.name);
                cx.put(&key, crate::call_result::failed(id, name, cancelled(), at.caller.locale));
            }
        }
        self.look(cx, at, step, transcript);
        at.tell_results(transcript);
    }

    /// Of a write that was under way when a process died nobody says that it was not carried out.
    pub(crate) async fn settle(
        &self,
        cx: &RunContext,
        chat: &ConversationInput,
        transcript: &mut Transcript,
    ) {
        let Some(turn) = transcript.turns.last_mut() else { return };
        let (number, locale) = (turn.turn, locale_of(turn));
        let caller = Caller {
            space: cx.run().space,
            user: cx.run().user,
            source: Source::Chat,
            locale,
            request: None,
        };
        let Some(last) = turn.steps.last_mut() else { return };
        for (place, call) in last.calls.iter_mut().enumerate() {
            let key = key::call(number, last.step, place);
            if call.state == CallState::Running && cx.is_unknown(&key) {
                let options = CallOptions {
                    call_id: Some(call.call_id.clone()),
                    agent: chat.agent,
                    binding: self.bound(caller.space, chat.agent, &call.name).await,
                    ..CallOptions::default()
                };
                let result = self.unknown(cx, &caller, call, options).await;
                cx.put(&key, result.clone());
                call.state = CallState::Done(Arc::new(result));
            }
        }
    }

    /// What a binding says of a tool, as far as that is known.
    async fn bound(&self, space: SpaceId, agent: Option<AgentId>, tool: &str) -> Option<Arc<Binding>> {
        let agent = self.0.host.agent(space, &agent?.to_string()).await.ok()??;
        let tool = self.0.tools.in_space(space).get(tool)?;
        let binding = agent.spec.bindings.iter().find(|binding| binding.tool_id == tool.id)?;
        binding.to_binding().ok().map(Arc::new)
    }
}

/// Whether a tool ends the turn with its text.
pub(crate) fn ends_turn(offered: &OfferedTool) -> bool {
    match &offered.target {
        CallTarget::Tool(bound) => bound.id == STOP,
        CallTarget::Client | CallTarget::FindTools | CallTarget::TaskResult | CallTarget::ReadResult => false,
    }
}

/// The warning about a last answer that is cut, refused or empty. A refusal under a response format is a warning itself.
pub(crate) fn remark(answer: &StoredResponse) -> Option<&'static Template> {
    if answer.refusal().is_some() {
        return None;
    }
    let is_empty = answer.text.trim().is_empty();
    match answer.end {
        EndReason::Length => Some(&CUT_SHORT),
        EndReason::Refused => Some(&REFUSED),
        EndReason::Filtered if is_empty => Some(&REFUSED),
        EndReason::Filtered => Some(&FILTERED),
        EndReason::Stop | EndReason::ToolCalls | EndReason::Malformed | EndReason::Other => {
            is_empty.then_some(&SAID_NOTHING)
        }
    }
}

/// What the turn said last: the words of its last answer, or of the tool that ended it.
fn last_words(turn: &Turn) -> String {
    let Some(last) = turn.steps.last() else { return String::new() };
    let stopped = last.calls.iter().find_map(|call| match &call.state {
        CallState::Done(result) if call.name == STOP => result["data"]["message"].as_str(),
        CallState::Done(_) | CallState::Running | CallState::Awaited(_) | CallState::Pending(_) => None,
    });
    stopped.unwrap_or_else(|| last.response.user_text()).to_owned()
}

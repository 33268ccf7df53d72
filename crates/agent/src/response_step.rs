//! A step of a turn: one response of the model.

use std::collections::HashSet;
use std::time::Duration;

use haft_core::{CallError, Effect, ErrorKind, ErrorReason, Message};
use haft_llm::{ModelRequest, ToolChoice};
use haft_runs::StepOutcome;
use tokio::time::Instant;

use crate::context_window::{FitMode, fit_request};
use crate::event::steps_of;
use crate::model_request::{ResponseSink, request_response};
use crate::prompt::Prompt;
use crate::response_format::in_format;
use crate::results_as_text::final_response;
use crate::stored_response::StoredResponse;
use crate::transcript::{Turn, TurnStep, key};
use crate::turn_context::open_call;
use crate::turn_runner::{Interruption, TurnRunner};

haft_core::templates! {
    SHORTENED = "chat.shortened",
        "The conversation exceeds the model's context window. Older parts were left out.",
        "对话超出模型可读取的长度；已省略较早的部分";
    OPTION_LEFT_OUT = "chat.optionLeftOut",
        "The request was sent without {name}, which Haft does not support",
        "已去掉 {name} 后询问模型：Haft 不支持该选项";
}

/// Maximum number of times that a request is reduced because its model rejected it as too long.
const MAX_REDUCTIONS: usize = 3;

/// The timeout of the last response of a turn that has reached a limit.
const LAST_RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

impl TurnRunner<'_, '_> {
    /// Requests the next response.
    pub(crate) async fn ask(&mut self) -> Result<(), Interruption> {
        let limit = self.context.reached_limit(self.turn.transcript);
        self.is_last_response = limit.is_some();
        self.warnings.extend(limit.as_ref().map(|message| self.context.render(message)));
        let is_reduced = self.respond().await?;
        let warning = self.context.render(&Message::new(&SHORTENED));
        if is_reduced && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
        Ok(())
    }

    /// Executes the step of a response. Returns true if the request was reduced to fit into the context window.
    async fn respond(&mut self) -> Result<bool, Interruption> {
        let context = &self.context;
        let step = self.turn.transcript.open().map_or(1, |turn| steps_of(turn) + 1);
        let (mut request, left_out) = self.request(step);
        let mut is_reduced = fit_request(&mut request, context.model.window, FitMode::Window);
        tracing::info!(
            conversation.id = %context.conversation, request.id = context.caller.request.as_ref().map(display),
            turn = context.turn, step, "Chat: model call {step}"
        );
        let timeout = if self.is_last_response { LAST_RESPONSE_TIMEOUT } else { context.time_left() };
        let sink = ResponseSink { context, step, until: Instant::now() + timeout };
        let earlier = self.turn.transcript.open().into_iter().flat_map(Turn::warnings);
        let mut known: HashSet<String> = earlier.map(str::to_owned).collect();
        let mut response = None;
        let key = key::response(context.turn, step);
        let result = self.turn.cx.step::<_, Interruption>(&key, Effect::Read, || async {
            let mut requested = request_response(&request, &sink).await;
            for _ in 0..MAX_REDUCTIONS {
                let is_too_long = requested
                    .as_ref()
                    .is_err_and(|error| error.reason() == Some(ErrorReason::ContextTooLong));
                if !is_too_long || !fit_request(&mut request, context.model.window, FitMode::Half) {
                    break;
                }
                is_reduced = true;
                requested = request_response(&request, &sink).await;
            }
            let checked = check_response(&request, requested, &sink).await;
            let mut checked = checked.map_err(|error| match error.reason() {
                Some(ErrorReason::TurnTimeout) => Interruption::OutOfTime,
                Some(_) | None => Interruption::Failed(error),
            })?;
            checked.warnings.extend(left_out);
            // A warning is emitted once in a turn, even if several requests cause it.
            checked.warnings.retain(|warning| known.insert(warning.clone()));
            context.allowance.take_tokens(checked.tokens());
            let stored = serde_json::to_value(&checked).unwrap_or_default();
            response = Some(checked);
            Ok(stored)
        });
        match (result.await?, response) {
            (StepOutcome::Done(_), Some(response)) => {
                self.context.emit_response(step, &response);
                let calls = response.calls.iter().filter_map(open_call).collect();
                if let Some(turn) = self.turn.transcript.turns.last_mut() {
                    turn.steps.push(TurnStep { step, response, calls });
                }
                Ok(is_reduced)
            }
            (StepOutcome::Done(_) | StepOutcome::Unknown, _) => {
                Err(CallError::text(ErrorKind::Internal, "the response was lost").into())
            }
        }
    }

    /// Builds the request of a step. Returns it with warnings about options that were left out.
    fn request(&self, step: u32) -> (ModelRequest, Vec<String>) {
        let (context, transcript) = (&self.context, &*self.turn.transcript);
        let prompt = Prompt { input: &self.turn.input, context, transcript, images: &self.images };
        let mut request = prompt.request();
        request.context_tokens = context.model.window;
        let left_out = request.options.take_unsupported().into_iter().map(|name| {
            let message = Message::new(&OPTION_LEFT_OUT).with("name", name);
            context.render(&message)
        });
        let left_out: Vec<String> = left_out.collect();
        // Options that the provider refused earlier in the turn are not sent again.
        let steps = transcript.open().into_iter().flat_map(|turn| &turn.steps);
        for name in steps.flat_map(|step| &step.response.dropped) {
            request.leave_out(name);
        }
        // A response format requires JSON as text, which is never a call. This is decided before the request is reduced,
        // so that a native call counts wherever it is in the conversation.
        request.text_tool_calls = request.response_format.is_none()
            && context.model.model.writes_calls_as_text()
            && !request.has_native_calls();
        if self.is_last_response {
            request.tool_choice = ToolChoice::None;
        } else if step > 1 && request.tool_choice != ToolChoice::None {
            // A required call applies to the first response only; otherwise the turn would never end.
            request.tool_choice = ToolChoice::Auto;
        }
        (request, left_out)
    }
}

/// Checks a response that may not have calls, or that must have a format.
async fn check_response(
    request: &ModelRequest,
    response: Result<StoredResponse, CallError>,
    sink: &ResponseSink<'_>,
) -> Result<StoredResponse, CallError> {
    let response = match request.tool_choice {
        ToolChoice::None => final_response(request, response?, sink).await?,
        ToolChoice::Auto | ToolChoice::Required | ToolChoice::Tool(_) => response?,
    };
    in_format(request, response, sink).await
}

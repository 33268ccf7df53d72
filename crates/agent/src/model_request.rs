//! Sends a request to a model: emits the response while it streams, and retries when the stream breaks off.

use std::borrow::Cow;
use std::time::Duration;

use futures_util::StreamExt;
use haft_core::model_options::RESPONSE_FORMAT;
use haft_core::{CallError, CallId, ErrorKind, ErrorReason, Message};
use haft_egress::Limits;
use haft_llm::{
    Delta, EndReason, ModelRequest, ModelTurn, OmittedTool, ResponseBuilder, ToolChoice, dropped_before,
};
use jiff::Timestamp;
use tokio::time::{Instant, sleep, sleep_until};
use uuid::Uuid;

use crate::context_window::{response_size, size_of};
use crate::event::ChatEvent;
use crate::models::SelectedModel;
use crate::stored_response::StoredResponse;
use crate::turn_context::TurnContext;

haft_core::templates! {
    CANCELLED = "chat.cancelled",
        "The response was cancelled.",
        "已不再需要该回答";
    LEFT_OUT = "chat.toolLeftOut",
        "The tool {tool} was not offered to the model: {why}",
        "未向模型提供 {tool}：{why}";
    OPTION_DROPPED = "chat.optionDropped",
        "The request was sent without {name}, which the provider does not support",
        "已去掉 {name} 后询问模型：其服务商不支持该选项";
    UNREADABLE = "chat.unreadableCall",
        "The provider could not parse a tool call that the model wrote.",
        "模型写出的调用无法被服务商解析";
    OUT_OF_TIME = "chat.outOfTime",
        "The response took longer than the time limit of the turn.",
        "回答超出了本轮允许的时间";
}

/// Maximum duration and size of a response.
const LONGEST: Duration = Duration::from_secs(600);
const LARGEST: usize = 64 << 20;

/// The pauses before retries of a failed request, unless the provider requests another pause.
const PAUSES: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(6)];

/// Maximum pause that a provider can request.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The message to a model whose call its provider could not parse.
const WRITE_AGAIN: &str = "[Your last answer contained a tool call that could not be read. Write the call again, with arguments that are JSON and match its parameters.]";

/// The destination of a response while it streams.
pub(crate) struct ResponseSink<'a> {
    pub(crate) context: &'a TurnContext,
    pub(crate) step: u32,
    /// The deadline of the response.
    pub(crate) until: Instant,
}

impl ResponseSink<'_> {
    /// The warnings about tools and options that the request did not contain.
    fn warnings(&self, left_out: &[OmittedTool], dropped: &[String]) -> Vec<String> {
        let of_tool = |tool: &OmittedTool| {
            let why = vec![tool.why.clone()];
            Message::new(&LEFT_OUT).with("tool", &tool.name).with_messages("why", why)
        };
        // The response format is not dropped: the instructions have it.
        let options = dropped.iter().filter(|name| *name != RESPONSE_FORMAT);
        let of_options = options.map(|name| Message::new(&OPTION_DROPPED).with("name", name));
        let warnings = left_out.iter().map(of_tool).chain(of_options);
        warnings.map(|message| self.context.render(&message)).collect()
    }

    /// Waits until the response is cancelled or times out.
    async fn interrupted(&self) -> CallError {
        tokio::select! {
            () = self.context.cancel.cancelled() => cancelled(),
            () = sleep_until(self.until) => out_of_time(),
        }
    }
}

/// The progress of a request over its attempts.
#[derive(Default)]
struct Attempts {
    /// A part of the response was emitted.
    has_emitted: bool,
    /// Options that the provider refused. A retry leaves them out.
    dropped: Vec<String>,
    has_correction: bool,
}

/// Requests a response, with retries.
pub(crate) async fn request_response(
    request: &ModelRequest,
    sink: &ResponseSink<'_>,
) -> Result<StoredResponse, CallError> {
    let mut pauses = PAUSES.into_iter();
    let mut request = Cow::Borrowed(request);
    let mut attempts = Attempts::default();
    loop {
        attempts.has_emitted = false;
        let response = tokio::select! {
            response = request_once(&request, sink, &mut attempts) => response,
            error = sink.interrupted() => Err(error),
        };
        let error = match response {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        let log = &sink.context.log;
        let may_retry = error.is_retryable() && !(attempts.has_emitted && log.is_irrevocable);
        let Some(pause) = pauses.next().filter(|_| may_retry) else { return Err(error) };
        if attempts.has_emitted {
            log.emit(ChatEvent::MessageReset { step: sink.step });
        }
        attempts.dropped.extend(dropped_before(&error));
        for name in &attempts.dropped {
            request.to_mut().leave_out(name);
        }
        if error.reason() == Some(ErrorReason::MalformedToolCall) && !attempts.has_correction {
            attempts.has_correction = true;
            request.to_mut().turns.push(ModelTurn::user(WRITE_AGAIN));
        }
        let pause = error.requested_pause().unwrap_or(pause).min(LONGEST_PAUSE);
        let TurnContext { conversation, caller, turn, model, .. } = sink.context;
        tracing::warn!(
            conversation.id = %conversation, request.id = caller.request.as_ref().map(display), turn,
            step = sink.step, chat.model = format!("{}/{}", model.provider, model.name),
            kind = %error.kind(), %error, pause_ms = pause.as_millis() as u64,
            "Chat: the model failed; retrying"
        );
        tokio::select! {
            () = sleep(pause) => {}
            error = sink.interrupted() => return Err(error),
        }
    }
}

fn out_of_time() -> CallError {
    CallError::new(ErrorKind::BudgetExceeded, Message::new(&OUT_OF_TIME))
        .with_reason(ErrorReason::TurnTimeout)
}

pub(crate) fn cancelled() -> CallError {
    CallError::new(ErrorKind::Cancelled, Message::new(&CANCELLED))
}

async fn request_once(
    request: &ModelRequest,
    sink: &ResponseSink<'_>,
    attempts: &mut Attempts,
) -> Result<StoredResponse, CallError> {
    let (at, began) = (Timestamp::now(), Instant::now());
    let limits = Limits { deadline: Some(began + LONGEST), bytes: LARGEST };
    let mut stream = sink.context.model.model.ask(request, limits).await?;
    attempts.dropped.append(&mut stream.dropped);
    let mut builder = ResponseBuilder::of(request);
    let (step, log) = (sink.step, &sink.context.log);
    while let Some(delta) = stream.deltas.next().await {
        let delta = delta?;
        builder.add(&delta);
        match delta {
            Delta::Text(text) if !text.is_empty() && request.response_format.is_none() => {
                attempts.has_emitted = true;
                log.emit(ChatEvent::Text { step, text });
            }
            Delta::Reasoning(text) if !text.is_empty() => {
                attempts.has_emitted = true;
                log.emit(ChatEvent::Reasoning { step, text });
            }
            Delta::Text(_)
            | Delta::Reasoning(_)
            | Delta::ReasoningSignature(_)
            | Delta::Call { .. }
            | Delta::Arguments { .. }
            | Delta::Logprobs(_)
            | Delta::Usage(_)
            | Delta::End(_) => {}
        }
    }
    let emitted = builder.text().to_owned();
    let mut response = builder.finish();
    // If calls are not allowed, or emitted text cannot be withdrawn, the text is the response.
    let is_final = request.tool_choice == ToolChoice::None || (attempts.has_emitted && log.is_irrevocable);
    if response.end == EndReason::Malformed && !is_final {
        let error = CallError::new(ErrorKind::Server, Message::new(&UNREADABLE));
        return Err(error.with_reason(ErrorReason::MalformedToolCall));
    }
    if emitted != response.text && !log.is_irrevocable && request.response_format.is_none() {
        // A call that the model wrote as text is not part of the text.
        log.emit(ChatEvent::MessageReset { step });
        if let Some(thought) = response.reasoning.as_ref().filter(|thought| !thought.text.is_empty()) {
            log.emit(ChatEvent::Reasoning { step, text: thought.text.clone() });
        }
        if !response.text.is_empty() {
            log.emit(ChatEvent::Text { step, text: response.text.clone() });
        }
    }
    for call in &mut response.calls {
        // The journal, the call log and a task use this id of the call.
        call.rename(CallId::from(Uuid::now_v7()).to_string());
    }
    let size =
        || size_of(request) + response_size(&response.text, response.reasoning.as_ref(), &response.calls);
    let guessed = response.usage.is_none().then(|| size() as u64);
    let SelectedModel { provider, name, .. } = &sink.context.model;
    Ok(StoredResponse {
        text: response.text,
        reasoning: response.reasoning,
        calls: response.calls,
        usage: response.usage,
        guessed,
        end: response.end,
        model: format!("{provider}/{name}"),
        at,
        ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        logprobs: response.logprobs,
        format: None,
        warnings: sink.warnings(&stream.left_out, &attempts.dropped),
        dropped: attempts.dropped.clone(),
    })
}

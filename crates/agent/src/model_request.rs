//! Sends a request to a model: emits the response while it streams, and retries when the stream breaks off.

use std::borrow::Cow;
use std::time::Duration;

use futures_util::StreamExt;
use haft_core::model_options::RESPONSE_FORMAT;
use haft_core::{CallError, CallId, ErrorKind, Message};
use haft_egress::Limits;
use haft_llm::{Delta, EndReason, ModelRequest, ModelTurn, ResponseBuilder, ToolChoice, dropped_before};
use jiff::Timestamp;
use tokio::time::{Instant, sleep, sleep_until};
use uuid::Uuid;

use crate::context_window::{response_size, size_of};
use crate::event::ChatEvent;
use crate::models::SelectedModel;
use crate::transcript::StoredResponse;
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
    pub(crate) at: &'a TurnContext,
    pub(crate) step: u32,
    /// The deadline of the response.
    pub(crate) until: Instant,
}

impl ResponseSink<'_> {
    /// Waits until the response is cancelled or times out.
    async fn over(&self) -> CallError {
        tokio::select! {
            () = self.at.cancel.cancelled() => cancelled(),
            () = sleep_until(self.until) => CallError::new(ErrorKind::BudgetExceeded, Message::new(&OUT_OF_TIME)),
        }
    }
}

/// Requests a response, with retries.
pub(crate) async fn request_response(
    chosen: &SelectedModel,
    request: &ModelRequest,
    sink: &ResponseSink<'_>,
) -> Result<StoredResponse, CallError> {
    let mut pauses = PAUSES.into_iter();
    let mut request = Cow::Borrowed(request);
    // Options that the provider refused. A retry leaves them out.
    let mut dropped = Vec::new();
    let mut has_correction = false;
    loop {
        let mut has_emitted = false;
        let asking = request_once(chosen, &request, sink, &mut has_emitted, &mut dropped);
        let answered = tokio::select! {
            answered = asking => answered,
            error = sink.over() => Err(error),
        };
        let error = match answered {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let may_pass = error.is_retryable() && !(has_emitted && sink.at.log.is_irrevocable);
        let Some(pause) = pauses.next().filter(|_| may_pass) else { return Err(error) };
        if has_emitted {
            sink.at.log.emit(ChatEvent::MessageReset { step: sink.step });
        }
        dropped.extend(dropped_before(&error));
        for name in &dropped {
            request.to_mut().leave_out(name);
        }
        if error.message().id() == UNREADABLE.id && !has_correction {
            has_correction = true;
            request.to_mut().turns.push(ModelTurn::user(WRITE_AGAIN));
        }
        let pause = error.requested_pause().unwrap_or(pause).min(LONGEST_PAUSE);
        let TurnContext { conversation, caller, turn, .. } = sink.at;
        tracing::warn!(
            conversation.id = %conversation, request.id = caller.request.as_ref().map(display), turn,
            step = sink.step, chat.model = format!("{}/{}", chosen.provider, chosen.name),
            kind = %error.kind(), %error, pause_ms = pause.as_millis() as u64,
            "Chat: the model failed; retrying"
        );
        tokio::select! {
            () = sleep(pause) => {}
            error = sink.over() => return Err(error),
        }
    }
}

pub(crate) fn cancelled() -> CallError {
    CallError::new(ErrorKind::Cancelled, Message::new(&CANCELLED))
}

async fn request_once(
    chosen: &SelectedModel,
    request: &ModelRequest,
    sink: &ResponseSink<'_>,
    has_emitted: &mut bool,
    dropped: &mut Vec<String>,
) -> Result<StoredResponse, CallError> {
    let (at, began) = (Timestamp::now(), Instant::now());
    let limits = Limits { deadline: Some(began + LONGEST), bytes: LARGEST };
    let mut asked = chosen.model.ask(request, limits).await?;
    dropped.append(&mut asked.dropped);
    let mut builder = ResponseBuilder::of(request);
    let (step, log) = (sink.step, &sink.at.log);
    while let Some(delta) = asked.deltas.next().await {
        let delta = delta?;
        builder.add(&delta);
        match delta {
            Delta::Text(text) if !text.is_empty() && request.response_format.is_none() => {
                *has_emitted = true;
                log.emit(ChatEvent::Text { step, text });
            }
            Delta::Reasoning(text) if !text.is_empty() => {
                *has_emitted = true;
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
    let told = builder.text().to_owned();
    let mut answer = builder.finish();
    // If calls are not allowed, or emitted text cannot be withdrawn, the text is the response.
    let is_final = request.tool_choice == ToolChoice::None || (*has_emitted && log.is_irrevocable);
    if answer.end == EndReason::Malformed && !is_final {
        return Err(CallError::new(ErrorKind::Server, Message::new(&UNREADABLE)));
    }
    if told != answer.text && !log.is_irrevocable && request.response_format.is_none() {
        // A call that the model wrote as text is not part of the text.
        log.emit(ChatEvent::MessageReset { step });
        if let Some(thought) = answer.reasoning.as_ref().filter(|thought| !thought.text.is_empty()) {
            log.emit(ChatEvent::Reasoning { step, text: thought.text.clone() });
        }
        if !answer.text.is_empty() {
            log.emit(ChatEvent::Text { step, text: answer.text.clone() });
        }
    }
    for call in &mut answer.calls {
        // The journal, the call log and a task use this id of the call.
        call.rename(CallId::from(Uuid::now_v7()).to_string());
    }
    let left_out = |tool: &haft_llm::OmittedTool| {
        let why = vec![tool.why.clone()];
        Message::new(&LEFT_OUT)
            .with("tool", &tool.name)
            .with_messages("why", why)
            .render(sink.at.caller.locale)
    };
    // The response format is not dropped: the instructions have it.
    let options = dropped.iter().filter(|name| *name != RESPONSE_FORMAT);
    let warnings_of_options = options.map(|name| {
        let message = Message::new(&OPTION_DROPPED).with("name", name);
        message.render(sink.at.caller.locale)
    });
    let guessed = answer.usage.is_none().then(|| {
        (size_of(request) + response_size(&answer.text, answer.reasoning.as_ref(), &answer.calls)) as u64
    });
    Ok(StoredResponse {
        text: answer.text,
        reasoning: answer.reasoning,
        calls: answer.calls,
        usage: answer.usage,
        guessed,
        end: answer.end,
        model: format!("{}/{}", chosen.provider, chosen.name),
        at,
        ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        logprobs: answer.logprobs,
        format: None,
        warnings: asked.left_out.iter().map(left_out).chain(warnings_of_options).collect(),
        dropped: dropped.clone(),
    })
}

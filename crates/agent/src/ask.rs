//! Asking a model: its answer is told on as it comes, and asked for again when it breaks off.

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

use crate::at::At;
use crate::event::ChatEvent;
use crate::fit::{answer_size, size_of};
use crate::models::Chosen;
use crate::transcript::Answer;

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

/// An answer may take so long, and be so large.
const LONGEST: Duration = Duration::from_secs(600);
const LARGEST: usize = 64 << 20;

/// A model that fails is asked again so often, after these pauses, or as long as it says.
const PAUSES: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(6)];

/// Longer than this nobody waits for a model that asks for patience.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What a model is told whose call was kept back by its provider, since nobody could read it.
const WRITE_ANEW: &str = "[Your last answer contained a tool call that could not be read. Write the call again, with arguments that are JSON and match its parameters.]";

/// Where an answer goes while it comes.
pub(crate) struct Telling<'a> {
    pub(crate) at: &'a At,
    pub(crate) step: u32,
    /// Later nobody waits for it.
    pub(crate) until: Instant,
}

impl Telling<'_> {
    /// What ends the wait for an answer before it is there.
    async fn over(&self) -> CallError {
        tokio::select! {
            () = self.at.cancel.cancelled() => cancelled(),
            () = sleep_until(self.until) => CallError::new(ErrorKind::BudgetExceeded, Message::new(&OUT_OF_TIME)),
        }
    }
}

/// Asks until there is an answer, or no more hope for one.
pub(crate) async fn ask(
    chosen: &Chosen,
    request: &ModelRequest,
    telling: &Telling<'_>,
) -> Result<Answer, CallError> {
    let mut pauses = PAUSES.into_iter();
    let mut request = Cow::Borrowed(request);
    // Options that the provider refused. A retry leaves them out.
    let mut dropped = Vec::new();
    let mut has_correction = false;
    loop {
        let mut is_told = false;
        let asking = once(chosen, &request, telling, &mut is_told, &mut dropped);
        let answered = tokio::select! {
            answered = asking => answered,
            error = telling.over() => Err(error),
        };
        let error = match answered {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let may_pass = error.is_retryable() && !(is_told && telling.at.talk.is_final);
        let Some(pause) = pauses.next().filter(|_| may_pass) else { return Err(error) };
        if is_told {
            telling.at.talk.tell(ChatEvent::MessageReset { step: telling.step });
        }
        dropped.extend(dropped_before(&error));
        for name in &dropped {
            request.to_mut().leave_out(name);
        }
        if error.message().id() == UNREADABLE.id && !has_correction {
            has_correction = true;
            request.to_mut().turns.push(ModelTurn::user(WRITE_ANEW));
        }
        let pause = error.requested_pause().unwrap_or(pause).min(LONGEST_PAUSE);
        let At { conversation, caller, turn, .. } = telling.at;
        tracing::warn!(
            conversation.id = %conversation, request.id = caller.request.as_ref().map(display), turn,
            step = telling.step, chat.model = format!("{}/{}", chosen.provider, chosen.name),
            kind = %error.kind(), %error, pause_ms = pause.as_millis() as u64,
            "Chat: the model failed; retrying"
        );
        tokio::select! {
            () = sleep(pause) => {}
            error = telling.over() => return Err(error),
        }
    }
}

pub(crate) fn cancelled() -> CallError {
    CallError::new(ErrorKind::Cancelled, Message::new(&CANCELLED))
}

async fn once(
    chosen: &Chosen,
    request: &ModelRequest,
    telling: &Telling<'_>,
    is_told: &mut bool,
    dropped: &mut Vec<String>,
) -> Result<Answer, CallError> {
    let (at, began) = (Timestamp::now(), Instant::now());
    let limits = Limits { deadline: Some(began + LONGEST), bytes: LARGEST };
    let mut asked = chosen.model.ask(request, limits).await?;
    dropped.append(&mut asked.dropped);
    let mut gathered = ResponseBuilder::of(request);
    let (step, talk) = (telling.step, &telling.at.talk);
    while let Some(delta) = asked.deltas.next().await {
        let delta = delta?;
        gathered.add(&delta);
        match delta {
            Delta::Text(text) if !text.is_empty() && request.response_format.is_none() => {
                *is_told = true;
                talk.tell(ChatEvent::Text { step, text });
            }
            Delta::Reasoning(text) if !text.is_empty() => {
                *is_told = true;
                talk.tell(ChatEvent::Reasoning { step, text });
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
    let told = gathered.text().to_owned();
    let mut answer = gathered.finish();
    // Where it may not call, or what it said cannot be taken back, what it said is its answer.
    let is_final = request.tool_choice == ToolChoice::None || (*is_told && talk.is_final);
    if answer.end == EndReason::Malformed && !is_final {
        return Err(CallError::new(ErrorKind::Server, Message::new(&UNREADABLE)));
    }
    if told != answer.text && !talk.is_final && request.response_format.is_none() {
        // A call that was written as text was no text.
        talk.tell(ChatEvent::MessageReset { step });
        if let Some(thought) = answer.reasoning.as_ref().filter(|thought| !thought.text.is_empty()) {
            talk.tell(ChatEvent::Reasoning { step, text: thought.text.clone() });
        }
        if !answer.text.is_empty() {
            talk.tell(ChatEvent::Text { step, text: answer.text.clone() });
        }
    }
    for call in &mut answer.calls {
        // One id everywhere: in the journal, in the log of calls, for the task that it may become.
        call.rename(CallId::from(Uuid::now_v7()).to_string());
    }
    let left_out = |tool: &haft_llm::OmittedTool| {
        let why = vec![tool.why.clone()];
        Message::new(&LEFT_OUT)
            .with("tool", &tool.name)
            .with_messages("why", why)
            .render(telling.at.caller.locale)
    };
    // The response format is not dropped: the instructions have it.
    let options = dropped.iter().filter(|name| *name != RESPONSE_FORMAT);
    let warnings_of_options = options.map(|name| {
        let message = Message::new(&OPTION_DROPPED).with("name", name);
        message.render(telling.at.caller.locale)
    });
    let guessed = answer.usage.is_none().then(|| {
        (size_of(request) + answer_size(&answer.text, answer.reasoning.as_ref(), &answer.calls)) as u64
    });
    Ok(Answer {
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

//! One turn of a conversation: the model is asked, its calls are carried out, and it is asked again, until it has
//! its answer or may not go on.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use haft_core::agent::Agent;
use haft_core::{
    CallError, Caller, ConversationId, Effect, ErrorKind, Locale, Message, RequestId, Source, SpaceId,
};
use haft_llm::ToolChoice;
use haft_runs::{Halt, RunContext, StepOutcome};
use tokio::time::Instant;
use uuid::Uuid;

use crate::context_window::{FitMode, fit_request};
use crate::conversation_input::ConversationInput;
use crate::conversations::Conversations;
use crate::ephemeral_turn::EnclosingTurn;
use crate::event::steps_of;
use crate::inbox::InboxMessage;
use crate::model_request::{OUT_OF_TIME, ResponseSink, cancelled, request_response};
use crate::models::SpaceUser;
use crate::prompt::{Images, image, request, sent_images};
use crate::response_format::in_format;
use crate::results_as_text::final_response;
use crate::toolbox::{OfferedTool, Toolbox, bound, offer, pinned};
use crate::transcript::{FinishReason, Transcript, Turn, TurnStep, key};
use crate::turn_context::{TurnBudget, TurnContext, begun};
use crate::turn_end::{ends_turn, remark};
use crate::turn_log::TurnLog;

haft_core::templates! {
    NO_AGENT = "chat.noAgent",
        "The agent of this conversation no longer exists.",
        "该对话的智能体已不存在";
    INACTIVE = "chat.agentOff",
        "The agent {agent} is switched off.",
        "智能体 {agent} 已停用";
    SHORTENED = "chat.shortened",
        "The conversation exceeds the model's context window. Older parts were left out.",
        "对话超出模型可读取的长度；已省略较早的部分";
    OPTION_LEFT_OUT = "chat.optionLeftOut",
        "The request was sent without {name}, which Haft does not support",
        "已去掉 {name} 后询问模型：Haft 不支持该选项";
    DIED = "chat.died",
        "All {deaths} server processes that worked on this turn crashed.",
        "处理本轮的 {deaths} 个服务进程均中途终止";
}

/// What a provider says to a conversation that is too long for its model.
const TOO_LONG: &str = "llm.contextTooLong";

/// So often a conversation is made shorter for a model that says so.
const MOST_SQUEEZES: usize = 3;

/// The last answer of a turn whose budget is spent may take so long.
const LAST_WORDS: Duration = Duration::from_secs(60);

/// The largest image that a conversation may hold, in bytes.
const LARGEST_IMAGE: u64 = 10 << 20;

/// Why a turn stops before it has its answer.
enum Interruption {
    Halt(Halt),
    Failed(CallError),
    /// In the middle of an answer.
    OutOfTime,
}

impl From<Halt> for Interruption {
    fn from(halt: Halt) -> Self {
        Self::Halt(halt)
    }
}

impl From<CallError> for Interruption {
    fn from(error: CallError) -> Self {
        Self::Failed(error)
    }
}

/// How a turn is carried on: by a run that is kept, or by nobody's.
#[derive(Debug)]
pub(crate) struct TurnMode {
    pub(crate) is_kept: bool,
    pub(crate) is_durable: bool,
    /// Number of crashes since the turn persisted its last step.
    pub(crate) crashes: u32,
    pub(crate) enclosing: EnclosingTurn,
}

impl Conversations {
    /// Carries the open turn on to its end.
    pub(crate) async fn turn(
        &self,
        cx: &RunContext,
        chat: &ConversationInput,
        transcript: &mut Transcript,
        log: &Arc<TurnLog>,
        mode: &TurnMode,
    ) -> Result<FinishReason, Halt> {
        let chat = &chat.in_turn(transcript);
        if transcript.open().is_none() {
            return Ok(FinishReason::Stop);
        }
        let (crashes, max_crashes) = (mode.crashes, cx.run().max_crashes);
        let ended = if crashes >= max_crashes && max_crashes > 0 {
            let message = Message::new(&DIED).with("deaths", crashes);
            Err(Interruption::Failed(CallError::new(ErrorKind::Internal, message)))
        } else {
            self.steps(cx, chat, transcript, log, mode).await
        };
        let (finish, warnings, error) = match ended {
            Ok((finish, warnings)) => (finish, warnings, None),
            Err(Interruption::Halt(Halt::Failed(error))) => (FinishReason::Error, Vec::new(), Some(error)),
            Err(Interruption::Halt(halt)) => return Err(halt),
            Err(Interruption::Failed(error)) if error.kind() == ErrorKind::Cancelled => {
                (FinishReason::Cancelled, Vec::new(), None)
            }
            Err(Interruption::OutOfTime) => (FinishReason::MaxSteps, Vec::new(), None),
            Err(Interruption::Failed(error)) => (FinishReason::Error, Vec::new(), Some(error)),
        };
        self.settle(cx, chat, transcript).await;
        Ok(self.end(cx, transcript, log, (finish, warnings, error)))
    }

    async fn steps(
        &self,
        cx: &RunContext,
        chat: &ConversationInput,
        transcript: &mut Transcript,
        log: &Arc<TurnLog>,
        mode: &TurnMode,
    ) -> Result<(FinishReason, Vec<String>), Interruption> {
        let at = self.ready(cx, chat, transcript, log, mode).await?;
        let images = self.images(&at, transcript).await;
        let (mut warnings, mut is_forced) = (Vec::new(), false);
        loop {
            if let Some(last) = transcript.open().and_then(|turn| turn.steps.last()) {
                if last.calls.is_empty() {
                    let is_beyond = is_forced || last.step > at.budget.steps;
                    warnings.extend(remark(&last.response).map(|template| at.say(&Message::new(template))));
                    return Ok((
                        if is_beyond { FinishReason::MaxSteps } else { FinishReason::Stop },
                        warnings,
                    ));
                }
                if at.cancel.is_cancelled() {
                    self.abandon(cx, &at, transcript).await;
                    return Err(cancelled().into());
                }
                self.carry(cx, &at, transcript).await?;
                if at.cancel.is_cancelled() {
                    self.abandon(cx, &at, transcript).await;
                    return Err(cancelled().into());
                }
                self.awaited(&at, transcript)?;
                if let Some(finish) = at.over(transcript) {
                    return Ok((finish, warnings));
                }
            }
            let spent = at.spent(transcript);
            is_forced = spent.is_some();
            warnings.extend(spent.as_ref().map(|message| at.say(message)));
            let is_shortened = match self.answer(cx, chat, &at, transcript, &images, is_forced).await {
                Err(Interruption::OutOfTime) => {
                    // What was told of the answer by then is what there is.
                    warnings.extend((!is_forced).then(|| at.say(&at.no_more_time())));
                    return Ok((FinishReason::MaxSteps, warnings));
                }
                answered => answered?,
            };
            let note = at.say(&Message::new(&SHORTENED));
            if is_shortened && !warnings.contains(&note) {
                warnings.push(note);
            }
        }
    }

    /// Finds everything that a turn needs.
    async fn ready(
        &self,
        cx: &RunContext,
        chat: &ConversationInput,
        transcript: &Transcript,
        log: &Arc<TurnLog>,
        mode: &TurnMode,
    ) -> Result<TurnContext, Interruption> {
        let run = cx.run();
        if let Some(error) = cx.denial() {
            return Err(or_back(error));
        }
        let open = transcript.open();
        let request =
            open.and_then(|turn| request_of(turn)).and_then(|request| request.parse::<RequestId>().ok());
        let locale = open.map(locale_of).unwrap_or_default();
        let caller = Caller { space: run.space, user: run.user, source: Source::Chat, locale, request };
        let agent = match chat.agent {
            Some(id) => Some(self.agent(run.space, &id.to_string()).await.map_err(or_back)?),
            None => None,
        };
        let locale = agent.as_ref().and_then(|agent| agent.spec.locale).unwrap_or(caller.locale);
        let caller = Caller { locale, ..caller };
        self.0.tools.make_ready(run.space).await.map_err(or_back)?;
        let own = match &agent {
            Some(agent) => {
                let pinned = pinned(&self.0.tools, run.space, agent).await.map_err(or_back)?;
                let bound = bound(&self.0.tools.in_space(run.space), agent, &pinned);
                self.0.toolbox_cache.of(agent, &bound, mode.is_kept)
            }
            None => Arc::default(),
        };
        let tools = self.0.tools.in_space(run.space);
        let named = open.into_iter().flat_map(|turn| &turn.input).flat_map(InboxMessage::tools);
        let named = named.filter_map(|name| offer(&*tools.get(name)?, None, mode.is_kept));
        let options = match &agent {
            Some(agent) => chat.asking.options.or(&agent.spec.config.options),
            None => chat.asking.options.clone(),
        };
        // The text of the tool that ends the turn is not checked against a response format.
        let has_format = options.response_format().is_some();
        let own = own.iter().cloned().chain(named);
        let own = own.filter(|offered: &OfferedTool| !has_format || !ends_turn(offered));
        let toolbox = Toolbox::new(&chat.client_tools, &[], own);
        let wanted = chat.asking.wanted.or(agent.as_deref());
        let asker = SpaceUser { space: run.space, user: run.user };
        let chosen = self.0.models.find(asker, &wanted).await.map_err(or_back)?;
        let turn = open.map_or(1, |turn| turn.turn);
        tracing::info!(
            conversation.id = %run.id, request.id = open.and_then(request_of).map(display), turn,
            agent.id = chat.agent.map(|agent| agent.to_string()), chat.tools = toolbox.len(),
            chat.model = format!("{}/{}", chosen.provider, chosen.name), "Chat: tools loaded"
        );
        let (budget, enclosing) = (TurnBudget::of(agent.as_deref()), &mode.enclosing);
        let own = || ConversationId::from(Uuid::from(run.id));
        Ok(TurnContext {
            conversation: run.id,
            turn,
            caller,
            allowance: Arc::new(budget.left(open, &toolbox, enclosing.allowance.clone())),
            worked: open.map(Turn::worked).unwrap_or_default(),
            recorded: mode.is_kept.then(own).or(enclosing.conversation),
            budget,
            agent,
            toolbox,
            chosen,
            log: log.clone(),
            cancel: cx.cancellation().clone(),
            is_kept: mode.is_kept,
            is_durable: mode.is_durable,
            depth: enclosing.depth,
            began: Instant::now(),
        })
    }

    pub(crate) async fn agent(&self, space: SpaceId, name: &str) -> Result<Arc<Agent>, CallError> {
        let found = self.0.host.agent(space, name).await?;
        let none = || CallError::new(ErrorKind::NotFound, Message::new(&NO_AGENT));
        let agent = found.ok_or_else(none)?;
        if !agent.spec.is_active {
            let message = Message::new(&INACTIVE).with("agent", &agent.spec.name);
            return Err(CallError::new(ErrorKind::ToolDisabled, message));
        }
        Ok(agent)
    }

    /// Asks for the next answer; whether the conversation had to be made shorter for it.
    async fn answer(
        &self,
        cx: &RunContext,
        chat: &ConversationInput,
        at: &TurnContext,
        transcript: &mut Transcript,
        images: &Images,
        is_last: bool,
    ) -> Result<bool, Interruption> {
        let step = transcript.open().map_or(1, |turn| steps_of(turn) + 1);
        let tools = at.toolbox.for_model(transcript);
        let mut question = request(chat, at.agent.as_deref(), transcript, &at.chosen, tools, images);
        question.context_tokens = at.chosen.window;
        let left_out = question.options.take_unsupported().into_iter().map(|name| {
            let message = Message::new(&OPTION_LEFT_OUT).with("name", name);
            at.say(&message)
        });
        let left_out: Vec<String> = left_out.collect();
        // What was refused once in this turn is not asked again.
        for name in
            transcript.open().into_iter().flat_map(|turn| &turn.steps).flat_map(|step| &step.response.dropped)
        {
            question.leave_out(name);
        }
        // A response format asks for JSON as text, which is never a call. Decided before the question is shortened,
        // so that a native call counts wherever it is in the conversation.
        question.text_tool_calls = question.response_format.is_none()
            && at.chosen.model.writes_calls_as_text()
            && !question.has_native_calls();
        if is_last {
            question.tool_choice = ToolChoice::None;
        } else if step > 1 && question.tool_choice != ToolChoice::None {
            // What was wanted of the first answer was given; a model that must call in each never ends.
            question.tool_choice = ToolChoice::Auto;
        }
        let mut is_shortened = fit_request(&mut question, at.chosen.window, FitMode::Window);
        tracing::info!(
            conversation.id = %at.conversation, request.id = at.caller.request.as_ref().map(display),
            turn = at.turn, step, "Chat: model call {step}"
        );
        let until = Instant::now() + if is_last { LAST_WORDS } else { at.left() };
        let sink = ResponseSink { at, step, until };
        let earlier = transcript.open().into_iter().flat_map(Turn::warnings);
        let mut known: HashSet<String> = earlier.map(str::to_owned).collect();
        let mut answered = None;
        let key = key::response(at.turn, step);
        let asked = cx.step::<_, Interruption>(&key, Effect::Read, || async {
            let mut asked = request_response(&at.chosen, &question, &sink).await;
            for _ in 0..MOST_SQUEEZES {
                let is_too_long = asked.as_ref().is_err_and(|error| error.message().id() == TOO_LONG);
                if !is_too_long || !fit_request(&mut question, at.chosen.window, FitMode::Half) {
                    break;
                }
                is_shortened = true;
                asked = request_response(&at.chosen, &question, &sink).await;
            }
            let checked = async {
                let answer = asked?;
                let answer = match question.tool_choice {
                    ToolChoice::None => final_response(&question, answer, &sink).await?,
                    ToolChoice::Auto | ToolChoice::Required | ToolChoice::Tool(_) => answer,
                };
                in_format(&question, answer, &sink).await
            };
            let mut answer = checked.await.map_err(|error| match error.message().id() == OUT_OF_TIME.id {
                true => Interruption::OutOfTime,
                false => Interruption::Failed(error),
            })?;
            answer.warnings.extend(left_out);
            // A warning is given once in a turn, however many requests it comes from.
            answer.warnings.retain(|warning| known.insert(warning.clone()));
            at.allowance.take_tokens(answer.tokens());
            let kept = serde_json::to_value(&answer).unwrap_or_default();
            answered = Some(answer);
            Ok(kept)
        });
        match (asked.await?, answered) {
            (StepOutcome::Done(_), Some(answer)) => {
                at.emit(step, &answer);
                let calls = answer.calls.iter().filter_map(begun).collect();
                if let Some(turn) = transcript.turns.last_mut() {
                    turn.steps.push(TurnStep { step, response: answer, calls });
                }
                Ok(is_shortened)
            }
            (StepOutcome::Done(_) | StepOutcome::Unknown, _) => {
                Err(CallError::text(ErrorKind::Internal, "the answer was lost").into())
            }
        }
    }

    /// The files of the user's that are images of the conversation.
    async fn images(&self, at: &TurnContext, transcript: &Transcript) -> Images {
        let mut images = Images::default();
        for url in sent_images(transcript) {
            if images.known.contains_key(&url) || url.starts_with("data:") {
                continue;
            }
            // Where it is no file of ours, the provider may fetch it.
            let file = self.0.host.read_file(at.owner(), &url, LARGEST_IMAGE).await;
            let found = file.map(|file| crate::files::as_image(&file)).ok().or_else(|| image(&url));
            if let Some(image) = found {
                images.known.insert(url, image);
            }
        }
        images
    }
}

pub(crate) fn request_of(turn: &Turn) -> Option<&str> {
    turn.input.iter().rev().find_map(|inbox_message| inbox_message.turn_request()?.request.as_deref())
}

pub(crate) fn locale_of(turn: &Turn) -> Locale {
    let asked = turn.input.iter().filter_map(InboxMessage::turn_request).next_back();
    asked.map_or_else(Locale::default, |asked| asked.locale)
}

/// What is away now may be there in a moment; all else is the turn's failure.
fn or_back(error: CallError) -> Interruption {
    match Halt::from(error) {
        Halt::Failed(error) => Interruption::Failed(error),
        halt @ (Halt::Suspend(_) | Halt::Lost | Halt::Release) => Interruption::Halt(halt),
    }
}

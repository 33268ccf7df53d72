//! The model request of a step: the instructions, the conversation, and the tools that may be called.
//!
//! Only the agent's author and the client write in the system role; results of tools are never placed there.

use std::collections::HashMap;

use haft_core::ModelOptions;
use haft_core::agent::Agent;
use haft_core::name::TASK_RESULT;
use haft_llm::{
    Call, ContentPart, Image, ModelRequest, ModelTurn, NamedInstruction, SYNTHETIC_CALL_PREFIX, ToolChoice,
    ToolResult,
};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::call_result::{too_large, truncate};
use crate::client_history::{Results, spoken};
use crate::conversation_input::ConversationInput;
use crate::inbox::{ChatMessage, ChatRole, InboxMessage, MessagePart, TaskEnded};
use crate::transcript::{CallState, FinishReason, StepCall, Transcript, Turn, TurnEnd};
use crate::turn_context::TurnContext;

/// Maximum number of images in a request. The last ones of the conversation are sent.
const MAX_IMAGES: usize = 16;

/// Images of a conversation, by their addresses.
#[derive(Default)]
pub(crate) struct Images {
    pub(crate) known: HashMap<String, Image>,
}

/// Returns the addresses of the images that are sent.
pub(crate) fn sent_images(transcript: &Transcript) -> Vec<String> {
    let inbox_messages = transcript.turns.iter().flat_map(|turn| &turn.input);
    let pieces = inbox_messages.flat_map(messages).flat_map(|message| &message.content);
    let mut urls: Vec<String> = pieces.filter_map(image_of).map(str::to_owned).collect();
    urls.drain(..urls.len().saturating_sub(MAX_IMAGES));
    urls
}

fn image_of(piece: &MessagePart) -> Option<&str> {
    match piece {
        MessagePart::Image { url, .. } => Some(url),
        MessagePart::Text { .. } | MessagePart::Call { .. } | MessagePart::Result { .. } => None,
    }
}

/// The parts of a request.
pub(crate) struct Prompt<'a> {
    pub(crate) input: &'a ConversationInput,
    pub(crate) context: &'a TurnContext,
    pub(crate) transcript: &'a Transcript,
    pub(crate) images: &'a Images,
}

impl Prompt<'_> {
    /// Returns the request of a step.
    pub(crate) fn request(&self) -> ModelRequest {
        let Self { input, context, transcript, images } = *self;
        let (agent, model, asking) = (context.agent.as_deref(), &context.model, &input.asking);
        let config = agent.map(|agent| &agent.spec.config);
        let tool_choice = config.and_then(|config| config.tool_choice.as_ref());
        let own = ModelOptions::default();
        let options = asking.options.or(config.map_or(&own, |config| &config.options));
        ModelRequest {
            model: model.name.clone(),
            system: system(input, agent, transcript),
            named_system: named_system(input),
            turns: spoken_turns(transcript, &format!("{}/{}", model.provider, model.name), images),
            tool_choice: choice(asking.tool_choice.as_ref().or(tool_choice)),
            tools: context.toolbox.for_model(transcript),
            parallel_tool_calls: asking
                .parallel_tool_calls
                .or(config.map(|config| config.parallel_tool_calls))
                .unwrap_or(true),
            temperature: asking.temperature.or(config.and_then(|config| config.temperature)),
            max_tokens: asking.max_tokens.or(config.and_then(|config| config.max_tokens)),
            response_format: options.response_format(),
            format_in_instructions: false,
            options,
            context_tokens: None,
            text_tool_calls: false,
        }
    }
}

/// `auto`, `none`, `required`, a tool's name, or OpenAI's object.
fn choice(written: Option<&Value>) -> ToolChoice {
    match written.and_then(Value::as_str) {
        None => {
            match written.and_then(|choice| choice["function"]["name"].as_str().or(choice["name"].as_str())) {
                Some(name) => ToolChoice::Tool(name.to_owned()),
                None => ToolChoice::Auto,
            }
        }
        Some("auto") => ToolChoice::Auto,
        Some("none") => ToolChoice::None,
        Some("required") => ToolChoice::Required,
        Some(name) => ToolChoice::Tool(name.to_owned()),
    }
}

fn system(chat: &ConversationInput, agent: Option<&Agent>, transcript: &Transcript) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(agent) = agent.filter(|agent| !agent.spec.system_prompt.trim().is_empty()) {
        parts.push(with_today(&agent.spec.system_prompt, transcript));
    }
    parts.extend(instructions(chat).filter(|message| message.name.is_none()).map(ChatMessage::text_content));
    let pending: Vec<String> =
        transcript.pending().map(|(call, _)| format!("- {} (callId {})", call.name, call.call_id)).collect();
    if !pending.is_empty() {
        parts.push(format!(
            "These calls are still pending. Their results are delivered later; do not repeat the calls:\n{}",
            pending.join("\n")
        ));
    }
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// The instructions of the client at the beginning of the conversation.
fn instructions(chat: &ConversationInput) -> impl Iterator<Item = &ChatMessage> {
    chat.first.messages.iter().take_while(|message| message.role == ChatRole::System)
}

fn named_system(chat: &ConversationInput) -> Vec<NamedInstruction> {
    let named = instructions(chat).filter_map(|message| {
        Some(NamedInstruction { name: message.name.clone()?, text: message.text_content() })
    });
    // Providers refuse an empty message.
    named.filter(|named| !named.text.trim().is_empty()).collect()
}

/// Instructions with `{{today}}` filled in: the date of the turn on the server's calendar, which every step has.
fn with_today(prompt: &str, transcript: &Transcript) -> String {
    let Some(open) = transcript.open().filter(|_| prompt.contains("{{")) else { return prompt.to_owned() };
    let today = open.setup.at.to_zoned(TimeZone::system()).date().to_string();
    let (mut filled, mut rest) = (String::with_capacity(prompt.len()), prompt);
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        rest = match after.split_once("}}") {
            Some((name, after)) if name.trim() == "today" => {
                filled.push_str(&today);
                after
            }
            Some(_) | None => {
                filled.push_str("{{");
                after
            }
        };
    }
    filled.push_str(rest);
    filled
}

/// The conversation as the model reads it. Of many images only the last are in it. `model` is `provider/model`.
fn spoken_turns(transcript: &Transcript, model: &str, images: &Images) -> Vec<ModelTurn> {
    let of = |turn: &Turn| -> usize {
        let pieces = turn.input.iter().flat_map(messages).flat_map(|message| &message.content);
        pieces.filter(|piece| image_of(piece).is_some()).count()
    };
    let all: usize = transcript.turns.iter().map(of).sum();
    let mut old = all.saturating_sub(MAX_IMAGES);
    transcript.turns.iter().flat_map(|turn| model_turns(turn, model, images, &mut old)).collect()
}

/// A turn as the model reads it. The first `old` images are replaced by a note.
fn model_turns(turn: &Turn, model: &str, images: &Images, old: &mut usize) -> Vec<ModelTurn> {
    let mut turns = Vec::new();
    let ended: Vec<&TaskEnded> = turn.input.iter().filter_map(ended).collect();
    if !ended.is_empty() {
        turns.extend(deferred_results(turn, &ended));
    }
    let messages: Vec<&ChatMessage> = turn.input.iter().flat_map(messages).collect();
    // Instructions at the beginning of the conversation are in the system prompt.
    let in_system_prompt = match turn.turn {
        1 => messages.iter().take_while(|message| message.role == ChatRole::System).count(),
        _ => 0,
    };
    let mut results = Results::of(&messages);
    for (place, message) in messages.iter().enumerate() {
        match message.role {
            // Results follow the message that has their calls.
            ChatRole::Tool => {}
            ChatRole::System if place < in_system_prompt => {}
            ChatRole::System => {
                turns.push(ModelTurn::System { text: message.text_content(), name: message.name.clone() })
            }
            ChatRole::User => {
                turns.push(ModelTurn::User { parts: parts(message, images, old), name: message.name.clone() })
            }
            ChatRole::Assistant => {
                turns.extend(spoken(message, (turn.turn, place), &mut results, model));
            }
        }
    }
    for step in &turn.steps {
        let answer = &step.response;
        let calls = answer.calls_for(model);
        turns.push(ModelTurn::assistant(&answer.text, answer.reasoning.clone(), calls));
        if !step.calls.is_empty() {
            turns.push(ModelTurn::ToolResults { results: step.calls.iter().map(result).collect() });
        }
    }
    // The emitted part of a response that was cancelled or timed out.
    let is_cut = |end: &&TurnEnd| matches!(end.finish, FinishReason::Cancelled | FinishReason::MaxSteps);
    if let Some(end) = turn.end.as_ref().filter(is_cut).filter(|end| !end.text.is_empty()) {
        let is_known = turn.steps.last().is_some_and(|step| step.response.text == end.text);
        if !is_known {
            turns.push(ModelTurn::assistant(&end.text, None, Vec::new()));
        }
    }
    turns
}

fn messages(inbox_message: &InboxMessage) -> &[ChatMessage] {
    match inbox_message {
        InboxMessage::User(said) => &said.messages,
        InboxMessage::ToolResults(returned) => &returned.messages,
        InboxMessage::Continue(_) | InboxMessage::TaskEnded(_) => &[],
    }
}

fn ended(inbox_message: &InboxMessage) -> Option<&TaskEnded> {
    match inbox_message {
        InboxMessage::TaskEnded(ended) => Some(ended),
        InboxMessage::User(_) | InboxMessage::ToolResults(_) | InboxMessage::Continue(_) => None,
    }
}

/// Results that arrived after their turn, as separate calls with results: the result of the original call was `pending`.
fn deferred_results(turn: &Turn, ended: &[&TaskEnded]) -> [ModelTurn; 2] {
    let id = |place: usize| format!("{SYNTHETIC_CALL_PREFIX}{}_{place}", turn.turn);
    let calls = ended.iter().enumerate().map(|(place, ended)| Call {
        id: id(place),
        name: TASK_RESULT.to_owned(),
        arguments: json!({"callId": ended.name}).to_string(),
        ..Call::default()
    });
    let results = ended.iter().enumerate().map(|(place, ended)| {
        let mut output = ended.output.clone();
        if let Some(text) = too_large(&output) {
            truncate(&mut output, &text, turn.setup.kept.get(&ended.name).cloned());
        }
        let (content, is_error) = content(&output);
        ToolResult { call_id: id(place), name: TASK_RESULT.to_owned(), content, is_error }
    });
    [ModelTurn::assistant("", None, calls.collect()), ModelTurn::ToolResults { results: results.collect() }]
}

fn parts(message: &ChatMessage, images: &Images, old: &mut usize) -> Vec<ContentPart> {
    let not_shown = || ContentPart::Text { text: "[an image that is not shown any more]".to_owned() };
    let part = |piece: &MessagePart| match piece {
        MessagePart::Text { text } => Some(ContentPart::Text { text: text.clone() }),
        MessagePart::Image { .. } if *old > 0 => {
            *old -= 1;
            Some(not_shown())
        }
        MessagePart::Image { url, detail } => {
            let image = images.known.get(url).cloned().or_else(|| image(url));
            let image = image.map(|image| Image { detail: detail.clone(), ..image });
            Some(image.map_or_else(not_shown, ContentPart::Image))
        }
        MessagePart::Call { .. } | MessagePart::Result { .. } => None,
    };
    message.content.iter().filter_map(part).collect()
}

/// An image that is in its address, or at one.
pub(crate) fn image(url: &str) -> Option<Image> {
    Image::read(url)
}

fn result(call: &StepCall) -> ToolResult {
    let (content, is_error) = match &call.state {
        CallState::Done(result) => content(result),
        CallState::Pending(task) | CallState::Awaited(task) => {
            let pending = json!({"status": "pending", "taskId": task.task_id, "callId": call.call_id});
            (pending.to_string(), false)
        }
        CallState::Running => {
            (r#"{"error": {"kind": "Cancelled", "message": "not executed"}}"#.to_owned(), true)
        }
    };
    ToolResult { call_id: call.call_id.to_string(), name: call.name.clone(), content, is_error }
}

/// A result as the model reads it, and whether it is an error.
pub(crate) fn content(result: &Value) -> (String, bool) {
    match (result["success"].as_bool(), result.get("data")) {
        (Some(true), Some(Value::String(text))) => (text.clone(), false),
        (Some(true), data) => (data.unwrap_or(&Value::Null).to_string(), false),
        (Some(false) | None, _) => (json!({"error": result["error"]}).to_string(), true),
    }
}

//! What a model is asked in a step: the instructions, the conversation, and the tools it may call.
//!
//! Only the agent's author and whoever asks speak in the system role; results of tools never do.

use std::collections::HashMap;
use std::sync::Arc;

use haft_core::agent::Agent;
use haft_llm::{
    Call, Image, ModelRequest, Part, TOLD, ToolChoice, ToolDefinition, ToolResult, Turn as ModelTurn,
};
use serde_json::{Value, json};

use crate::chat_run::ChatRun;
use crate::result::{cut, too_large};
use crate::said::{Letter, Message, Piece, Role, TaskEnded};
use crate::toolbox::TASK_RESULT;
use crate::transcript::{CallState, Finish, StepCall, Transcript, Turn, TurnEnd};

/// So many images a model is shown: the last of a conversation.
const MOST_IMAGES: usize = 16;

/// Images of a conversation, by their addresses.
#[derive(Default)]
pub(crate) struct Images {
    pub(crate) known: HashMap<String, Image>,
}

/// Those of a conversation that are shown.
pub(crate) fn shown_images(transcript: &Transcript) -> Vec<String> {
    let letters = transcript.turns.iter().flat_map(|turn| &turn.input);
    let pieces = letters.flat_map(messages).flat_map(|message| &message.content);
    let mut urls: Vec<String> = pieces.filter_map(image_of).map(str::to_owned).collect();
    urls.drain(..urls.len().saturating_sub(MOST_IMAGES));
    urls
}

fn image_of(piece: &Piece) -> Option<&str> {
    match piece {
        Piece::Image { url } => Some(url),
        Piece::Text { .. } | Piece::Call { .. } | Piece::Result { .. } => None,
    }
}

/// The question of a step.
pub(crate) fn request(
    chat: &ChatRun,
    agent: Option<&Agent>,
    transcript: &Transcript,
    model: &str,
    tools: Vec<Arc<ToolDefinition>>,
    images: &Images,
) -> ModelRequest {
    let config = agent.map(|agent| &agent.spec.config);
    let asking = &chat.asking;
    let tool_choice = asking.tool_choice.as_ref().or(config.and_then(|config| config.tool_choice.as_ref()));
    ModelRequest {
        model: model.to_owned(),
        system: system(chat, agent, transcript),
        turns: spoken_turns(transcript, images),
        tool_choice: choice(tool_choice),
        tools,
        parallel_tool_calls: asking
            .parallel_tool_calls
            .or(config.map(|config| config.parallel_tool_calls))
            .unwrap_or(true),
        temperature: asking.temperature.or(config.and_then(|config| config.temperature)),
        max_tokens: asking.max_tokens.or(config.and_then(|config| config.max_tokens)),
        context_tokens: None,
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

fn system(chat: &ChatRun, agent: Option<&Agent>, transcript: &Transcript) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(agent) = agent.filter(|agent| !agent.spec.system_prompt.trim().is_empty()) {
        parts.push(agent.spec.system_prompt.clone());
    }
    let given = chat.first.messages.iter().filter(|message| message.role == Role::System);
    parts.extend(given.map(Message::words));
    let pending: Vec<String> =
        transcript.pending().map(|(call, _)| format!("- {} (callId {})", call.name, call.call_id)).collect();
    if !pending.is_empty() {
        parts.push(format!(
            "These calls are still pending. Their results come by themselves; do not call the same thing again:\n{}",
            pending.join("\n")
        ));
    }
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// The conversation as the model reads it. Of many images only the last are in it.
fn spoken_turns(transcript: &Transcript, images: &Images) -> Vec<ModelTurn> {
    let of = |turn: &Turn| -> usize {
        let pieces = turn.input.iter().flat_map(messages).flat_map(|message| &message.content);
        pieces.filter(|piece| image_of(piece).is_some()).count()
    };
    let all: usize = transcript.turns.iter().map(of).sum();
    let mut old = all.saturating_sub(MOST_IMAGES);
    transcript.turns.iter().flat_map(|turn| said(turn, images, &mut old)).collect()
}

/// A turn as the model reads it. So many of its images are too old to be shown.
fn said(turn: &Turn, images: &Images, old: &mut usize) -> Vec<ModelTurn> {
    let mut turns = Vec::new();
    let ended: Vec<&TaskEnded> = turn.input.iter().filter_map(ended).collect();
    if !ended.is_empty() {
        turns.extend(arrived(turn, &ended));
    }
    let messages: Vec<&Message> = turn.input.iter().flat_map(messages).collect();
    for (place, message) in messages.iter().enumerate() {
        match message.role {
            // Results stand behind the message that has their calls.
            Role::System | Role::Tool => {}
            Role::User => turns.push(ModelTurn::User { parts: parts(message, images, old) }),
            Role::Assistant => {
                turns.extend(spoken(message, &messages[place + 1..], &format!("{}_{place}", turn.turn)))
            }
        }
    }
    for step in &turn.steps {
        let answer = &step.answer;
        turns.push(ModelTurn::Assistant {
            text: answer.text.clone(),
            reasoning: answer.reasoning.clone(),
            calls: answer.calls.clone(),
        });
        if !step.calls.is_empty() {
            turns.push(ModelTurn::ToolResults { results: step.calls.iter().map(result).collect() });
        }
    }
    // What was told of an answer that was stopped, or for which there was no more time.
    let is_cut = |end: &&TurnEnd| matches!(end.finish, Finish::Cancelled | Finish::MaxSteps);
    if let Some(end) = turn.end.as_ref().filter(is_cut).filter(|end| !end.text.is_empty()) {
        let is_known = turn.steps.last().is_some_and(|step| step.answer.text == end.text);
        if !is_known {
            let (text, calls) = (end.text.clone(), Vec::new());
            turns.push(ModelTurn::Assistant { text, reasoning: None, calls });
        }
    }
    turns
}

/// What an assistant said, with its calls and their results. Providers refuse a call without a result, and a result
/// without a call, so neither is told.
fn spoken(message: &Message, after: &[&Message], place: &str) -> Vec<ModelTurn> {
    let after = after.iter().take_while(|message| message.role == Role::Tool);
    let results: Vec<&Piece> = after.flat_map(|message| &message.content).collect();
    let result_of = |wanted: &str| {
        results.iter().find_map(|piece| match piece {
            Piece::Result { call, text } => (call == wanted).then_some(text),
            Piece::Text { .. } | Piece::Image { .. } | Piece::Call { .. } => None,
        })
    };
    let (mut said, mut calls, mut came) = (Vec::new(), Vec::new(), Vec::new());
    for piece in &message.content {
        match piece {
            Piece::Text { text } => said.push(text.as_str()),
            Piece::Call { id, name, arguments } => {
                let Some(content) = result_of(id) else { continue };
                // Ids of others may be such as no provider takes.
                let id = format!("haft_said_{place}_{}", calls.len());
                let (name, arguments) = (name.clone(), arguments.clone());
                came.push(ToolResult {
                    call_id: id.clone(),
                    name: name.clone(),
                    content: content.clone(),
                    is_error: false,
                });
                calls.push(Call { id, name, arguments, signature: None });
            }
            Piece::Image { .. } | Piece::Result { .. } => {}
        }
    }
    let text = said.join("\n");
    let mut turns = Vec::new();
    if !text.is_empty() || !calls.is_empty() {
        turns.push(ModelTurn::Assistant { text, reasoning: None, calls });
    }
    if !came.is_empty() {
        turns.push(ModelTurn::ToolResults { results: came });
    }
    turns
}

fn messages(letter: &Letter) -> &[Message] {
    match letter {
        Letter::Said(said) => &said.messages,
        Letter::Returned(returned) => &returned.messages,
        Letter::GoOn(_) | Letter::Ended(_) => &[],
    }
}

fn ended(letter: &Letter) -> Option<&TaskEnded> {
    match letter {
        Letter::Ended(ended) => Some(ended),
        Letter::Said(_) | Letter::Returned(_) | Letter::GoOn(_) => None,
    }
}

/// Results that came by themselves, as calls and results of their own: a call has one result, and that was `pending`.
fn arrived(turn: &Turn, ended: &[&TaskEnded]) -> [ModelTurn; 2] {
    let id = |place: usize| format!("{TOLD}{}_{place}", turn.turn);
    let calls = ended.iter().enumerate().map(|(place, ended)| Call {
        id: id(place),
        name: TASK_RESULT.to_owned(),
        arguments: json!({"callId": ended.name}).to_string(),
        signature: None,
    });
    let results = ended.iter().enumerate().map(|(place, ended)| {
        let mut output = ended.output.clone();
        if let Some(text) = too_large(&output) {
            cut(&mut output, &text, turn.setup.kept.get(&ended.name).cloned());
        }
        let (content, is_error) = content(&output);
        ToolResult { call_id: id(place), name: TASK_RESULT.to_owned(), content, is_error }
    });
    [
        ModelTurn::Assistant { text: String::new(), reasoning: None, calls: calls.collect() },
        ModelTurn::ToolResults { results: results.collect() },
    ]
}

fn parts(message: &Message, images: &Images, old: &mut usize) -> Vec<Part> {
    let not_shown = || Part::Text { text: "[an image that is not shown any more]".to_owned() };
    let part = |piece: &Piece| match piece {
        Piece::Text { text } => Some(Part::Text { text: text.clone() }),
        Piece::Image { .. } if *old > 0 => {
            *old -= 1;
            Some(not_shown())
        }
        Piece::Image { url } => {
            let image = images.known.get(url).cloned().or_else(|| image(url));
            Some(image.map_or_else(not_shown, Part::Image))
        }
        Piece::Call { .. } | Piece::Result { .. } => None,
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
            (r#"{"error": {"kind": "Cancelled", "message": "not carried out"}}"#.to_owned(), true)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> Piece {
        Piece::Call { id: id.to_owned(), name: "look".to_owned(), arguments: "{}".to_owned() }
    }

    fn result(call: &str) -> Message {
        let (call, text) = (call.to_owned(), format!("of {call}"));
        Message { role: Role::Tool, content: vec![Piece::Result { call, text }] }
    }

    #[test]
    fn neither_a_call_nor_a_result_is_told_alone() {
        let message = Message { role: Role::Assistant, content: vec![call("a"), call("b"), call("c")] };
        let after = [result("c"), result("x"), result("a"), Message::text(Role::User, "so?"), result("b")];
        let after: Vec<&Message> = after.iter().collect();
        let turns = spoken(&message, &after, "1_0");
        let [ModelTurn::Assistant { calls, .. }, ModelTurn::ToolResults { results }] = turns.as_slice()
        else {
            panic!("{turns:?}");
        };
        let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["haft_said_1_0_0", "haft_said_1_0_1"]);
        let came: Vec<(&str, &str)> =
            results.iter().map(|result| (result.call_id.as_str(), result.content.as_str())).collect();
        assert_eq!(came, [(ids[0], "of a"), (ids[1], "of c")]);
        assert!(spoken(&message, &[], "1_0").is_empty(), "nothing is left of it");
    }

    #[test]
    fn what_was_kept_before_is_read_and_what_is_new_is_read_again() {
        let old = json!({"role": "user", "content": [{"type": "text", "text": "hi"}]});
        assert_eq!(serde_json::from_value::<Message>(old).expect("read"), Message::text(Role::User, "hi"));
        for message in [result("a"), Message { role: Role::Assistant, content: vec![call("a")] }] {
            let kept = serde_json::to_value(&message).expect("written");
            assert_eq!(serde_json::from_value::<Message>(kept).expect("read"), message);
        }
    }
}

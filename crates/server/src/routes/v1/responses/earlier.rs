//! What earlier responses said: found by their ids, which say where in which run they are.

use haft_agent::{ChatMessage, ChatRole, Transcript};
use haft_core::{CallError, Caller, ErrorKind, Message, RunId};

use super::request::Item;
use crate::app::AppState;
use crate::routes::chat::tasks;
use crate::routes::v1::completions::client_calls;
use crate::routes::v1::error::missing;
use crate::routes::v1::ids::{MessagePlace, read_response};
use crate::routes::v1::question::Keep;
use crate::routes::v1::reading::no_result;

haft_core::templates! {
    NO_PREVIOUS = "v1.noPreviousResponse",
        "previous response with id '{name}' not found",
        "没有 id 为 '{name}' 的先前响应";
    NO_ITEM = "v1.noSuchItem",
        "item with id '{name}' not found",
        "没有 id 为 '{name}' 的条目";
}

/// Where what comes after a response belongs. What came after it before is as if it had not been. Results of the
/// client's calls that the response waits for have to come now.
pub(super) async fn place_after(
    state: &AppState,
    caller: &Caller,
    id: &str,
    input: &[Item],
) -> Result<Keep, CallError> {
    let none = || {
        let message = Message::new(&NO_PREVIOUS).with("name", id);
        let error = CallError::new(ErrorKind::BadRequest, message);
        error.detail("param", "previous_response_id").detail("code", "previous_response_not_found")
    };
    let (run, turn) = read_response(id).ok_or_else(none)?;
    let transcript = kept(state, caller, run).await?.ok_or_else(none)?;
    let place = transcript.turns.iter().position(|known| known.turn == turn).ok_or_else(none)?;
    let is_answered = |id: &str| {
        input.iter().any(|item| matches!(item, Item::Said(message) if message.result_of() == Some(id)))
    };
    let waiting = transcript.turns.get(place).map(|turn| client_calls(run, turn)).unwrap_or_default();
    let missing = waiting.iter().map(|call| call.at.id()).filter(|id| !is_answered(id));
    let missing: Vec<String> = missing.collect();
    if !missing.is_empty() {
        return Err(no_result("input", &missing.join(", ")));
    }
    Ok(Keep::In(run, transcript.turns.get(place + 1).map(|next| next.turn)))
}

/// A conversation of who asks, with all that was said in it.
async fn kept(state: &AppState, caller: &Caller, run: RunId) -> Result<Option<Transcript>, CallError> {
    let Some(user) = caller.user else { return Ok(None) };
    let found = crate::chat::read(&tasks(state)?.journal, caller.space, user, run).await?;
    let found = found.filter(|(whole, _)| whole.run.labels.conversation.is_some());
    Ok(found.map(|(_, transcript)| transcript))
}

/// The input with the words that it only refers to.
pub(super) async fn resolved(
    state: &AppState,
    caller: &Caller,
    input: Vec<Item>,
) -> Result<Vec<ChatMessage>, CallError> {
    let mut history: Vec<ChatMessage> = Vec::with_capacity(input.len());
    for item in input {
        let message = match item {
            Item::Said(message) => message,
            Item::Reference(id) => words(state, caller, &id).await?,
        };
        match history.last_mut() {
            Some(last) if (last.role, message.role) == (ChatRole::Assistant, ChatRole::Assistant) => {
                last.content.extend(message.content);
            }
            Some(_) | None => history.push(message),
        }
    }
    Ok(history)
}

async fn words(state: &AppState, caller: &Caller, id: &str) -> Result<ChatMessage, CallError> {
    let none = || missing("input", "item_not_found", &NO_ITEM, id);
    let place = MessagePlace::read(id).ok_or_else(none)?;
    let transcript = kept(state, caller, place.run).await?.ok_or_else(none)?;
    let turn = transcript.turns.iter().find(|turn| turn.turn == place.turn).ok_or_else(none)?;
    let step = turn.steps.iter().find(|step| step.step == place.step);
    let text = match (step, &turn.end) {
        (Some(step), _) => &step.response.text,
        // The words of the tool that ended the turn stand behind its last step.
        (None, Some(end)) => &end.text,
        (None, None) => return Err(none()),
    };
    Ok(ChatMessage::text(ChatRole::Assistant, text))
}

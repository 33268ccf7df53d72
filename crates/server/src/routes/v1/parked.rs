//! Turns that wait for what the client carries out: found by the ids of its calls, and gone on with.

use haft_agent::{
    CallState, ChatMessage, ContinueMessage, FinishReason, InboxMessage, NewInboxMessage, SentMessage,
    ToolResultsMessage, Transcript, Turn, TurnCursor,
};
use haft_core::{CallError, CallId, Caller, RunId};
use haft_runs::{RunKey, RunWithSteps};
use sha2::{Digest, Sha256};

use super::completions::client_calls;
use super::course::Course;
use super::ids::CallPlace;
use super::question::{Keep, Question};
use super::reading::no_result;
use crate::app::AppState;
use crate::chat::read;
use crate::request::Asked;
use crate::routes::chat::{last_cursor, letter_id, tasks};

/// Goes on with the turn whose results came; nothing where none is found that waits for them, and the client's own
/// history has to do.
pub(super) async fn go_on(
    question: &Question,
    state: &AppState,
    caller: &Caller,
    asked: &Asked,
) -> Result<Option<Course>, CallError> {
    let results = question.results();
    let places: Vec<(CallPlace, &str)> =
        results.iter().filter_map(|(id, text)| Some((CallPlace::read(id)?, *text))).collect();
    let (Some((first, _)), Some(user)) = (places.first(), caller.user) else { return Ok(None) };
    let (id, turn) = (first.run, first.turn);
    let is_elsewhere = match question.keep {
        Keep::In(named, _) => named != id,
        Keep::Not | Keep::New => false,
    };
    if is_elsewhere || places.iter().any(|(place, _)| (place.run, place.turn) != (id, turn)) {
        return Ok(None);
    }
    let tasks = tasks(state)?;
    let Some((whole, transcript)) = read(&tasks.journal, caller.space, user, id).await? else {
        return Ok(None);
    };
    if !question.is_with(&whole.run) {
        return Ok(None);
    }
    let kept = whole.run.labels.conversation.is_some().then_some(id);
    let Some(last) = transcript.turns.last() else { return Ok(None) };
    let messages = question.said_now();
    let letter = letter_of(id, turn, &places, &messages);
    if let Some(begun) = transcript.turn_of(&letter) {
        // The same once more: its client was cut off, or tries again.
        return again((begun, last), whole, &letter, question, state, caller, asked)
            .await
            .map(|course| course.map(|course| course.kept_as(kept)));
    }
    let results = results_of(&transcript, last, turn, &places);
    let is_waiting = last.end.as_ref().is_some_and(|end| end.finish == FinishReason::ToolCalls);
    if results.is_empty() || !is_waiting {
        return Ok(None);
    }
    let missing = missing_results(id, last, &places);
    if !missing.is_empty() {
        return Err(no_result(question.param, &missing.join(", ")));
    }
    let returned = ToolResultsMessage { id: letter.clone(), results, messages, asked: question.asked(asked) };
    let key = RunKey { key: letter.clone(), digest: letter.clone() };
    let cursor = TurnCursor::end_of(last.turn);
    if !tasks
        .conversations
        .send(caller, id, NewInboxMessage { message: InboxMessage::ToolResults(returned), key: Some(key) })
        .await?
    {
        return Ok(None);
    }
    Ok(Some(
        Course::of_run(tasks, caller, SentMessage { conversation: id, message: letter, cursor })
            .kept_as(kept),
    ))
}

/// What was sent before: it is heard once more, and gone on with where it failed.
async fn again(
    (begun, last): (&Turn, &Turn),
    whole: RunWithSteps,
    letter: &str,
    question: &Question,
    state: &AppState,
    caller: &Caller,
    asked: &Asked,
) -> Result<Option<Course>, CallError> {
    let tasks = tasks(state)?;
    let id = whole.run.id;
    let failed = begun
        .end
        .as_ref()
        .is_some_and(|end| matches!(end.finish, FinishReason::Error | FinishReason::Cancelled));
    if !failed || begun.turn != last.turn {
        let cursor = TurnCursor::end_of(begun.turn.saturating_sub(1));
        return Ok(Some(Course::of_run(
            tasks,
            caller,
            SentMessage { conversation: id, message: letter.to_owned(), cursor },
        )));
    }
    let anew = letter_id(None);
    let cursor = last_cursor(tasks, &whole)?;
    let go_on = InboxMessage::Continue(ContinueMessage { id: anew.clone(), asked: question.asked(asked) });
    if !tasks.conversations.send(caller, id, go_on.into()).await? {
        return Ok(None);
    }
    Ok(Some(Course::of_run(tasks, caller, SentMessage { conversation: id, message: anew, cursor })))
}

/// The ids of calls that wait for the client, and that no result came for.
pub(super) fn missing_results(run: RunId, last: &Turn, places: &[(CallPlace, &str)]) -> Vec<String> {
    let waiting = client_calls(run, last).into_iter().map(|call| call.at);
    let missing = waiting.filter(|at| !places.iter().any(|(place, _)| place == at));
    missing.map(CallPlace::id).collect()
}

/// The results by the ids that the journal has, of those calls that wait for them.
fn results_of(
    transcript: &Transcript,
    last: &Turn,
    turn: u32,
    places: &[(CallPlace, &str)],
) -> Vec<(CallId, String)> {
    if transcript.last != turn || last.turn != turn {
        return Vec::new();
    }
    let result = |(place, text): &(CallPlace, &str)| {
        let step = last.steps.iter().find(|step| step.step == place.step)?;
        let call = step.calls.get(place.place).filter(|call| call.state == CallState::Running)?;
        Some((call.call_id.clone(), (*text).to_owned()))
    };
    places.iter().filter_map(result).collect()
}

/// The same for the same results: whoever sends them again does not begin another turn.
fn letter_of(run: RunId, turn: u32, places: &[(CallPlace, &str)], messages: &[ChatMessage]) -> String {
    let mut hash = Sha256::new();
    hash.update(format!("{run} {turn}").as_bytes());
    for (place, text) in places {
        hash.update(format!(" {}-{} {} ", place.step, place.place, text.len()).as_bytes());
        hash.update(text.as_bytes());
    }
    hash.update(serde_json::to_vec(messages).unwrap_or_default());
    let digest = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("returned-{digest}")
}

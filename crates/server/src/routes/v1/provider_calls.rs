//! Ids and signatures that providers gave the calls in a client's history, read from the runs that made the calls.

use std::collections::{HashMap, HashSet};

use haft_agent::{ChatMessage, InboxMessage, MessagePart, ProviderCall, Transcript};
use haft_core::{CallError, Caller, RunId};

use super::ids::CallPlace;
use crate::chat::said_in;
use crate::tasks::Tasks;

/// Maximum number of runs that are read for one history. A run has the calls of the history that it began with, so that
/// the last one is usually enough.
const MAX_RUNS: usize = 4;

/// Adds to each call in the history what its provider gave it, if the run that made the call is still stored.
pub(super) async fn restore(
    tasks: &Tasks,
    caller: &Caller,
    history: &mut [ChatMessage],
) -> Result<(), CallError> {
    let Some(user) = caller.user else { return Ok(()) };
    let call = |piece: &MessagePart| match piece {
        MessagePart::Call { id, .. } => Some((id.clone(), CallPlace::read(id)?.run)),
        MessagePart::Text { .. } | MessagePart::Image { .. } | MessagePart::Result { .. } => None,
    };
    let calls: Vec<(String, RunId)> =
        history.iter().flat_map(|message| &message.content).filter_map(call).collect();
    let mut known: HashMap<String, ProviderCall> = HashMap::new();
    let mut runs: HashSet<RunId> = HashSet::new();
    for (id, run) in calls.iter().rev() {
        if known.contains_key(id) || runs.contains(run) {
            continue;
        }
        if runs.len() == MAX_RUNS {
            break;
        }
        runs.insert(*run);
        let found = tasks.journal.with_steps(caller.space, *run).await?;
        let Some(whole) = found.filter(|whole| whole.run.program == "chat" && whole.run.user == Some(user))
        else {
            continue;
        };
        if let Ok(transcript) = said_in(&whole.run, &whole.steps) {
            known.extend(calls_of(*run, &transcript));
        }
    }
    for piece in history.iter_mut().flat_map(|message| &mut message.content) {
        match piece {
            MessagePart::Call { id, provider, .. } => *provider = known.get(id.as_str()).cloned(),
            MessagePart::Text { .. } | MessagePart::Image { .. } | MessagePart::Result { .. } => {}
        }
    }
    Ok(())
}

/// The calls of a run by the ids that its client has: those in the history that it began with, and its own.
fn calls_of(run: RunId, transcript: &Transcript) -> HashMap<String, ProviderCall> {
    let mut calls = HashMap::new();
    for turn in &transcript.turns {
        let messages = turn.input.iter().filter_map(|letter| match letter {
            InboxMessage::User(said) => Some(&said.messages),
            InboxMessage::ToolResults(_) | InboxMessage::Continue(_) | InboxMessage::TaskEnded(_) => None,
        });
        for piece in messages.flatten().flat_map(|message| &message.content) {
            match piece {
                MessagePart::Call { id, provider: Some(provider), .. } => {
                    calls.insert(id.clone(), provider.clone());
                }
                MessagePart::Call { .. }
                | MessagePart::Text { .. }
                | MessagePart::Image { .. }
                | MessagePart::Result { .. } => {}
            }
        }
        for step in &turn.steps {
            for (place, call) in step.calls.iter().enumerate() {
                let written = step.response.calls.iter().find(|written| written.id == call.call_id.as_str());
                let Some(written) = written else { continue };
                let is_from_text = written.is_from_text;
                let at = CallPlace { run, turn: turn.turn, step: step.step, place, is_from_text };
                let (id, signature) = (written.provider_id.clone(), written.signature.clone());
                let model = step.response.model.clone();
                calls.insert(at.id(), ProviderCall { model, id, signature });
            }
        }
    }
    calls
}

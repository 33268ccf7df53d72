//! Chat as doors need it: what is around a conversation, following one, and its forms. The loop itself is `agent`'s.

pub(crate) mod disconnect;
pub(crate) mod follow;
mod host;
pub(crate) mod messages;
pub(crate) mod reply;
pub(crate) mod shown;

pub use host::StoredHost;

use std::collections::HashMap;
use std::sync::Arc;

use haft_agent::{ConversationInput, Transcript};
use haft_core::{CallError, ErrorKind, RunId, SpaceId, UserId};
use haft_runs::{Run, RunWithSteps, Step};
use haft_store::RunJournal;

/// A conversation of a user that has not ended, with all that was said in it.
pub(crate) async fn read(
    journal: &RunJournal,
    space: SpaceId,
    user: UserId,
    id: RunId,
) -> Result<Option<(RunWithSteps, Transcript)>, CallError> {
    let Some(whole) = journal.conversation_with_steps(space, user, id).await? else { return Ok(None) };
    let transcript = said_in(&whole.run, &whole.steps)?;
    Ok(Some((whole, transcript)))
}

/// Returns a stored conversation of a user that has not ended, with its steps.
pub(crate) async fn find_conversation(
    journal: &RunJournal,
    space: SpaceId,
    user: UserId,
    id: RunId,
) -> Result<Option<RunWithSteps>, CallError> {
    let found = journal.conversation_with_steps(space, user, id).await?;
    Ok(found.filter(|conversation| conversation.run.labels.conversation.is_some()))
}

/// What was said in a conversation, by now.
pub(crate) async fn transcript(journal: &RunJournal, run: &Run) -> Result<Transcript, CallError> {
    said_in(run, &journal.steps(run.space, run.id).await?)
}

/// What was said in a conversation, as it was read.
pub(crate) fn said_in(run: &Run, steps: &[Step]) -> Result<Transcript, CallError> {
    let chat = ConversationInput::of(run)
        .map_err(|_| CallError::text(ErrorKind::Internal, "the stored conversation cannot be read"))?;
    let steps: HashMap<&str, Arc<Step>> =
        steps.iter().map(|step| (step.key.as_str(), Arc::new(step.clone()))).collect();
    Ok(Transcript::of(&chat, |key| steps.get(key).cloned()))
}

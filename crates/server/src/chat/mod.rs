//! Chat as doors need it: what is around a conversation, following one, and its forms. The loop itself is `agent`'s.

mod host;
pub(crate) mod messages;
pub(crate) mod reply;
pub(crate) mod shown;

pub use host::StoredHost;

use haft_agent::Transcript;
use haft_core::{CallError, RunId, SpaceId, UserId};
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

/// Reads the transcript of a conversation from its run and steps.
pub(crate) fn said_in(run: &Run, steps: &[Step]) -> Result<Transcript, CallError> {
    Transcript::read(run, steps)
}

//! Chat as doors need it: what is around a conversation, following one, and its forms. The loop itself is `agent`'s.

mod around;
pub(crate) mod follow;
pub(crate) mod leaving;
pub(crate) mod messages;
pub(crate) mod reply;
pub(crate) mod shown;

pub use around::StoredSurroundings;

use std::collections::HashMap;

use haft_agent::{ChatRun, Transcript};
use haft_core::{CallError, ErrorKind, RunId, SpaceId, UserId};
use haft_runs::{Run, Step, WholeRun};
use haft_store::RunJournal;

use crate::tasks::Tasks;

/// A conversation of a user that has not ended, with all that was said in it.
pub(crate) async fn read(
    journal: &RunJournal,
    space: SpaceId,
    user: UserId,
    id: RunId,
) -> Result<Option<(WholeRun, Transcript)>, CallError> {
    let Some(whole) = journal.whole_conversation(space, user, id).await? else { return Ok(None) };
    let transcript = said_in(&whole.run, &whole.steps)?;
    Ok(Some((whole, transcript)))
}

/// A conversation of a user in which something is about to be said.
pub(crate) async fn to_go_on(
    tasks: &Tasks,
    space: SpaceId,
    user: UserId,
    id: RunId,
) -> Result<Option<WholeRun>, CallError> {
    let is_own = |run: &Run| {
        let is_kept = run.program == "chat" && run.about.conversation.is_some();
        is_kept && run.space == space && run.user == Some(user)
    };
    if let Some(left) = tasks.chat.at_rest(id, is_own) {
        return Ok(Some(left));
    }
    let found = tasks.journal.whole_conversation(space, user, id).await?;
    Ok(found.filter(|whole| is_own(&whole.run)))
}

/// What was said in a conversation, by now.
pub(crate) async fn transcript(journal: &RunJournal, run: &Run) -> Result<Transcript, CallError> {
    said_in(run, &journal.steps(run.space, run.id).await?)
}

/// What was said in a conversation, as it was read.
pub(crate) fn said_in(run: &Run, steps: &[Step]) -> Result<Transcript, CallError> {
    let chat = ChatRun::of(run)
        .map_err(|_| CallError::text(ErrorKind::Internal, "the stored conversation cannot be read"))?;
    let steps: HashMap<&str, &Step> = steps.iter().map(|step| (step.key.as_str(), step)).collect();
    Ok(Transcript::of(&chat, |key| steps.get(key).copied()))
}

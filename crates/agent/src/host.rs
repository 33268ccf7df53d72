//! The services of the process that conversations need besides models and tools: agents, files, tasks, and the call log.

use std::future::ready;
use std::sync::Arc;

use haft_core::agent::Agent;
use haft_core::{ArtifactBytes, BoxFuture, CallError, RunId, SpaceId};
use haft_runs::{Run, Step};
use haft_tasks::CallHistory;

use crate::models::SpaceUser;

/// The process in which conversations are executed. The defaults are for a process that stores no conversations.
pub trait ConversationHost: Send + Sync {
    /// Returns the current version of an agent, by id or name.
    fn agent<'a>(
        &'a self,
        space: SpaceId,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<Agent>>, CallError>>;

    /// Stores a text as a file of the user, and returns its handle: `artifact://ID`.
    fn store_file(
        &self,
        owner: SpaceUser,
        name: String,
        text: String,
    ) -> BoxFuture<'_, Result<String, CallError>>;

    /// Reads a file of the user of at most `limit` bytes.
    fn read_file<'a>(
        &'a self,
        owner: SpaceUser,
        handle: &'a str,
        limit: u64,
    ) -> BoxFuture<'a, Result<ArtifactBytes, CallError>>;

    /// Cancels a task whose result is not needed any more, if that is still possible.
    fn cancel_task(&self, owner: SpaceUser, task: RunId) -> BoxFuture<'_, ()>;

    /// Returns the run of a conversation. Returns `None` if it was deleted.
    fn conversation(&self, _space: SpaceId, _id: RunId) -> BoxFuture<'_, Result<Option<Run>, CallError>> {
        Box::pin(ready(Ok(None)))
    }

    /// Returns the steps of a conversation's run.
    fn conversation_steps(&self, _space: SpaceId, _id: RunId) -> BoxFuture<'_, Result<Vec<Step>, CallError>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    /// Stores a request to cancel the turn of a conversation, whichever process executes it.
    fn request_cancel(&self, _space: SpaceId, _id: RunId) -> BoxFuture<'_, Result<(), CallError>> {
        Box::pin(ready(Ok(())))
    }

    /// The call log, which a turn that continues after a crash searches for results. `None` if calls are not logged.
    fn call_history(&self) -> Option<&dyn CallHistory> {
        None
    }
}

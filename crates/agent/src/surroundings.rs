//! The seam to what a conversation needs besides models and tools: agents, files, the end of tasks, and the call log.

use std::sync::Arc;

use haft_core::agent::Agent;
use haft_core::{ArtifactBytes, BoxFuture, CallError, RunId, SpaceId, UserId};
use haft_tasks::CallHistory;

/// What is around a conversation.
pub trait Surroundings: Send + Sync {
    /// An agent of a space, by id or name, as it is now.
    fn agent<'a>(
        &'a self,
        space: SpaceId,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<Agent>>, CallError>>;

    /// Keeps something as a file of the user's, and says how to ask for it: `artifact://ID`.
    fn keep(
        &self,
        space: SpaceId,
        user: UserId,
        name: String,
        text: String,
    ) -> BoxFuture<'_, Result<String, CallError>>;

    /// Reads a file of the user's.
    fn file<'a>(
        &'a self,
        space: SpaceId,
        user: Option<UserId>,
        handle: &'a str,
        most: u64,
    ) -> BoxFuture<'a, Result<ArtifactBytes, CallError>>;

    /// Ends a task that nobody waits for any more, as far as that is possible.
    fn cancel(&self, space: SpaceId, user: Option<UserId>, task: RunId) -> BoxFuture<'_, ()>;

    /// The call log, which a turn that continues after a crash searches for results. `None` if calls are not logged.
    fn call_history(&self) -> Option<&dyn CallHistory> {
        None
    }
}

//! Services for conversations from the store: agents, files of the user, and tasks.

use std::sync::Arc;

use haft_agent::{ConversationHost, SpaceUser};
use haft_core::agent::Agent;
use haft_core::artifact::{ArtifactBytes, ArtifactRef, Artifacts as _, NewArtifact, not_found};
use haft_core::{BoxFuture, CallError, RunId, SpaceId};
use haft_runs::{Run, Step};
use haft_store::{RunJournal, Store};
use haft_tasks::{CallHistory, CallRun};

use crate::stored_artifacts::StoredArtifacts;

/// The store as a host of conversations.
pub struct StoredHost {
    pub store: Store,
    pub artifacts: Arc<StoredArtifacts>,
    pub journal: RunJournal,
    pub call_history: Arc<dyn CallHistory>,
    /// Maximum total size of the files of a space, and of a user, in bytes.
    pub artifact_quota: u64,
}

impl ConversationHost for StoredHost {
    fn agent<'a>(
        &'a self,
        space: SpaceId,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<Agent>>, CallError>> {
        Box::pin(self.store.agent(space, name))
    }

    fn store_file(
        &self,
        owner: SpaceUser,
        name: String,
        text: String,
    ) -> BoxFuture<'_, Result<String, CallError>> {
        Box::pin(async move {
            let user = owner.user.ok_or_else(|| not_found(&name))?;
            let file = NewArtifact::new(&name, "text/plain; charset=utf-8")?;
            let mut upload = self.store.begin_artifact(owner.space, user, &file, self.artifact_quota).await?;
            upload.write(text.as_bytes()).await?;
            let stored = upload.finish().await?;
            Ok(format!("artifact://{}", stored.id))
        })
    }

    fn read_file<'a>(
        &'a self,
        owner: SpaceUser,
        handle: &'a str,
        limit: u64,
    ) -> BoxFuture<'a, Result<ArtifactBytes, CallError>> {
        Box::pin(async move {
            let file = ArtifactRef::parse(handle).or_else(|| self.artifacts.of_url(handle));
            let file = file.ok_or_else(|| not_found(handle))?;
            self.artifacts.read(owner.space, owner.user, &file, limit).await
        })
    }

    fn cancel_task(&self, owner: SpaceUser, task: RunId) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Ok(Some(run)) = self.journal.get(owner.space, task).await else { return };
            let Ok(call) = CallRun::of(&run) else { return };
            // A task that has ended is not changed.
            let _ = self.journal.cancel(owner.space, task, owner.user, call.cancelled()).await;
        })
    }

    fn conversation(&self, space: SpaceId, id: RunId) -> BoxFuture<'_, Result<Option<Run>, CallError>> {
        Box::pin(self.journal.get(space, id))
    }

    fn conversation_steps(&self, space: SpaceId, id: RunId) -> BoxFuture<'_, Result<Vec<Step>, CallError>> {
        Box::pin(self.journal.steps(space, id))
    }

    fn request_cancel(&self, space: SpaceId, id: RunId) -> BoxFuture<'_, Result<(), CallError>> {
        Box::pin(async move { self.journal.stop(space, id).await.map(drop) })
    }

    fn call_history(&self) -> Option<&dyn CallHistory> {
        Some(&*self.call_history)
    }
}

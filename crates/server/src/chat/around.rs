//! What is around a conversation, in the store: agents, files of its user, and tasks that nobody wants any more.

use std::sync::Arc;

use haft_agent::Surroundings;
use haft_core::agent::Agent;
use haft_core::artifact::{ArtifactBytes, ArtifactRef, Artifacts as _, NewArtifact, not_found};
use haft_core::{BoxFuture, CallError, RunId, SpaceId, UserId};
use haft_store::{RunJournal, Store};
use haft_tasks::{CallHistory, CallRun};

use crate::stored_artifacts::StoredArtifacts;

/// The store, as conversations see it.
pub struct StoredSurroundings {
    pub store: Store,
    pub artifacts: Arc<StoredArtifacts>,
    pub journal: RunJournal,
    pub call_history: Arc<dyn CallHistory>,
    /// The bytes that all files of a space, and of a user, may count for.
    pub artifact_quota: u64,
}

impl Surroundings for StoredSurroundings {
    fn agent<'a>(
        &'a self,
        space: SpaceId,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<Agent>>, CallError>> {
        Box::pin(self.store.agent(space, name))
    }

    fn keep(
        &self,
        space: SpaceId,
        user: UserId,
        name: String,
        text: String,
    ) -> BoxFuture<'_, Result<String, CallError>> {
        Box::pin(async move {
            let file = NewArtifact::new(&name, "text/plain; charset=utf-8")?;
            let mut upload = self.store.begin_artifact(space, user, &file, self.artifact_quota).await?;
            upload.write(text.as_bytes()).await?;
            let kept = upload.finish().await?;
            Ok(format!("artifact://{}", kept.id))
        })
    }

    fn file<'a>(
        &'a self,
        space: SpaceId,
        user: Option<UserId>,
        handle: &'a str,
        most: u64,
    ) -> BoxFuture<'a, Result<ArtifactBytes, CallError>> {
        Box::pin(async move {
            let wanted = ArtifactRef::parse(handle).or_else(|| self.artifacts.of_url(handle));
            let wanted = wanted.ok_or_else(|| not_found(handle))?;
            self.artifacts.read(space, user, &wanted, most).await
        })
    }

    fn cancel(&self, space: SpaceId, user: Option<UserId>, task: RunId) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Ok(Some(run)) = self.journal.get(space, task).await else { return };
            let Ok(call) = CallRun::of(&run) else { return };
            // One that has ended meanwhile has ended.
            let _ = self.journal.cancel(space, task, user, call.cancelled()).await;
        })
    }

    fn call_history(&self) -> Option<&dyn CallHistory> {
        Some(&*self.call_history)
    }
}

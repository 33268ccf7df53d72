//! The store as the engine's source of tools.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use haft_core::{BoxFuture, CallError, SpaceId, ToolId, ToolVersion};
use haft_engine::{Loaded, ToolSource};
use haft_store::{Store, VersionInfo, VersionState};

/// Tools as the store keeps them.
pub struct StoredTools {
    store: Store,
    /// Up to which change each space was read.
    read: Mutex<HashMap<SpaceId, u64>>,
}

impl StoredTools {
    pub fn new(store: Store) -> Self {
        Self { store, read: Mutex::default() }
    }

    async fn read(&self, space: SpaceId, known: &HashMap<ToolId, u64>) -> Result<Loaded, CallError> {
        // Asked first: what is read afterwards is at least as new.
        let revision = self.store.current_revision().await?;
        let last = self.read.lock().unwrap_or_else(PoisonError::into_inner).get(&space).copied();
        let last = last.filter(|_| !known.is_empty()).unwrap_or_default();
        let mut tools = self.store.tools_since(space, last).await?;
        tools.changed.retain(|tool| known.get(&tool.id) != Some(&tool.version));
        self.read.lock().unwrap_or_else(PoisonError::into_inner).insert(space, revision);
        Ok(Loaded { changed: tools.changed, all: tools.live.into_iter().map(|(id, _)| id).collect() })
    }
}

impl ToolSource for StoredTools {
    fn load<'a>(
        &'a self,
        space: SpaceId,
        known: &'a HashMap<ToolId, u64>,
    ) -> BoxFuture<'a, Result<Loaded, CallError>> {
        Box::pin(self.read(space, known))
    }

    fn version<'a>(
        &'a self,
        space: SpaceId,
        tool: &'a ToolId,
        version: u64,
    ) -> BoxFuture<'a, Result<Option<ToolVersion>, CallError>> {
        Box::pin(async move {
            let versions = self.store.versions(space, tool).await?;
            // One that waits for an approval is called by nobody.
            let is_live = |known: &VersionInfo| known.version == version && known.state == VersionState::Live;
            match versions.iter().any(is_live) {
                true => self.store.get_version(space, tool, version).await,
                false => Ok(None),
            }
        })
    }
}

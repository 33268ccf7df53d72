//! The source of the tools of spaces: loaded when a space is first used, reloaded after changes.
//!
//! Nothing here writes to a source.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use haft_core::{BoxFuture, CallError, ErrorKind, Message, SpaceId, ToolId, ToolVersion};
use tokio::sync::Mutex as AsyncMutex;

use crate::catalog::{Catalog, Entry};
use crate::lock::lock;
use crate::prepare::{Callable, Kinds};

haft_core::templates! {
    NO_VERSION = "tool.noVersion",
        "there is no version {version} of {tool}; pin another, or none",
        "{tool} 没有版本 {version}；请改为固定其他版本，或不固定";
}

/// A store of the tools of spaces.
pub trait ToolSource: Send + Sync {
    /// Returns the changed tools of a space, given the `known` versions. Returns `None` if the state of the
    /// space is still `last`; never if `last` is `None`.
    fn load<'a>(
        &'a self,
        space: SpaceId,
        known: &'a HashMap<ToolId, u64>,
        last: Option<SourceState>,
    ) -> BoxFuture<'a, Result<Option<LoadedTools>, CallError>>;

    /// Returns a tool in any version. Returns `None` if that version does not exist.
    fn version<'a>(
        &'a self,
        space: SpaceId,
        tool: &'a ToolId,
        version: u64,
    ) -> BoxFuture<'a, Result<Option<ToolVersion>, CallError>>;
}

/// The tools of a space that a source returns.
#[derive(Debug, Default)]
pub struct LoadedTools {
    /// Tools that are not known, or in another version.
    pub changed: Vec<ToolVersion>,
    /// The ids of all tools. Known tools that are not among them were deleted.
    pub all: HashSet<ToolId>,
    /// The state of the space, read before its tools. Pass it to the next load once these tools are in use.
    pub state: SourceState,
}

/// The state of a space's tools in a source. Two states are equal only if nothing has changed between them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceState {
    /// The revision of the last change of any tool.
    pub revision: u64,
    /// The number of tools.
    pub count: u64,
}

/// Loads tools from a source into the catalog.
pub(crate) struct Loader {
    source: Arc<dyn ToolSource>,
    /// Per space, a lock for one load at a time, with the state of the space in the catalog.
    loading: Mutex<HashMap<SpaceId, Arc<AsyncMutex<Option<SourceState>>>>>,
}

impl Loader {
    pub(crate) fn new(source: Arc<dyn ToolSource>) -> Self {
        Self { source, loading: Mutex::default() }
    }

    /// Loads a space when it is first used.
    pub(crate) async fn make_ready(
        &self,
        space: SpaceId,
        catalog: &Catalog,
        kinds: &Kinds,
    ) -> Result<(), CallError> {
        let turn = self.turn(space);
        let mut last = turn.lock().await;
        if catalog.has_space(space) {
            return Ok(());
        }
        self.load(space, catalog, kinds, &mut last).await
    }

    /// Reloads a space, if it is loaded.
    pub(crate) async fn renew(
        &self,
        space: SpaceId,
        catalog: &Catalog,
        kinds: &Kinds,
    ) -> Result<(), CallError> {
        let turn = self.turn(space);
        let mut last = turn.lock().await;
        if !catalog.has_space(space) {
            return Ok(());
        }
        self.load(space, catalog, kinds, &mut last).await
    }

    /// Loads a pinned version of a tool. Its name, and whether it is active, are those of the live version.
    pub(crate) async fn pin(
        &self,
        space: SpaceId,
        live: &Arc<Entry>,
        pinned: u64,
        catalog: &Catalog,
        kinds: &Kinds,
    ) -> Result<Arc<Entry>, CallError> {
        let id = &live.version.id;
        let missing = || {
            let message = Message::new(&NO_VERSION).with("version", pinned).with("tool", &live.name);
            CallError::new(ErrorKind::NotFound, message).detail("what", "version")
        };
        let mut version = self.source.version(space, id, pinned).await?.ok_or_else(missing)?;
        version.spec.name = live.version.spec.name.clone();
        version.spec.is_active = live.version.spec.is_active;
        let kinds = kinds.clone();
        let prepared = tokio::task::spawn_blocking(move || {
            let callable = kinds.prepare_stored(version.space_id, &version.id, &version.spec);
            (version, callable)
        });
        let (version, callable) = prepared.await.map_err(|error| {
            CallError::text(ErrorKind::Internal, "the version could not be prepared").caused_by(error)
        })?;
        Ok(catalog.pin(live, version, callable?))
    }

    fn turn(&self, space: SpaceId) -> Arc<AsyncMutex<Option<SourceState>>> {
        lock(&self.loading).entry(space).or_default().clone()
    }

    /// Loads changed tools. Cancellation-safe: `last` changes together with the catalog, so the next load
    /// returns the tools that a cancelled one did not apply.
    async fn load(
        &self,
        space: SpaceId,
        catalog: &Catalog,
        kinds: &Kinds,
        last: &mut Option<SourceState>,
    ) -> Result<(), CallError> {
        let known = catalog.versions(space);
        let since = last.filter(|_| !known.is_empty());
        let Some(LoadedTools { changed, all, state }) = self.source.load(space, &known, since).await? else {
            return Ok(());
        };
        let kinds = kinds.clone();
        let prepared = tokio::task::spawn_blocking(move || prepare_all(&kinds, changed)).await;
        let prepared = prepared.map_err(|error| {
            CallError::text(ErrorKind::Internal, "the tools could not be loaded").caused_by(error)
        })?;
        catalog.renew(space, prepared, &all);
        *last = Some(state);
        Ok(())
    }
}

/// Prepares stored tools. A tool that can no longer be prepared is logged and skipped, without affecting the
/// others.
fn prepare_all(kinds: &Kinds, versions: Vec<ToolVersion>) -> Vec<(ToolVersion, Callable)> {
    let prepare = |version: ToolVersion| match kinds.prepare_stored(
        version.space_id,
        &version.id,
        &version.spec,
    ) {
        Ok(callable) => Some((version, callable)),
        Err(error) => {
            tracing::warn!(tool.id = %version.id, tool.name = %version.spec.name, %error, "A stored tool cannot be used");
            None
        }
    };
    versions.into_iter().filter_map(prepare).collect()
}

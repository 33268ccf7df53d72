//! Where the tools of spaces come from: loaded when a space is first used, renewed when something changed.
//!
//! A source keeps definitions and knows nothing of calls; nothing here writes to it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use haft_core::{BoxFuture, CallError, ErrorKind, Message, SpaceId, ToolId, ToolVersion};
use tokio::sync::Mutex as AsyncMutex;

use crate::catalogue::{Catalogue, Entry};
use crate::lock::lock;
use crate::prepare::{Callable, Kinds};

haft_core::templates! {
    NO_VERSION = "tool.noVersion",
        "there is no version {version} of {tool}; pin another, or none",
        "{tool} 没有版本 {version}；请改为固定其他版本，或不固定";
}

/// Keeps the tools of spaces.
pub trait ToolSource: Send + Sync {
    /// The tools of a space, told apart from those that are known already. Returns `None` if the state of the space
    /// is still `last`; never where `last` is `None`.
    fn load<'a>(
        &'a self,
        space: SpaceId,
        known: &'a HashMap<ToolId, u64>,
        last: Option<SourceState>,
    ) -> BoxFuture<'a, Result<Option<Loaded>, CallError>>;

    /// A tool in a version that need not be the one that counts now; nothing where it is not kept.
    fn version<'a>(
        &'a self,
        space: SpaceId,
        tool: &'a ToolId,
        version: u64,
    ) -> BoxFuture<'a, Result<Option<ToolVersion>, CallError>>;
}

/// What a source has for a space.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Tools that are not known, or in another version.
    pub changed: Vec<ToolVersion>,
    /// Every tool that is there. What is known and not among them is gone.
    pub all: HashSet<ToolId>,
    /// The state of the space, read before its tools. It is given to the next load once these are in use.
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

/// Brings tools from a source into the catalogue.
pub(crate) struct Loader {
    source: Arc<dyn ToolSource>,
    /// One load of a space at a time, and the state of the space as it is in the catalogue.
    loading: Mutex<HashMap<SpaceId, Arc<AsyncMutex<Option<SourceState>>>>>,
}

impl Loader {
    pub(crate) fn new(source: Arc<dyn ToolSource>) -> Self {
        Self { source, loading: Mutex::default() }
    }

    /// Loads a space that nobody has used yet.
    pub(crate) async fn make_ready(
        &self,
        space: SpaceId,
        catalogue: &Catalogue,
        kinds: &Kinds,
    ) -> Result<(), CallError> {
        let turn = self.turn(space);
        let mut last = turn.lock().await;
        if catalogue.has_space(space) {
            return Ok(());
        }
        self.load(space, catalogue, kinds, &mut last).await
    }

    /// Brings a space up to date, if anybody has used it.
    pub(crate) async fn renew(
        &self,
        space: SpaceId,
        catalogue: &Catalogue,
        kinds: &Kinds,
    ) -> Result<(), CallError> {
        let turn = self.turn(space);
        let mut last = turn.lock().await;
        if !catalogue.has_space(space) {
            return Ok(());
        }
        self.load(space, catalogue, kinds, &mut last).await
    }

    /// A tool in the version that somebody pinned. Its name, and whether it is switched on, are those it has now.
    pub(crate) async fn pin(
        &self,
        space: SpaceId,
        live: &Arc<Entry>,
        pinned: u64,
        catalogue: &Catalogue,
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
            let callable = kinds.prepare_stored(&version.spec);
            (version, callable)
        });
        let (version, callable) = prepared.await.map_err(|error| {
            CallError::text(ErrorKind::Internal, "the version could not be prepared").caused_by(error)
        })?;
        Ok(catalogue.pin(live, version, callable?))
    }

    fn turn(&self, space: SpaceId) -> Arc<AsyncMutex<Option<SourceState>>> {
        lock(&self.loading).entry(space).or_default().clone()
    }

    /// May be dropped at any time: `last` changes together with the catalogue, so that the next load brings what this
    /// one did not.
    async fn load(
        &self,
        space: SpaceId,
        catalogue: &Catalogue,
        kinds: &Kinds,
        last: &mut Option<SourceState>,
    ) -> Result<(), CallError> {
        let known = catalogue.versions(space);
        let since = last.filter(|_| !known.is_empty());
        let Some(Loaded { changed, all, state }) = self.source.load(space, &known, since).await? else {
            return Ok(());
        };
        let kinds = kinds.clone();
        let prepared = tokio::task::spawn_blocking(move || prepare_all(&kinds, changed)).await;
        let prepared = prepared.map_err(|error| {
            CallError::text(ErrorKind::Internal, "the tools could not be loaded").caused_by(error)
        })?;
        catalogue.renew(space, prepared, &all);
        *last = Some(state);
        Ok(())
    }
}

/// A tool that cannot be prepared any more is left out and told in the log; the others are not to suffer.
fn prepare_all(kinds: &Kinds, versions: Vec<ToolVersion>) -> Vec<(ToolVersion, Callable)> {
    let prepare = |version: ToolVersion| match kinds.prepare_stored(&version.spec) {
        Ok(callable) => Some((version, callable)),
        Err(error) => {
            tracing::warn!(tool.id = %version.id, tool.name = %version.spec.name, %error, "A stored tool cannot be used");
            None
        }
    };
    versions.into_iter().filter_map(prepare).collect()
}

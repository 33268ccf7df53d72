//! The tools of one space in the catalog, and their circuit breakers.

use std::sync::Arc;

use haft_core::{Arguments, BreakerKey, CallError, SpaceId, ToolId, ToolSpec, ToolVersion};
use tokio::time::Instant;

use crate::breaker::Circuit;
use crate::catalog::Expected;
use crate::prepare::PreparedTool;
use crate::service::Inner;

/// One space's view of the catalog.
#[derive(Clone, Copy)]
pub struct SpaceTools<'a> {
    pub(crate) engine: &'a Inner,
    pub(crate) space: SpaceId,
}

impl SpaceTools<'_> {
    /// Returns a tool by name or id.
    pub fn get(&self, name_or_id: &str) -> Option<Arc<ToolVersion>> {
        self.engine.catalog.find(self.space, name_or_id).map(|entry| entry.version.clone())
    }

    pub fn list(&self) -> Vec<Arc<ToolVersion>> {
        self.engine.catalog.list(self.space)
    }

    /// Returns the error for an unknown tool, with similar names.
    pub fn unknown(&self, name_or_id: &str) -> CallError {
        self.engine.catalog.unknown(self.space, name_or_id)
    }

    /// Prepares a definition of this space, or returns everything that is wrong with it. `id` is `None` for a
    /// new tool. Slow: do not run it on async threads.
    pub fn prepare(&self, id: Option<&ToolId>, spec: ToolSpec) -> Result<PreparedTool, CallError> {
        self.engine.kinds.prepare(Some(self.space), id, spec, None)
    }

    /// Adds a tool, or replaces it by a new version.
    pub fn put(
        &self,
        version: ToolVersion,
        tool: PreparedTool,
        expected: Expected,
    ) -> Result<Arc<ToolVersion>, CallError> {
        self.engine.catalog.put(self.space, version, tool, expected)
    }

    /// Adds many tools, or replaces them by new versions: all of them, or none.
    pub fn put_all(
        &self,
        tools: Vec<(ToolVersion, PreparedTool, Expected)>,
    ) -> Result<Vec<Arc<ToolVersion>>, CallError> {
        self.engine.catalog.put_all(self.space, tools)
    }

    /// Checks whether [`Self::put`] would succeed, without changing anything.
    pub fn check_put(&self, version: &ToolVersion, expected: Expected) -> Result<(), CallError> {
        self.engine.catalog.check_put(self.space, version, expected).map(drop)
    }

    /// Removes a tool from this space: in any version, or only if its version is the given one.
    pub fn remove(&self, id: &ToolId, version: Option<u64>) -> Result<Arc<ToolVersion>, CallError> {
        self.engine.catalog.remove(self.space, id, version)
    }

    /// Returns the circuits of this space that have been used.
    pub fn circuits(&self) -> Vec<Circuit> {
        let breakers = self.engine.breakers.as_ref();
        breakers.map(|breakers| breakers.list(self.space, Instant::now())).unwrap_or_default()
    }

    /// Returns the circuits that calls of one tool pass: its own, and those shared with tools of the same
    /// upstream.
    pub fn circuits_of(&self, tool: &ToolId) -> Vec<Circuit> {
        let breakers = self.engine.breakers.as_ref();
        let live = self.live_upstream(tool);
        breakers
            .map(|breakers| breakers.list_of(self.space, tool, live.as_ref(), Instant::now()))
            .unwrap_or_default()
    }

    /// Closes a circuit. Returns false if there is none with this key.
    pub fn reset_circuit(&self, key: &str) -> bool {
        let breakers = self.engine.breakers.as_ref();
        breakers.is_some_and(|breakers| breakers.reset(self.space, key, Instant::now()))
    }

    /// Closes all circuits that calls of one tool pass, in any version. Returns false if there are none.
    pub fn reset_circuits_of(&self, tool: &ToolId) -> bool {
        let breakers = self.engine.breakers.as_ref();
        let live = self.live_upstream(tool);
        breakers.is_some_and(|breakers| breakers.reset_of(self.space, tool, live.as_ref(), Instant::now()))
    }

    /// Returns the upstream of a tool's live version, unless it depends on arguments.
    fn live_upstream(&self, tool: &ToolId) -> Option<BreakerKey> {
        let entry = self.engine.catalog.find(self.space, &tool.to_string())?;
        entry.prepared.breaker_key(&Arguments::none())
    }
}

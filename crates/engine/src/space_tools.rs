//! The tools of one space, as the catalog holds them, and their circuit breakers.

use std::sync::Arc;

use haft_core::{Arguments, BreakerKey, CallError, SpaceId, ToolId, ToolVersion};
use tokio::time::Instant;

use crate::breaker::Circuit;
use crate::catalogue::Expected;
use crate::prepare::PreparedTool;
use crate::service::Inner;

/// One space's view of the catalogue.
#[derive(Clone, Copy)]
pub struct SpaceTools<'a> {
    pub(crate) engine: &'a Inner,
    pub(crate) space: SpaceId,
}

impl SpaceTools<'_> {
    /// By name or id.
    pub fn get(&self, name_or_id: &str) -> Option<Arc<ToolVersion>> {
        self.engine.catalogue.find(self.space, name_or_id).map(|entry| entry.version.clone())
    }

    pub fn list(&self) -> Vec<Arc<ToolVersion>> {
        self.engine.catalogue.list(self.space)
    }

    /// The error for a tool that is not there, with the names that are near.
    pub fn unknown(&self, name_or_id: &str) -> CallError {
        self.engine.catalogue.unknown(self.space, name_or_id)
    }

    /// Adds a tool, or puts a new version in the place of one.
    pub fn put(
        &self,
        version: ToolVersion,
        tool: PreparedTool,
        expected: Expected,
    ) -> Result<Arc<ToolVersion>, CallError> {
        self.engine.catalogue.put(self.space, version, tool, expected)
    }

    /// Adds many tools, or puts new versions in their places: all of them, or none.
    pub fn put_all(
        &self,
        tools: Vec<(ToolVersion, PreparedTool, Expected)>,
    ) -> Result<Vec<Arc<ToolVersion>>, CallError> {
        self.engine.catalogue.put_all(self.space, tools)
    }

    /// Says what would be in the way of [`Self::put`], and changes nothing.
    pub fn check_put(&self, version: &ToolVersion, expected: Expected) -> Result<(), CallError> {
        self.engine.catalogue.check_put(self.space, version, expected).map(drop)
    }

    /// Takes a tool out of this space, in any version or only in the one named.
    pub fn remove(&self, id: &ToolId, version: Option<u64>) -> Result<Arc<ToolVersion>, CallError> {
        self.engine.catalogue.remove(self.space, id, version)
    }

    /// The circuits of this space that have been used.
    pub fn circuits(&self) -> Vec<Circuit> {
        let breakers = self.engine.breakers.as_ref();
        breakers.map(|breakers| breakers.list(self.space, Instant::now())).unwrap_or_default()
    }

    /// The circuits that calls of one tool pass: its own, and those it shares with tools of the same upstream.
    pub fn circuits_of(&self, tool: &ToolId) -> Vec<Circuit> {
        let breakers = self.engine.breakers.as_ref();
        let live = self.live_upstream(tool);
        breakers
            .map(|breakers| breakers.list_of(self.space, tool, live.as_ref(), Instant::now()))
            .unwrap_or_default()
    }

    /// Closes a circuit by hand; false when there is none of that key.
    pub fn reset_circuit(&self, key: &str) -> bool {
        let breakers = self.engine.breakers.as_ref();
        breakers.is_some_and(|breakers| breakers.reset(self.space, key, Instant::now()))
    }

    /// Closes all circuits that calls of one tool pass, in whatever version; false when there are none.
    pub fn reset_circuits_of(&self, tool: &ToolId) -> bool {
        let breakers = self.engine.breakers.as_ref();
        let live = self.live_upstream(tool);
        breakers.is_some_and(|breakers| breakers.reset_of(self.space, tool, live.as_ref(), Instant::now()))
    }

    /// The upstream of a tool's live version, where it does not depend on arguments.
    fn live_upstream(&self, tool: &ToolId) -> Option<BreakerKey> {
        let entry = self.engine.catalogue.find(self.space, &tool.to_string())?;
        entry.prepared.breaker_key(&Arguments::none())
    }
}

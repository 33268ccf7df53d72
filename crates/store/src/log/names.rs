//! The names by which each tool was called. They are few, so searches go through them one by one.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use haft_core::{CallError, SpaceId, ToolId};

use super::CallLog;
use super::call::{LoggedCall, uuid};
use crate::db::{Tx, args};

/// Maximum number of names in memory.
const MAX_NAMES: usize = 10_000;

/// Space, tool id and tool name.
pub(super) type Name = (SpaceId, ToolId, Arc<str>);

/// Cache of names that are known to be stored.
#[derive(Default)]
pub(super) struct Names(Mutex<HashSet<Name>>);

impl Names {
    /// Returns the names of the calls that may not be stored yet. Calls of unknown tools have none.
    pub(super) fn new_among(&self, calls: &[&LoggedCall]) -> HashSet<Name> {
        let stored = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let named = calls.iter().filter_map(|call| {
            let (tool, _) = call.row.tool.as_ref()?;
            Some((call.row.space, tool.clone(), call.row.tool_name.clone()))
        });
        named.filter(|name| !stored.contains(name)).collect()
    }

    pub(super) fn add(&self, names: HashSet<Name>) {
        let mut stored = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if stored.len() + names.len() > MAX_NAMES {
            stored.clear();
        }
        stored.extend(names);
    }

    fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl CallLog {
    /// Returns the names by which a tool was called, or all names of the space.
    pub(super) async fn names_of(
        &self,
        space: SpaceId,
        tool: Option<&str>,
    ) -> Result<Vec<String>, CallError> {
        let (sql, args) = match tool {
            Some(tool) => (
                "SELECT DISTINCT tool_name FROM tool_call_names WHERE space_id = $1 AND tool_id = $2",
                vec![uuid(space), tool.into()],
            ),
            None => ("SELECT DISTINCT tool_name FROM tool_call_names WHERE space_id = $1", vec![uuid(space)]),
        };
        self.db().rows(sql, args).await?.iter().map(|row| row.text(0)).collect()
    }

    /// Deletes names without calls and without statistics.
    pub(super) async fn prune_names(&self) -> Result<(), CallError> {
        let mut tx: Tx = self.db().begin().await?;
        let delete = tx.run(
            "DELETE FROM tool_call_names WHERE NOT EXISTS (
                 SELECT 1 FROM tool_call_log l
                 WHERE l.space_id = tool_call_names.space_id AND l.tool_name = tool_call_names.tool_name)
             AND NOT EXISTS (
                 SELECT 1 FROM tool_call_stats s
                 WHERE s.space_id = tool_call_names.space_id AND s.span = 86400 AND s.series = 'tool'
                   AND s.name = tool_call_names.tool_name)",
            args![],
        );
        delete.await?;
        tx.commit().await?;
        self.names().clear();
        Ok(())
    }
}

//! Under which names each tool was called: few, so they are searched one by one.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use haft_core::{CallError, SpaceId, ToolId};

use super::CallLog;
use super::call::{LoggedCall, uuid};
use crate::db::{Tx, args};

/// So many are remembered as written at most.
const MOST: usize = 10_000;

/// The space, the tool's id and its name.
pub(super) type Name = (SpaceId, ToolId, Arc<str>);

/// The names that this process knows to be written down.
#[derive(Default)]
pub(super) struct Names(Mutex<HashSet<Name>>);

impl Names {
    /// Those of the calls that may not be written yet. Tools that do not exist have none.
    pub(super) fn new_among(&self, calls: &[&LoggedCall]) -> HashSet<Name> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let named = calls.iter().filter_map(|call| {
            let (tool, _) = call.row.tool.as_ref()?;
            Some((call.row.space, tool.clone(), call.row.tool_name.clone()))
        });
        named.filter(|name| !known.contains(name)).collect()
    }

    pub(super) fn learn(&self, names: HashSet<Name>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() + names.len() > MOST {
            known.clear();
        }
        known.extend(names);
    }

    fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl CallLog {
    /// The names a tool of that id was called by, or all of the space.
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

    /// Takes away names by which nothing is on record or counted any more.
    pub(super) async fn forget_names(&self) -> Result<(), CallError> {
        let mut tx: Tx = self.db().begin().await?;
        let gone = tx.run(
            "DELETE FROM tool_call_names WHERE NOT EXISTS (
                 SELECT 1 FROM tool_call_log l
                 WHERE l.space_id = tool_call_names.space_id AND l.tool_name = tool_call_names.tool_name)
             AND NOT EXISTS (
                 SELECT 1 FROM tool_call_stats s
                 WHERE s.space_id = tool_call_names.space_id AND s.span = 86400 AND s.series = 'tool'
                   AND s.name = tool_call_names.tool_name)",
            args![],
        );
        gone.await?;
        tx.commit().await?;
        self.names().forget();
        Ok(())
    }
}

//! Tools that come in the same request as agents, found by name or id before they are stored.

use std::collections::HashMap;
use std::sync::Arc;

use haft_core::{ToolId, ToolName, ToolVersion};
use uuid::Uuid;

/// The tools of one request. There may be hundreds of thousands, so they are indexed.
#[derive(Default)]
pub(crate) struct ComingTools {
    by_name: HashMap<String, Arc<ToolVersion>>,
    by_id: HashMap<ToolId, Arc<ToolVersion>>,
}

impl ComingTools {
    pub(crate) fn add(&mut self, tool: Arc<ToolVersion>) {
        self.by_name.insert(tool.spec.name.to_string(), tool.clone());
        self.by_id.insert(tool.id.clone(), tool);
    }

    /// A tool by name.
    pub(crate) fn named(&self, name: &str) -> Option<&Arc<ToolVersion>> {
        self.by_name.get(name)
    }

    /// A tool by name or id.
    pub(crate) fn find(&self, named: &str) -> Option<&Arc<ToolVersion>> {
        self.named(named).or_else(|| self.by_id.get(&as_id(named)?))
    }

    /// Whether a tool with this id comes.
    pub(crate) fn has_id(&self, id: &ToolId) -> bool {
        self.by_id.contains_key(id)
    }
}

pub(super) fn as_id(text: &str) -> Option<ToolId> {
    match Uuid::try_parse(text) {
        Ok(id) => Some(ToolId::Uuid(id)),
        Err(_) => text.parse::<ToolName>().ok().map(ToolId::Named),
    }
}

#[cfg(test)]
mod tests {
    use haft_core::{KindName, ToolSpec};
    use haft_engine::now;

    use super::*;

    fn tool(name: &str) -> Arc<ToolVersion> {
        Arc::new(ToolVersion {
            id: ToolId::Uuid(Uuid::now_v7()),
            space_id: None,
            owner_id: None,
            spec: ToolSpec::new(name.parse().expect("a name"), "A tool.", KindName::from("mock")),
            version: 1,
            created_at: now(),
            updated_at: now(),
        })
    }

    #[test]
    fn tools_are_found_by_name_and_id_however_many_come() {
        let mut coming = ComingTools::default();
        // Comparing each with all others would take minutes.
        let tools: Vec<Arc<ToolVersion>> = (0..20_000).map(|number| tool(&format!("t{number}"))).collect();
        tools.iter().for_each(|tool| coming.add(tool.clone()));
        for tool in &tools {
            assert!(coming.has_id(&tool.id));
            let id = tool.id.to_string();
            for named in [tool.spec.name.to_string(), id.to_uppercase(), id.clone()] {
                assert_eq!(coming.find(&named).map(|found| &found.id), Some(&tool.id), "{named}");
            }
            assert!(coming.named(&id).is_none(), "an id is no name");
        }
        assert!(coming.find("other").is_none() && !coming.has_id(&tool("other").id));
    }
}

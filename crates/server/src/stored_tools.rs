//! The store as the engine's source of tools.

use std::collections::HashMap;

use haft_core::{BoxFuture, CallError, SpaceId, ToolId, ToolVersion};
use haft_engine::{LoadedTools, SourceState, ToolSource};
use haft_store::{Store, ToolsFingerprint, VersionInfo, VersionState};

/// Tools as the store keeps them.
pub struct StoredTools {
    store: Store,
}

impl StoredTools {
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    async fn read(
        &self,
        space: SpaceId,
        known: &HashMap<ToolId, u64>,
        last: Option<SourceState>,
    ) -> Result<Option<LoadedTools>, CallError> {
        // The state is read first, so that the tools are at least as new.
        let ToolsFingerprint { revision, count } = self.store.tools_fingerprint(space).await?;
        let state = SourceState { revision, count };
        // Most changes of a space are of something else: a secret, an agent.
        if last == Some(state) {
            return Ok(None);
        }
        let revision = last.map_or(0, |last| last.revision);
        let mut tools = self.store.tools_since(space, revision).await?;
        tools.changed.retain(|tool| known.get(&tool.id) != Some(&tool.version));
        let all = tools.live.into_iter().map(|(id, _)| id).collect();
        Ok(Some(LoadedTools { changed: tools.changed, all, state }))
    }
}

impl ToolSource for StoredTools {
    fn load<'a>(
        &'a self,
        space: SpaceId,
        known: &'a HashMap<ToolId, u64>,
        last: Option<SourceState>,
    ) -> BoxFuture<'a, Result<Option<LoadedTools>, CallError>> {
        Box::pin(self.read(space, known, last))
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

#[cfg(test)]
mod tests {
    use haft_core::{KindName, ToolName, ToolSpec};
    use haft_store::{Database, Force, Key, MasterKeys, PutTool, SecretOwnerId};
    use jiff::Timestamp;
    use secrecy::SecretString;
    use uuid::Uuid;

    use super::*;

    fn tool(space: SpaceId, name: &str, expected: Option<&ToolVersion>) -> PutTool {
        let new = || ToolVersion {
            id: ToolId::Uuid(Uuid::now_v7()),
            space_id: Some(space),
            owner_id: None,
            spec: ToolSpec::new(name.parse::<ToolName>().expect("a name"), "A tool.", KindName::from("mock")),
            version: 1,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        let version = expected.cloned().unwrap_or_else(new);
        let expected = expected.map(|before| before.version);
        PutTool { version, expected, state: VersionState::Live, note: String::new() }
    }

    #[tokio::test]
    async fn only_changed_tools_are_read_and_nothing_when_something_else_changed() {
        let keys = MasterKeys::new(Key::generate().expect("a key"), Vec::new());
        let store = Store::open(&Database::Memory, keys).await.expect("a store");
        let home = store.create_user("ada", None, false).await.expect("a user").1;
        let space = home.id;
        let tools = (0..50).map(|number| tool(space, &format!("tool_{number}"), None)).collect();
        let kept = store.put_tools(space, tools, &[], None).await.expect("tools");
        let source = StoredTools::new(store.clone());
        let load = async |known: &[ToolVersion], last: Option<SourceState>| {
            let known = known.iter().map(|tool| (tool.id.clone(), tool.version)).collect();
            source.load(space, &known, last).await.expect("the tools")
        };
        let counts = |loaded: &LoadedTools| (loaded.changed.len(), loaded.all.len());
        let first = load(&[], None).await.expect("tools");
        assert_eq!(counts(&first), (50, 50));
        let again = load(&[], None).await.expect("tools");
        assert_eq!(counts(&again), (50, 50), "all of them where no state is given");

        let value = SecretString::from("value".to_owned());
        store.put_secret(space, SecretOwnerId::Space, "KEY", &value, None).await.expect("a secret");
        assert!(load(&kept, Some(first.state)).await.is_none(), "a secret is no tool");

        let next = tool(space, "tool_7", Some(&kept[7]));
        store.put_tools(space, vec![next], &[], None).await.expect("a version");
        let changed = load(&kept, Some(first.state)).await.expect("tools");
        assert_eq!(counts(&changed), (1, 50));
        store.delete_tool(space, &kept[8].id, None, Force::No).await.expect("deleted");
        let gone = load(&kept, Some(changed.state)).await.expect("tools");
        assert_eq!(counts(&gone), (0, 49), "one is gone, and the change before it was read");
        let missed = load(&kept, Some(first.state)).await.expect("tools");
        assert_eq!(counts(&missed), (1, 49), "a load whose tools were not used is made again");
    }
}

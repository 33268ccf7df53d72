//! In-memory cache of agents for turns and calls. It is invalidated by every change.
//!
//! Code that changes agents must read them from the database to see the current version.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use haft_core::agent::Agent;
use haft_core::{CallError, SpaceId};

use crate::{Store, name};

/// Maximum number of cached entries.
const MAX_ENTRIES: usize = 10_000;

/// Maximum length of a cached key, in bytes. Agent names are never longer; longer names in requests are not
/// cached.
const MAX_KEY_LENGTH: usize = 4 * name::MAX_LENGTH;

/// The agents that were looked up since the last change, including names that do not exist.
#[derive(Default)]
pub(crate) struct AgentCache(RwLock<CacheState>);

#[derive(Default)]
struct CacheState {
    /// The revision at which the entries were read.
    revision: u64,
    agents: HashMap<SpaceId, HashMap<String, Option<Arc<Agent>>>>,
    count: usize,
}

impl AgentCache {
    fn get(&self, revision: u64, space: SpaceId, name: &str) -> Option<Option<Arc<Agent>>> {
        let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let agents = state.agents.get(&space).filter(|_| state.revision == revision)?;
        agents.get(name).cloned()
    }

    fn put(&self, revision: u64, space: SpaceId, name: &str, agent: Option<Arc<Agent>>) {
        let mut state = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if revision < state.revision {
            return;
        }
        if revision > state.revision || state.count >= MAX_ENTRIES {
            *state = CacheState { revision, ..CacheState::default() };
        }
        let before = state.agents.entry(space).or_default().insert(name.to_owned(), agent);
        state.count += usize::from(before.is_none());
    }
}

impl Store {
    /// Returns the agent with this id or name. Changes of other processes are seen with a delay.
    pub async fn agent(&self, space: SpaceId, id_or_name: &str) -> Result<Option<Arc<Agent>>, CallError> {
        // Read the revision first: an agent that changes during the read is then cached under the older
        // revision.
        let revision = *self.revision_sender().borrow();
        if let Some(cached) = self.agent_cache().get(revision, space, id_or_name) {
            return Ok(cached);
        }
        let agent = self.get_agent(space, id_or_name).await?.map(Arc::new);
        if id_or_name.len() <= MAX_KEY_LENGTH {
            self.agent_cache().put(revision, space, id_or_name, agent.clone());
        }
        Ok(agent)
    }
}

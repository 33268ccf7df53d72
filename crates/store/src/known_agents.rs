//! Agents in memory, for whoever needs one with every turn or call: read once, and anew when anything has changed.
//!
//! Whoever changes one reads it from the database: here nobody learns of a version that is to be replaced.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use haft_core::agent::Agent;
use haft_core::{CallError, SpaceId};

use crate::{Store, name};

/// So many are kept at most.
const MOST: usize = 10_000;

/// No name that an agent can have takes more bytes; longer ones, which anybody may ask for, are not kept.
const LONGEST: usize = 4 * name::LONGEST;

/// What was asked for since a change, also where there is none of that name.
#[derive(Default)]
pub(crate) struct KnownAgents(RwLock<Known>);

#[derive(Default)]
struct Known {
    /// As of which change.
    revision: u64,
    agents: HashMap<SpaceId, HashMap<String, Option<Arc<Agent>>>>,
    count: usize,
}

impl KnownAgents {
    fn get(&self, revision: u64, space: SpaceId, name: &str) -> Option<Option<Arc<Agent>>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let agents = known.agents.get(&space).filter(|_| known.revision == revision)?;
        agents.get(name).cloned()
    }

    fn put(&self, revision: u64, space: SpaceId, name: &str, agent: Option<Arc<Agent>>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if revision < known.revision {
            return;
        }
        if revision > known.revision || known.count >= MOST {
            *known = Known { revision, ..Known::default() };
        }
        let before = known.agents.entry(space).or_default().insert(name.to_owned(), agent);
        known.count += usize::from(before.is_none());
    }
}

impl Store {
    /// The agent of that id or name, as it is since the last change that this process knows of.
    pub async fn agent(&self, space: SpaceId, id_or_name: &str) -> Result<Option<Arc<Agent>>, CallError> {
        // Before it is read: what changes meanwhile is a later one.
        let revision = *self.known_revision().borrow();
        if let Some(known) = self.known_agents().get(revision, space, id_or_name) {
            return Ok(known);
        }
        let agent = self.get_agent(space, id_or_name).await?.map(Arc::new);
        if id_or_name.len() <= LONGEST {
            self.known_agents().put(revision, space, id_or_name, agent.clone());
        }
        Ok(agent)
    }
}

//! The seam to where models come from: providers of a space, of the environment, or found on this machine.

use std::sync::Arc;

use haft_core::agent::Agent;
use haft_core::{BoxFuture, CallError, SpaceId, UserId};
use haft_llm::Model;
use serde::{Deserialize, Serialize};

/// Who asks: providers, and the secrets that are their keys, belong to spaces and people.
#[derive(Debug, Clone, Copy)]
pub struct Asker {
    pub space: SpaceId,
    pub user: Option<UserId>,
}

/// Which model is wanted. What is not said is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wanted {
    /// The name or id of a provider.
    pub provider: Option<String>,
    pub model: Option<String>,
}

impl Wanted {
    /// What is wanted, and what is not said as an agent has it.
    #[must_use]
    pub fn or(&self, agent: Option<&Agent>) -> Self {
        let Some(config) = agent.map(|agent| &agent.spec.config) else { return self.clone() };
        // Another provider knows nothing of the agent's model.
        let model = config.model.clone().filter(|_| self.provider.is_none());
        Self {
            provider: self.provider.clone().or_else(|| config.provider.clone()),
            model: self.model.clone().or(model),
        }
    }

    pub fn is_any(&self) -> bool {
        *self == Self::default()
    }
}

/// A model that can be asked.
#[derive(Clone)]
pub struct Chosen {
    /// The provider's name.
    pub provider: String,
    /// The model's name, as its provider has it.
    pub name: String,
    /// So many tokens it reads and writes in all, as far as that is known.
    pub window: Option<u32>,
    pub model: Arc<dyn Model>,
}

/// Finds models.
pub trait Models: Send + Sync {
    /// The one that is wanted, or an error that says what to do: which variable to set, which provider there is.
    fn find<'a>(&'a self, asker: Asker, wanted: &'a Wanted) -> BoxFuture<'a, Result<Chosen, CallError>>;
}

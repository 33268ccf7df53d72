//! The seam to where models come from: providers of a space, of the environment, or found on this machine.

use std::sync::Arc;

use haft_core::agent::Agent;
use haft_core::{BoxFuture, CallError, SpaceId, UserId};
use haft_llm::Model;
use serde::{Deserialize, Serialize};

/// A user in a space, to whom providers, secrets and files belong.
#[derive(Debug, Clone, Copy)]
pub struct SpaceUser {
    pub space: SpaceId,
    pub user: Option<UserId>,
}

/// The requested model. A missing part is chosen by the process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelChoice {
    /// The name or id of a provider.
    pub provider: Option<String>,
    pub model: Option<String>,
}

impl ModelChoice {
    /// Fills missing parts from an agent.
    #[must_use]
    pub fn or(&self, agent: Option<&Agent>) -> Self {
        let Some(config) = agent.map(|agent| &agent.spec.config) else { return self.clone() };
        // Another provider does not have the agent's model.
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

/// A model that is ready for requests.
#[derive(Clone)]
pub struct SelectedModel {
    /// The provider's name.
    pub provider: String,
    /// The model's name, as its provider has it.
    pub name: String,
    /// The context window in tokens. `None` if it is not known.
    pub window: Option<u32>,
    pub model: Arc<dyn Model>,
}

/// Finds models.
pub trait Models: Send + Sync {
    /// Returns the requested model, or an error that says which variable to set or which providers exist.
    fn find<'a>(
        &'a self,
        asker: SpaceUser,
        wanted: &'a ModelChoice,
    ) -> BoxFuture<'a, Result<SelectedModel, CallError>>;
}

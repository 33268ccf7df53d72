//! Secrets for calls: revealed from the store once, kept in memory until their space changes.
//!
//! What the operator set in the environment (`HAFT_SECRET_NAME`) serves the operator's own space, where that has none.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use haft_core::secret::SecretOwner;
use haft_core::{BoxFuture, CallError, SecretRef, SpaceId, UserId};
use haft_engine::SecretSource;
use haft_store::{SecretOwnerId, Store};
use secrecy::SecretString;

/// So many values are kept at most.
const MOST: usize = 10_000;

type Key = (SpaceId, SecretOwnerId, String);

/// The store's secrets.
pub struct StoredSecrets {
    store: Store,
    /// By lower-case name, for one space.
    environment: (SpaceId, HashMap<String, SecretString>),
    known: RwLock<HashMap<Key, Option<SecretString>>>,
    generation: AtomicU64,
}

impl StoredSecrets {
    /// What the environment holds is for one space: whoever may make a tool there may send it anywhere.
    pub fn new(store: Store, operator: SpaceId, environment: HashMap<String, SecretString>) -> Self {
        Self {
            store,
            environment: (operator, environment),
            known: RwLock::default(),
            generation: AtomicU64::new(0),
        }
    }

    /// Something changed in a space: its secrets are read anew.
    pub(crate) fn forget(&self, space: SpaceId) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        self.generation.fetch_add(1, Ordering::AcqRel);
        known.retain(|(of, ..), _| *of != space);
    }

    /// A secret of a space, or of one user in it.
    pub(crate) async fn find(
        &self,
        space: SpaceId,
        owner: SecretOwnerId,
        name: &str,
    ) -> Result<Option<SecretString>, CallError> {
        let key = (space, owner, name.to_owned());
        let kept = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let found = match kept {
            Some(kept) => kept,
            // In a box: most calls need none of the room it takes.
            None => Box::pin(self.look_up(key)).await?,
        };
        let (operator, environment) = &self.environment;
        let by_operator = || {
            let is_theirs = owner == SecretOwnerId::Space && space == *operator;
            is_theirs
                .then(|| environment.get(&name.to_ascii_lowercase().replace('-', "_")).cloned())
                .flatten()
        };
        Ok(found.or_else(by_operator))
    }

    /// What the store has, kept for the next call.
    async fn look_up(&self, key: Key) -> Result<Option<SecretString>, CallError> {
        let generation = self.generation.load(Ordering::Acquire);
        let found = self.store.reveal(key.0, key.1, &key.2).await?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if self.generation.load(Ordering::Acquire) == generation {
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(key, found.clone());
        }
        Ok(found)
    }
}

impl SecretSource for StoredSecrets {
    fn reveal<'a>(
        &'a self,
        space: SpaceId,
        user: Option<UserId>,
        secret: &'a SecretRef,
    ) -> BoxFuture<'a, Result<Option<SecretString>, CallError>> {
        Box::pin(async move {
            let owner = match (secret.owner, user) {
                (SecretOwner::Space, _) => SecretOwnerId::Space,
                (SecretOwner::Caller, Some(user)) => SecretOwnerId::User(user),
                (SecretOwner::Caller, None) => return Ok(None),
            };
            self.find(space, owner, &secret.name).await
        })
    }
}

//! Secrets until there is a store for them: those that imports found, kept in memory, then the
//! environment, where `secret://weather_key` is `HAFT_SECRET_WEATHER_KEY`, in any case.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use haft_core::secret::SecretOwner;
use haft_core::{BoxFuture, CallError, SecretRef, SpaceId, UserId};
use haft_engine::SecretSource;
use haft_server::SecretKeeper;
use secrecy::SecretString;

/// How their variables begin.
const PREFIX: &str = "HAFT_SECRET_";

/// Cheap to clone; clones share what is kept.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Arc<Known>);

#[derive(Default)]
struct Known {
    environment: HashMap<String, SecretString>,
    kept: RwLock<HashMap<(SpaceId, String), SecretString>>,
}

impl Secrets {
    pub(crate) fn new(variables: impl Iterator<Item = (String, String)>) -> Self {
        let is_set = |(_, value): &(String, String)| !value.trim().is_empty();
        let named = variables.filter(is_set).filter_map(|(name, value)| {
            Some((name.strip_prefix(PREFIX)?.to_ascii_lowercase(), SecretString::from(value)))
        });
        Self(Arc::new(Known { environment: named.collect(), kept: RwLock::default() }))
    }

    fn value(&self, space: SpaceId, name: &str) -> Option<SecretString> {
        let kept = self.0.kept.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = kept.get(&(space, name.to_owned())) {
            return Some(value.clone());
        }
        self.0.environment.get(&name.to_ascii_lowercase().replace('-', "_")).cloned()
    }
}

impl SecretSource for Secrets {
    fn reveal<'a>(
        &'a self,
        space: SpaceId,
        _: Option<UserId>,
        secret: &'a SecretRef,
    ) -> BoxFuture<'a, Result<Option<SecretString>, CallError>> {
        // Nobody's own secrets are here.
        let found = (secret.owner == SecretOwner::Space).then(|| self.value(space, &secret.name)).flatten();
        Box::pin(std::future::ready(Ok(found)))
    }
}

impl SecretKeeper for Secrets {
    fn find(&self, space: SpaceId, name: &str) -> Option<SecretString> {
        self.value(space, name)
    }

    fn keep(&self, space: SpaceId, name: &str, value: SecretString) {
        let mut kept = self.0.kept.write().unwrap_or_else(PoisonError::into_inner);
        kept.insert((space, name.to_owned()), value);
    }
}

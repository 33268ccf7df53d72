//! Secrets from the environment: `secret://weather_key` is `HAFT_SECRET_WEATHER_KEY`, in any case.

use std::collections::HashMap;

use haft_core::secret::SecretOwner;
use haft_core::{BoxFuture, CallError, SecretRef, SpaceId, UserId};
use haft_engine::SecretSource;
use secrecy::SecretString;

/// How their variables begin.
pub(crate) const PREFIX: &str = "HAFT_SECRET_";

/// What the environment held when the process began.
#[derive(Clone, Default)]
pub(crate) struct EnvironmentSecrets(HashMap<String, SecretString>);

impl EnvironmentSecrets {
    pub(crate) fn new(variables: impl Iterator<Item = (String, String)>) -> Self {
        let is_set = |(_, value): &(String, String)| !value.trim().is_empty();
        let named = variables.filter(is_set).filter_map(|(name, value)| {
            Some((name.strip_prefix(PREFIX)?.to_ascii_lowercase(), SecretString::from(value)))
        });
        Self(named.collect())
    }
}

impl SecretSource for EnvironmentSecrets {
    fn reveal<'a>(
        &'a self,
        _: SpaceId,
        _: Option<UserId>,
        secret: &'a SecretRef,
    ) -> BoxFuture<'a, Result<Option<SecretString>, CallError>> {
        // Nobody's own secrets stand in the environment.
        let name =
            (secret.owner == SecretOwner::Space).then(|| secret.name.to_ascii_lowercase().replace('-', "_"));
        let found = name.and_then(|name| self.0.get(&name).cloned());
        Box::pin(std::future::ready(Ok(found)))
    }
}

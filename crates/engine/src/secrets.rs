//! Secrets of a call: revealed before its attempts, masked in its result.

use std::sync::Arc;

use haft_core::mask::{Mask, parts};
use haft_core::{BoxFuture, CallError, Caller, ErrorKind, Message, SecretRef, Secrets, SpaceId, UserId};
use secrecy::{ExposeSecret, SecretString};

use crate::catalog::Entry;

haft_core::templates! {
    MISSING = "secret.missing",
        "The secret {secret} is not set; add it, or remove it from the tool",
        "密钥 {secret} 未设置；请添加该密钥，或从工具中移除";
}

/// A store of secrets.
pub trait SecretSource: Send + Sync {
    /// Returns the value of a secret for one caller. Returns `None` if it is not set.
    fn reveal<'a>(
        &'a self,
        space: SpaceId,
        user: Option<UserId>,
        secret: &'a SecretRef,
    ) -> BoxFuture<'a, Result<Option<SecretString>, CallError>>;
}

/// A mask, and the values it was created for.
pub(crate) struct CachedMask {
    values: Vec<SecretString>,
    mask: Arc<Mask>,
}

/// Reveals the secrets that a tool uses. Returns an error with the name of a missing one.
pub(crate) async fn reveal(
    source: Option<&dyn SecretSource>,
    entry: &Entry,
    caller: &Caller,
) -> Result<Arc<Secrets>, CallError> {
    let references = entry.prepared.secrets();
    let mut found = Vec::with_capacity(references.len());
    for secret in references {
        let value = match source {
            Some(source) => source.reveal(caller.space, caller.user, secret).await?,
            None => None,
        };
        let missing = || CallError::new(ErrorKind::Execution, Message::new(&MISSING).with("secret", secret));
        found.push((secret.clone(), value.ok_or_else(missing)?));
    }
    let mask = mask(entry, &found);
    Ok(Arc::new(Secrets::new(found, mask)))
}

/// Returns the mask of a tool's secrets for the record of a call that did not reveal them. Returns `None` if
/// they cannot be looked up now.
pub(crate) async fn mask_for_record(
    source: Option<&dyn SecretSource>,
    entry: &Entry,
    caller: &Caller,
) -> Option<Arc<Mask>> {
    let mut found = Vec::new();
    for secret in entry.prepared.secrets() {
        let Some(source) = source else { continue };
        // A secret that is not set cannot be in the arguments either.
        let value = source.reveal(caller.space, caller.user, secret).await.ok()?;
        found.extend(value.map(|value| (secret.clone(), value)));
    }
    Some(mask(entry, &found))
}

/// Returns the mask of the last call if the secrets have not changed.
fn mask(entry: &Entry, secrets: &[(SecretRef, SecretString)]) -> Arc<Mask> {
    let values = || secrets.iter().map(|(_, value)| value);
    if let Some(cached) = &*entry.mask.load()
        && cached.values.iter().map(ExposeSecret::expose_secret).eq(values().map(ExposeSecret::expose_secret))
    {
        return cached.mask.clone();
    }
    let parts: Vec<String> = values().flat_map(|value| parts(value.expose_secret())).collect();
    let whole = values().map(ExposeSecret::expose_secret);
    let mask = Arc::new(Mask::new(whole.chain(parts.iter().map(String::as_str))));
    entry.mask.store(Some(Arc::new(CachedMask { values: values().cloned().collect(), mask: mask.clone() })));
    mask
}

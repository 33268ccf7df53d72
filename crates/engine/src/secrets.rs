//! Secrets on their way into a call and out of its answer: revealed once, masked in whatever comes back.

use std::sync::Arc;

use haft_core::mask::{Mask, parts};
use haft_core::{BoxFuture, CallError, Caller, ErrorKind, Message, SecretRef, Secrets, SpaceId, UserId};
use secrecy::{ExposeSecret, SecretString};

use crate::catalogue::Entry;

haft_core::templates! {
    MISSING = "secret.missing",
        "The secret {secret} is not set; add it, or take it out of the tool",
        "密钥 {secret} 未设置；请添加该密钥，或从工具中移除";
}

/// Where secrets are kept.
pub trait SecretSource: Send + Sync {
    /// The value of a secret, as one caller sees it; nothing when there is none.
    fn reveal<'a>(
        &'a self,
        space: SpaceId,
        user: Option<UserId>,
        secret: &'a SecretRef,
    ) -> BoxFuture<'a, Result<Option<SecretString>, CallError>>;
}

/// A mask, and the values it was made for.
pub(crate) struct KnownMask {
    values: Vec<SecretString>,
    mask: Arc<Mask>,
}

/// Reveals what a tool's kind asks for, or says which secret is not there.
pub(crate) async fn reveal(
    source: Option<&dyn SecretSource>,
    entry: &Entry,
    caller: &Caller,
) -> Result<Arc<Secrets>, CallError> {
    let wanted = entry.prepared.secrets();
    let mut found = Vec::with_capacity(wanted.len());
    for secret in wanted {
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

/// What takes a tool's secrets out of the record of a call that did not get as far as using them; nothing
/// when nobody can tell them now.
pub(crate) async fn mask_for_record(
    source: Option<&dyn SecretSource>,
    entry: &Entry,
    caller: &Caller,
) -> Option<Arc<Mask>> {
    let mut found = Vec::new();
    for secret in entry.prepared.secrets() {
        let Some(source) = source else { continue };
        // One that is not set is in no argument either.
        let value = source.reveal(caller.space, caller.user, secret).await.ok()?;
        found.extend(value.map(|value| (secret.clone(), value)));
    }
    Some(mask(entry, &found))
}

/// Secrets seldom change: the mask of the last call serves the next.
fn mask(entry: &Entry, secrets: &[(SecretRef, SecretString)]) -> Arc<Mask> {
    let values = || secrets.iter().map(|(_, value)| value);
    if let Some(known) = &*entry.mask.load()
        && known.values.iter().map(ExposeSecret::expose_secret).eq(values().map(ExposeSecret::expose_secret))
    {
        return known.mask.clone();
    }
    let parts: Vec<String> = values().flat_map(|value| parts(value.expose_secret())).collect();
    let whole = values().map(ExposeSecret::expose_secret);
    let mask = Arc::new(Mask::new(whole.chain(parts.iter().map(String::as_str))));
    entry.mask.store(Some(Arc::new(KnownMask { values: values().cloned().collect(), mask: mask.clone() })));
    mask
}

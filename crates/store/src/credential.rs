//! Values that prove who somebody is: made at random, shown once, and known again by their hash alone.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use haft_core::{CallError, ErrorKind, Message};
use secrecy::SecretString;
use sha2::{Digest as _, Sha256};

haft_core::templates! {
    NO_RANDOMNESS = "store.noRandomness",
        "the operating system gave no randomness",
        "操作系统未能提供随机数";
}

/// The SHA-256 of a token, a session or a login link: what is kept of it, and what it is looked up by.
/// The value has 32 random bytes, so that nothing is learned from how long a look-up takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CredentialHash([u8; 32]);

impl CredentialHash {
    pub fn of(value: &str) -> Self {
        Self(Sha256::digest(value.as_bytes()).into())
    }

    pub(crate) fn to_vec(self) -> Vec<u8> {
        self.0.to_vec()
    }
}

/// A new value: 32 random bytes after a prefix.
pub(crate) fn make(prefix: &str) -> Result<SecretString, CallError> {
    let value = format!("{prefix}{}", URL_SAFE_NO_PAD.encode(random::<32>()?));
    Ok(SecretString::from(value))
}

pub(crate) fn random<const N: usize>() -> Result<[u8; N], CallError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        CallError::new(ErrorKind::Internal, Message::new(&NO_RANDOMNESS)).caused_by(error.to_string())
    })?;
    Ok(bytes)
}

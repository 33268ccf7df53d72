//! Random credentials: created once, shown once, and stored only as a hash.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use haft_core::{CallError, ErrorKind, Message};
use secrecy::SecretString;
use sha2::{Digest as _, Sha256};

haft_core::templates! {
    NO_RANDOMNESS = "store.noRandomness",
        "The operating system provided no random bytes.",
        "操作系统未能提供随机数";
}

/// SHA-256 of a token, a session or a login link. Only the hash is stored and looked up. The values have 32
/// random bytes, so lookup timing reveals nothing.
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

/// Generates a credential: a prefix and 32 random bytes.
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

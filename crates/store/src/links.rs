//! Signed links to files: whoever holds one shows that we made it, until it expires. Nothing is kept of them.
//!
//! A signature is the space, the second at which it expires, and an HMAC-SHA256 over those and the file. Its key
//! is derived from the master key, and used for nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use haft_core::id::ArtifactId;
use haft_core::{CallError, ErrorKind, Message, SpaceId};
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use sha2::Sha256;
use uuid::Uuid;

use crate::Store;
use crate::keys::Key;

haft_core::templates! {
    NOT_SIGNED = "store.notSigned",
        "the link could not be signed",
        "链接签名失败";
}

/// What the key of links is derived by. Another label is another key.
const LABEL: &[u8] = b"haft artifact links v1";

impl Store {
    /// The signature that opens a file to anyone, up to the second of an instant.
    pub fn sign_artifact(
        &self,
        space: SpaceId,
        id: ArtifactId,
        until: Timestamp,
    ) -> Result<String, CallError> {
        let expiry = second(until);
        let failed = || CallError::new(ErrorKind::Internal, Message::new(&NOT_SIGNED));
        let mac = mac(&self.keys().ring().current, space, id, expiry).ok_or_else(failed)?;
        let mut signature = Uuid::from(space).into_bytes().to_vec();
        signature.extend_from_slice(&expiry.to_be_bytes());
        signature.extend_from_slice(mac.finalize().into_bytes().as_slice());
        Ok(URL_SAFE_NO_PAD.encode(signature))
    }

    /// The space of the file that a signature opens at some moment. Nothing where it has expired, is another
    /// file's, or was made under no key that is known; whether there is such a file is not asked.
    pub fn signed_space(&self, id: ArtifactId, signature: &str, now: Timestamp) -> Option<SpaceId> {
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let (space, rest) = signature.split_first_chunk::<16>()?;
        let (expiry, code) = rest.split_first_chunk::<8>()?;
        let (space, expiry) = (SpaceId::from(Uuid::from_bytes(*space)), u64::from_be_bytes(*expiry));
        let is_by = |key: &Key| mac(key, space, id, expiry).is_some_and(|mac| mac.verify_slice(code).is_ok());
        let ring = self.keys().ring();
        (second(now) < expiry && ring.all().any(is_by)).then_some(space)
    }
}

/// Every part has a length of its own, so that no two links are made of the same bytes.
fn mac(key: &Key, space: SpaceId, id: ArtifactId, expiry: u64) -> Option<Hmac<Sha256>> {
    let derived = Hmac::<Sha256>::new_from_slice(key.bytes()).ok()?.chain_update(LABEL).finalize();
    let mac = Hmac::<Sha256>::new_from_slice(derived.into_bytes().as_slice()).ok()?;
    let mac = mac.chain_update(b"artifact").chain_update(Uuid::from(id).as_bytes());
    Some(mac.chain_update(Uuid::from(space).as_bytes()).chain_update(expiry.to_be_bytes()))
}

fn second(instant: Timestamp) -> u64 {
    u64::try_from(instant.as_second()).unwrap_or_default()
}

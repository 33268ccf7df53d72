//! Signed links: whoever holds one shows that we made it, until it expires. Nothing is kept of them.
//!
//! A signature is the space, who made it, the second at which it expires, a number, and an HMAC-SHA256 over those
//! and what it is for. Its key is derived from the master key, and used for nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use haft_core::id::ArtifactId;
use haft_core::{CallError, ErrorKind, Message, RunId, SpaceId, UserId};
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
const LABEL: &[u8] = b"haft links v2";

/// What a link lets its holder do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linked {
    /// Read a file.
    Artifact(ArtifactId),
    /// Give a run the answer that it waits for.
    Callback(RunId),
    /// Decide on a run that waits for a person.
    Approval(RunId),
}

impl Linked {
    /// A word for it, which is in no other's way, and its id.
    fn parts(self) -> (&'static [u8; 8], Uuid) {
        match self {
            Self::Artifact(id) => (b"artifact", id.into()),
            Self::Callback(id) => (b"callback", id.into()),
            Self::Approval(id) => (b"approval", id.into()),
        }
    }
}

/// What a good signature says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signed {
    pub space: SpaceId,
    /// Who made the link, where that was a person.
    pub by: Option<UserId>,
    pub until: Timestamp,
    /// Which of several it is for: a version that is asked about, an attempt that was made.
    pub number: u64,
}

impl Store {
    /// The signature of a link, good up to the second of an instant.
    pub fn sign(&self, to: Linked, signed: Signed) -> Result<String, CallError> {
        let facts = facts(signed);
        let failed = || CallError::new(ErrorKind::Internal, Message::new(&NOT_SIGNED));
        let mac = mac(&self.keys().ring().current, to, &facts).ok_or_else(failed)?;
        let mut signature = facts.to_vec();
        signature.extend_from_slice(mac.finalize().into_bytes().as_slice());
        Ok(URL_SAFE_NO_PAD.encode(signature))
    }

    /// What a signature says at some moment. Nothing where it has expired, is for something else, or was made
    /// under no key that is known; whether there is such a thing is not asked.
    pub fn signed(&self, to: Linked, signature: &str, now: Timestamp) -> Option<Signed> {
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let (facts, code) = signature.split_first_chunk::<48>()?;
        let is_by = |key: &Key| mac(key, to, facts).is_some_and(|mac| mac.verify_slice(code).is_ok());
        if !self.keys().ring().all().any(is_by) {
            return None;
        }
        let (space, rest) = facts.split_first_chunk::<16>()?;
        let (by, rest) = rest.split_first_chunk::<16>()?;
        let (until, number) = rest.split_first_chunk::<8>()?;
        let until = i64::from_be_bytes(*until);
        let by = Uuid::from_bytes(*by);
        let signed = Signed {
            space: SpaceId::from(Uuid::from_bytes(*space)),
            by: (!by.is_nil()).then(|| UserId::from(by)),
            until: Timestamp::from_second(until).ok()?,
            number: u64::from_be_bytes(number.try_into().ok()?),
        };
        (now < signed.until).then_some(signed)
    }
}

/// Every part has a length of its own, so that no two links are made of the same bytes.
fn facts(signed: Signed) -> [u8; 48] {
    let mut facts = [0; 48];
    facts[..16].copy_from_slice(Uuid::from(signed.space).as_bytes());
    facts[16..32].copy_from_slice(signed.by.map(Uuid::from).unwrap_or_default().as_bytes());
    facts[32..40].copy_from_slice(&signed.until.as_second().to_be_bytes());
    facts[40..].copy_from_slice(&signed.number.to_be_bytes());
    facts
}

fn mac(key: &Key, to: Linked, facts: &[u8; 48]) -> Option<Hmac<Sha256>> {
    let derived = Hmac::<Sha256>::new_from_slice(key.bytes()).ok()?.chain_update(LABEL).finalize();
    let mac = Hmac::<Sha256>::new_from_slice(derived.into_bytes().as_slice()).ok()?;
    let (word, id) = to.parts();
    Some(mac.chain_update(word).chain_update(id.as_bytes()).chain_update(facts))
}

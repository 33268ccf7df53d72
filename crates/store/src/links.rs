//! Signed links: bearer credentials that expire. They are not stored.
//!
//! A signature encodes the space, the creator, the expiry in seconds, a number, and an HMAC-SHA256 over these
//! and the target. The signing key is derived from the master key and used only here.

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
        "The link could not be signed.",
        "链接签名失败";
}

/// Label for deriving the signing key. Changing it invalidates all links.
const LABEL: &[u8] = b"haft links v2";

/// The action that a link permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkTarget {
    /// Download an artifact.
    Artifact(ArtifactId),
    /// Deliver the result of a deferred call.
    Callback(RunId),
    /// Decide the approval request of a run.
    Approval(RunId),
}

impl LinkTarget {
    /// Returns a label that is unique per kind of target, and the id.
    fn parts(self) -> (&'static [u8; 8], Uuid) {
        match self {
            Self::Artifact(id) => (b"artifact", id.into()),
            Self::Callback(id) => (b"callback", id.into()),
            Self::Approval(id) => (b"approval", id.into()),
        }
    }
}

/// The content of a valid signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedLink {
    pub space: SpaceId,
    /// The user who created the link. `None` if the server created it.
    pub by: Option<UserId>,
    pub until: Timestamp,
    /// Distinguishes links to the same target: the version of an approval request, or the attempt of a call.
    pub number: u64,
}

impl Store {
    /// Signs a link. The expiry is truncated to whole seconds.
    pub fn sign(&self, to: LinkTarget, signed: SignedLink) -> Result<String, CallError> {
        let facts = facts(signed);
        let failed = || CallError::new(ErrorKind::Internal, Message::new(&NOT_SIGNED));
        let mac = mac(&self.keys().ring().current, to, &facts).ok_or_else(failed)?;
        let mut signature = facts.to_vec();
        signature.extend_from_slice(mac.finalize().into_bytes().as_slice());
        Ok(URL_SAFE_NO_PAD.encode(signature))
    }

    /// Verifies a signature and returns its content. Returns `None` if it has expired, is for another target,
    /// or was made with an unknown key. Does not check whether the target exists.
    pub fn signed(&self, to: LinkTarget, signature: &str, now: Timestamp) -> Option<SignedLink> {
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
        let signed = SignedLink {
            space: SpaceId::from(Uuid::from_bytes(*space)),
            by: (!by.is_nil()).then(|| UserId::from(by)),
            until: Timestamp::from_second(until).ok()?,
            number: u64::from_be_bytes(number.try_into().ok()?),
        };
        (now < signed.until).then_some(signed)
    }
}

/// Encodes the content. All parts have a fixed length, so two different contents never encode alike.
fn facts(signed: SignedLink) -> [u8; 48] {
    let mut facts = [0; 48];
    facts[..16].copy_from_slice(Uuid::from(signed.space).as_bytes());
    facts[16..32].copy_from_slice(signed.by.map(Uuid::from).unwrap_or_default().as_bytes());
    facts[32..40].copy_from_slice(&signed.until.as_second().to_be_bytes());
    facts[40..].copy_from_slice(&signed.number.to_be_bytes());
    facts
}

fn mac(key: &Key, to: LinkTarget, facts: &[u8; 48]) -> Option<Hmac<Sha256>> {
    let derived = Hmac::<Sha256>::new_from_slice(key.bytes()).ok()?.chain_update(LABEL).finalize();
    let mac = Hmac::<Sha256>::new_from_slice(derived.into_bytes().as_slice()).ok()?;
    let (word, id) = to.parts();
    Some(mac.chain_update(word).chain_update(id.as_bytes()).chain_update(facts))
}

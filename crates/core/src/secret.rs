//! Secret references in definitions, and the revealed values of a call.

use std::fmt;
use std::sync::Arc;

use secrecy::SecretString;

use crate::mask::Mask;

/// Prefix of a reference.
pub const SCHEME: &str = "secret://";

/// Maximum length of a name.
const MAX_NAME: usize = 64;

/// `secret://NAME`, a secret of the space, or `secret://me/NAME`, a secret of the caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SecretRef {
    pub owner: SecretOwner,
    pub name: String,
}

/// The owner of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SecretOwner {
    Space,
    Caller,
}

impl SecretRef {
    /// Parses a reference at the start of a text, after its scheme. Returns it with the rest of the text.
    pub(crate) fn at_start(text: &str) -> Option<(Self, &str)> {
        let (owner, text) = match text.strip_prefix("me/") {
            Some(own) => (SecretOwner::Caller, own),
            None => (SecretOwner::Space, text),
        };
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let length = text.bytes().take_while(is_part).count();
        let (name, rest) = text.split_at(length);
        let fits = (1..=MAX_NAME).contains(&length);
        fits.then(|| (Self { owner, name: name.to_owned() }, rest))
    }
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let me = match self.owner {
            SecretOwner::Space => "",
            SecretOwner::Caller => "me/",
        };
        write!(f, "{SCHEME}{me}{}", self.name)
    }
}

/// The revealed secrets of one call, with the mask for its result. Never displayed.
#[derive(Default)]
pub struct Secrets {
    values: Vec<(SecretRef, SecretString)>,
    mask: Option<Arc<Mask>>,
}

impl Secrets {
    pub fn new(values: Vec<(SecretRef, SecretString)>, mask: Arc<Mask>) -> Self {
        Self { values, mask: Some(mask) }
    }

    pub fn get(&self, secret: &SecretRef) -> Option<&SecretString> {
        self.values.iter().find(|(known, _)| known == secret).map(|(_, value)| value)
    }

    /// Returns `None` if there are no secrets.
    pub fn mask(&self) -> Option<&Arc<Mask>> {
        self.mask.as_ref()
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values.iter().map(|(secret, _)| secret)).finish()
    }
}

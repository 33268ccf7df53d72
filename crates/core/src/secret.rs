//! Secrets by name: what a definition holds instead of a credential, and the values a call was given for them.

use std::fmt;
use std::sync::Arc;

use secrecy::SecretString;

use crate::mask::Mask;

/// How a reference begins.
pub const SCHEME: &str = "secret://";

/// The longest name.
const LONGEST_NAME: usize = 64;

/// `secret://NAME`, the space's, or `secret://me/NAME`, the caller's own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SecretRef {
    pub owner: SecretOwner,
    pub name: String,
}

/// Whose secret is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SecretOwner {
    Space,
    Caller,
}

impl SecretRef {
    /// Reads the reference at the start of a text, after its scheme, and gives what follows it.
    pub(crate) fn at_start(text: &str) -> Option<(Self, &str)> {
        let (owner, text) = match text.strip_prefix("me/") {
            Some(own) => (SecretOwner::Caller, own),
            None => (SecretOwner::Space, text),
        };
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let length = text.bytes().take_while(is_part).count();
        let (name, rest) = text.split_at(length);
        let fits = (1..=LONGEST_NAME).contains(&length);
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

/// The secrets one call may use, with their values and what takes them out of its answer. Never shown.
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

    /// Nothing where there are no secrets.
    pub fn mask(&self) -> Option<&Arc<Mask>> {
        self.mask.as_ref()
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values.iter().map(|(secret, _)| secret)).finish()
    }
}

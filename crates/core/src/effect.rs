//! The effect of a call on the world, and the policy for making it.

use serde::{Deserialize, Serialize};

/// The effect of a call on the world. Retry, cache, journal, approval and replay depend on nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// Changes nothing; may be repeated and cached.
    Read,
    /// Changes something; repeating it has no further effect.
    Idempotent,
    /// Changes something each time.
    Write,
}

impl Effect {
    /// Returns true if an attempt with an unknown outcome may be repeated.
    pub fn is_repeatable(self) -> bool {
        match self {
            Self::Read | Self::Idempotent => true,
            Self::Write => false,
        }
    }
}

/// The permission to make a call, from the loosest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Policy {
    /// The call is allowed.
    #[default]
    Allow,
    /// The call requires approval.
    Ask,
    /// The call is denied.
    Block,
}

impl Policy {
    /// Returns the stricter of two policies: a binding may tighten a tool's policy, never loosen it.
    pub fn stricter(self, other: Self) -> Self {
        self.max(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_tightens_and_never_loosens() {
        assert_eq!(Policy::Allow.stricter(Policy::Block), Policy::Block);
        assert_eq!(Policy::Block.stricter(Policy::Allow), Policy::Block);
        assert_eq!(Policy::Ask.stricter(Policy::Allow), Policy::Ask);
    }
}

//! What a call does to the world, and whether it may go ahead.

use serde::{Deserialize, Serialize};

/// What a call does to the world. Retry, cache, journal, approval and replay
/// ask this and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// Changes nothing; may be repeated and its answer kept.
    Read,
    /// Changes something, and doing it twice is the same as doing it once.
    Idempotent,
    /// Changes something each time it is done.
    Write,
}

impl Effect {
    /// Whether an attempt whose outcome is not known may be made again.
    pub fn is_repeatable(self) -> bool {
        match self {
            Self::Read | Self::Idempotent => true,
            Self::Write => false,
        }
    }
}

/// Whether a call may go ahead, from the loosest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Policy {
    /// The call goes ahead.
    #[default]
    Allow,
    /// The call waits until a person approves it.
    Ask,
    /// The call never goes ahead.
    Block,
}

impl Policy {
    /// The stricter of two: a binding may tighten a tool's policy, never loosen it.
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

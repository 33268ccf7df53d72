//! Users, their tokens, and who a token turns out to be. Passwords and the values of tokens never appear here.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::TokenId;
use crate::space::Role;
use crate::{SpaceId, UserId};

/// A person, or a program that acts for one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct User {
    pub id: UserId,
    pub name: String,
    /// Runs the installation; what a user may do in a space is the role there.
    pub is_admin: bool,
    pub is_active: bool,
    #[serde(serialize_with = "crate::timestamp::serialize")]
    pub created_at: Timestamp,
}

/// A token, without its value, which is shown once and kept nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    pub id: TokenId,
    pub user_id: UserId,
    pub space_id: SpaceId,
    pub name: String,
    /// The first characters of the value, by which its owner knows it again.
    pub prefix: String,
    pub scope: Scope,
    #[serde(serialize_with = "crate::timestamp::serialize")]
    pub created_at: Timestamp,
    #[serde(serialize_with = "crate::timestamp::serialize_optional")]
    pub expires_at: Option<Timestamp>,
    /// To the minute or so.
    #[serde(serialize_with = "crate::timestamp::serialize_optional")]
    pub last_used_at: Option<Timestamp>,
}

/// What a token may be used for, from the least to the most; its user's role is a limit besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    Read,
    Call,
    Admin,
}

impl Scope {
    /// The word for it, as JSON and the database have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Call => "call",
            Self::Admin => "admin",
        }
    }
}

/// Who a token turned out to be, and what its user may do in the token's space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub token: Token,
    pub user: User,
    pub role: Role,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_ordered_and_have_one_word_each() {
        let scopes = [Scope::Read, Scope::Call, Scope::Admin];
        assert!(scopes.is_sorted());
        for scope in scopes {
            assert_eq!(serde_json::json!(scope), scope.as_str());
        }
    }
}

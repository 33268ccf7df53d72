//! Users, tokens, and the identity behind a token. Passwords and token values never appear here.

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
    /// True for administrators of the installation. Permissions within a space depend on the role there.
    pub is_admin: bool,
    pub is_active: bool,
    #[serde(serialize_with = "crate::timestamp::serialize")]
    pub created_at: Timestamp,
}

/// A token without its value, which is displayed once and never stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    pub id: TokenId,
    pub user_id: UserId,
    pub space_id: SpaceId,
    pub name: String,
    /// The first characters of the value, by which its owner recognizes it.
    pub prefix: String,
    pub scope: Scope,
    #[serde(serialize_with = "crate::timestamp::serialize")]
    pub created_at: Timestamp,
    #[serde(serialize_with = "crate::timestamp::serialize_optional")]
    pub expires_at: Option<Timestamp>,
    /// Accurate to about a minute.
    #[serde(serialize_with = "crate::timestamp::serialize_optional")]
    pub last_used_at: Option<Timestamp>,
}

/// The permissions of a token, from the least to the most. The role of its user is a further limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    Read,
    Call,
    Admin,
}

impl Scope {
    /// Returns the name used in JSON and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Call => "call",
            Self::Admin => "admin",
        }
    }
}

/// The identity behind a token: its user, and the role in the token's space.
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

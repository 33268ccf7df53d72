//! Spaces, members and roles. Memberships are stored elsewhere, and nothing here checks permissions.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{SpaceId, UserId};

/// A set of resources that a team shares, isolated from other spaces. Each user has a personal one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Space {
    pub id: SpaceId,
    pub name: String,
    pub is_personal: bool,
    pub version: u64,
    #[serde(serialize_with = "crate::timestamp::serialize")]
    pub created_at: Timestamp,
    #[serde(serialize_with = "crate::timestamp::serialize")]
    pub updated_at: Timestamp,
}

/// The role of a member, from the least to the most permissions; each includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// Reads resources.
    Viewer,
    /// Calls tools and chats with agents.
    Caller,
    /// Changes tools, agents, flows and secrets.
    Editor,
    /// Manages members.
    Admin,
}

impl Role {
    /// Returns the name used in JSON and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Caller => "caller",
            Self::Editor => "editor",
            Self::Admin => "admin",
        }
    }
}

/// A user in a space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    pub user_id: UserId,
    pub name: String,
    pub role: Role,
}

/// An open invitation of a user, by name, into a space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Invitation {
    pub space_id: SpaceId,
    pub space_name: String,
    /// The name as the inviting admin typed it; an account of that name may not exist.
    pub user_name: String,
    /// The role after accepting.
    pub role: Role,
    #[serde(serialize_with = "crate::timestamp::serialize")]
    pub created_at: Timestamp,
    #[serde(serialize_with = "crate::timestamp::serialize")]
    pub expires_at: Timestamp,
    /// The name of the inviting admin. `None` if that account was deleted.
    pub invited_by: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_ordered_and_have_one_word_each() {
        let roles = [Role::Viewer, Role::Caller, Role::Editor, Role::Admin];
        assert!(roles.is_sorted());
        for role in roles {
            assert_eq!(serde_json::json!(role), role.as_str());
        }
    }
}

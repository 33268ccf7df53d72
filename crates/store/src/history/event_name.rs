//! Kinds of objects and actions. Together they form the name of an event.

use serde::{Deserialize, Serialize};

/// Declares an enum with a fixed string per variant. `as_str` returns the given string, which the database stores.
/// JSON has the name of the variant in camelCase instead: both must be equal, which a test checks.
macro_rules! string_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

string_enum! {
    /// The kind of the changed object.
    What {
        Tool = "tool",
        /// An agent, including its bindings.
        Agent = "agent",
        Provider = "provider",
        /// A secret of the space, identified by its name.
        Secret = "secret",
        /// A secret of one user, `secret://me/NAME`.
        OwnSecret = "ownSecret",
        Space = "space",
        /// A user in a space.
        Member = "member",
        User = "user",
        Token = "token",
        Alert = "alert",
        /// A run that was cancelled, retried or settled.
        Task = "task",
        /// An approval request for a call.
        Approval = "approval",
    }
}

string_enum! {
    /// The action.
    Action {
        Created = "created",
        /// The definition, name or role was changed.
        Updated = "updated",
        Deleted = "deleted",
        /// An earlier version was restored as a new version.
        RolledBack = "rolledBack",
        /// A held version became live, or an approval request was granted.
        Approved = "approved",
        /// An approval request was denied.
        Denied = "denied",
        /// Cancellation was requested.
        Cancelled = "cancelled",
        /// Another attempt was requested.
        Retried = "retried",
        /// A secret was created or its value was replaced.
        Set = "set",
        PasswordSet = "passwordSet",
        /// A user was invited into a space, and can accept or decline.
        Invited = "invited",
        /// A user became a member of a space.
        Added = "added",
        /// A user is no longer a member of a space.
        Removed = "removed",
        /// A token was made invalid.
        Revoked = "revoked",
        /// The condition of an alert became true.
        Fired = "fired",
        /// The condition of an alert became false, or the unknown result of a task was settled.
        Resolved = "resolved",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn strings_are_unique_and_round_trip() {
        let mut seen = HashSet::new();
        for what in What::ALL {
            assert_eq!(serde_json::json!(what), what.as_str());
            assert!(seen.insert(what.as_str()));
            let read: What = serde_json::from_value(what.as_str().into()).expect("a known string");
            assert_eq!(read, *what);
        }
        let mut seen = HashSet::new();
        for action in Action::ALL {
            assert_eq!(serde_json::json!(action), action.as_str());
            assert!(seen.insert(action.as_str()));
        }
        assert!(serde_json::from_value::<What>("Tool".into()).is_err());
    }
}

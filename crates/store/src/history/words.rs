//! What can be changed, and what can be done to it: the two words that name an event.

use serde::{Deserialize, Serialize};

/// Declares a closed set of words, as JSON and the database have them.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$says:meta])* $word:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub enum $name {
            $($(#[$says])* $word,)*
        }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$word),*];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)*
                }
            }
        }
    };
}

words! {
    /// What was changed.
    What {
        Tool = "tool",
        /// An agent, its bindings included.
        Agent = "agent",
        Provider = "provider",
        /// A secret of the space, known by its name.
        Secret = "secret",
        /// A secret of one user, `secret://me/NAME`.
        OwnSecret = "ownSecret",
        Space = "space",
        /// A user in a space.
        Member = "member",
        User = "user",
        Token = "token",
        Alert = "alert",
        /// A run that somebody cancelled, tried again or settled.
        Task = "task",
        /// A call that a person was asked about.
        Approval = "approval",
    }
}

words! {
    /// What was done to it.
    Action {
        Created = "created",
        /// It has another definition, name or role.
        Updated = "updated",
        Deleted = "deleted",
        /// An earlier version of it is the next one.
        RolledBack = "rolledBack",
        /// A version that was held is called now, or a call that was asked about goes ahead.
        Approved = "approved",
        /// A call that was asked about does not go ahead.
        Denied = "denied",
        /// Somebody wants it to end.
        Cancelled = "cancelled",
        /// It is tried once more.
        Retried = "retried",
        /// A secret has a value, the first or another.
        Set = "set",
        PasswordSet = "passwordSet",
        /// A user was invited into a space, and can accept or decline.
        Invited = "invited",
        /// Somebody is in a space now.
        Added = "added",
        /// Somebody is no longer in a space.
        Removed = "removed",
        /// A token opens nothing any more.
        Revoked = "revoked",
        /// An alert's condition holds.
        Fired = "fired",
        /// An alert's condition no longer holds, or it was said what became of a task.
        Resolved = "resolved",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_word_is_one_thing_and_is_read_as_it_is_written() {
        let mut seen = HashSet::new();
        for what in What::ALL {
            assert_eq!(serde_json::json!(what), what.as_str());
            assert!(seen.insert(what.as_str()));
            let read: What = serde_json::from_value(what.as_str().into()).expect("a word");
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

//! Converts a conversation for providers that require alternating roles: it starts and ends with the user,
//! and adjacent messages of one role are merged.

use serde_json::{Value, json};

/// The placeholder for an empty user message: messages must not be empty, and the user must be first.
const NOTHING: &str = "(nothing)";

/// The user message after a final model message: providers do not continue a model's own message.
const CONTINUE: &str = "Go on.";

/// Instructions in the middle of a conversation, as user text.
pub(crate) fn instruction(text: &str) -> String {
    format!("<system>\n{text}\n</system>")
}

/// The messages of the user and the model.
#[derive(Default)]
pub(crate) struct Sides {
    messages: Vec<(Side, Vec<Value>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    User,
    Model,
}

impl Sides {
    /// Adds a message. Empty messages are dropped; adjacent messages of one role are merged.
    pub(crate) fn say(&mut self, side: Side, said: Vec<Value>) {
        if said.is_empty() {
            return;
        }
        match self.messages.last_mut() {
            Some((last, before)) if *last == side => before.extend(said),
            Some(_) | None => self.messages.push((side, said)),
        }
    }

    /// All messages; `words` converts a text to the provider's form.
    pub(crate) fn finish(mut self, words: impl Fn(&str) -> Value) -> Vec<(Side, Vec<Value>)> {
        if self.messages.first().is_none_or(|(side, _)| *side != Side::User) {
            self.messages.insert(0, (Side::User, vec![words(NOTHING)]));
        }
        if self.messages.last().is_some_and(|(side, _)| *side == Side::Model) {
            self.messages.push((Side::User, vec![words(CONTINUE)]));
        }
        self.messages
    }
}

/// Messages as JSON. The role name of the user is common to all providers; `model` and `content` differ.
pub(crate) fn written(messages: Vec<(Side, Vec<Value>)>, model: &str, content: &str) -> Value {
    let written = messages.into_iter().map(|(side, said)| {
        let role = match side {
            Side::User => "user",
            Side::Model => model,
        };
        json!({"role": role, content: said})
    });
    written.collect()
}

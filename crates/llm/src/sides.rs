//! A conversation for providers with two sides that take turns: the user begins and has the last word, and
//! neighbours of one side are one message.

use serde_json::{Value, json};

/// What the user says where nothing is left of it: no message may be empty, and the user has to begin.
const NOTHING: &str = "(nothing)";

/// What the user says where the model spoke last: nobody writes on in its own answer any more, and whoever goes
/// on with a conversation has nothing new to say.
const GO_ON: &str = "Go on.";

/// Instructions in the middle of a conversation, as words of the user.
pub(crate) fn instruction(text: &str) -> String {
    format!("<system>\n{text}\n</system>")
}

/// Messages of a user and of somebody else.
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
    /// What one side says next. Nothing is no message: after a turn that was cancelled, a user speaks twice.
    pub(crate) fn say(&mut self, side: Side, said: Vec<Value>) {
        if said.is_empty() {
            return;
        }
        match self.messages.last_mut() {
            Some((last, before)) if *last == side => before.extend(said),
            Some(_) | None => self.messages.push((side, said)),
        }
    }

    /// All messages; `words` writes a text as the provider has it.
    pub(crate) fn finish(mut self, words: impl Fn(&str) -> Value) -> Vec<(Side, Vec<Value>)> {
        if self.messages.first().is_none_or(|(side, _)| *side != Side::User) {
            self.messages.insert(0, (Side::User, vec![words(NOTHING)]));
        }
        if self.messages.last().is_some_and(|(side, _)| *side == Side::Model) {
            self.messages.push((Side::User, vec![words(GO_ON)]));
        }
        self.messages
    }
}

/// Messages as JSON: the name of the user's side is everybody's, those of the other and of the content are not.
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

//! What the model answers, and how well it behaves while it does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::dialect::Dialect;

/// Characters of a text that come at once, unless the test says otherwise.
const TEXT_FRAGMENT: usize = 3;
const ARGUMENTS_FRAGMENT: usize = 5;

/// One answer of the model. What is added to it comes in the same order.
#[derive(Debug, Clone)]
pub struct ModelReply {
    pub(super) said: Vec<Said>,
    pub(super) ending: Ending,
    /// Tokens of input and output; nothing when the model does not count.
    pub(super) usage: Option<(u64, u64)>,
    pub(super) fragment: Option<usize>,
    pub(super) pause: Option<Duration>,
    pub(super) hold: Option<Arc<Semaphore>>,
    pub(super) cut_after: Option<usize>,
    pub(super) is_whole: bool,
    pub(super) failure: Option<Failure>,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Said {
    Text(String),
    Reasoning(String),
    Call(SaidCall),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct SaidCall {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: String,
}

/// Why the model stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// It has said, or called, all it wanted.
    Own,
    Length,
    Filtered,
    /// It refuses: OpenAI sends the text as a refusal.
    Refused,
}

/// How an answer goes wrong.
#[derive(Debug, Clone)]
pub(super) enum Failure {
    /// It never begins.
    Status { status: u16, message: String, retry_after: Option<u64> },
    /// It has begun, and this comes in place of its end.
    InStream(String),
}

impl Default for ModelReply {
    fn default() -> Self {
        Self::new()
    }
}

impl ModelReply {
    /// An answer with nothing in it.
    pub fn new() -> Self {
        Self {
            said: Vec::new(),
            ending: Ending::Own,
            usage: Some((10, 5)),
            fragment: None,
            pause: None,
            hold: None,
            cut_after: None,
            is_whole: false,
            failure: None,
        }
    }

    /// An answer in words.
    pub fn says(text: impl Into<String>) -> Self {
        Self::new().text(text)
    }

    /// Calls that are made together.
    pub fn calls<N: Into<String>>(calls: impl IntoIterator<Item = (N, Value)>) -> Self {
        calls.into_iter().fold(Self::new(), |reply, (name, arguments)| reply.call(name, arguments))
    }

    /// No answer, but a status and an error in the dialect's own form.
    pub fn status(status: u16, retry_after: Option<u64>) -> Self {
        Self::refused(status, format!("the model answers with {status}"), retry_after)
    }

    /// The same in words of the test's.
    pub fn refused(status: u16, message: impl Into<String>, retry_after: Option<u64>) -> Self {
        let failure = Failure::Status { status, message: message.into(), retry_after };
        Self { failure: Some(failure), ..Self::new() }
    }

    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.said.push(Said::Text(text.into()));
        self
    }

    #[must_use]
    pub fn reasoning(mut self, text: impl Into<String>) -> Self {
        self.said.push(Said::Reasoning(text.into()));
        self
    }

    #[must_use]
    pub fn call(self, name: impl Into<String>, arguments: Value) -> Self {
        self.raw_call(name, arguments.to_string())
    }

    /// A call with arguments that need not be JSON. Where a dialect has no way to say such a thing, it
    /// says what its own server makes of it.
    #[must_use]
    pub fn raw_call(mut self, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.said.push(Said::Call(SaidCall { id: None, name: name.into(), arguments: arguments.into() }));
        self
    }

    /// The id of the call that was added last, in place of one in the dialect's style.
    #[must_use]
    pub fn call_id(mut self, id: impl Into<String>) -> Self {
        if let Some(Said::Call(call)) = self.said.last_mut() {
            call.id = Some(id.into());
        }
        self
    }

    /// A call as a small model writes it: into its text.
    #[must_use]
    pub fn fenced_call(self, name: &str, arguments: &Value) -> Self {
        let call = json!({"name": name, "arguments": arguments});
        self.text(format!("```json\n{call}\n```"))
    }

    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some((input, output));
        self
    }

    #[must_use]
    pub fn without_usage(mut self) -> Self {
        self.usage = None;
        self
    }

    /// The model stops because it may not write more.
    #[must_use]
    pub fn length(mut self) -> Self {
        self.ending = Ending::Length;
        self
    }

    /// The provider stops the model because of what it says.
    #[must_use]
    pub fn filtered(mut self) -> Self {
        self.ending = Ending::Filtered;
        self
    }

    /// The model refuses, and its text is the reason. Only OpenAI has a field for it.
    #[must_use]
    pub fn refusing(mut self) -> Self {
        self.ending = Ending::Refused;
        self
    }

    /// Texts and arguments come in pieces of so many characters.
    #[must_use]
    pub fn in_fragments_of(mut self, characters: usize) -> Self {
        self.fragment = Some(characters);
        self
    }

    /// Time passes before each fragment.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = Some(pause);
        self
    }

    /// Each fragment takes a permit, and waits for one.
    #[must_use]
    pub fn hold(mut self, permits: Arc<Semaphore>) -> Self {
        self.hold = Some(permits);
        self
    }

    /// The connection breaks after so many fragments.
    #[must_use]
    pub fn cut_after(mut self, fragments: usize) -> Self {
        self.cut_after = Some(fragments);
        self
    }

    /// In place of its end comes an error, in the dialect's own form.
    #[must_use]
    pub fn error_in_stream(mut self, message: impl Into<String>) -> Self {
        self.failure = Some(Failure::InStream(message.into()));
        self
    }

    /// One document, whatever was asked for.
    #[must_use]
    pub fn not_streamed(mut self) -> Self {
        self.is_whole = true;
        self
    }

    /// Gives each call an id in the dialect's style, if it has one.
    pub(super) fn name_calls(&mut self, dialect: Dialect, ids: &AtomicUsize) {
        for said in &mut self.said {
            let Said::Call(call) = said else { continue };
            let prefix = match dialect {
                Dialect::Openai => "call_",
                Dialect::Anthropic => "toolu_",
                Dialect::Gemini | Dialect::Ollama => continue,
            };
            let number = ids.fetch_add(1, Ordering::SeqCst);
            call.id.get_or_insert_with(|| format!("{prefix}{number:024}"));
        }
    }

    pub(super) fn has_calls(&self) -> bool {
        self.said.iter().any(|said| matches!(said, Said::Call(_)))
    }

    /// The field in which OpenAI sends the text.
    pub(super) fn text_field(&self) -> &'static str {
        if self.ending == Ending::Refused { "refusal" } else { "content" }
    }

    /// The error that comes in place of the end.
    pub(super) fn error(&self) -> Option<&str> {
        match &self.failure {
            Some(Failure::InStream(message)) => Some(message),
            Some(Failure::Status { .. }) | None => None,
        }
    }

    /// The pieces in which a text comes.
    pub(super) fn text_pieces(&self, text: &str) -> Vec<String> {
        pieces(text, self.fragment.unwrap_or(TEXT_FRAGMENT))
    }

    pub(super) fn argument_pieces(&self, arguments: &str) -> Vec<String> {
        pieces(arguments, self.fragment.unwrap_or(ARGUMENTS_FRAGMENT))
    }

    /// All of the words, thoughts apart.
    pub(super) fn whole_text(&self) -> String {
        let texts = self.said.iter().filter_map(|said| match said {
            Said::Text(text) => Some(text.as_str()),
            Said::Reasoning(_) | Said::Call(_) => None,
        });
        texts.collect()
    }

    pub(super) fn whole_reasoning(&self) -> String {
        let thoughts = self.said.iter().filter_map(|said| match said {
            Said::Reasoning(text) => Some(text.as_str()),
            Said::Text(_) | Said::Call(_) => None,
        });
        thoughts.collect()
    }

    pub(super) fn said_calls(&self) -> impl Iterator<Item = &SaidCall> {
        self.said.iter().filter_map(|said| match said {
            Said::Call(call) => Some(call),
            Said::Text(_) | Said::Reasoning(_) => None,
        })
    }
}

impl SaidCall {
    /// The arguments, if they are what a dialect without texts can hold.
    pub(super) fn object(&self) -> Option<Value> {
        serde_json::from_str(&self.arguments).ok().filter(Value::is_object)
    }
}

fn pieces(text: &str, characters: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(characters.max(1)).map(|piece| piece.iter().collect()).collect()
}

//! Defines a response of the fake model: its parts, its stop reason, and its delays and failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::dialect::FakeDialect;

/// Default length of a text fragment, in characters.
const TEXT_FRAGMENT: usize = 3;
/// Default length of a fragment of a call's arguments, in characters.
const ARGUMENTS_FRAGMENT: usize = 5;

/// One response of the model. Its parts are sent in the order in which they are added.
#[derive(Debug, Clone)]
pub struct ModelReply {
    pub(super) parts: Vec<ReplyPart>,
    pub(super) stop_reason: StopReason,
    /// Input and output tokens. `None` if the response does not report usage.
    pub(super) usage: Option<(u64, u64)>,
    /// Length of a fragment in characters. `None` for the defaults.
    pub(super) fragment: Option<usize>,
    pub(super) pause: Option<Duration>,
    pub(super) hold: Option<Arc<Semaphore>>,
    pub(super) cut_after: Option<usize>,
    /// True if the response is never streamed.
    pub(super) is_whole: bool,
    pub(super) failure: Option<Failure>,
}

/// A part of a response.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ReplyPart {
    Text(String),
    Reasoning(String),
    Call(CallPart),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallPart {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: String,
}

/// Reason why the model stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    /// The response is complete.
    Complete,
    Length,
    Filtered,
    /// The model refuses. OpenAI sends the text as a refusal.
    Refused,
}

/// Failure of a response.
#[derive(Debug, Clone)]
pub(super) enum Failure {
    /// An error status instead of a response.
    Status { status: u16, message: String, retry_after: Option<u64> },
    /// An error event instead of the end of the stream.
    InStream(String),
}

impl Default for ModelReply {
    fn default() -> Self {
        Self::new()
    }
}

impl ModelReply {
    /// Creates an empty response.
    pub fn new() -> Self {
        Self {
            parts: Vec::new(),
            stop_reason: StopReason::Complete,
            usage: Some((10, 5)),
            fragment: None,
            pause: None,
            hold: None,
            cut_after: None,
            is_whole: false,
            failure: None,
        }
    }

    /// Creates a response with a text.
    pub fn says(text: impl Into<String>) -> Self {
        Self::new().text(text)
    }

    /// Creates a response with several calls.
    pub fn calls<N: Into<String>>(calls: impl IntoIterator<Item = (N, Value)>) -> Self {
        calls.into_iter().fold(Self::new(), |reply, (name, arguments)| reply.call(name, arguments))
    }

    /// Creates an error response with a default message.
    pub fn status(status: u16, retry_after: Option<u64>) -> Self {
        Self::refused(status, format!("the model answers with {status}"), retry_after)
    }

    /// Creates an error response with the given message.
    pub fn refused(status: u16, message: impl Into<String>, retry_after: Option<u64>) -> Self {
        let failure = Failure::Status { status, message: message.into(), retry_after };
        Self { failure: Some(failure), ..Self::new() }
    }

    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.parts.push(ReplyPart::Text(text.into()));
        self
    }

    #[must_use]
    pub fn reasoning(mut self, text: impl Into<String>) -> Self {
        self.parts.push(ReplyPart::Reasoning(text.into()));
        self
    }

    #[must_use]
    pub fn call(self, name: impl Into<String>, arguments: Value) -> Self {
        self.raw_call(name, arguments.to_string())
    }

    /// Adds a call whose arguments may be invalid JSON. A dialect that cannot represent it sends what its
    /// real server sends in this case.
    #[must_use]
    pub fn raw_call(mut self, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.parts.push(ReplyPart::Call(CallPart {
            id: None,
            name: name.into(),
            arguments: arguments.into(),
        }));
        self
    }

    /// Sets the id of the last call. By default, an id in the dialect's style is generated.
    #[must_use]
    pub fn call_id(mut self, id: impl Into<String>) -> Self {
        if let Some(ReplyPart::Call(call)) = self.parts.last_mut() {
            call.id = Some(id.into());
        }
        self
    }

    /// Adds a call written as a fenced JSON block in the text, as small models do.
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

    /// Stops because the output limit is reached.
    #[must_use]
    pub fn length(mut self) -> Self {
        self.stop_reason = StopReason::Length;
        self
    }

    /// Stops because of the provider's content filter.
    #[must_use]
    pub fn filtered(mut self) -> Self {
        self.stop_reason = StopReason::Filtered;
        self
    }

    /// Marks the response as a refusal with the text as its reason. Only OpenAI has a field for it.
    #[must_use]
    pub fn refusing(mut self) -> Self {
        self.stop_reason = StopReason::Refused;
        self
    }

    /// Sets the number of characters per fragment of texts and arguments.
    #[must_use]
    pub fn in_fragments_of(mut self, characters: usize) -> Self {
        self.fragment = Some(characters);
        self
    }

    /// Sets a pause before each fragment.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = Some(pause);
        self
    }

    /// Makes each fragment wait for a permit and consume it.
    #[must_use]
    pub fn hold_until(mut self, permits: Arc<Semaphore>) -> Self {
        self.hold = Some(permits);
        self
    }

    /// Breaks the connection after this number of fragments.
    #[must_use]
    pub fn cut_after(mut self, fragments: usize) -> Self {
        self.cut_after = Some(fragments);
        self
    }

    /// Sends an error event of the dialect instead of the end of the stream.
    #[must_use]
    pub fn error_in_stream(mut self, message: impl Into<String>) -> Self {
        self.failure = Some(Failure::InStream(message.into()));
        self
    }

    /// Sends one document, even if the request asks for a stream.
    #[must_use]
    pub fn not_streamed(mut self) -> Self {
        self.is_whole = true;
        self
    }

    /// Assigns an id in the dialect's style to each call without one, if the dialect has ids.
    pub(super) fn assign_call_ids(&mut self, dialect: FakeDialect, ids: &AtomicUsize) {
        for part in &mut self.parts {
            let ReplyPart::Call(call) = part else { continue };
            let prefix = match dialect {
                FakeDialect::Openai => "call_",
                FakeDialect::Anthropic => "toolu_",
                FakeDialect::Gemini | FakeDialect::Ollama => continue,
            };
            let number = ids.fetch_add(1, Ordering::SeqCst);
            call.id.get_or_insert_with(|| format!("{prefix}{number:024}"));
        }
    }

    pub(super) fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, ReplyPart::Call(_)))
    }

    /// Returns the field in which OpenAI sends the text.
    pub(super) fn text_field(&self) -> &'static str {
        if self.stop_reason == StopReason::Refused { "refusal" } else { "content" }
    }

    /// Returns the error that replaces the end of the stream.
    pub(super) fn error(&self) -> Option<&str> {
        match &self.failure {
            Some(Failure::InStream(message)) => Some(message),
            Some(Failure::Status { .. }) | None => None,
        }
    }

    /// Splits a text into fragments.
    pub(super) fn text_pieces(&self, text: &str) -> Vec<String> {
        pieces(text, self.fragment.unwrap_or(TEXT_FRAGMENT))
    }

    pub(super) fn argument_pieces(&self, arguments: &str) -> Vec<String> {
        pieces(arguments, self.fragment.unwrap_or(ARGUMENTS_FRAGMENT))
    }

    /// Returns all text, without reasoning.
    pub(super) fn whole_text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            ReplyPart::Text(text) => Some(text.as_str()),
            ReplyPart::Reasoning(_) | ReplyPart::Call(_) => None,
        });
        texts.collect()
    }

    pub(super) fn whole_reasoning(&self) -> String {
        let thoughts = self.parts.iter().filter_map(|part| match part {
            ReplyPart::Reasoning(text) => Some(text.as_str()),
            ReplyPart::Text(_) | ReplyPart::Call(_) => None,
        });
        thoughts.collect()
    }

    pub(super) fn call_parts(&self) -> impl Iterator<Item = &CallPart> {
        self.parts.iter().filter_map(|part| match part {
            ReplyPart::Call(call) => Some(call),
            ReplyPart::Text(_) | ReplyPart::Reasoning(_) => None,
        })
    }
}

impl CallPart {
    /// Returns the arguments as a JSON object, or `None` if they are not one.
    pub(super) fn object(&self) -> Option<Value> {
        serde_json::from_str(&self.arguments).ok().filter(Value::is_object)
    }
}

fn pieces(text: &str, characters: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(characters.max(1)).map(|piece| piece.iter().collect()).collect()
}

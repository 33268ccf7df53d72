//! Interprets responses: JSON, text or base64; redacted and filtered, or an error with its body.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use encoding_rs::Encoding;
use haft_core::mask::Mask;
use haft_core::redact::{REDACTED, Redactor};
use haft_core::{CallError, ErrorKind, Message, ToolOutput};
use haft_egress::EgressResponse;
use haft_query::{Query, ResultLimits};
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::json::Unread;
use crate::status;

haft_core::templates! {
    TOO_MANY_VALUES = "http.tooManyValues",
        "Response too large: parsing it would exceed the memory limit",
        "响应过大：应答包含的值过多，超出内存限制";
    FILTER_FAILED = "http.filterFailed",
        "The responseFilter cannot be applied to the response: {reason}",
        "responseFilter 不适用于该应答: {reason}";
}

/// Maximum size of a response whose original text is kept next to its parsed value.
const COMPACT: usize = 4096;

/// Maximum size of an error's body, in bytes.
const ERROR_BODY: usize = 2048;

/// Limits of a filter's output, at least those of a response.
pub(crate) const MOST: ResultLimits = ResultLimits { values: 4_000_000, characters: 32 << 20 };

/// Minimum memory budget for parsed JSON: a multiple of an ordinary response.
const LEAST_MEMORY: usize = 64 << 20;

/// Processing that applies to every response of a tool.
#[derive(Default)]
pub(crate) struct Shape {
    pub(crate) redact: Redactor,
    pub(crate) filter: Option<Query>,
}

impl Shape {
    /// Returns true if processing may be expensive even for a small response.
    pub(crate) fn costs_more_than_its_size(&self) -> bool {
        self.filter.is_some() || !self.redact.is_empty()
    }

    /// Returns the tool's result or error, with `masks` applied.
    pub(crate) fn read(
        &self,
        answer: &EgressResponse,
        masks: &[Arc<Mask>],
        limit: usize,
    ) -> Result<ToolOutput, CallError> {
        let mut content = self.content(answer, masks, limit)?;
        self.redact_content(&mut content, answer, masks);
        self.output(content, answer, masks)
    }

    /// Returns the parsed response, unredacted, or the error for a failure status.
    pub(crate) fn content(
        &self,
        answer: &EgressResponse,
        masks: &[Arc<Mask>],
        limit: usize,
    ) -> Result<Content, CallError> {
        match (status::error(answer), content(answer, limit)) {
            (None, content) => content,
            (Some(error), Ok(content)) => Err(self.with_body(error, content, answer, masks)),
            (Some(error), Err(_)) => Err(error),
        }
    }

    /// Masks and redacts the content.
    pub(crate) fn redact_content(&self, content: &mut Content, answer: &EgressResponse, masks: &[Arc<Mask>]) {
        for mask in masks {
            // In another charset, secrets cannot be found in the raw bytes.
            if content.is_recoded || mask.may_be_in(&answer.body) {
                mask.value(&mut content.value);
                content.is_unchanged = false;
            }
        }
        if !self.redact.is_empty() && content.kind != Kind::Binary {
            self.redact(content);
            content.is_unchanged = false;
        }
    }

    /// Masks and redacts a text from a response.
    pub(crate) fn redact_text(&self, text: &str, masks: &[Arc<Mask>]) -> String {
        let masked = masks.iter().fold(text.to_owned(), |text, mask| mask.text(&text).into_owned());
        self.redact.text(&masked).into_owned()
    }

    /// Adds the redacted response body to an error.
    pub(crate) fn with_body(
        &self,
        error: CallError,
        mut content: Content,
        answer: &EgressResponse,
        masks: &[Arc<Mask>],
    ) -> CallError {
        self.redact_content(&mut content, answer, masks);
        match error_body(content) {
            body if body.is_empty() => error,
            body => error.detail("body", body),
        }
    }

    /// Converts redacted content into the tool's result.
    pub(crate) fn output(
        &self,
        content: Content,
        answer: &EgressResponse,
        masks: &[Arc<Mask>],
    ) -> Result<ToolOutput, CallError> {
        let Content { value, kind, is_recoded, is_unchanged } = content;
        let output = match (&self.filter, kind) {
            (Some(filter), Kind::Json) => filter.run(&value, MOST).map_err(|reason| {
                let message = Message::new(&FILTER_FAILED).with_messages("reason", vec![reason]);
                CallError::new(ErrorKind::Execution, message)
            })?,
            (None, Kind::Json) => {
                let text = (is_unchanged && !is_recoded).then(|| compact(&answer.body)).flatten();
                return Ok(ToolOutput { text, ..ToolOutput::masked(value) });
            }
            (_, Kind::Text) => json!({"data": value}),
            (_, Kind::Binary) => {
                let kind = media_type(answer).unwrap_or("application/octet-stream");
                let kind = masks.iter().fold(kind.to_owned(), |kind, mask| mask.text(&kind).into_owned());
                json!({"data": value, "contentType": kind, "encoding": "base64"})
            }
        };
        Ok(ToolOutput::masked(output))
    }

    fn redact(&self, content: &mut Content) {
        match (content.kind, &mut content.value) {
            // A text that looks like an object, but cannot be parsed, may contain any redacted field.
            (Kind::Text, Value::String(text)) if self.redact.has_paths() && text.contains('{') => {
                *text = REDACTED.to_owned();
            }
            (Kind::Text, Value::String(text)) => *text = self.redact.text(text).into_owned(),
            (_, value) => self.redact.value(value),
        }
    }
}

/// Short, single-line JSON, unchanged.
fn compact(body: &[u8]) -> Option<Arc<str>> {
    let is_compact = body.len() <= COMPACT && body.starts_with(b"{") && !body.contains(&b'\n');
    is_compact.then(|| std::str::from_utf8(body).ok()).flatten().map(Arc::from)
}

/// The beginning of the content, as text.
fn error_body(content: Content) -> String {
    let mut text = match (content.kind, content.value) {
        (Kind::Text, Value::String(text)) => text,
        (_, value) => value.to_string(),
    };
    if text.len() > ERROR_BODY {
        let end = text.floor_char_boundary(ERROR_BODY);
        text.truncate(end);
    }
    text
}

/// A parsed body.
pub(crate) struct Content {
    pub(crate) value: Value,
    kind: Kind,
    /// The body was not UTF-8.
    is_recoded: bool,
    /// The value still equals the body.
    is_unchanged: bool,
}

impl Content {
    fn new(value: Value, kind: Kind) -> Self {
        Self { value, kind, is_recoded: false, is_unchanged: true }
    }

    /// Replaces the value by a part of it, or by a derived value.
    pub(crate) fn replace(&mut self, value: Value) {
        (self.value, self.kind, self.is_unchanged) = (value, Kind::Json, false);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Json,
    Text,
    Binary,
}

/// Parses a body by its contents; the content type decides only ambiguous cases.
fn content(answer: &EgressResponse, limit: usize) -> Result<Content, CallError> {
    let (media, charset) = declared(answer);
    let says_json = media == "application/json" || media.ends_with("+json") || media == "text/json";
    let is_text_type = says_json
        || media.starts_with("text/")
        || media.ends_with("+xml")
        || media.ends_with("/xml")
        || media.ends_with("javascript")
        || media == "application/x-www-form-urlencoded"
        || charset.is_some();
    let is_binary_type = ["image/", "audio/", "video/", "font/"].iter().any(|start| media.starts_with(start));
    let body = &answer.body;
    if body.is_empty() {
        return Ok(Content::new("".into(), Kind::Text));
    }
    let is_utf8 = || std::str::from_utf8(body).is_ok() && !body.contains(&0);
    if !is_text_type && (is_binary_type || !is_utf8()) {
        return Ok(Content::new(STANDARD.encode(body).into(), Kind::Binary));
    }
    let (text, used, _) = charset.unwrap_or(encoding_rs::UTF_8).decode(body);
    let is_recoded = used != encoding_rs::UTF_8;
    // A bare number or word is JSON only if the content type says so.
    let may_be_json = says_json || media.is_empty() || text.trim_start().starts_with(['{', '[']);
    if may_be_json {
        match crate::json::parse(&text, LEAST_MEMORY.max(limit.saturating_mul(16))) {
            Ok(value) => return Ok(Content { is_recoded, ..Content::new(value, Kind::Json) }),
            Err(Unread::NotJson) => {}
            Err(Unread::TooLarge) => {
                let message = Message::new(&TOO_MANY_VALUES);
                return Err(CallError::new(ErrorKind::ResponseTooLarge, message));
            }
        }
    }
    Ok(Content { is_recoded, ..Content::new(text.into_owned().into(), Kind::Text) })
}

fn media_type(answer: &EgressResponse) -> Option<&str> {
    answer.headers.get(CONTENT_TYPE)?.to_str().ok()
}

/// The media type in lower case, and the charset if it is present and supported.
fn declared(answer: &EgressResponse) -> (Cow<'_, str>, Option<&'static Encoding>) {
    let Some(header) = media_type(answer) else { return (Cow::Borrowed(""), None) };
    let mut parts = header.split(';');
    let media = parts.next().unwrap_or_default().trim();
    let is_upper = media.bytes().any(|byte| byte.is_ascii_uppercase());
    let media = if is_upper { Cow::Owned(media.to_ascii_lowercase()) } else { Cow::Borrowed(media) };
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        name.trim().eq_ignore_ascii_case("charset").then(|| Encoding::for_label(value.as_bytes())).flatten()
    });
    (media, charset)
}

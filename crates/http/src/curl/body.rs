//! The request body as curl options: data, form fields, multipart parts, or piped input.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_core::{CallError, ErrorKind, Message};
use http::HeaderValue;
use serde_json::Value;

use super::{AS_DATA, CANNOT, CurlOption, ESCAPE, STORED_FILE, pairs};
use crate::config::BodyType;
use crate::files::{Files, named};
use crate::fill::as_text;
use crate::markers::Markers;
use crate::multipart::is_media_type;
use crate::request::RequestTemplate;

/// The option value that makes curl read standard input.
const INPUT: &str = "@-";

/// A request body, expressed as curl options.
pub(crate) struct Payload {
    /// Bytes to pipe into curl, base64-encoded.
    pub(crate) input: Option<String>,
    pub(crate) options: Vec<CurlOption>,
    /// The content type, unless curl sets it itself.
    pub(crate) media: Option<HeaderValue>,
    pub(crate) notes: Vec<Message>,
}

impl Payload {
    pub(crate) fn of(request: &RequestTemplate, body: &Value, markers: &Markers) -> Result<Self, CallError> {
        if let Some(file) = named(body, request.body_type).first() {
            let message = Message::new(&STORED_FILE).with("file", file);
            return Err(CallError::new(ErrorKind::Conflict, message));
        }
        match request.body_type {
            BodyType::Json | BodyType::Text | BodyType::Form => Self::data(request, body, markers),
            BodyType::Binary => match body.get("base64").and_then(Value::as_str) {
                Some(digits) => Self::bytes(request, body, digits, markers),
                None => Self::data(request, body, markers),
            },
            BodyType::Multipart => Self::multipart(request, body, markers),
        }
    }

    /// A text body, sent unchanged.
    fn data(request: &RequestTemplate, body: &Value, markers: &Markers) -> Result<Self, CallError> {
        let (bytes, media) = request.encoded(body, &Files::default())?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut notes = Vec::new();
        let options = match request.body_type {
            BodyType::Form => pairs(&text, AS_DATA, markers, &mut notes),
            BodyType::Json | BodyType::Text | BodyType::Binary | BodyType::Multipart => {
                if request.body_type == BodyType::Json && markers.are_in(&text) {
                    notes.push(Message::new(&ESCAPE));
                }
                vec![("--data-raw", text)]
            }
        };
        Ok(Self { input: None, options, media: Some(media), notes })
    }

    /// A binary body. Bytes cannot be written in a command, so they are piped into curl.
    fn bytes(
        request: &RequestTemplate,
        body: &Value,
        digits: &str,
        markers: &Markers,
    ) -> Result<Self, CallError> {
        // A secret is not revealed here, so its base64 cannot be checked.
        if !markers.are_in(digits) {
            request.encoded(body, &Files::default())?;
        }
        Ok(Self {
            input: Some(digits.split_ascii_whitespace().collect()),
            options: vec![("--data-binary", INPUT.to_owned())],
            media: Some(HeaderValue::from_static("application/octet-stream")),
            notes: Vec::new(),
        })
    }

    /// Multipart parts as separate options. A single binary file is piped; several files need the whole body
    /// piped.
    fn multipart(request: &RequestTemplate, body: &Value, markers: &Markers) -> Result<Self, CallError> {
        let parts = Part::all(body);
        let files = parts.iter().filter(|part| matches!(part.content, Content::Base64(_)));
        let is_marked = markers.are_in(&body.to_string());
        if parts.is_empty() || files.count() > 1 || !parts.iter().all(Part::is_writable) {
            if is_marked {
                return Err(CallError::new(ErrorKind::Conflict, Message::new(&CANNOT)));
            }
            let (bytes, media) = request.encoded(body, &Files::default())?;
            let options = vec![("--data-binary", INPUT.to_owned())];
            let input = Some(STANDARD.encode(&bytes));
            return Ok(Self { input, options, media: Some(media), notes: Vec::new() });
        }
        if !is_marked {
            request.encoded(body, &Files::default())?;
        }
        let mut payload = Self { input: None, options: Vec::new(), media: None, notes: Vec::new() };
        for part in &parts {
            payload.add(part, markers);
        }
        Ok(payload)
    }

    fn add(&mut self, part: &Part<'_>, markers: &Markers) {
        let Part { name, filename, media, content } = part;
        let attributes = || {
            let filename = filename.map(|filename| format!(";filename=\"{}\"", escaped(filename)));
            let media = media.map(|media| format!(";type={media}"));
            format!("{}{}", filename.unwrap_or_default(), media.unwrap_or_default())
        };
        match content {
            Content::Text(text) if filename.is_none() && media.is_none() => {
                self.options.push(("--form-string", format!("{name}={text}")));
            }
            Content::Text(text) => {
                let note = Message::new(&ESCAPE);
                if markers.are_in(text) && !self.notes.contains(&note) {
                    self.notes.push(note);
                }
                self.options.push(("-F", format!("{name}=\"{}\"{}", escaped(text), attributes())));
            }
            Content::Base64(digits) => {
                self.input = Some(digits.split_ascii_whitespace().collect());
                self.options.push(("-F", format!("{name}={INPUT}{}", attributes())));
            }
        }
    }
}

/// One part of a multipart body, matching the encoding in `multipart.rs`.
struct Part<'a> {
    name: &'a str,
    filename: Option<&'a str>,
    media: Option<&'a str>,
    content: Content<'a>,
}

enum Content<'a> {
    Text(Cow<'a, str>),
    Base64(&'a str),
}

impl<'a> Part<'a> {
    /// One part per field, and per item of a list. Nulls are skipped.
    fn all(body: &'a Value) -> Vec<Self> {
        let mut parts = Vec::new();
        for (name, value) in body.as_object().into_iter().flatten() {
            match value {
                Value::Array(items) => parts.extend(items.iter().map(|item| (name, item))),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                    parts.push((name, value));
                }
            }
        }
        let given = parts.into_iter().filter(|(_, value)| !value.is_null());
        given.map(|(name, value)| Self::read(name, value)).collect()
    }

    fn read(name: &'a str, value: &'a Value) -> Self {
        let Some(file) = value.as_object().filter(|file| file.contains_key("filename")) else {
            let media = value.is_object().then_some("application/json");
            return Self { name, filename: None, media, content: Content::Text(as_text(value)) };
        };
        let text = |field: &str| file.get(field).and_then(Value::as_str).unwrap_or_default();
        let content = match (text("base64"), file.get("content")) {
            ("", None | Some(Value::Null)) => Content::Text(Cow::Borrowed("")),
            ("", Some(content)) => Content::Text(as_text(content)),
            (digits, _) => Content::Base64(digits),
        };
        let media = Some(text("contentType")).filter(|media| is_media_type(media));
        let media = media.or(Some("application/octet-stream"));
        Self { name, filename: Some(text("filename")), media, content }
    }

    /// Returns true if a curl option can express the part.
    fn is_writable(&self) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-/".contains(&byte);
        let is_typed = self.media.is_none_or(|media| media.bytes().all(is_plain));
        is_typed && !self.name.is_empty() && !self.name.contains('=')
    }
}

/// Escapes a text for a quoted option value.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_are_escaped() {
        assert_eq!(escaped(r#"a"b\c;type=x"#), r#"a\"b\\c;type=x"#);
    }
}

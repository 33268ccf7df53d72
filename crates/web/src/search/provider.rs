//! The trait of search providers: builds requests and parses responses. This module sends nothing.

use haft_core::{CallError, ErrorKind, Message, Template};
use haft_egress::Request;
use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use url::Url;

use super::BAD_KEY;

/// A search provider.
pub(super) trait Provider: Send + Sync {
    /// The display name.
    fn name(&self) -> &'static str;

    /// The base URL.
    fn base(&self) -> &Url;

    /// The message for a failure status.
    fn failed(&self) -> &'static Template;

    /// Builds the request for a query.
    fn request(&self, query: &str, most: usize) -> Result<Request, CallError>;

    /// Parses the results. Returns `None` if the response has another form.
    fn results(&self, answer: &Value) -> Option<Vec<Found>>;
}

/// One result from a provider.
pub(super) struct Found {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) content: String,
}

impl Found {
    /// Parses a list of objects with these field names. Missing texts are empty.
    pub(super) fn list(results: &Value, content: &str) -> Option<Vec<Self>> {
        let objects = results.as_array()?.iter().filter(|result| result.is_object());
        let read = |result: &Value| {
            let text = |name: &str| result.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            Self { title: text("title"), url: text("url"), content: text(content) }
        };
        Some(objects.map(read).collect())
    }
}

/// Appends a path to a base URL.
pub(super) fn below(base: &Url, path: &[&str]) -> Url {
    let mut url = base.clone();
    // A URL that cannot have a path is rejected with the request.
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

/// A header with a prefix and a key.
pub(super) fn header(
    before: &str,
    key: &SecretString,
    of: &str,
    variable: &str,
) -> Result<HeaderValue, CallError> {
    let written = format!("{before}{}", key.expose_secret().trim());
    let mut header = HeaderValue::from_str(&written).map_err(|_| {
        let message = Message::new(&BAD_KEY).with("provider", of).with("variable", variable);
        CallError::new(ErrorKind::Execution, message)
    })?;
    header.set_sensitive(true);
    Ok(header)
}

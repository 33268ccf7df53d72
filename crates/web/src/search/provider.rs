//! What every search provider has: how it is asked, how its answer is read. Nothing is sent from here.

use haft_core::{CallError, ErrorKind, Message, Template};
use haft_egress::Request;
use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use url::Url;

use super::BAD_KEY;

/// One way of searching.
pub(super) trait Provider: Send + Sync {
    /// What people call it.
    fn name(&self) -> &'static str;

    /// Where it is.
    fn base(&self) -> &Url;

    /// What is said when it answers with a failure.
    fn failed(&self) -> &'static Template;

    /// What is sent to it.
    fn request(&self, query: &str, most: usize) -> Result<Request, CallError>;

    /// What it found; nothing where the answer is not of its form.
    fn results(&self, answer: &Value) -> Option<Vec<Found>>;
}

/// One result, as its provider told it.
pub(super) struct Found {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) content: String,
}

impl Found {
    /// Reads a list of objects whose texts have these names. A text that is missing is empty.
    pub(super) fn list(results: &Value, content: &str) -> Option<Vec<Self>> {
        let objects = results.as_array()?.iter().filter(|result| result.is_object());
        let read = |result: &Value| {
            let text = |name: &str| result.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            Self { title: text("title"), url: text("url"), content: text(content) }
        };
        Some(objects.map(read).collect())
    }
}

/// A path below a base address.
pub(super) fn below(base: &Url, path: &[&str]) -> Url {
    let mut url = base.clone();
    // An address that can have no path is refused with the request.
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

/// A header that holds a key, after what stands before it.
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

//! The generic form: below a fixed base URL, the model supplies path, method and body.
//!
//! The request never leaves the origin and path of the base URL.

use haft_core::text::Variable;
use haft_core::{Message, Violation};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use url::Url;

use crate::fill::Filling;
use crate::schema;

haft_core::templates! {
    NOT_A_BASE = "http.notABase",
        "must be an absolute URL such as https://api.example.com/v1, without user name, query or variables",
        "必须是完整 URL，例如 https://api.example.com/v1，不含用户名、查询或变量";
    LEAVES_BASE = "http.leavesBase",
        "must be a path under {base}, such as /items?limit=5, without . or .. in it",
        "必须是 {base} 之下的路径，例如 /items?limit=5，且不含 . 或 ..";
}

/// Methods that a model may use.
pub(crate) const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];

/// Arguments of the form itself.
const FORM_ARGUMENTS: [&str; 3] = ["url", "method", "body"];

/// The URL that requests must stay below.
#[derive(Debug, Clone)]
pub(crate) struct BaseUrl {
    /// Its path ends with a slash.
    url: Url,
}

impl BaseUrl {
    pub(crate) fn parse(written: &str) -> Result<Self, Message> {
        let bad = || Message::new(&NOT_A_BASE);
        let mut url = Url::parse(written.trim()).map_err(|_| bad())?;
        let is_plain = url.username().is_empty() && url.password().is_none();
        let is_bare = url.query().is_none() && url.fragment().is_none() && !written.contains("{{");
        if !matches!(url.scheme(), "http" | "https") || !is_plain || !is_bare || written.contains('\\') {
            return Err(bad());
        }
        if !url.path().ends_with('/') {
            let path = format!("{}/", url.path());
            url.set_path(&path);
        }
        Ok(Self { url })
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// The schema of the arguments.
    pub(crate) fn schema<'a>(variables: impl Iterator<Item = &'a Variable>) -> Value {
        let mut schema = json!({
            "type": "object",
            "properties": {
                "url": {"type": "string", "description": "Path under the base URL, optionally with a query, such as /items?limit=5."},
                "method": {"type": "string", "enum": METHODS},
                "body": {"description": "What to send with POST, PUT or PATCH."},
            },
            "required": ["url", "method"],
            "additionalProperties": false,
        });
        // Headers and query may contain further variables.
        if let (Value::Object(properties), Value::Object(others)) =
            (&mut schema["properties"], schema::properties(variables))
        {
            properties
                .extend(others.into_iter().filter(|(name, _)| !FORM_ARGUMENTS.contains(&name.as_str())));
        }
        schema
    }

    /// The path and query that the model supplied.
    pub(crate) fn fill(&self, filling: &mut Filling<'_>) -> String {
        let given = filling.arguments().get("url").and_then(Value::as_str).unwrap_or_default();
        let Some(url) = self.under(given) else {
            let message = Message::new(&LEAVES_BASE).with("base", self.url.as_str());
            filling.violate(Violation::new("url", message));
            return String::new();
        };
        match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        }
    }

    fn under(&self, given: &str) -> Option<Url> {
        // An absolute URL that starts with the base is accepted as a path.
        let path = given.strip_prefix(self.url.as_str()).unwrap_or(given);
        let path = path.strip_prefix('/').unwrap_or(path);
        let odd = |character: char| character.is_control() || matches!(character, '\\' | '#');
        if path.contains(odd) || path.starts_with('/') {
            return None;
        }
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        // A URL in the path, or a step upward, would leave the base.
        if path.contains(":/") || steps_up(path) {
            return None;
        }
        let mut url = self.url.clone();
        url.set_path(&format!("{}{path}", self.url.path()));
        url.set_query(query);
        let stays = url.origin() == self.url.origin() && url.path().starts_with(self.url.path());
        stays.then_some(url)
    }
}

/// Returns true for `.` and `..`. Some servers treat the text after `;` as parameters of the segment.
pub(crate) fn is_step(step: &str) -> bool {
    matches!(step.split(';').next(), Some("." | ".."))
}

/// Returns true if the path contains a step upward, under any number of percent-decodings.
fn steps_up(path: &str) -> bool {
    let mut path = path.to_owned();
    for _ in 0..4 {
        if path.contains(char::is_control) || path.split(['/', '\\']).any(is_step) {
            return true;
        }
        // Invalid UTF-8 may be an overlong encoding of a dot.
        let Ok(decoded) = percent_decode_str(&path).decode_utf8() else { return true };
        let decoded = decoded.into_owned();
        if decoded == path {
            return false;
        }
        path = decoded;
    }
    // Repeated encoding has no legitimate use.
    true
}

//! Converts an example request to `config`: URL, headers, query, body and credentials.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_core::Message;
use http::{HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::address::{Address, written};
use super::credentials::in_header;
use super::draft::{Draft, Location, check_name, is_plain};
use super::marks::has_marks;
use super::{Example, body, url_names};
use crate::headers::{NOT_CONFIGURABLE, after_scheme};
use crate::query::encode;
use crate::url::UrlTemplate;

haft_core::templates! {
    BAD_HEADER = "import.badHeader",
        "the header {name} cannot be sent: its name or its value is not valid",
        "请求头 {name} 无法发送：名称或值无效";
    TOO_MANY_HEADERS = "import.example.tooManyHeaders",
        "it has {count} headers; at most {limit} are allowed",
        "有 {count} 个请求头；工具最多 {limit} 个";
    TOO_LONG = "import.example.urlTooLong",
        "its URL has {count} characters; at most {limit} are allowed",
        "URL 有 {count} 个字符；工具的 URL 最多 {limit} 个";
    HOST_HEADER = "import.example.hostHeader",
        "the header Host was ignored: tools take it from the URL",
        "已去掉请求头 Host：工具从 URL 得出";
}

/// Limits of a tool's config.
const MOST_HEADERS: usize = 100;
const LONGEST_URL: usize = 8192;

/// Credentials that the source gives separately from headers and query.
#[derive(Debug, Clone)]
pub(crate) enum Credentials {
    Bearer(String),
    Basic {
        username: String,
        /// `None` if the source does not contain it.
        password: Option<String>,
    },
    Header {
        name: String,
        value: String,
    },
    Query {
        name: String,
        value: String,
    },
}

/// A config, its path, and notes on unsupported features.
pub(super) struct Request {
    pub(super) config: Map<String, Value>,
    pub(super) path: String,
    pub(super) notes: Vec<Message>,
}

pub(super) fn write(draft: &mut Draft<'_>, example: &Example) -> Result<Request, Message> {
    let address = &example.address;
    let path = path(draft, address)?;
    let (bare, pairs) = split_query(&address.query)?;
    let url = format!("{}{path}{bare}", address.origin);
    let length = url.chars().count();
    if length > LONGEST_URL {
        return Err(Message::new(&TOO_LONG).with("count", length).with("limit", LONGEST_URL));
    }
    UrlTemplate::parse(&url)?;
    let mut parts = Parts { query: draft.fields(&pairs, Location::Query)?, headers: Map::new(), auth: None };
    let declared = example.header("content-type");
    let body = match &example.body {
        Some(body) => Some(body::write(draft, body, declared)?),
        None => None,
    };
    for (name, value) in merged(&example.headers) {
        parts.add_header(draft, &name, &value)?;
    }
    let media = match &body {
        Some(body) => body.media.as_deref(),
        None => declared,
    };
    if let Some(media) = media {
        parts.add_header(draft, "Content-Type", media)?;
    }
    parts.identify(draft, example)?;
    let count = parts.headers.len();
    if count > MOST_HEADERS {
        return Err(Message::new(&TOO_MANY_HEADERS).with("count", count).with("limit", MOST_HEADERS));
    }
    let is_other = |host: &str| !host.trim().eq_ignore_ascii_case(address.authority());
    let notes = example.header("host").filter(|host| is_other(host)).map(|_| Message::new(&HOST_HEADER));
    let config = parts.into_config(url, &example.method, body);
    Ok(Request { config, path, notes: notes.into_iter().collect() })
}

/// The path with placeholders for ids and variables.
fn path(draft: &mut Draft<'_>, address: &Address) -> Result<String, Message> {
    let mut path = String::new();
    let mut before: Option<&str> = None;
    let mut previous: Option<&str> = None;
    for segment in &address.segments {
        path.push('/');
        let decoded = percent_decode_str(segment).decode_utf8_lossy();
        if has_marks(segment) {
            path.push_str(&draft.render(&written(segment), segment, Location::Path)?);
        } else if url_names::is_id(&decoded, previous) {
            path.push_str(&draft.path_id(before, &decoded));
        } else {
            path.push_str(&written(segment));
            if url_names::is_meaningful(segment) {
                before = Some(segment.as_str());
            }
        }
        previous = Some(segment.as_str());
    }
    Ok(path)
}

/// The part that stays in the URL because it has no value, and the pairs.
type Query = (String, Vec<(String, String)>);

fn split_query(query: &[(String, Option<String>)]) -> Result<Query, Message> {
    let mut bare = String::new();
    let mut pairs = Vec::new();
    for (name, value) in query {
        match value {
            Some(value) => pairs.push((name.clone(), value.clone())),
            None => {
                check_name(name)?;
                bare.push(if bare.is_empty() { '?' } else { '&' });
                bare.push_str(&encode(name));
            }
        }
    }
    Ok((bare, pairs))
}

/// Merges headers of one name, and drops headers that Haft sets or that are handled separately.
fn merged(headers: &[(String, String)]) -> Vec<(String, String)> {
    let mut merged: Vec<(String, String)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (name, value) in headers.iter().filter(|(name, _)| !is_handled_separately(name)) {
        let place = *places.entry(name.to_ascii_lowercase()).or_insert(merged.len());
        match merged.get_mut(place) {
            Some((_, known)) => {
                known.push_str(if name.eq_ignore_ascii_case("cookie") { "; " } else { ", " });
                known.push_str(value);
            }
            None => merged.push((name.clone(), value.clone())),
        }
    }
    merged
}

fn is_handled_separately(name: &str) -> bool {
    const SEPARATE: [&str; 4] = ["accept-encoding", "authorization", "content-type", "idempotency-key"];
    let name = name.to_ascii_lowercase();
    name.starts_with(':') || SEPARATE.contains(&name.as_str()) || NOT_CONFIGURABLE.contains(&name.as_str())
}

struct Parts {
    headers: Map<String, Value>,
    query: Map<String, Value>,
    auth: Option<Value>,
}

impl Parts {
    fn add_header(&mut self, draft: &mut Draft<'_>, name: &str, value: &str) -> Result<(), Message> {
        let value = value.trim();
        check_header(name, value)?;
        let value = if in_header(name, value) {
            key(draft, name, value).into()
        } else if has_marks(value) {
            draft.render(value, name, Location::Header)?.into()
        } else if is_plain(value) {
            Value::from(value)
        } else {
            draft.example(name, &Value::from(value))
        };
        self.headers.insert(name.to_owned(), value);
        Ok(())
    }

    /// Adds the credentials. An `Authorization` header takes precedence, as in curl.
    fn identify(&mut self, draft: &mut Draft<'_>, example: &Example) -> Result<(), Message> {
        let header = example.header("authorization");
        if let Some(value) = header {
            check_header("Authorization", value.trim())?;
            self.authorize(draft, value.trim());
        }
        match &example.credentials {
            Some(Credentials::Header { name, value }) if name.eq_ignore_ascii_case("authorization") => {
                check_header(name, value)?;
                self.authorize(draft, value.trim());
            }
            Some(Credentials::Header { name, value }) => {
                check_header(name, value)?;
                self.headers.insert(name.clone(), key(draft, name, value).into());
            }
            Some(Credentials::Query { name, value }) => {
                check_name(name)?;
                self.query.insert(name.clone(), draft.credential(value, name).into());
            }
            Some(Credentials::Bearer(_) | Credentials::Basic { .. }) if header.is_some() => {}
            Some(Credentials::Bearer(token)) => self.bearer(draft, token),
            Some(Credentials::Basic { username, password }) => {
                self.basic(draft, username, password.as_deref());
            }
            None => {
                if let Some((username, password)) = example.address.user.as_ref().filter(|_| header.is_none())
                {
                    self.basic(draft, username, password.as_deref());
                }
            }
        }
        Ok(())
    }

    fn authorize(&mut self, draft: &mut Draft<'_>, value: &str) {
        if value.eq_ignore_ascii_case("bearer") {
            return self.bearer(draft, "");
        }
        let Some((scheme, credential)) = after_scheme(value) else {
            return self.set_authorization(draft.credential(value, "token"));
        };
        let credential = credential.trim();
        if scheme.eq_ignore_ascii_case("bearer") {
            return self.bearer(draft, credential);
        }
        if scheme.eq_ignore_ascii_case("basic") {
            if let Some((username, password)) = decoded(credential) {
                return self.basic(draft, &username, Some(&password));
            }
            return self.set_authorization(format!("{scheme} {}", draft.credential(credential, "basic")));
        }
        let reference = draft.credential(credential, "token");
        self.set_authorization(format!("{scheme} {reference}"));
    }

    fn set_authorization(&mut self, value: String) {
        self.headers.insert("Authorization".to_owned(), value.into());
    }

    fn bearer(&mut self, draft: &mut Draft<'_>, token: &str) {
        let token = draft.credential(token, "token");
        self.auth = Some(json!({"type": "bearer", "token": token}));
    }

    fn basic(&mut self, draft: &mut Draft<'_>, username: &str, password: Option<&str>) {
        if username.is_empty() {
            let whole = format!(":{}", password.unwrap_or_default());
            let encoded = if has_marks(&whole) { String::new() } else { STANDARD.encode(whole) };
            return self.set_authorization(format!("Basic {}", draft.credential(&encoded, "basic")));
        }
        // A user name without a password is a key.
        let what = if password == Some("") { "api_key" } else { "username" };
        let mut auth = json!({"type": "basic", "username": draft.credential(username, what)});
        if password != Some("") {
            auth["password"] = draft.credential(password.unwrap_or_default(), "password").into();
        }
        self.auth = Some(auth);
    }

    fn into_config(self, url: String, method: &str, body: Option<body::Written>) -> Map<String, Value> {
        let mut config = Map::new();
        let mut put = |name: &str, value: Value| config.insert(name.to_owned(), value);
        put("url", url.into());
        put("method", method.into());
        if !self.headers.is_empty() {
            put("headers", Value::Object(self.headers));
        }
        // Without query and body, a tool would send all arguments as JSON; this request has no body.
        let is_bare = body.is_none() && !matches!(method, "GET" | "HEAD" | "DELETE");
        if !self.query.is_empty() || is_bare {
            put("query", Value::Object(self.query));
        }
        if let Some(body) = body {
            put("body", body.value);
            if let Some(kind) = body.kind {
                put("bodyType", kind.into());
            }
        }
        if let Some(auth) = self.auth {
            put("auth", auth);
        }
        config
    }
}

fn check_header(name: &str, value: &str) -> Result<(), Message> {
    let is_ours = NOT_CONFIGURABLE.contains(&name.to_ascii_lowercase().as_str());
    let is_valid =
        HeaderName::from_bytes(name.as_bytes()).is_ok() && HeaderValue::from_bytes(value.as_bytes()).is_ok();
    if is_valid && !is_ours { Ok(()) } else { Err(Message::new(&BAD_HEADER).with("name", name)) }
}

/// The value of a credential header, with its scheme, if any.
fn key(draft: &mut Draft<'_>, name: &str, value: &str) -> String {
    let is_scheme = |(scheme, _): &(&str, &str)| {
        ["bearer", "basic", "token"].contains(&scheme.to_ascii_lowercase().as_str())
    };
    match after_scheme(value).filter(is_scheme) {
        Some((scheme, credential)) => format!("{scheme} {}", draft.credential(credential.trim(), name)),
        None => draft.credential(value, name),
    }
}

/// Decodes the user name and password of a basic credential.
fn decoded(credential: &str) -> Option<(String, String)> {
    let text = String::from_utf8(STANDARD.decode(credential).ok()?).ok()?;
    text.split_once(':').map(|(username, password)| (username.to_owned(), password.to_owned()))
}

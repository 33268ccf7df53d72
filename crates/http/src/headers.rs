//! Headers of a tool: fixed names; values may contain variables and secrets.

use haft_core::text::{Text, TextPart, Variable};
use haft_core::{Message, SecretRef, Violation};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use crate::fill::{CONTROL_IN_HEADER, Filling, NEEDED_IN_TEXT, as_text};
use crate::import::is_issued;

haft_core::templates! {
    BAD_NAME = "http.badHeaderName",
        "is not the name of a header",
        "不是有效的请求头名称";
    NOT_YOURS = "http.headerNotYours",
        "is set by Haft itself and cannot be configured",
        "由 Haft 设置，不能配置";
    GIVEN_TWICE = "http.headerTwice",
        "is given twice, in different spellings",
        "以不同写法给出了两次";
    BAD_VALUE = "http.badHeaderValue",
        "contains a character that is not allowed in a header",
        "含有请求头不允许的字符";
}

/// Headers that belong to one connection, or would change the meaning of the request.
pub(crate) const NOT_CONFIGURABLE: [&str; 13] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Configured headers, in order.
#[derive(Debug, Default)]
pub(crate) struct Headers(Vec<Header>);

#[derive(Debug)]
struct Header {
    name: HeaderName,
    text: Text,
    /// The value, if the text has no placeholders.
    fixed: Option<HeaderValue>,
}

impl Headers {
    pub(crate) fn parse(fields: &Map<String, Value>, violations: &mut Vec<Violation>) -> Self {
        let mut headers: Vec<Header> = Vec::new();
        for (written, value) in fields {
            let mut wrong = |message| violations.push(Violation::new(format!("headers.{written}"), message));
            let Ok(name) = HeaderName::from_bytes(written.as_bytes()) else {
                wrong(Message::new(&BAD_NAME));
                continue;
            };
            if NOT_CONFIGURABLE.contains(&name.as_str()) {
                wrong(Message::new(&NOT_YOURS));
                continue;
            }
            if headers.iter().any(|known| known.name == name) {
                wrong(Message::new(&GIVEN_TWICE));
                continue;
            }
            match Text::parse(&as_text(value)) {
                Ok(text) if text.parts().iter().all(is_sendable) => {
                    let fixed = text.plain().and_then(|plain| HeaderValue::from_bytes(plain.as_bytes()).ok());
                    headers.push(Header { name, text, fixed });
                }
                Ok(_) => wrong(Message::new(&BAD_VALUE)),
                Err(message) => wrong(message),
            }
        }
        Self(headers)
    }

    pub(crate) fn contains(&self, name: &HeaderName) -> bool {
        self.0.iter().any(|known| known.name == *name)
    }

    /// Returns true if the header's whole value is literal.
    pub(crate) fn is_fixed(&self, name: &HeaderName) -> bool {
        self.0.iter().any(|known| known.name == *name && known.fixed.is_some())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&HeaderName, &Text)> {
        self.0.iter().map(|header| (&header.name, &header.text))
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.0.iter().flat_map(|header| header.text.variables())
    }

    pub(crate) fn secrets(&self) -> impl Iterator<Item = &SecretRef> {
        self.0.iter().flat_map(|header| header.text.secrets())
    }

    /// Fills in all headers. A header that is a single variable without a value is omitted.
    pub(crate) fn fill(&self, filling: &mut Filling<'_>) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(self.0.len() + 6);
        for Header { name, text, fixed } in &self.0 {
            if let Some(value) = fixed {
                headers.insert(name, value.clone());
                continue;
            }
            if let Some(variable) = text.only_variable()
                && matches!(filling.value(variable).as_deref(), None | Some(Value::Null))
            {
                continue;
            }
            if let Some(value) = fill(name, text, filling) {
                headers.insert(name, value);
            }
        }
        headers
    }
}

/// Fills in one value. A character that headers do not allow is reported at its variable.
pub(crate) fn fill(name: &HeaderName, text: &Text, filling: &mut Filling<'_>) -> Option<HeaderValue> {
    let mut filled = String::new();
    for part in text.parts() {
        match part {
            TextPart::Plain(plain) => filled.push_str(plain),
            TextPart::Secret(secret) => filled.push_str(&filling.secret(secret)),
            TextPart::Variable(variable) => {
                let value = filling.text_of(variable, &NEEDED_IN_TEXT);
                if value.contains(char::is_control) {
                    filling.wrong(variable, &CONTROL_IN_HEADER);
                    return None;
                }
                filled.push_str(&value);
            }
        }
    }
    let Ok(mut value) = HeaderValue::from_bytes(filled.as_bytes()) else {
        filling.violate(Violation::new(format!("headers.{name}"), Message::new(&BAD_VALUE)));
        return None;
    };
    value.set_sensitive(text.secrets().next().is_some());
    Some(value)
}

fn is_sendable(part: &TextPart) -> bool {
    match part {
        TextPart::Plain(plain) => HeaderValue::from_bytes(plain.as_bytes()).is_ok(),
        TextPart::Variable(_) | TextPart::Secret(_) => true,
    }
}

/// Splits a credential into scheme and value: `Bearer` and the token.
pub(crate) fn after_scheme(text: &str) -> Option<(&str, &str)> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_word = |text: &str| !text.is_empty() && text.bytes().all(is_part);
    text.split_once(' ').filter(|(scheme, credential)| is_word(scheme) && !credential.trim().is_empty())
}

/// The parts of a literal credential that an upstream may echo: without scheme, and the value of each cookie.
pub(crate) fn credentials(text: &str) -> Vec<String> {
    let whole = after_scheme(text).map_or(text, |(_, credential)| credential);
    let values = text.split(';').filter_map(|pair| Some(pair.split_once('=')?.1.trim()));
    [whole].into_iter().chain(values).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Returns true if a header or field with this name usually contains a credential.
pub(crate) fn is_credential(name: &str) -> bool {
    const EXACTLY: [&str; 4] = ["authorization", "cookie", "sig", "appid"];
    const WITHIN: [&str; 5] = ["token", "secret", "password", "passwd", "credential"];
    let name: String = name.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    // An idempotency key is not a credential.
    if name == "idempotencykey" {
        return false;
    }
    EXACTLY.contains(&name.as_str())
        || WITHIN.iter().any(|part| name.contains(part))
        || ["key", "auth", "signature"].iter().any(|end| name.ends_with(end))
}

/// Returns true if a configured header certainly contains no credential, so that all members of the space may
/// see it.
pub fn is_harmless_header(name: &str, value: &str) -> bool {
    const STANDARD: [&str; 16] = [
        "accept",
        "accept-charset",
        "accept-encoding",
        "accept-language",
        "anthropic-version",
        "cache-control",
        "content-language",
        "content-type",
        "idempotency-key",
        "notion-version",
        "origin",
        "prefer",
        "referer",
        "user-agent",
        "x-github-api-version",
        "x-requested-with",
    ];
    if STANDARD.iter().any(|standard| standard.eq_ignore_ascii_case(name)) {
        return true;
    }
    if is_credential(name) {
        return false;
    }
    // Arguments and secrets are shown by name; the literal text next to them must be harmless.
    let Ok(text) = Text::parse(value) else { return false };
    let is_harmless = |plain: &str| {
        plain.len() <= 40 && !is_issued(plain.trim()) && (!looks_secret(plain) || is_date_or_version(plain))
    };
    text.parts().iter().all(|part| match part {
        TextPart::Plain(plain) => is_harmless(plain),
        TextPart::Variable(_) | TextPart::Secret(_) => true,
    })
}

/// Returns true if a text is a date or a version: short numbers with dots or dashes between them, as in `2024-01-01`.
fn is_date_or_version(text: &str) -> bool {
    let is_number =
        |part: &str| (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = text.strip_prefix('v').unwrap_or(text).split(['-', '.']);
    text.len() <= 10 && parts.clone().count() >= 3 && parts.all(is_number)
}

/// Returns true if a value looks like a credential and not like a word: `sortKey: name` is not masked.
pub(crate) fn looks_secret(text: &str) -> bool {
    text.len() >= 8
        && !text.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-' | b' '))
}

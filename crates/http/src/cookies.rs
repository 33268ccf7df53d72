//! Cookies of a tool: fixed names; values may contain variables and secrets; absent values are not sent.

use haft_core::text::{Text, TextPart, Variable};
use haft_core::{Message, SecretRef, Violation};
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Map, Value};

use crate::fill::{Filling, NEEDED_IN_TEXT, as_text};
use crate::headers::BAD_VALUE;

haft_core::templates! {
    BAD_COOKIE_NAME = "http.badCookieName",
        "is not the name of a cookie",
        "不是有效的 Cookie 名称";
}

/// Characters that are percent-encoded in a value because they would end the cookie.
const VALUE: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b',').add(b';').add(b'\\');

/// Configured cookies, in order.
#[derive(Debug, Default)]
pub(crate) struct Cookies(Vec<(String, Text)>);

impl Cookies {
    pub(crate) fn parse(fields: &Map<String, Value>, violations: &mut Vec<Violation>) -> Self {
        let mut cookies = Vec::new();
        for (name, value) in fields {
            let mut wrong = |message| violations.push(Violation::new(format!("cookies.{name}"), message));
            if !is_name(name) {
                wrong(Message::new(&BAD_COOKIE_NAME));
                continue;
            }
            match Text::parse(&as_text(value)) {
                Ok(text) if text.parts().iter().all(is_sendable) => cookies.push((name.clone(), text)),
                Ok(_) => wrong(Message::new(&BAD_VALUE)),
                Err(message) => wrong(message),
            }
        }
        Self(cookies)
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.0.iter().flat_map(|(_, text)| text.variables())
    }

    pub(crate) fn secrets(&self) -> impl Iterator<Item = &SecretRef> {
        self.0.iter().flat_map(|(_, text)| text.secrets())
    }

    /// Literal values. Each may be a credential.
    pub(crate) fn literals(&self) -> impl Iterator<Item = String> {
        self.0.iter().filter_map(|(_, text)| text.plain()).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Appends the cookies after the ones that the headers set.
    pub(crate) fn fill(&self, filling: &mut Filling<'_>, headers: &mut HeaderMap) {
        if self.0.is_empty() {
            return;
        }
        let before = headers.get(COOKIE);
        let mut is_sensitive = before.is_some_and(HeaderValue::is_sensitive);
        let mut line = before.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        for (name, text) in &self.0 {
            if let Some(variable) = text.only_variable()
                && matches!(filling.value(variable).as_deref(), None | Some(Value::Null))
            {
                continue;
            }
            let line = line.get_or_insert_default();
            if !line.is_empty() {
                line.push_str("; ");
            }
            line.push_str(name);
            line.push('=');
            for part in text.parts() {
                match part {
                    TextPart::Plain(plain) => line.push_str(plain),
                    TextPart::Secret(secret) => {
                        is_sensitive = true;
                        line.push_str(&filling.secret(secret));
                    }
                    TextPart::Variable(variable) => {
                        let value = filling.text_of(variable, &NEEDED_IN_TEXT);
                        line.extend(utf8_percent_encode(&value, VALUE));
                    }
                }
            }
        }
        let Some(line) = line else { return };
        match HeaderValue::from_bytes(line.as_bytes()) {
            Ok(mut value) => {
                value.set_sensitive(is_sensitive);
                headers.insert(COOKIE, value);
            }
            Err(_) => filling.violate(Violation::new("cookies", Message::new(&BAD_VALUE))),
        }
    }
}

/// Returns true if the text is a valid cookie name: a token as in RFC 6265.
pub(crate) fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_part)
}

fn is_sendable(part: &TextPart) -> bool {
    match part {
        TextPart::Plain(plain) => !plain.contains(';') && HeaderValue::from_bytes(plain.as_bytes()).is_ok(),
        TextPart::Variable(_) | TextPart::Secret(_) => true,
    }
}

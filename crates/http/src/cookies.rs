//! The cookies of a tool: names are fixed, values may hold variables and secrets, what is absent is not sent.

use haft_core::text::{Part, Text, Variable};
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

/// What a value cannot hold as it is: it would end the cookie.
const VALUE: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b',').add(b';').add(b'\\');

/// Configured cookies, in their order.
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

    /// Values that are written out, each of which may be a credential.
    pub(crate) fn literals(&self) -> impl Iterator<Item = String> {
        self.0.iter().filter_map(|(_, text)| text.plain()).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Puts them behind the cookies that the headers have.
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
                    Part::Plain(plain) => line.push_str(plain),
                    Part::Secret(secret) => {
                        is_sensitive = true;
                        line.push_str(&filling.secret(secret));
                    }
                    Part::Variable(variable) => {
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

/// Whether a cookie may be called so: a token, as the standard has it.
pub(crate) fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_part)
}

fn is_sendable(part: &Part) -> bool {
    match part {
        Part::Plain(plain) => !plain.contains(';') && HeaderValue::from_bytes(plain.as_bytes()).is_ok(),
        Part::Variable(_) | Part::Secret(_) => true,
    }
}

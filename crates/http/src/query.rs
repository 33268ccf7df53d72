//! Query strings and forms: arrays repeat their key, null is left out, the rest is text.

use percent_encoding::utf8_percent_encode;
use serde_json::{Map, Value};

use crate::fill::as_text;
use crate::url::VALUE;

/// Pairs, encoded and joined.
#[derive(Debug, Default)]
pub(crate) struct Pairs(String);

impl Pairs {
    /// A pair whose two sides are encoded already.
    pub(crate) fn push_written(&mut self, key: String, value: Option<String>) {
        self.separate();
        self.0.push_str(&key);
        if let Some(value) = value {
            self.0.push('=');
            self.0.push_str(&value);
        }
    }

    /// What a value makes of a key that is encoded already.
    pub(crate) fn push_value(&mut self, key: &str, value: &Value) {
        match value {
            Value::Null => {}
            Value::Array(items) => {
                items.iter().filter(|item| !item.is_null()).for_each(|item| self.push_text(key, item))
            }
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                self.push_text(key, value)
            }
        }
    }

    /// All fields of an object.
    pub(crate) fn push_fields(&mut self, fields: &Map<String, Value>) {
        for (name, value) in fields {
            self.push_value(&encode(name), value);
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }

    fn push_text(&mut self, key: &str, value: &Value) {
        self.separate();
        self.0.push_str(key);
        self.0.push('=');
        self.0.extend(utf8_percent_encode(&as_text(value), VALUE));
    }

    fn separate(&mut self) {
        if !self.0.is_empty() {
            self.0.push('&');
        }
    }
}

pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, VALUE).to_string()
}

/// Puts pairs behind those that a path has.
pub(crate) fn append(url: &mut String, pairs: &Pairs) {
    if pairs.0.is_empty() {
        return;
    }
    url.push(if url.contains('?') { '&' } else { '?' });
    url.push_str(&pairs.0);
}

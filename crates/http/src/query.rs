//! Query strings and forms: arrays repeat their key, nulls are skipped, other values become text.
//!
//! Fields listed in `brackets` get a key for each nested value: `created[gt]=5`.

use std::fmt::Write as _;

use haft_core::Message;
use percent_encoding::utf8_percent_encode;
use serde_json::{Map, Value};

use crate::fill::as_text;
use crate::url::VALUE;

haft_core::templates! {
    TOO_LONG = "http.pairsTooLong",
        "produces a query or form of more than {limit} bytes",
        "生成的查询或表单超过 {limit} 字节";
}

/// Maximum size: a long key repeated for many values must not exhaust memory.
pub(crate) const LONGEST: usize = 16 << 20;

/// Matches every field, in `brackets`.
const EVERY: &str = "*";

/// Encoded name/value pairs.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    text: String,
    is_full: bool,
}

/// The fields that use bracket notation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Brackets(Vec<String>);

impl Brackets {
    pub(crate) fn of(names: &[String]) -> Self {
        let mut names = names.to_vec();
        names.sort_unstable();
        Self(names)
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        let has = |name: &str| self.0.binary_search_by(|known| known.as_str().cmp(name)).is_ok();
        !self.0.is_empty() && (has(name) || has(EVERY))
    }
}

impl Pairs {
    /// Adds a pair that is already encoded.
    pub(crate) fn push_written(&mut self, key: String, value: Option<String>) {
        self.separate();
        self.text.push_str(&key);
        if let Some(value) = value {
            self.text.push('=');
            self.text.push_str(&value);
        }
    }

    /// Adds a value under an encoded key, once per item of a list.
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

    /// Adds a value in bracket notation: a separate key for each nested value.
    pub(crate) fn push_bracketed(&mut self, key: &str, value: &Value) {
        self.push_inside(&mut key.to_owned(), value);
    }

    fn push_inside(&mut self, key: &mut String, value: &Value) {
        let length = key.len();
        match value {
            Value::Null => {}
            Value::Array(items) => {
                for (at, item) in items.iter().filter(|item| !item.is_null()).enumerate() {
                    // Writing to a string cannot fail.
                    let _ = write!(key, "%5B{at}%5D");
                    self.push_inside(key, item);
                    key.truncate(length);
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    let _ = write!(key, "%5B{}%5D", utf8_percent_encode(name, VALUE));
                    self.push_inside(key, value);
                    key.truncate(length);
                }
            }
            Value::Bool(_) | Value::Number(_) | Value::String(_) => self.push_text(key, value),
        }
    }

    /// Adds all fields of an object, without brackets.
    pub(crate) fn push_fields(&mut self, fields: &Map<String, Value>) {
        self.push_fields_with(fields, &Brackets::default());
    }

    /// Adds all fields of an object, some of them in bracket notation.
    pub(crate) fn push_fields_with(&mut self, fields: &Map<String, Value>, brackets: &Brackets) {
        for (name, value) in fields {
            if brackets.contains(name) {
                self.push_bracketed(&encode(name), value);
            } else {
                self.push_value(&encode(name), value);
            }
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Returns true if pairs were dropped because the limit was reached.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    fn push_text(&mut self, key: &str, value: &Value) {
        if self.is_full || self.text.len() + key.len() > LONGEST {
            self.is_full = true;
            return;
        }
        self.separate();
        self.text.push_str(key);
        self.text.push('=');
        self.text.extend(utf8_percent_encode(&as_text(value), VALUE));
    }

    fn separate(&mut self) {
        if !self.text.is_empty() {
            self.text.push('&');
        }
    }
}

/// The message for pairs or parts that exceed the limit.
pub(crate) fn too_long(limit: usize) -> Message {
    Message::new(&TOO_LONG).with("limit", limit)
}

pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, VALUE).to_string()
}

/// Appends pairs to the query of a path.
pub(crate) fn append(url: &mut String, pairs: &Pairs) {
    if pairs.text.is_empty() {
        return;
    }
    url.push(if url.contains('?') { '&' } else { '?' });
    url.push_str(&pairs.text);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(fields: Value, names: &[&str]) -> String {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut pairs = Pairs::default();
        pairs.push_fields_with(fields.as_object().expect("fields"), &Brackets::of(&names));
        pairs.into_text()
    }

    #[test]
    fn nested_values_use_bracket_notation() {
        for (fields, names, text) in [
            (json!({"created": {"gt": 5}}), vec!["created"], "created%5Bgt%5D=5"),
            (json!({"expand": ["a", null, "b"]}), vec!["expand"], "expand%5B0%5D=a&expand%5B1%5D=b"),
            (json!({"items": [{"price": "p&q"}]}), vec!["*"], "items%5B0%5D%5Bprice%5D=p%26q"),
            (json!({"a": {"b]=1&c[": "x"}}), vec!["*"], "a%5Bb%5D%3D1%26c%5B%5D=x"),
            (json!({"a": 1, "b": null, "c": {}, "d": []}), vec!["*"], "a=1"),
            (json!({"a": {"b": 1}, "c": {"d": 1}}), vec!["c"], "a=%7B%22b%22%3A1%7D&c%5Bd%5D=1"),
            (json!({"a": [1, 2]}), vec!["b"], "a=1&a=2"),
        ] {
            assert_eq!(written(fields.clone(), &names), text, "{fields}");
        }
    }

    #[test]
    fn a_long_key_does_not_exhaust_memory() {
        let (one, other) = ("k".repeat(1 << 20), "l".repeat(1 << 20));
        for names in [vec![], vec!["*"]] {
            let fields =
                json!({one.clone(): vec![json!([]); 1000], "b": vec![1; 1000], other.clone(): vec![1; 1000]});
            assert!(written(fields, &names).len() < LONGEST + (2 << 20));
        }
    }
}

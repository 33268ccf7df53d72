//! Parses JSON or YAML documents within limits.
//!
//! A few lines of YAML can expand to billions of values. Values are therefore counted during parsing, and
//! expansion by aliases is limited in proportion to the text's size. This is the only YAML parser of the
//! workspace.

use std::cell::Cell;
use std::fmt;

use haft_core::error::ROOT;
use haft_core::{Message, Violation};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{CancelFlag, yaml};

haft_core::templates! {
    NOT_JSON = "import.notJson",
        "begins like JSON but is invalid: {reason}",
        "以 JSON 开头，但不是有效的 JSON: {reason}";
    TOO_LARGE = "import.tooLarge",
        "is too large: more than {values} values or {megabytes} MB of text, with all aliases expanded",
        "内容过多：展开所有别名后超过 {values} 个值或 {megabytes} MB 文本";
    TOO_MANY_ALIASES = "import.tooManyAliases",
        "has aliases that add more than {values} values or {kilobytes} KB to it; expand some of them, or split the document",
        "别名展开后增加超过 {values} 个值或 {kilobytes} KB 内容；请展开部分别名，或拆分文档";
    NOT_A_DOCUMENT = "import.notADocument",
        "must be a JSON or YAML object",
        "必须是 JSON 或 YAML 对象";
    CANCELLED = "import.cancelled",
        "was not read completely: the import was cancelled",
        "未读取完毕：导入已取消";
}

/// Maximum number of values and bytes, with all aliases expanded.
const MOST_VALUES: usize = 4_000_000;
const MOST_BYTES: usize = 64 << 20;

/// Values that aliases may add: a base amount, plus an amount per byte of the text.
const ALIAS_VALUES: usize = 10_000;
const ALIAS_VALUES_PER_BYTE: usize = 1;

/// Bytes that aliases may add: a base amount, plus an amount per byte of the text.
const ALIAS_BYTES: usize = 1 << 20;
const ALIAS_BYTES_PER_BYTE: usize = 4;

/// Parses a JSON or YAML object.
pub fn parse_document(text: &str) -> Result<Value, Vec<Violation>> {
    parse_document_until(text, &CancelFlag::default())
}

/// Parses a document, and stops with an error when it is cancelled.
pub fn parse_document_until(text: &str, cancel: &CancelFlag) -> Result<Value, Vec<Violation>> {
    let document = parse(text, cancel)?;
    match document {
        Value::Object(_) => Ok(document),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(vec![Violation::new(ROOT, Message::new(&NOT_A_DOCUMENT))])
        }
    }
}

/// Parses any JSON or YAML value.
pub fn parse_value(text: &str) -> Result<Value, Vec<Violation>> {
    parse(text, &CancelFlag::default())
}

fn parse(text: &str, cancel: &CancelFlag) -> Result<Value, Vec<Violation>> {
    let read = read(text.trim_start_matches('\u{feff}'), cancel);
    read.map_err(|message| vec![Violation::new(ROOT, message)])
}

fn read(text: &str, cancel: &CancelFlag) -> Result<Value, Message> {
    if !text.trim_start().starts_with(['{', '[']) {
        return yaml::read(text, &Budget::new(text, cancel));
    }
    let budget = Budget::new(text, cancel);
    let mut json = serde_json::Deserializer::from_str(text);
    let value = JsonReader(&budget).deserialize(&mut json).and_then(|value| json.end().map(|()| value));
    value.or_else(|error| {
        // YAML has braces too, and accepts text that JSON rejects, such as trailing commas.
        match budget.exhausted.take() {
            Some(message) => Err(message),
            None => yaml::read(text, &Budget::new(text, cancel))
                .map_err(|_| Message::new(&NOT_JSON).with("reason", error)),
        }
    })
}

/// The error of a cancelled import.
pub(super) fn cancelled() -> Message {
    Message::new(&CANCELLED)
}

pub(super) fn too_large() -> Message {
    Message::new(&TOO_LARGE).with("values", MOST_VALUES).with("megabytes", MOST_BYTES >> 20)
}

/// The remaining budget of a document.
pub(super) struct Budget {
    values: Cell<usize>,
    bytes: Cell<usize>,
    aliases: AliasLimit,
    /// The values and bytes that aliases may still add.
    alias_values: Cell<usize>,
    alias_bytes: Cell<usize>,
    /// The error that stopped parsing.
    exhausted: Cell<Option<Message>>,
    cancel: CancelFlag,
}

/// The limits of alias expansion for a text.
struct AliasLimit {
    values: usize,
    bytes: usize,
}

impl Budget {
    pub(super) fn new(text: &str, cancel: &CancelFlag) -> Self {
        let aliases = AliasLimit {
            values: ALIAS_VALUES.max(text.len().saturating_mul(ALIAS_VALUES_PER_BYTE)),
            bytes: ALIAS_BYTES.max(text.len().saturating_mul(ALIAS_BYTES_PER_BYTE)),
        };
        Self {
            values: Cell::new(MOST_VALUES),
            bytes: Cell::new(MOST_BYTES),
            alias_values: Cell::new(aliases.values),
            alias_bytes: Cell::new(aliases.bytes),
            aliases,
            exhausted: Cell::new(None),
            cancel: cancel.clone(),
        }
    }

    /// Counts values and bytes of text.
    pub(super) fn take(&self, values: usize, bytes: usize) -> Result<(), Message> {
        if self.cancel.is_cancelled() {
            return Err(cancelled());
        }
        let values = self.values.get().checked_sub(values).ok_or_else(too_large)?;
        let bytes = self.bytes.get().checked_sub(bytes).ok_or_else(too_large)?;
        self.values.set(values);
        self.bytes.set(bytes);
        Ok(())
    }

    /// Counts a copy of a value: for an anchor, or for an alias.
    pub(super) fn take_copy(&self, values: usize, bytes: usize) -> Result<(), Message> {
        let too_many = || {
            let AliasLimit { values, bytes } = self.aliases;
            Message::new(&TOO_MANY_ALIASES).with("values", values).with("kilobytes", bytes >> 10)
        };
        let left_values = self.alias_values.get().checked_sub(values).ok_or_else(too_many)?;
        let left_bytes = self.alias_bytes.get().checked_sub(bytes).ok_or_else(too_many)?;
        self.alias_values.set(left_values);
        self.alias_bytes.set(left_bytes);
        self.take(values, bytes)
    }

    /// The values and bytes counted so far.
    #[cfg(test)]
    pub(super) fn spent(&self) -> usize {
        MOST_VALUES - self.values.get() + MOST_BYTES - self.bytes.get()
    }
}

/// Deserializes JSON values and counts them.
#[derive(Clone, Copy)]
struct JsonReader<'b>(&'b Budget);

impl JsonReader<'_> {
    /// Counts one value with this number of bytes.
    fn take<E: de::Error>(self, bytes: usize) -> Result<(), E> {
        self.0.take(1, bytes).map_err(|message| {
            self.0.exhausted.set(Some(message));
            E::custom("too large")
        })
    }
}

impl<'de> DeserializeSeed<'de> for JsonReader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonReader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        self.take(0)?;
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        self.take(0)?;
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        self.take(0)?;
        Ok(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        self.take(0)?;
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        self.take(0)?;
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        self.take(text.len())?;
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Value, E> {
        self.take(text.len())?;
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.take(0)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        self.take(0)?;
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            self.take(name.len())?;
            object.insert(name, fields.next_value_seed(self)?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error_of(text: &str) -> String {
        parse_document(text).expect_err("no document")[0].message.to_string()
    }

    #[test]
    fn json_and_yaml_are_equivalent() {
        for (text, document) in [
            ("{\"a\": [1, 2.5, null, true]}", json!({"a": [1, 2.5, null, true]})),
            ("\u{feff} {\"a\": 18446744073709551615}", json!({"a": u64::MAX})),
            ("a: 18446744073709551615\nb: -9223372036854775808", json!({"a": u64::MAX, "b": i64::MIN})),
            ("a: 18446744073709551616", json!({"a": 18446744073709551616.0})),
            ("{a: 1, b: [x, 'y'],}", json!({"a": 1, "b": ["x", "y"]})),
            ("200: ok\ntrue: 1\nnull: 2", json!({"200": "ok", "true": 1, "null": 2})),
            ("a: !int 5\nb: !x {c: 1}\nd: .inf", json!({"a": 5, "b": {"c": 1}, "d": "inf"})),
            ("a: 010\nb: 1e3\nc: \"1\"\nd: ~", json!({"a": "010", "b": 1000.0, "c": "1", "d": null})),
        ] {
            assert_eq!(parse_document(text).expect(text), document, "{text}");
        }
    }

    #[test]
    fn merge_keys_are_applied() {
        let text = "base: &b {x: 1, y: 2}\nother: &o {y: 3, z: 4}\none: {<<: *b, y: 5}\ntwo:\n  <<: [*b, *o]\n  w: 0\nodd: {<<: text}";
        let document = parse_document(text).expect("a document");
        assert_eq!(document["one"], json!({"x": 1, "y": 5}));
        assert_eq!(document["two"], json!({"x": 1, "y": 2, "z": 4, "w": 0}));
        assert_eq!(document["odd"], json!({"<<": "text"}));
        assert_eq!(parse_document(r#"{"<<": {"a": 1}}"#).expect("JSON"), json!({"<<": {"a": 1}}));
    }

    #[test]
    fn errors_use_the_terms_of_the_notation() {
        for (text, says) in [
            ("{\"a\": 1]\n}", "begins like JSON but is invalid: expected `,` or `}` at line 1 column 8"),
            ("{\"a\": \"x", "begins like JSON but is invalid: EOF while parsing a string at line 1"),
            ("a: [", "is neither JSON nor YAML: "),
            ("just text", "must be a JSON or YAML object"),
            ("[1]", "must be a JSON or YAML object"),
            ("", "must be a JSON or YAML object"),
            ("a: *missing", "is neither JSON nor YAML: "),
        ] {
            assert!(error_of(text).contains(says), "{text}: {}", error_of(text));
        }
    }

    #[test]
    fn every_use_of_an_alias_is_counted() {
        let long = format!("a: &a {}\nb: [{}]", "x".repeat(20_000), "*a, ".repeat(4_000));
        assert!(error_of(&long).contains("has aliases that add more than"), "{}", error_of(&long));
        let doubling: String =
            (1..40).map(|level| format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1)).collect();
        let doubling = format!("a0: &a0 [1]\n{doubling}");
        let says = "has aliases that add more than 10000 values or 1024 KB to it";
        assert!(error_of(&doubling).contains(says), "{}", error_of(&doubling));
        let nested = format!("a: {}{}{}", "&a [".repeat(100), "1, ".repeat(5_000), "]".repeat(100));
        assert!(error_of(&nested).contains("has aliases that add more than"), "{}", error_of(&nested));
        let endless = "a: &a [*a, *a]";
        assert!(parse_document(endless).is_err());
        let common = format!("a: &a {{x: 1, y: [1, 2]}}\nb:\n{}", "  - {<<: *a, z: *a}\n".repeat(500));
        parse_document(&common).expect("aliases as people use them");
        let many = format!("[{}1]", "1,".repeat(4_100_000));
        assert!(error_of(&format!("a: {many}")).contains("is too large"));
    }

    #[test]
    fn a_cancelled_document_is_not_read() {
        let cancel = CancelFlag::default();
        assert!(parse_document_until("a: [1, 2]", &cancel).is_ok());
        cancel.cancel();
        for text in ["a: [1, 2]", "{\"a\": 1}", "{a: 1}"] {
            let refused = parse_document_until(text, &cancel).expect_err("cancelled");
            assert!(refused[0].message.to_string().contains("cancelled"), "{text}");
        }
    }
}

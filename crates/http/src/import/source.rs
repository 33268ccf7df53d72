//! Documents as they come: JSON or YAML text, read within limits.
//!
//! A few lines of YAML can stand for billions of values, so values are counted while
//! they are read, whatever the text's own size.

use std::cell::Cell;
use std::fmt;

use haft_core::error::ROOT;
use haft_core::{Message, Violation};
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IgnoredAny, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde_json::{Map, Number, Value};

haft_core::templates! {
    UNREADABLE = "import.unreadable",
        "is neither JSON nor YAML: {reason}",
        "既不是 JSON 也不是 YAML: {reason}";
    NOT_JSON = "import.notJson",
        "begins like JSON and is none: {reason}",
        "以 JSON 开头，但不是有效的 JSON: {reason}";
    TOO_LARGE = "import.tooLarge",
        "holds too much: more than {values} values or {megabytes} MB of text, with all aliases written out",
        "内容过多：展开所有别名后超过 {values} 个值或 {megabytes} MB 文本";
    NOT_A_DOCUMENT = "import.notADocument",
        "must be a JSON or YAML object",
        "必须是 JSON 或 YAML 对象";
}

/// Values and names of a document, with all aliases written out.
const MOST_VALUES: usize = 4_000_000;
const MOST_BYTES: usize = 64 << 20;

/// Signs of YAML that begin a value; its reader holds all of them before we see the first.
const MOST_SIGNS: usize = 2_000_000;

/// The key whose fields are those of the object around it.
const MERGE: &str = "<<";

/// Reads a document, whichever of the two it is.
pub fn parse_document(text: &str) -> Result<Value, Vec<Violation>> {
    let document = parse_value(text)?;
    match document {
        Value::Object(_) => Ok(document),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(vec![Violation::new(ROOT, Message::new(&NOT_A_DOCUMENT))])
        }
    }
}

/// Reads whatever the text holds, a list too, in either notation.
pub fn parse_value(text: &str) -> Result<Value, Vec<Violation>> {
    read(text.trim_start_matches('\u{feff}')).map_err(|message| vec![Violation::new(ROOT, message)])
}

fn read(text: &str) -> Result<Value, Message> {
    if !text.trim_start().starts_with(['{', '[']) {
        return read_yaml(text);
    }
    let reader = &Reader::new(Notation::Json);
    let mut json = serde_json::Deserializer::from_str(text);
    let value = reader.deserialize(&mut json).and_then(|value| json.end().map(|()| value));
    value.or_else(|error| {
        if reader.is_spent.get() {
            return Err(too_large());
        }
        // YAML has braces too, and takes what JSON does not, such as a comma at the end.
        read_yaml(text).map_err(|_| Message::new(&NOT_JSON).with("reason", error))
    })
}

fn read_yaml(text: &str) -> Result<Value, Message> {
    let is_sign = |pair: &&[u8]| {
        matches!(pair, [b',' | b':' | b'[' | b'{', _] | [b'-' | b'?', b' ' | b'\t' | b'\r' | b'\n'])
    };
    if text.as_bytes().windows(2).filter(is_sign).count() > MOST_SIGNS {
        return Err(too_large());
    }
    let reader = &Reader::new(Notation::Yaml);
    reader.deserialize(yaml_serde::Deserializer::from_str(text)).map_err(|error| {
        if reader.is_spent.get() { too_large() } else { Message::new(&UNREADABLE).with("reason", error) }
    })
}

fn too_large() -> Message {
    Message::new(&TOO_LARGE).with("values", MOST_VALUES).with("megabytes", MOST_BYTES >> 20)
}

#[derive(Clone, Copy, PartialEq)]
enum Notation {
    Json,
    Yaml,
}

/// Reads values and counts them.
struct Reader {
    notation: Notation,
    values_left: Cell<usize>,
    bytes_left: Cell<usize>,
    is_spent: Cell<bool>,
}

impl Reader {
    fn new(notation: Notation) -> Self {
        Self {
            notation,
            values_left: Cell::new(MOST_VALUES),
            bytes_left: Cell::new(MOST_BYTES),
            is_spent: Cell::new(false),
        }
    }

    /// Counts one value with so many bytes of text.
    fn take<E: de::Error>(&self, bytes: usize) -> Result<(), E> {
        let values = self.values_left.get().checked_sub(1);
        let (Some(values), Some(bytes)) = (values, self.bytes_left.get().checked_sub(bytes)) else {
            self.is_spent.set(true);
            return Err(E::custom("too large"));
        };
        self.values_left.set(values);
        self.bytes_left.set(bytes);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for &Reader {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        self.take(0)?;
        Ok(Value::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        self.visit_unit()
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

    fn visit_i128<E: de::Error>(self, value: i128) -> Result<Value, E> {
        self.visit_f64(value as f64)
    }

    fn visit_u128<E: de::Error>(self, value: u128) -> Result<Value, E> {
        self.visit_f64(value as f64)
    }

    /// YAML has numbers that JSON has no word for.
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        self.take(0)?;
        Ok(Number::from_f64(value).map_or_else(|| Value::String(value.to_string()), Value::Number))
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
        let mut merged = Vec::new();
        while let Some(key) = fields.next_key_seed(self)? {
            let (key, value) = (as_key(key), fields.next_value_seed(self)?);
            if self.notation == Notation::Yaml && key == MERGE && is_mergeable(&value) {
                merged.push(value);
            } else {
                object.insert(key, value);
            }
        }
        merged.into_iter().for_each(|more| merge(&mut object, more));
        Ok(Value::Object(object))
    }

    /// A tag says of what type a value is, which JSON has no word for either.
    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Value, A::Error> {
        let (IgnoredAny, value) = tagged.variant()?;
        value.newtype_variant_seed(self)
    }
}

/// YAML has keys that are numbers, such as statuses.
fn as_key(key: Value) -> String {
    match key {
        Value::String(text) => text,
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            other.to_string()
        }
    }
}

fn is_mergeable(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(items) => items.iter().all(Value::is_object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Fields of another object, where this one has none of that name.
fn merge(object: &mut Map<String, Value>, more: Value) {
    match more {
        Value::Object(fields) => {
            for (name, value) in fields {
                object.entry(name).or_insert(value);
            }
        }
        Value::Array(items) => items.into_iter().for_each(|item| merge(object, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(text: &str) -> String {
        parse_document(text).expect_err("no document")[0].message.to_string()
    }

    #[test]
    fn both_notations_mean_the_same() {
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
    fn what_is_wrong_is_told_in_the_words_of_its_notation() {
        for (text, says) in [
            ("{\"a\": 1]\n}", "begins like JSON and is none: expected `,` or `}` at line 1 column 8"),
            ("{\"a\": \"x", "begins like JSON and is none: EOF while parsing a string at line 1"),
            ("a: [", "is neither JSON nor YAML: "),
            ("just text", "must be a JSON or YAML object"),
            ("[1]", "must be a JSON or YAML object"),
            ("", "must be a JSON or YAML object"),
            ("a: *nobody", "is neither JSON nor YAML: "),
        ] {
            assert!(told(text).contains(says), "{text}: {}", told(text));
        }
    }

    #[test]
    fn aliases_are_counted_as_often_as_they_stand_for_something() {
        let long = format!("a: &a {}\nb: [{}]", "x".repeat(20_000), "*a, ".repeat(4_000));
        assert!(told(&long).contains("holds too much"), "{}", told(&long));
        let few = Reader { values_left: Cell::new(50), ..Reader::new(Notation::Yaml) };
        let text = "a: &a [1, 1, 1, 1]\nb: &b [*a, *a, *a, *a]\nc: [*b, *b, *b, *b]";
        assert!(few.deserialize(yaml_serde::Deserializer::from_str(text)).is_err());
        assert!(few.is_spent.get());
        let endless = "a: &a [*a, *a]";
        assert!(parse_document(endless).is_err());
        let many = format!("[{}1]", "1,".repeat(2_100_000));
        assert!(told(&format!("a: {many}")).contains("holds too much"));
    }
}

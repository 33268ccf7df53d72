//! Lenient JSON parsing of upstream responses, within a memory budget and without rounding integers.

use std::cell::Cell;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Memory of a value, and the extra cost of the first item of a list or field of an object.
const VALUE: usize = size_of::<Value>();
const LIST: usize = 4 * VALUE;
const OBJECT: usize = 4 * (VALUE + size_of::<String>() + 8) + 64;

/// The reason why a text was not parsed.
pub(crate) enum Unread {
    NotJson,
    /// JSON whose values would exceed the memory budget.
    TooLarge,
}

/// Parses a document within an approximate memory budget in bytes.
pub(crate) fn parse(text: &str, memory: usize) -> Result<Value, Unread> {
    let budget =
        Budget { left: Cell::new(memory), is_spent: Cell::new(false), is_doubtful: Cell::new(false) };
    let value = read(text, &budget)?;
    if !budget.is_doubtful.get() {
        return Ok(value);
    }
    // A whole number was parsed as a float: integers beyond 64 bits are kept as text instead.
    let Some(quoted) = with_large_integers_quoted(text) else { return Ok(value) };
    drop(value);
    budget.left.set(memory);
    read(&quoted, &budget)
}

fn read(text: &str, budget: &Budget) -> Result<Value, Unread> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = budget.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    read.map_err(|_| if budget.is_spent.get() { Unread::TooLarge } else { Unread::NotJson })
}

struct Budget {
    left: Cell<usize>,
    is_spent: Cell<bool>,
    is_doubtful: Cell<bool>,
}

impl Budget {
    fn take<E: de::Error>(&self, bytes: usize) -> Result<(), E> {
        match self.left.get().checked_sub(bytes) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => {
                self.is_spent.set(true);
                Err(E::custom("too large"))
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for &Budget {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &Budget {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        if value.fract() == 0.0 && value.abs() >= 9e18 {
            self.is_doubtful.set(true);
        }
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("out of range"))
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
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            self.take(if list.is_empty() { LIST } else { VALUE })?;
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            self.take(name.len() + if object.is_empty() { OBJECT } else { VALUE + 40 })?;
            object.insert(name, fields.next_value_seed(self)?);
        }
        Ok(Value::Object(object))
    }
}

/// Quotes integers that do not fit into 64 bits. Returns `None` if the document has none.
fn with_large_integers_quoted(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut quoted = String::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while bytes.get(at).is_some_and(|byte| *byte != b'"') {
                    at += if bytes.get(at) == Some(&b'\\') { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let start = at;
                let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                while bytes.get(at).is_some_and(is_part) {
                    at += 1;
                }
                let number = text.get(start..at)?;
                let is_integer = !number.contains(['.', 'e', 'E']);
                if is_integer && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
                    quoted.push_str(text.get(copied..start)?);
                    quoted.push('"');
                    quoted.push_str(number);
                    quoted.push('"');
                    copied = at;
                }
            }
            _ => at += 1,
        }
    }
    (copied > 0).then(|| quoted + text.get(copied..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn integers_are_never_rounded() {
        let text = r#"{"id": 123456789012345678901, "n": [-98765432109876543210, 18446744073709551615, 1e30, 2.5], "s": "\"123456789012345678901\""}"#;
        let read = parse(text, 1 << 20).ok();
        let expected = json!({"id": "123456789012345678901", "n": ["-98765432109876543210", u64::MAX, 1e30, 2.5], "s": "\"123456789012345678901\""});
        assert_eq!(read, Some(expected));
    }

    #[test]
    fn many_small_values_exceed_the_memory_budget() {
        let lists = format!("[{}[0]]", "[0],".repeat(260_000));
        assert!(lists.len() < 1 << 20 && matches!(parse(&lists, 64 << 20), Err(Unread::TooLarge)));
        let numbers = format!("[{}1]", "1,".repeat(500_000));
        assert!(parse(&numbers, 64 << 20).is_ok());
        for not_json in ["", "{", "[1,]", "nul", "{\"a\": 1} x", &"[".repeat(1000)] {
            assert!(matches!(parse(not_json, 1 << 20), Err(Unread::NotJson)), "{not_json}");
        }
        assert_eq!(parse(r#"{"a": 1, "a": 2}"#, 1 << 20).ok(), Some(json!({"a": 2})));
    }
}

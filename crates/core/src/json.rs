//! Strict JSON parsing: input that two parsers could read differently is rejected.
//!
//! Duplicate keys, NUL characters, lone surrogates, nesting beyond 128 levels and integers that lose
//! precision are errors. Size limits are enforced by the interfaces.

use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Parses one JSON document.
pub fn parse(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    // serde_json itself limits the depth to 128 and rejects lone surrogates.
    let mut doubtful = false;
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = Strict { doubtful: &mut doubtful }.deserialize(&mut reader)?;
    reader.end()?;
    if doubtful && let Some(literal) = inexact_integer(bytes) {
        return Err(de::Error::custom(format_args!(
            "the integer {literal} is too large to be kept exactly; send it as a string"
        )));
    }
    Ok(value)
}

/// The size of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Nesting depth; 0 for a scalar.
    pub depth: usize,
    /// Number of values, including itself; long texts count more.
    pub values: usize,
}

/// Measures a value in one pass.
pub fn size(value: &Value) -> Size {
    let long = |text: &str| text.len() / 64;
    let within = |keys: usize, parts: &mut dyn Iterator<Item = &Value>| {
        let mut whole = Size { depth: 0, values: 1 + keys };
        for part in parts {
            let part = size(part);
            whole.depth = whole.depth.max(part.depth);
            whole.values += part.values;
        }
        Size { depth: whole.depth + 1, ..whole }
    };
    match value {
        Value::Array(items) => within(0, &mut items.iter()),
        Value::Object(fields) => {
            let keys = fields.keys().map(|key| long(key)).sum();
            within(keys, &mut fields.values())
        }
        Value::String(text) => Size { depth: 0, values: 1 + long(text) },
        Value::Null | Value::Bool(_) | Value::Number(_) => Size { depth: 0, values: 1 },
    }
}

/// Returns the approximate size of a value in memory, in bytes.
pub fn weight(value: &Value) -> usize {
    let own = size_of::<Value>();
    own + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(fields) => fields.iter().map(|(name, field)| own + name.len() + weight(field)).sum(),
    }
}

/// Deserializes one value. Sets `doubtful` if a whole number was read as a float, as serde_json does for
/// integers beyond 64 bits.
struct Strict<'a> {
    doubtful: &'a mut bool,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
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
        *self.doubtful |= value.fract() == 0.0;
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number is out of range"))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        without_nul(text)?;
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Value, E> {
        without_nul(&text)?;
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(Strict { doubtful: self.doubtful })? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(Key(key)) = fields.next_key()? {
            let value = fields.next_value_seed(Strict { doubtful: self.doubtful })?;
            if object.contains_key(&key) {
                return Err(de::Error::custom(format_args!("the key {key:?} stands twice in one object")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = String::deserialize(deserializer)?;
        without_nul(&key)?;
        Ok(Self(key))
    }
}

fn without_nul<E: de::Error>(text: &str) -> Result<(), E> {
    if text.contains('\0') { Err(E::custom("a string holds a NUL character")) } else { Ok(()) }
}

/// Returns the first integer literal that does not fit 64 bits, in a well-formed document.
fn inexact_integer(bytes: &[u8]) -> Option<&str> {
    let mut index = 0;
    while let Some(&byte) = bytes.get(index) {
        match byte {
            b'"' => {
                index += 1;
                while let Some(&inside) = bytes.get(index) {
                    match inside {
                        b'\\' => index += 2,
                        b'"' => break,
                        _ => index += 1,
                    }
                }
                index += 1;
            }
            b'-' | b'0'..=b'9' => {
                let rest = bytes.get(index..)?;
                let length = rest
                    .iter()
                    .position(|byte| !matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'))
                    .unwrap_or(rest.len());
                let literal = std::str::from_utf8(rest.get(..length)?).ok()?;
                let whole = !literal.contains(['.', 'e', 'E']);
                // `-0` is a float in serde_json, without loss.
                if whole
                    && literal != "-0"
                    && literal.parse::<i64>().is_err()
                    && literal.parse::<u64>().is_err()
                {
                    return Some(literal);
                }
                index += length;
            }
            _ => index += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_json_is_read_as_serde_json_reads_it() {
        for text in [
            "null",
            "true",
            "[]",
            "{}",
            "0",
            "-0",
            "-1",
            "1.5",
            "1e30",
            "1.0",
            "9007199254740993",
            "18446744073709551615",
            "-9223372036854775808",
            r#"{"b":[1,{"a":"\"x\" 1"}],"a":"😀"}"#,
        ] {
            let expected: Value = serde_json::from_str(text).expect("valid");
            assert_eq!(parse(text.as_bytes()).expect(text), expected, "{text}");
        }
        assert_eq!(parse(b"9007199254740993").expect("exact").to_string(), "9007199254740993");
    }

    #[test]
    fn ambiguous_json_is_rejected_with_a_reason() {
        for (text, reason) in [
            (r#"{"a":1,"a":2}"#, "the key \"a\" stands twice"),
            (r#"{"x":{"a":1,"\u0061":2}}"#, "the key \"a\" stands twice"),
            (r#"["\u0000"]"#, "NUL"),
            (r#"{"\u0000":1}"#, "NUL"),
            (r#""\ud800""#, "hex escape"),
            (r#""\udc00 x""#, "surrogate"),
            ("18446744073709551616", "18446744073709551616 is too large"),
            (r#"{"s":"9\"", "n":[-9223372036854775809]}"#, "-9223372036854775809 is too large"),
            ("1e999", "out of range"),
            ("1 2", "trailing"),
            ("", "EOF"),
        ] {
            let error = parse(text.as_bytes()).expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn nesting_ends_before_the_stack_does() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(127).as_bytes()).is_ok());
        assert!(parse(nested(129).as_bytes()).is_err());
        assert!(parse("[".repeat(1_000_000).as_bytes()).is_err());
    }

    #[test]
    fn size_counts_levels_and_values() {
        assert_eq!(size(&serde_json::json!(1)), Size { depth: 0, values: 1 });
        assert_eq!(size(&serde_json::json!({"a": [1, {"b": 2}]})), Size { depth: 3, values: 5 });
        assert_eq!(size(&serde_json::json!("x".repeat(640))).values, 11);
    }
}

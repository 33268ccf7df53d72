//! Of which types a value may be, where a schema says so and where it only shows.

use serde_json::{Map, Value, json};

/// The types that a value may have, and whether it may be null. A schema may not say, and still show.
pub(super) fn kinds(fields: &Map<String, Value>) -> (Vec<&str>, bool) {
    let said: Vec<&str> = match fields.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        Some(_) | None => Vec::new(),
    };
    let is_nullable = said.contains(&"null")
        || fields.get("nullable") == Some(&Value::Bool(true))
        || choices(fields).iter().any(|choice| choice.is_null());
    let known = ["string", "number", "integer", "boolean", "object", "array"];
    let mut kinds: Vec<&str> = said.into_iter().filter(|kind| known.contains(kind)).collect();
    if kinds.is_empty() {
        let shown = choices(fields).into_iter().filter_map(|choice| match choice {
            Value::String(_) => Some("string"),
            Value::Number(number) if number.is_f64() => Some("number"),
            Value::Number(_) => Some("integer"),
            Value::Bool(_) => Some("boolean"),
            Value::Array(_) => Some("array"),
            Value::Object(_) => Some("object"),
            Value::Null => None,
        });
        kinds = shown.collect();
    }
    if kinds.is_empty() {
        let shown =
            [("properties", "object"), ("items", "array"), ("pattern", "string"), ("minimum", "number")];
        kinds = shown
            .iter()
            .filter(|(name, _)| fields.contains_key(*name))
            .map(|(_, kind)| *kind)
            .take(1)
            .collect();
    }
    kinds.sort_unstable();
    kinds.dedup();
    (kinds, is_nullable)
}

/// The values of an enumeration, or the one constant.
pub(super) fn choices(fields: &Map<String, Value>) -> Vec<&Value> {
    let listed = fields.get("enum").and_then(Value::as_array).into_iter().flatten();
    listed.chain(fields.get("const")).collect()
}

/// Any value at all, which there is no word for.
pub(super) fn anything() -> Map<String, Value> {
    let kinds = ["string", "number", "boolean", "object"].map(|kind| json!({"type": kind}));
    Map::from_iter([("anyOf".to_owned(), json!(kinds))])
}

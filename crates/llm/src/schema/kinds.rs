//! The types that a schema allows, declared or implied by other keywords.

use serde_json::{Map, Value, json};

/// The types of a value, and whether it may be null. A schema may imply its type without declaring it.
pub(super) fn kinds(fields: &Map<String, Value>) -> (Vec<&str>, bool) {
    let declared: Vec<&str> = match fields.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        Some(_) | None => Vec::new(),
    };
    let is_nullable = declared.contains(&"null")
        || fields.get("nullable") == Some(&Value::Bool(true))
        || choices(fields).iter().any(|choice| choice.is_null());
    let known = ["string", "number", "integer", "boolean", "object", "array"];
    let mut kinds: Vec<&str> = declared.into_iter().filter(|kind| known.contains(kind)).collect();
    if kinds.is_empty() {
        let implied = choices(fields).into_iter().filter_map(|choice| match choice {
            Value::String(_) => Some("string"),
            Value::Number(number) if number.is_f64() => Some("number"),
            Value::Number(_) => Some("integer"),
            Value::Bool(_) => Some("boolean"),
            Value::Array(_) => Some("array"),
            Value::Object(_) => Some("object"),
            Value::Null => None,
        });
        kinds = implied.collect();
    }
    if kinds.is_empty() {
        let implied =
            [("properties", "object"), ("items", "array"), ("pattern", "string"), ("minimum", "number")];
        kinds = implied
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

/// The values of an enumeration, or the single constant.
pub(super) fn choices(fields: &Map<String, Value>) -> Vec<&Value> {
    let listed = fields.get("enum").and_then(Value::as_array).into_iter().flatten();
    listed.chain(fields.get("const")).collect()
}

/// A schema for any value, as alternatives, because the subset has no keyword for it.
pub(super) fn anything() -> Map<String, Value> {
    let kinds = ["string", "number", "boolean", "object"].map(|kind| json!({"type": kind}));
    Map::from_iter([("anyOf".to_owned(), json!(kinds))])
}

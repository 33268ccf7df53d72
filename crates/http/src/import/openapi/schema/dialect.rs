//! Differences between OpenAPI dialects and JSON Schema: types, null, exclusive bounds.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

/// The declared types; `file` of 2.0 is not a JSON Schema type.
pub(super) fn types_of(fields: &Map<String, Value>) -> Vec<&'static str> {
    let known = |name: &str| match name {
        "file" => Some("string"),
        name => TYPES.iter().find(|known| **known == name).copied(),
    };
    let mut types: Vec<&'static str> = match fields.get("type") {
        Some(Value::String(name)) => known(name).into_iter().collect(),
        Some(Value::Array(names)) => {
            names.iter().take(TYPES.len()).filter_map(Value::as_str).filter_map(known).collect()
        }
        _ => Vec::new(),
    };
    let mut seen = HashSet::new();
    types.retain(|kind| seen.insert(*kind));
    types
}

pub(super) fn put_type(types: &[&'static str], converted: &mut Map<String, Value>) {
    let value = match types {
        [] => return,
        [one] => Value::from(*one),
        several => several.iter().copied().collect(),
    };
    converted.insert("type".to_owned(), value);
}

/// Returns true for `nullable` of 3.0, which JSON Schema does not have.
pub(super) fn is_nullable(fields: &Map<String, Value>) -> bool {
    ["nullable", "x-nullable"].iter().any(|name| fields.get(*name) == Some(&Value::Bool(true)))
}

/// Makes a converted schema accept null.
pub(super) fn or_null(converted: Value) -> Value {
    let mut fields = match converted {
        Value::Object(fields) => fields,
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            return other;
        }
    };
    let narrowing = ["anyOf", "oneOf", "allOf", "not", "const"];
    if narrowing.iter().any(|name| fields.contains_key(*name)) {
        let mut outer = Map::new();
        if let Some(about) = fields.shift_remove("description") {
            outer.insert("description".to_owned(), about);
        }
        outer.insert("anyOf".to_owned(), json!([fields, {"type": "null"}]));
        return Value::Object(outer);
    }
    let types = match fields.get("type") {
        Some(Value::String(kind)) if kind != "null" => Some(json!([kind, "null"])),
        Some(Value::Array(kinds)) if !kinds.iter().any(|kind| kind == "null") => {
            Some(kinds.iter().cloned().chain([Value::from("null")]).collect())
        }
        _ => None,
    };
    if let Some(types) = types {
        fields.insert("type".to_owned(), types);
    }
    if let Some(Value::Array(allowed)) = fields.get_mut("enum")
        && !allowed.contains(&Value::Null)
    {
        allowed.push(Value::Null);
    }
    Value::Object(fields)
}

/// Copies numeric bounds; in 3.0 a flag makes a bound exclusive.
pub(super) fn copy_bounds(fields: &Map<String, Value>, converted: &mut Map<String, Value>) {
    for name in ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"] {
        if let Some(count) = fields.get(name).and_then(Value::as_u64) {
            converted.insert(name.to_owned(), count.into());
        }
    }
    if let Some(step) = fields.get("multipleOf").filter(|step| step.as_f64().is_some_and(|step| step > 0.0)) {
        converted.insert("multipleOf".to_owned(), step.clone());
    }
    if let Some(Value::Bool(unique)) = fields.get("uniqueItems") {
        converted.insert("uniqueItems".to_owned(), (*unique).into());
    }
    for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        let limit = fields.get(bound).filter(|limit| limit.is_number());
        match (limit, fields.get(exclusive)) {
            (Some(limit), Some(Value::Bool(true))) => converted.insert(exclusive.to_owned(), limit.clone()),
            (limit, Some(own @ Value::Number(_))) => {
                converted.insert(exclusive.to_owned(), own.clone());
                limit.and_then(|limit| converted.insert(bound.to_owned(), limit.clone()))
            }
            (Some(limit), _) => converted.insert(bound.to_owned(), limit.clone()),
            (None, _) => None,
        };
    }
}

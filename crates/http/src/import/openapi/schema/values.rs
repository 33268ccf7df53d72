//! Values in schemas: their size, their type, and whether a default matches its schema.

use serde_json::{Map, Number, Value};

/// Formats that the validator checks.
const ASSERTED_FORMATS: [&str; 7] = ["date", "date-time", "email", "uri", "uuid", "ipv4", "ipv6"];

/// Keywords that are not evaluated for a default.
const UNIONS: [&str; 4] = ["anyOf", "oneOf", "allOf", "not"];

/// The approximate size of a value as JSON, in bytes. Returns `None` above `most`.
pub(super) fn size(value: &Value, most: usize) -> Option<usize> {
    let mut left = most;
    charge(value, &mut left)?;
    Some(most - left)
}

fn charge(value: &Value, left: &mut usize) -> Option<()> {
    let mut take = |bytes: usize| {
        *left = left.checked_sub(bytes)?;
        Some(())
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => take(4),
        Value::String(text) => take(text.len() + 2),
        Value::Array(items) => {
            take(items.len() + 2)?;
            items.iter().try_for_each(|item| charge(item, left))
        }
        Value::Object(fields) => {
            take(fields.len() + 2)?;
            fields.iter().try_for_each(|(name, value)| {
                *left = left.checked_sub(name.len() + 3)?;
                charge(value, left)
            })
        }
    }
}

/// Converts a value to one of the declared types, if that is unambiguous: YAML parses `1` as a number.
pub(super) fn cast(value: Value, types: &[&str]) -> Value {
    if types.is_empty() || types.iter().any(|kind| is_of(&value, kind)) {
        return value;
    }
    let has = |kind: &str| types.contains(&kind);
    let meant = match &value {
        Value::Number(_) | Value::Bool(_) if has("string") => Some(Value::String(value.to_string())),
        Value::String(text) if has("number") || has("integer") => {
            let number = serde_json::from_str::<Number>(text.trim()).ok().map(Value::Number);
            number.filter(|number| types.iter().any(|kind| is_of(number, kind)))
        }
        Value::String(text) if has("boolean") => match text.as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => None,
    };
    meant.unwrap_or(value)
}

/// Returns true if a value has a JSON Schema type.
pub(super) fn is_of(value: &Value, kind: &str) -> bool {
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(number) => {
            let is_whole = || number.as_f64().is_some_and(|number| number.fract() == 0.0);
            kind == "number" || (kind == "integer" && (number.is_i64() || number.is_u64() || is_whole()))
        }
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    }
}

/// Returns true if a value certainly matches a converted schema. In doubt it returns false, since an invalid
/// default would make every call fail.
pub(super) fn fits(value: &Value, schema: &Map<String, Value>) -> bool {
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is_listed = match schema.get("enum") {
        Some(Value::Array(allowed)) => allowed.contains(value),
        _ => true,
    };
    is_listed
        && !UNIONS.iter().any(|name| schema.contains_key(*name))
        && (types.is_empty() || types.iter().any(|kind| is_of(value, kind)))
        && schema.get("const").is_none_or(|only| only == value)
        && fits_bounds(value, schema)
}

fn fits_bounds(value: &Value, schema: &Map<String, Value>) -> bool {
    let has = |name: &str| schema.contains_key(name);
    let count = |name: &str| schema.get(name).and_then(Value::as_u64);
    let is_within = |length: usize, least: &str, most: &str| {
        let length = length as u64;
        count(least).is_none_or(|least| length >= least) && count(most).is_none_or(|most| length <= most)
    };
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::Number(number) => {
            let limit = |name: &str| schema.get(name).and_then(Value::as_f64);
            number.as_f64().is_some_and(|number| {
                limit("minimum").is_none_or(|limit| number >= limit)
                    && limit("maximum").is_none_or(|limit| number <= limit)
                    && limit("exclusiveMinimum").is_none_or(|limit| number > limit)
                    && limit("exclusiveMaximum").is_none_or(|limit| number < limit)
                    && limit("multipleOf").is_none_or(|step| (number / step).fract() == 0.0)
            })
        }
        Value::String(text) => {
            let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
            !has("pattern")
                && !ASSERTED_FORMATS.contains(&format)
                && is_within(text.chars().count(), "minLength", "maxLength")
        }
        Value::Array(items) => {
            let is_item = |item: &Value| match schema.get("items") {
                Some(Value::Object(schema)) => fits(item, schema),
                Some(Value::Bool(is_any)) => *is_any,
                _ => true,
            };
            let is_unique = items.len() < 2 || !has("uniqueItems");
            is_unique
                && !has("prefixItems")
                && is_within(items.len(), "minItems", "maxItems")
                && items.iter().all(is_item)
        }
        Value::Object(fields) => {
            fields.is_empty() && !has("required") && is_within(0, "minProperties", "maxProperties")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_converted_to_the_declared_type_if_unambiguous() {
        for (value, types, cast_to) in [
            (json!(1), vec!["string"], json!("1")),
            (json!(true), vec!["string", "null"], json!("true")),
            (json!("7"), vec!["integer"], json!(7)),
            (json!("7.5"), vec!["integer"], json!("7.5")),
            (json!("7.5"), vec!["number"], json!(7.5)),
            (json!("false"), vec!["boolean"], json!(false)),
            (json!("no"), vec!["boolean"], json!("no")),
            (json!(null), vec!["string"], json!(null)),
            (json!(1), vec![], json!(1)),
        ] {
            assert_eq!(cast(value.clone(), &types), cast_to, "{value} as {types:?}");
        }
    }

    #[test]
    fn uncertain_defaults_are_dropped() {
        for (value, schema, does) in [
            (json!(1), json!({"type": "integer"}), true),
            (json!("1"), json!({"type": "integer"}), false),
            (json!(0), json!({"type": "integer", "minimum": 1}), false),
            (json!("b"), json!({"enum": ["a"]}), false),
            (json!("a"), json!({"const": "b"}), false),
            (json!(""), json!({"type": "string", "minLength": 1}), false),
            (json!("x"), json!({"type": "string", "format": "uri"}), false),
            (json!("x"), json!({"type": "string", "format": "password"}), true),
            (json!(["a"]), json!({"type": "array", "items": {"type": "string"}}), true),
            (json!([1]), json!({"type": "array", "items": {"type": "string"}}), false),
            (json!({}), json!({"type": "object"}), true),
            (json!({}), json!({"type": "object", "required": ["a"]}), false),
            (json!(1), json!({"anyOf": [{"type": "integer"}]}), false),
            (json!(null), json!({"type": ["string", "null"]}), true),
        ] {
            let fields = schema.as_object().expect("a schema");
            assert_eq!(fits(&value, fields), does, "{value} for {schema}");
        }
    }

    #[test]
    fn measuring_stops_at_the_limit() {
        assert_eq!(size(&json!("abc"), 10), Some(5));
        assert_eq!(size(&json!("abcdefghi"), 10), None);
        assert_eq!(size(&json!([[[["x"]]], {"name": 1}]), 12), None);
    }
}

//! JSON Schema for dialects that support nearly all of it, without constructs that they reject.

use haft_core::Message;
use serde_json::{Map, Value, json};

use super::{DEEPEST, TOO_LARGE, resolve};

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// Keywords that contain one schema, a list of schemas, or named schemas.
const ONE: [&str; 9] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "additionalItems",
];
const LIST: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

pub(super) fn tidied(mut root: Value) -> Result<Value, Message> {
    let whole = root.clone();
    tidy(&mut root, &whole, 0)?;
    Ok(root)
}

fn tidy(schema: &mut Value, root: &Value, depth: usize) -> Result<(), Message> {
    if depth > DEEPEST {
        return Err(Message::new(&TOO_LARGE));
    }
    let Value::Object(fields) = schema else {
        // Boolean schemas are not accepted everywhere.
        if !schema.is_boolean() {
            *schema = json!({});
        }
        return Ok(());
    };
    if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
        resolve(root, reference)?;
    }
    drop_broken(fields);
    for name in ONE {
        if let Some(inner) = fields.get_mut(name) {
            tidy(inner, root, depth + 1)?;
        }
    }
    for name in LIST {
        for schema in fields.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten() {
            tidy(schema, root, depth + 1)?;
        }
    }
    for name in NAMED {
        for (_, schema) in fields.get_mut(name).and_then(Value::as_object_mut).into_iter().flatten() {
            tidy(schema, root, depth + 1)?;
        }
    }
    if let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|_, property| *property != Value::Bool(false));
        for (_, property) in properties.iter_mut().filter(|(_, property)| property.is_boolean()) {
            *property = json!({});
        }
    }
    let is_list = fields.get("type").is_some_and(|kind| {
        kind == "array" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "array"))
    });
    if is_list && !fields.contains_key("items") {
        fields.insert("items".to_owned(), json!({}));
    }
    Ok(())
}

/// Removes keywords with invalid values.
fn drop_broken(fields: &mut Map<String, Value>) {
    fields.retain(|name, value| match name.as_str() {
        "type" => match value {
            Value::String(kind) => TYPES.contains(&kind.as_str()),
            Value::Array(kinds) => {
                kinds.retain(|kind| kind.as_str().is_some_and(|kind| TYPES.contains(&kind)));
                !kinds.is_empty()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
        },
        "description" | "title" | "format" | "pattern" | "$comment" => value.is_string(),
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
            value.is_object()
        }
        "required" => value.as_array().is_some_and(|names| names.iter().all(Value::is_string)),
        "enum" | "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
            value.as_array().is_some_and(|items| !items.is_empty())
        }
        // The old tuple form of `items`, which newer drafts reject.
        "items" => value.is_object() || value.is_boolean(),
        _ => true,
    });
}

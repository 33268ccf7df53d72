//! Checks schemas against the subset of OpenAPI that Gemini accepts. Gemini rejects requests with other
//! keywords.

use serde_json::{Map, Value};

use super::request::unknown;
use crate::model::rules::{Checked, filled, items, object, reject_unknown_fields, require, text};

const KEYWORDS: [&str; 22] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "default",
    "example",
    "items",
    "minItems",
    "maxItems",
    "properties",
    "required",
    "propertyOrdering",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "anyOf",
];

/// The formats that Gemini accepts, with their type.
const FORMATS: [(&str, &str); 6] = [
    ("NUMBER", "float"),
    ("NUMBER", "double"),
    ("INTEGER", "int32"),
    ("INTEGER", "int64"),
    ("STRING", "enum"),
    ("STRING", "date-time"),
];

/// Checks the parameters of a function: an object with properties.
pub(super) fn check_root(schema: &Value, at: &str) -> Checked<()> {
    check(schema, at)?;
    require(schema["type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("object")), || {
        format!("{at}: functionDeclaration parameters schema should be of type OBJECT")
    })?;
    require(schema["properties"].as_object().is_some_and(|fields| !fields.is_empty()), || {
        format!("{at}.properties: should be non-empty for OBJECT type")
    })
}

fn check(schema: &Value, at: &str) -> Checked<()> {
    let fields = object(schema, at)?;
    reject_unknown_fields(fields, &KEYWORDS, |name| unknown(name, at))?;
    if let Some(alternatives) = fields.get("anyOf") {
        require(fields.len() == 1, || format!("{at}: when using any_of, it must be the only field set"))?;
        for (number, alternative) in items(alternatives, &format!("{at}.any_of"))?.iter().enumerate() {
            check(alternative, &format!("{at}.any_of[{number}]"))?;
        }
        return Ok(());
    }
    let kind = text(&schema["type"], &format!("{at}.type"))?.to_ascii_uppercase();
    let kinds = ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"];
    require(kinds.contains(&kind.as_str()), || format!("Invalid value at '{at}.type': {kind}"))?;
    if let Some(format) = fields.get("format") {
        let format = text(format, &format!("{at}.format"))?;
        require(FORMATS.contains(&(kind.as_str(), format)), || {
            format!("{at}.format: '{format}' is not supported for {kind} type")
        })?;
    }
    if let Some(choices) = fields.get("enum") {
        require(kind == "STRING", || format!("{at}.enum: only allowed for STRING type"))?;
        for choice in items(choices, &format!("{at}.enum"))? {
            filled(choice, &format!("{at}.enum"))?;
        }
    }
    match fields.get("items") {
        Some(inner) => check(inner, &format!("{at}.items"))?,
        None => require(kind != "ARRAY", || format!("{at}.items: missing field."))?,
    }
    check_properties(fields, at)
}

fn check_properties(fields: &Map<String, Value>, at: &str) -> Checked<()> {
    let properties = fields.get("properties").and_then(Value::as_object);
    for (name, inner) in properties.into_iter().flatten() {
        check(inner, &format!("{at}.properties[{name}]"))?;
    }
    for name in fields.get("required").and_then(Value::as_array).into_iter().flatten() {
        let name = text(name, &format!("{at}.required"))?;
        let is_known = properties.is_some_and(|properties| properties.contains_key(name));
        require(is_known, || format!("{at}.required[{name}]: property is not defined"))?;
    }
    Ok(())
}

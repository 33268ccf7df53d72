//! Parameter styles: exploded, joined or bracketed values, and the argument schema of each.

use serde_json::{Value, json};

use super::document::Parameter;

/// The style of a query value.
pub(super) enum Style {
    /// Lists repeat their key; objects are JSON text.
    Plain,
    /// One text, with a separator between its parts.
    Joined(&'static str),
    /// A key for each nested value: `created[gt]=5`.
    Brackets,
    /// Each field of an object becomes a separate parameter.
    Spread,
    /// JSON text.
    Json,
}

/// The style of a query parameter, for its converted schema.
pub(super) fn of_query(parameter: &Parameter<'_>, schema: &Value) -> Style {
    let kind = kind_of(schema);
    if parameter.value.get("content").is_some() {
        return if kind == "array" { Style::Json } else { Style::Plain };
    }
    let style = parameter.text("style").unwrap_or("form");
    match (style, kind) {
        ("deepObject", _) => Style::Brackets,
        (_, "array") => of_list(parameter.value).map_or(Style::Plain, Style::Joined),
        (_, "object") if is_exploded(parameter.value) => Style::Spread,
        (_, "object") => Style::Joined(separator(style)),
        _ => Style::Plain,
    }
}

/// The separator of a list. Returns `None` if the key is repeated for each item.
pub(super) fn of_list(described: &Value) -> Option<&'static str> {
    let text = |name: &str| described.get(name).and_then(Value::as_str);
    // Parameters of 2.0 use `collectionFormat`.
    if described.get("in").is_some() && described.get("schema").is_none() {
        return match text("collectionFormat").unwrap_or("csv") {
            "multi" => None,
            "ssv" => Some(" "),
            "tsv" => Some("\t"),
            "pipes" => Some("|"),
            _ => Some(","),
        };
    }
    (!is_exploded(described)).then(|| separator(text("style").unwrap_or("form")))
}

fn is_exploded(described: &Value) -> bool {
    let style = described.get("style").and_then(Value::as_str).unwrap_or("form");
    described.get("explode").and_then(Value::as_bool).unwrap_or(style == "form")
}

fn separator(style: &str) -> &'static str {
    match style {
        "spaceDelimited" => " ",
        "pipeDelimited" => "|",
        _ => ",",
    }
}

/// The prefix of a path parameter's value, and the separator of its items.
pub(super) fn of_path(parameter: &Parameter<'_>) -> (&'static str, &'static str) {
    let is_exploded = parameter.value.get("explode") == Some(&Value::Bool(true));
    match parameter.text("style") {
        Some("label") => (".", if is_exploded { "." } else { "," }),
        Some("matrix") => (";", ","),
        Some(_) | None => ("", ","),
    }
}

/// The type of a converted schema, ignoring null; empty if there are several.
pub(super) fn kind_of(schema: &Value) -> &str {
    let part = |name: &str| schema.get(name).and_then(Value::as_array).map(Vec::as_slice);
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => {
            let mut named = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
            match (named.next(), named.next()) {
                (Some(only), None) => only,
                _ => "",
            }
        }
        _ => match (part("anyOf"), part("allOf")) {
            (Some([one, other]), None) if kind_is(other, "null") => kind_of(one),
            (None, Some([one])) => kind_of(one),
            _ => "",
        },
    }
}

fn kind_is(schema: &Value, kind: &str) -> bool {
    schema.get("type").and_then(Value::as_str) == Some(kind)
}

/// The schema of a list or an object joined to one text.
pub(super) fn joined(schema: &Value, separator: &str) -> Value {
    let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let allowed =
        schema.get("items").and_then(|items| items.get("enum")).map(|allowed| format!(" Of: {allowed}."));
    let between = match separator {
        "," => "commas",
        "." => "dots",
        " " => "blanks",
        "\t" => "tabs",
        _ => "|",
    };
    let parts = if kind_of(schema) == "object" { "Names and values in turn," } else { "Values" };
    let about = format!("{about} {parts} with {between} between them.{}", allowed.unwrap_or_default());
    json!({"type": "string", "description": about.trim()})
}

/// The schema of a value as JSON text.
pub(super) fn as_json_text(schema: &Value) -> Value {
    let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    json!({"type": "string", "description": format!("{about} As JSON text.").trim()})
}

/// The schema of a value in a path, header or cookie, which is a single text.
pub(super) fn scalar(schema: Value, separator: &str) -> Value {
    if matches!(kind_of(&schema), "array" | "object") { joined(&schema, separator) } else { schema }
}

/// Returns true if values may contain objects, which a form can only express in brackets.
pub(super) fn is_nested(schema: &Value) -> bool {
    match kind_of(schema) {
        "object" => true,
        "array" => {
            let items = schema.get("items");
            items.is_some_and(|items| is_nested(items) || kind_of(items) == "array")
        }
        _ => ["anyOf", "oneOf", "allOf"]
            .iter()
            .filter_map(|name| schema.get(*name).and_then(Value::as_array))
            .flatten()
            .any(is_nested),
    }
}

//! Validation rules shared by several dialects. A violation becomes a 400 response with its message.

use serde_json::{Map, Value};

use super::request::RecordedTool;

/// A parsed value, or the message of the violated rule.
pub(super) type Checked<T> = Result<T, String>;

pub(super) fn require(holds: bool, why: impl FnOnce() -> String) -> Checked<()> {
    if holds { Ok(()) } else { Err(why()) }
}

pub(super) fn object<'a>(value: &'a Value, at: &str) -> Checked<&'a Map<String, Value>> {
    value.as_object().ok_or_else(|| format!("{at}: expected an object, got {value}"))
}

/// Returns the items of a required, non-empty list.
pub(super) fn items<'a>(value: &'a Value, at: &str) -> Checked<&'a [Value]> {
    let items = value.as_array().ok_or_else(|| format!("{at}: expected an array, got {value}"))?;
    require(!items.is_empty(), || {
        format!("{at}: expected an array with minimum length 1, got an empty one")
    })?;
    Ok(items)
}

/// Returns the items of an optional list.
pub(super) fn list<'a>(value: &'a Value, at: &str) -> Checked<&'a [Value]> {
    if value.is_null() {
        return Ok(&[]);
    }
    value.as_array().map(Vec::as_slice).ok_or_else(|| format!("{at}: expected an array, got {value}"))
}

pub(super) fn text<'a>(value: &'a Value, at: &str) -> Checked<&'a str> {
    value.as_str().ok_or_else(|| format!("{at}: expected a string, got {value}"))
}

/// Returns a non-empty string.
pub(super) fn filled<'a>(value: &'a Value, at: &str) -> Checked<&'a str> {
    let text = text(value, at)?;
    require(!text.is_empty(), || format!("{at}: expected a string with minimum length 1"))?;
    Ok(text)
}

/// Returns an optional boolean.
pub(super) fn flag(value: &Value, at: &str) -> Checked<Option<bool>> {
    match value {
        Value::Null => Ok(None),
        Value::Bool(flag) => Ok(Some(*flag)),
        Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            Err(format!("{at}: expected a boolean, got {value}"))
        }
    }
}

/// Returns the optional sampling temperature.
pub(super) fn temperature(value: &Value, most: f64) -> Checked<Option<f64>> {
    if value.is_null() {
        return Ok(None);
    }
    let number = value.as_f64().ok_or_else(|| format!("temperature: expected a number, got {value}"))?;
    require((0.0..=most).contains(&number), || format!("temperature: {number} is not in 0..{most}"))?;
    Ok(Some(number))
}

/// Returns the optional maximum number of output tokens.
pub(super) fn length(value: &Value, at: &str) -> Checked<Option<u64>> {
    if value.is_null() {
        return Ok(None);
    }
    let number = value.as_u64().filter(|number| *number > 0);
    number.map(Some).ok_or_else(|| format!("{at}: expected a positive integer, got {value}"))
}

/// Rejects unknown fields, with a message in the style of the dialect.
pub(super) fn reject_unknown_fields(
    fields: &Map<String, Value>,
    known: &[&str],
    message: impl Fn(&str) -> String,
) -> Checked<()> {
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        Some(unknown) => Err(message(unknown)),
        None => Ok(()),
    }
}

/// Checks that an optional number is within limits.
pub(super) fn number(value: &Value, at: &str, least: f64, most: f64) -> Checked<()> {
    let fits = value.as_f64().is_some_and(|number| (least..=most).contains(&number));
    require(value.is_null() || fits, || format!("Invalid '{at}': {value} is not in {least}..{most}"))
}

/// Checks an optional list of stop sequences.
pub(super) fn stops(value: &Value, at: &str, most: usize) -> Checked<()> {
    let stops = list(value, at)?;
    require(stops.len() <= most, || format!("Invalid '{at}': array too long, at most {most}"))?;
    stops.iter().try_for_each(|stop| filled(stop, at).map(drop))
}

/// Checks that every object of a schema forbids additional properties and has only keywords that `takes`
/// allows. With `needs_all`, every property must be required.
pub(super) fn closed_schema(
    schema: &Value,
    at: &str,
    needs_all: bool,
    takes: &dyn Fn(&str) -> bool,
) -> Checked<()> {
    let fields = object(schema, at)?;
    for name in fields.keys() {
        require(takes(name), || format!("{at}: For this type, property '{name}' is not supported"))?;
    }
    let named = |holder: &str| fields.get(holder).and_then(Value::as_object).into_iter().flatten();
    let is_object = fields.get("type").is_some_and(|kind| kind == "object");
    if is_object || fields.contains_key("properties") {
        require(fields.get("additionalProperties") == Some(&Value::Bool(false)), || {
            format!("{at}: 'additionalProperties' is required to be supplied and to be false")
        })?;
        let required = list(fields.get("required").unwrap_or(&Value::Null), at)?;
        let missing =
            named("properties").map(|(name, _)| name).find(|name| !required.iter().any(|one| one == *name));
        require(!needs_all || missing.is_none(), || {
            format!(
                "{at}: 'required' is required to be supplied and to include every key; missing {missing:?}"
            )
        })?;
    }
    for (name, inner) in ["properties", "$defs", "definitions"].into_iter().flat_map(named) {
        closed_schema(inner, &format!("{at}.{name}"), needs_all, takes)?;
    }
    for inner in ["anyOf", "allOf"].into_iter().filter_map(|name| fields.get(name)?.as_array()).flatten() {
        closed_schema(inner, at, needs_all, takes)?;
    }
    match fields.get("items") {
        Some(inner) => closed_schema(inner, &format!("{at}.items"), needs_all, takes),
        None => Ok(()),
    }
}

/// Returns a name of 1 to 64 letters, digits, underscores and dashes.
pub(super) fn name<'a>(value: &'a Value, at: &str) -> Checked<&'a str> {
    let name = text(value, at)?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_name = (1..=64).contains(&name.len()) && name.bytes().all(fits);
    require(is_name, || format!("{at}: '{name}' does not match pattern '^[a-zA-Z0-9_-]{{1,64}}$'"))?;
    Ok(name)
}

/// Adds a tool, whose name must be unique.
pub(super) fn add_tool(tools: &mut Vec<RecordedTool>, tool: RecordedTool) -> Checked<()> {
    let is_new = tools.iter().all(|known| known.name != tool.name);
    require(is_new, || format!("tools: Tool names must be unique, '{}' is used twice", tool.name))?;
    tools.push(tool);
    Ok(())
}

/// Checks the JSON Schema of a tool's parameters: an object without alternatives at the root.
pub(super) fn object_schema(schema: &Value, at: &str) -> Checked<()> {
    let fields = object(schema, at)?;
    let kind = fields.get("type").unwrap_or(&Value::Null);
    require(kind == "object", || format!("{at}: schema must be of 'type: \"object\"', got 'type: {kind}'"))?;
    for word in ["oneOf", "anyOf", "allOf", "enum", "not"] {
        require(!fields.contains_key(word), || {
            format!("{at}: schema must not have '{word}' at the top level")
        })?;
    }
    check_schema(schema, schema, at)
}

/// Checks the parts of a schema: arrays need `items`, references must resolve.
fn check_schema(root: &Value, schema: &Value, at: &str) -> Checked<()> {
    let Some(fields) = schema.as_object() else {
        return require(schema.is_boolean(), || format!("{at}: {schema} is not a schema"));
    };
    if let Some(reference) = fields.get("$ref") {
        let pointer = text(reference, at)?.strip_prefix('#');
        let target = pointer.and_then(|pointer| root.pointer(pointer));
        require(target.is_some(), || format!("{at}: reference {reference} does not resolve"))?;
    }
    if fields.get("type").is_some_and(|kind| kind == "array") {
        require(fields.contains_key("items"), || format!("{at}: array schema missing items"))?;
    }
    for holder in ["properties", "$defs", "definitions"] {
        let Some(named) = fields.get(holder) else { continue };
        for (name, inner) in object(named, &format!("{at}.{holder}"))? {
            check_schema(root, inner, &format!("{at}.{holder}.{name}"))?;
        }
    }
    for holder in ["anyOf", "oneOf", "allOf"] {
        let Some(alternatives) = fields.get(holder) else { continue };
        for inner in items(alternatives, &format!("{at}.{holder}"))? {
            check_schema(root, inner, &format!("{at}.{holder}"))?;
        }
    }
    match fields.get("items") {
        Some(inner) => check_schema(root, inner, &format!("{at}.items")),
        None => Ok(()),
    }
}

//! Sample arguments for imported tools: values that match a converted schema, if that is simple.

use haft_core::ToolSchema;
use serde_json::{Map, Value, json};

/// Maximum depth at which optional values are generated.
const DEEPEST_OPTIONAL: usize = 2;

/// All required arguments, and every other optional one.
pub(crate) fn arguments(schema: &Value) -> Map<String, Value> {
    let checked = ToolSchema::of_arguments(schema).expect("a schema");
    let required = names(&schema["required"]);
    let mut given = Map::new();
    for (at, (name, property)) in schema["properties"].as_object().into_iter().flatten().enumerate() {
        if (required.contains(&name.as_str()) || at % 2 == 0)
            && let Some(value) = sample(property, name, 0)
        {
            given.insert(name.clone(), value);
        }
    }
    // Values that do not match are replaced by the shortest form, or omitted.
    for depth in [DEEPEST_OPTIONAL, usize::MAX] {
        for violation in checked.violations(&Value::Object(given.clone())) {
            let name = violation.path.split('.').next().unwrap_or_default().to_owned();
            let shortest = sample(&schema["properties"][&name], &name, DEEPEST_OPTIONAL);
            match shortest {
                Some(value) if depth == DEEPEST_OPTIONAL && given.contains_key(&name) => {
                    given.insert(name, value);
                }
                _ if !required.contains(&name.as_str()) => {
                    given.remove(&name);
                }
                _ => {}
            }
        }
    }
    given
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// A matching value. Returns `None` if that needs more than a simple sample.
fn sample(schema: &Value, name: &str, depth: usize) -> Option<Value> {
    if let Some(value) = schema.get("const").or_else(|| schema["enum"].get(0)) {
        return Some(value.clone());
    }
    let own = kind(schema);
    if own.is_empty() && alternatives(schema).next().is_some() {
        return alternatives(schema).find_map(|alternative| sample(alternative, name, depth));
    }
    let mut value = match own {
        "integer" | "number" => number(schema)?,
        "boolean" => json!(true),
        "null" => Value::Null,
        "array" => list(schema, name, depth)?,
        "object" => object(schema, depth)?,
        _ if schema["allOf"].is_array() => json!({}),
        _ => text(schema, name)?,
    };
    for part in schema["allOf"].as_array().into_iter().flatten() {
        match (&mut value, sample(part, name, depth)?) {
            (Value::Object(fields), Value::Object(more)) => fields.extend(more),
            (value, more) => *value = more,
        }
    }
    if let (Value::Object(fields), Some(Value::Object(more))) =
        (&mut value, alternatives(schema).find_map(|alternative| sample(alternative, name, depth)))
    {
        for (name, value) in more {
            fields.entry(name).or_insert(value);
        }
    }
    Some(value)
}

fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf"].into_iter().filter_map(move |union| schema[union].as_array()).flatten()
}

fn kind(schema: &Value) -> &str {
    let named =
        schema["type"].as_str().or_else(|| names(&schema["type"]).into_iter().find(|kind| *kind != "null"));
    match named {
        Some(kind) => kind,
        None if schema["properties"].is_object() || schema["required"].is_array() => "object",
        None if schema["items"].is_object() => "array",
        None => "",
    }
}

fn object(schema: &Value, depth: usize) -> Option<Value> {
    let required = names(&schema["required"]);
    let mut fields = Map::new();
    for (at, (name, property)) in schema["properties"].as_object().into_iter().flatten().enumerate() {
        let is_required = required.contains(&name.as_str());
        if !is_required && (depth >= DEEPEST_OPTIONAL || at % 3 != 0) {
            continue;
        }
        match sample(property, name, depth + 1) {
            Some(value) => {
                fields.insert(name.clone(), value);
            }
            None if is_required => return None,
            None => {}
        }
    }
    for name in required {
        fields.entry(name).or_insert_with(|| json!("given"));
    }
    Some(Value::Object(fields))
}

fn list(schema: &Value, name: &str, depth: usize) -> Option<Value> {
    if let Some(positions) = schema["prefixItems"].as_array() {
        return positions.iter().map(|position| sample(position, name, depth + 1)).collect();
    }
    let count = schema["minItems"].as_u64().unwrap_or(1).max(1).min(schema["maxItems"].as_u64().unwrap_or(8));
    if count > 1 && schema["uniqueItems"] == true {
        return None;
    }
    (0..count).map(|_| sample(&schema["items"], name, depth + 1)).collect()
}

fn number(schema: &Value) -> Option<Value> {
    let limit = |name: &str| schema[name].as_f64();
    let fits = |number: f64| {
        limit("minimum").is_none_or(|limit| number >= limit)
            && limit("maximum").is_none_or(|limit| number <= limit)
            && limit("exclusiveMinimum").is_none_or(|limit| number > limit)
            && limit("exclusiveMaximum").is_none_or(|limit| number < limit)
            && limit("multipleOf").is_none_or(|step| (number / step).fract() == 0.0)
    };
    let bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
    let near =
        bounds.iter().filter_map(|name| limit(name)).flat_map(|limit| [limit, limit + 1.0, limit - 1.0]);
    let found = [7.0, 1.0, 0.0, 2.0, 10.0, 100.0].into_iter().chain(near).find(|number| fits(*number))?;
    Some(if found.fract() == 0.0 && found.abs() < 1e15 { json!(found as i64) } else { json!(found) })
}

fn text(schema: &Value, name: &str) -> Option<Value> {
    let by_format = match schema["format"].as_str() {
        Some("date-time") => Some("2026-01-02T03:04:05Z"),
        Some("date") => Some("2026-01-02"),
        Some("uuid") => Some("0192d0a0-0000-7000-8000-000000000000"),
        Some("email") => Some("ada@example.com"),
        Some("uri") => Some("https://example.com/"),
        Some("ipv4") => Some("192.0.2.1"),
        Some("ipv6") => Some("2001:db8::1"),
        Some(_) | None => None,
    };
    let least = schema["minLength"].as_u64().unwrap_or(0) as usize;
    let most = schema["maxLength"].as_u64().unwrap_or(u64::MAX).try_into().unwrap_or(usize::MAX);
    let plain = format!("a {name}/é?{}", "x".repeat(least.min(10_000)));
    let plain: String = plain.chars().take(most.max(least)).collect();
    let examples = schema["examples"].get(0).and_then(Value::as_str);
    let Some(pattern) = schema["pattern"].as_str() else {
        return Some(by_format.map_or(plain, str::to_owned).into());
    };
    let pattern = regex::Regex::new(pattern).ok()?;
    let guesses =
        ["a", "1", "abc", "ABC", "a1", "12", "123", "1234", "2026-01-02", "1.0", "#ffffff", "/a", "a-b"];
    let mut all = by_format.into_iter().chain(examples).chain([plain.as_str()]).chain(guesses);
    let fits = |text: &&str| pattern.is_match(text) && (least..=most).contains(&text.chars().count());
    all.find(fits).map(Value::from)
}

//! Infers schema types from example values.

use serde_json::{Map, Value, json};

use super::url_names::snake;

/// Maximum depth of described lists and objects.
const DEEPEST: usize = 4;

/// The start of a property: its type, if the value has one.
pub(super) fn of_type(name: &str, value: &Value) -> Map<String, Value> {
    described(name, value, 0)
}

/// The type of a value, including nested values.
pub(super) fn of_value(name: &str, value: &Value) -> Map<String, Value> {
    let mut property = described(name, value, DEEPEST);
    leave_out_empty(&mut property);
    property
}

/// Removes `items` without content.
fn leave_out_empty(property: &mut Map<String, Value>) {
    let is_empty = |items: &Value| items.as_object().is_none_or(Map::is_empty);
    if property.get("items").is_some_and(is_empty) {
        property.shift_remove("items");
    }
    if let Some(Value::Object(items)) = property.get_mut("items") {
        leave_out_empty(items);
    }
    let inner = property.get_mut("properties").and_then(Value::as_object_mut);
    for (_, property) in inner.into_iter().flatten() {
        if let Value::Object(property) = property {
            leave_out_empty(property);
        }
    }
}

fn described(name: &str, value: &Value, depth: usize) -> Map<String, Value> {
    let kind = match value {
        Value::Null => return Map::new(),
        Value::Bool(_) => "boolean",
        // A whole number is an integer only if the name means a count or id.
        Value::Number(number) if number.is_f64() || !counts(name) => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let mut property = Map::from_iter([("type".to_owned(), Value::from(kind))]);
    if depth == 0 {
        return property;
    }
    match value {
        Value::Array(items) => {
            let mut types = items.iter().map(|item| described(name, item, depth - 1));
            if let Some(first) = types.next() {
                property.insert("items".to_owned(), Value::Object(types.fold(first, common)));
            }
        }
        Value::Object(fields) if !fields.is_empty() => {
            let field = |(name, value): (&String, &Value)| {
                (name.clone(), Value::Object(described(name, value, depth - 1)))
            };
            property.insert("properties".to_owned(), Value::Object(fields.iter().map(field).collect()));
        }
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    property
}

/// The common part of two schemas; differences are dropped, so that both values match.
fn common(one: Map<String, Value>, other: Map<String, Value>) -> Map<String, Value> {
    if one == other {
        return one;
    }
    if one.get("type") != other.get("type") {
        let is_number = |kind: Option<&Value>| kind.is_some_and(|kind| kind == "number" || kind == "integer");
        let are_numbers = is_number(one.get("type")) && is_number(other.get("type"));
        return if are_numbers { of_type("", &json!(1.5)) } else { Map::new() };
    }
    let mut whole = one;
    for (field, inner) in other {
        let Some(known) = whole.get_mut(&field) else {
            // An empty list contributes nothing about its items.
            whole.insert(field, inner);
            continue;
        };
        match field.as_str() {
            "items" => *known = common_value(known.take(), inner),
            "properties" => add_properties(known, inner),
            _ => {}
        }
    }
    whole
}

fn add_properties(known: &mut Value, others: Value) {
    let (Value::Object(known), Value::Object(others)) = (known, others) else { return };
    for (name, property) in others {
        match known.get_mut(&name) {
            Some(both) => *both = common_value(both.take(), property),
            None => {
                known.insert(name, property);
            }
        }
    }
}

fn common_value(one: Value, other: Value) -> Value {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => Value::Object(common(one, other)),
        (_, other) => other,
    }
}

/// Returns true if a name means a count or a number without fractions.
fn counts(name: &str) -> bool {
    const FIRST: [&str; 3] = ["max", "n", "num"];
    const LAST: [&str; 33] = [
        "count", "day", "days", "first", "id", "ids", "index", "k", "last", "length", "limit", "month", "n",
        "num", "offset", "page", "pages", "port", "position", "qty", "quantity", "retries", "rows", "seed",
        "size", "skip", "start", "take", "tokens", "top", "version", "width", "year",
    ];
    let words = snake(name);
    let (mut first, mut last) = (words.split('_'), words.rsplit('_'));
    let is_many = words.contains('_') && first.next().is_some_and(|word| FIRST.contains(&word));
    is_many || last.next().is_some_and(|word| LAST.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_integers_only_for_counts_and_ids() {
        for name in ["id", "user_id", "userId", "page", "per_page", "maxTokens", "limit", "n", "page[size]"] {
            assert_eq!(of_type(name, &json!(1)), of_type("id", &json!(7)), "{name}");
            assert_eq!(of_type(name, &json!(1))["type"], "integer", "{name}");
        }
        for name in ["temperature", "top_p", "price", "amount", "rating", "", "max"] {
            assert_eq!(of_type(name, &json!(1))["type"], "number", "{name}");
        }
        assert_eq!(of_type("limit", &json!(1.5))["type"], "number");
    }

    #[test]
    fn lists_describe_the_common_part_of_their_items() {
        for (value, expected) in [
            (json!([]), json!({"type": "array"})),
            (json!(["a", "b"]), json!({"type": "array", "items": {"type": "string"}})),
            (json!([1, 2.5]), json!({"type": "array", "items": {"type": "number"}})),
            (json!([1, "a"]), json!({"type": "array"})),
            (json!([1, null]), json!({"type": "array"})),
            (
                json!([[1], [], [2]]),
                json!({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}),
            ),
            (
                json!([{"role": "user", "content": "Hi", "id": 1}, {"role": "system", "content": ["x"], "n": null}]),
                json!({"type": "array", "items": {"type": "object", "properties": {
                    "role": {"type": "string"}, "content": {}, "id": {"type": "integer"}, "n": {},
                }}}),
            ),
        ] {
            assert_eq!(Value::Object(of_value("list", &value)), expected, "{value}");
        }
    }
}

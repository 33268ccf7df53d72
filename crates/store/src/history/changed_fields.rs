//! Names of the fields that differ between two definitions. Values are never included.

use serde::Serialize;
use serde_json::{Map, Value};

/// Maximum number of names.
const MAX_NAMES: usize = 50;

/// Returns the names of the fields that differ; nested fields as `config.url`.
pub(crate) fn changed_fields(before: &impl Serialize, after: &impl Serialize) -> Vec<String> {
    let (before, after) = (fields(before), fields(after));
    let mut names = Vec::new();
    for name in either(&before, &after) {
        match (before.get(name), after.get(name)) {
            (was, is) if was == is => {}
            (Some(Value::Object(was)), Some(Value::Object(is))) => {
                let inner = either(was, is).filter(|inner| was.get(*inner) != is.get(*inner));
                names.extend(inner.map(|inner| format!("{name}.{inner}")));
            }
            _ => names.push(name.clone()),
        }
    }
    names.truncate(MAX_NAMES);
    names
}

/// Returns the fields of a definition. Empty if it is not an object.
fn fields(definition: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(definition) {
        Ok(Value::Object(fields)) => fields,
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) | Err(_) => {
            Map::new()
        }
    }
}

/// Iterates over the names that occur in either map, each once.
fn either<'a>(
    before: &'a Map<String, Value>,
    after: &'a Map<String, Value>,
) -> impl Iterator<Item = &'a String> {
    before.keys().chain(after.keys().filter(move |name| !before.contains_key(*name)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_include_one_nested_level_and_no_values() {
        let config = json!({"url": "x", "headers": {"K": "v"}, "gone": 1});
        let before = json!({"name": "a", "same": 1, "config": config});
        let config = json!({"url": "y", "headers": {"K": "w"}});
        let after = json!({"name": "b", "same": 1, "config": config, "new": null});
        assert_eq!(
            changed_fields(&before, &after),
            ["name", "config.url", "config.headers", "config.gone", "new"]
        );
        assert!(changed_fields(&before, &before).is_empty());
        assert_eq!(changed_fields(&Value::Null, &json!({"a": 1, "b": {"c": 1}})), ["a", "b"]);
        let many: Map<String, Value> = (0..100).map(|number| (format!("f{number}"), json!(1))).collect();
        assert_eq!(changed_fields(&json!({}), &many).len(), MAX_NAMES);
    }
}

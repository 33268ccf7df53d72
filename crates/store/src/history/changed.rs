//! Which fields differ between two definitions. Their names alone: a value may be anything.

use serde::Serialize;
use serde_json::{Map, Value};

/// So many names are told.
const MOST: usize = 50;

/// The names of the fields that differ, those of a field's own fields as `config.url`.
pub(crate) fn changed(before: &impl Serialize, after: &impl Serialize) -> Vec<String> {
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
    names.truncate(MOST);
    names
}

/// What a definition says; nothing of what is none.
fn fields(definition: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(definition) {
        Ok(Value::Object(fields)) => fields,
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) | Err(_) => {
            Map::new()
        }
    }
}

/// The names that one or both have, each once.
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
    fn fields_are_named_one_level_down_and_values_never() {
        let config = json!({"url": "x", "headers": {"K": "v"}, "gone": 1});
        let before = json!({"name": "a", "same": 1, "config": config});
        let config = json!({"url": "y", "headers": {"K": "w"}});
        let after = json!({"name": "b", "same": 1, "config": config, "new": null});
        assert_eq!(changed(&before, &after), ["name", "config.url", "config.headers", "config.gone", "new"]);
        assert!(changed(&before, &before).is_empty());
        assert_eq!(changed(&Value::Null, &json!({"a": 1, "b": {"c": 1}})), ["a", "b"]);
        let many: Map<String, Value> = (0..100).map(|number| (format!("f{number}"), json!(1))).collect();
        assert_eq!(changed(&json!({}), &many).len(), MOST);
    }
}

//! Properties that only an agent's binding may set: hidden from models, and rejected if a model sends them.

use serde_json::Value;

/// The keyword that marks such a property, with the value `true`.
const KEYWORD: &str = "x-binding-only";

/// Removes these properties from an input schema, and returns their names.
pub fn take_out_binding_only(schema: &mut Value) -> Vec<String> {
    let mut names = Vec::new();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.retain(|name, property| {
            let is_hidden = property.get(KEYWORD) == Some(&Value::Bool(true));
            if is_hidden {
                names.push(name.clone());
            }
            !is_hidden
        });
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !names.iter().any(|hidden| name == hidden));
    }
    names
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn marked_properties_are_taken_out() {
        let mut schema = json!({
            "properties": {"a": {"x-binding-only": true}, "b": {"x-binding-only": false}, "c": true},
            "required": ["a", "b"],
        });
        assert_eq!(take_out_binding_only(&mut schema), ["a"]);
        assert_eq!(
            schema,
            json!({"properties": {"b": {"x-binding-only": false}, "c": true}, "required": ["b"]})
        );
        for mut other in [json!(true), json!({}), json!({"properties": []})] {
            assert!(take_out_binding_only(&mut other).is_empty());
        }
    }
}

//! A call of an imported tool with example arguments, as a cURL command: what a dry run shows of the request.

use haft_core::{CallId, Caller, Locale, Source};
use haft_engine::PreparedTool;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::visitors::Visitor;

/// The command. Returns `None` if no example arguments are found that the tool takes.
pub(super) fn request(tool: &PreparedTool, visitor: &Visitor) -> Option<String> {
    let caller = Caller {
        space: visitor.space,
        user: Some(visitor.user.id),
        source: Source::Api,
        locale: Locale::En,
        request: None,
    };
    let arguments = arguments(tool.input_schema());
    let command = tool.as_curl(&caller, &CallId::from(Uuid::now_v7()), arguments).ok()??;
    Some(command.command)
}

/// A value for each argument that a call has to give.
fn arguments(schema: &Value) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let names = required.filter_map(Value::as_str);
    let argument =
        |name: &str| (name.to_owned(), example(properties.and_then(|known| known.get(name)), name, 0));
    Value::Object(names.map(argument).collect())
}

fn example(schema: Option<&Value>, name: &str, depth: usize) -> Value {
    let field = |field: &str| schema.and_then(|schema| schema.get(field));
    let first = |list: &str| field(list).and_then(|values| values.get(0));
    if let Some(value) = field("default").or(field("const")).or(first("examples")).or(first("enum")) {
        return value.clone();
    }
    let kind = field("type").and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
    match kind {
        Some("integer" | "number") => field("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        // Deeper ones are left empty.
        Some("object") if depth < 3 => {
            let inner = field("required").and_then(Value::as_array).into_iter().flatten();
            let properties = field("properties");
            let one = |name: &str| {
                (name.to_owned(), example(properties.and_then(|known| known.get(name)), name, depth + 1))
            };
            Value::Object(inner.filter_map(Value::as_str).map(one).collect::<Map<String, Value>>())
        }
        Some("object") => json!({}),
        _ => json!(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_arguments_get_a_value_that_fits() {
        let schema = json!({"type": "object", "required": ["id", "kind", "on", "tags", "at", "body"], "properties": {
            "id": {"type": "integer", "minimum": 5},
            "kind": {"enum": ["a", "b"]},
            "on": {"type": ["boolean", "null"]},
            "tags": {"type": "array"},
            "at": {"type": "string", "examples": ["2026-01-01"]},
            "body": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "more": {}}},
            "optional": {"type": "string"},
        }});
        let expected = json!({"id": 5, "kind": "a", "on": true, "tags": [], "at": "2026-01-01", "body": {"name": "name"}});
        assert_eq!(arguments(&schema), expected);
        assert_eq!(arguments(&json!({"type": "object"})), json!({}));
    }
}

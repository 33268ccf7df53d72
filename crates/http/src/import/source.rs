//! Documents as they come: JSON or YAML text, read within limits.

use haft_core::error::ROOT;
use haft_core::{Message, Violation};
use serde_json::{Map, Number, Value};

haft_core::templates! {
    UNREADABLE = "import.unreadable",
        "is neither JSON nor YAML: {reason}",
        "既不是 JSON 也不是 YAML: {reason}";
    NOT_A_DOCUMENT = "import.notADocument",
        "must be a JSON or YAML object",
        "必须是 JSON 或 YAML 对象";
}

/// Reads a document, whichever of the two it is.
pub fn parse_document(text: &str) -> Result<Value, Vec<Violation>> {
    let wrong = |message| vec![Violation::new(ROOT, message)];
    let text = text.trim_start_matches('\u{feff}');
    let document = if text.trim_start().starts_with(['{', '['])
        && let Ok(document) = serde_json::from_str(text)
    {
        document
    } else {
        let document: yaml_serde::Value = yaml_serde::from_str(text)
            .map_err(|error| wrong(Message::new(&UNREADABLE).with("reason", error)))?;
        as_json(document)
    };
    match document {
        Value::Object(_) => Ok(document),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(wrong(Message::new(&NOT_A_DOCUMENT)))
        }
    }
}

/// YAML has keys that are numbers, such as statuses, and values that JSON has no word for.
fn as_json(value: yaml_serde::Value) -> Value {
    use yaml_serde::Value as Yaml;
    match value {
        Yaml::Null => Value::Null,
        Yaml::Bool(value) => Value::Bool(value),
        Yaml::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), ..) => number.into(),
            (None, Some(number), _) => number.into(),
            (None, None, number) => number
                .and_then(Number::from_f64)
                .map_or_else(|| number.map(|n| n.to_string()).into(), Value::Number),
        },
        Yaml::String(text) => Value::String(text),
        Yaml::Sequence(items) => items.into_iter().map(as_json).collect(),
        Yaml::Mapping(fields) => {
            let named = |(key, value): (Yaml, Yaml)| (as_key(&key), as_json(value));
            Value::Object(fields.into_iter().map(named).collect::<Map<_, _>>())
        }
        Yaml::Tagged(tagged) => as_json(tagged.value),
    }
}

fn as_key(key: &yaml_serde::Value) -> String {
    match as_json(key.clone()) {
        Value::String(text) => text,
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            other.to_string()
        }
    }
}

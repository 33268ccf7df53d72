//! Gentle coercion: converts a value of a wrong type if its meaning is certain.

use jsonschema::error::ValidationErrorKind as Found;
use jsonschema::{JsonType, JsonTypeSet, ValidationError, Validator};
use serde_json::{Number, Value};

use crate::json;

use super::violation::{branch_meant, dotted, types, types_of_all};

/// Converts values whose meaning is certain and adds their paths to `coerced`. Returns true if it changed
/// any. The caller validates the result.
pub(super) fn coerce_once(validator: &Validator, value: &mut Value, coerced: &mut Vec<String>) -> bool {
    let mut wishes = Vec::new();
    for error in validator.iter_errors(value) {
        collect(&error, &mut wishes);
    }
    let mut changed = false;
    for (pointer, types) in wishes {
        let Some(target) = value.pointer_mut(&pointer) else { continue };
        let Some(converted) = convert(target, types) else { continue };
        *target = converted;
        changed = true;
        let path = dotted(&pointer);
        if !coerced.contains(&path) {
            coerced.push(path);
        }
    }
    changed
}

/// Collects the paths of values with a wrong type, each with the types that would be valid.
fn collect(error: &ValidationError<'_>, wishes: &mut Vec<(String, JsonTypeSet)>) {
    let path = error.instance_path().as_str();
    if let Found::Type { kind } = error.kind() {
        wishes.push((path.to_owned(), types(kind)));
    } else if let Found::AnyOf { context } | Found::OneOfNotValid { context } = error.kind() {
        if let Some(wanted) = types_of_all(path, context) {
            wishes.push((path.to_owned(), wanted));
        } else if let Some(meant) = branch_meant(path, context) {
            for inner in meant {
                collect(inner, wishes);
            }
        }
    }
}

fn convert(value: &Value, wanted: JsonTypeSet) -> Option<Value> {
    match value {
        Value::Number(number) if wanted.contains(JsonType::String) => Some(Value::String(number.to_string())),
        Value::String(text) => convert_text(text, wanted),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn convert_text(text: &str, wanted: JsonTypeSet) -> Option<Value> {
    let meant = json::parse(text.as_bytes()).ok()?;
    let fits = match &meant {
        Value::Number(number) => {
            if wanted.contains(JsonType::Number) {
                true
            } else if wanted.contains(JsonType::Integer) {
                return whole(number).map(Value::Number);
            } else {
                false
            }
        }
        Value::Bool(_) => wanted.contains(JsonType::Boolean),
        Value::Array(_) => wanted.contains(JsonType::Array),
        Value::Object(_) => wanted.contains(JsonType::Object),
        Value::Null | Value::String(_) => false,
    };
    fits.then_some(meant)
}

/// Returns the number as an integer, if it is one and a float represents it exactly.
fn whole(number: &Number) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.is_i64() || number.is_u64() {
        return Some(number.clone());
    }
    let float = number.as_f64()?;
    (float.fract() == 0.0 && float.abs() <= EXACT).then(|| Number::from(float as i64))
}

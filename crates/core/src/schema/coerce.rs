//! Gentle coercion: a value that fits no type its schema allows, and whose meaning is certain, is made to fit.

use jsonschema::error::ValidationErrorKind as Found;
use jsonschema::{JsonType, JsonTypeSet, ValidationError, Validator};
use serde_json::{Number, Value};

use crate::json;

use super::violation::{branch_meant, dotted, types, types_of_all};

/// Changes what can be changed with certainty, notes where, and says whether anything
/// changed. Whether the result is valid is for the caller to see.
pub(super) fn once(validator: &Validator, value: &mut Value, coerced: &mut Vec<String>) -> bool {
    let mut wishes = Vec::new();
    for error in validator.iter_errors(value) {
        collect(&error, &mut wishes);
    }
    let mut changed = false;
    for (pointer, wanted) in wishes {
        let Some(place) = value.pointer_mut(&pointer) else { continue };
        let Some(fitting) = fit(place, wanted) else { continue };
        *place = fitting;
        changed = true;
        let path = dotted(&pointer);
        if !coerced.contains(&path) {
            coerced.push(path);
        }
    }
    changed
}

/// Where a value has a type that fits nowhere, and which types would.
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

fn fit(value: &Value, wanted: JsonTypeSet) -> Option<Value> {
    match value {
        Value::Number(number) if wanted.contains(JsonType::String) => Some(Value::String(number.to_string())),
        Value::String(text) => fit_text(text, wanted),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn fit_text(text: &str, wanted: JsonTypeSet) -> Option<Value> {
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

/// The number as an integer, when it is one and a float keeps it exactly.
fn whole(number: &Number) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.is_i64() || number.is_u64() {
        return Some(number.clone());
    }
    let float = number.as_f64()?;
    (float.fract() == 0.0 && float.abs() <= EXACT).then(|| Number::from(float as i64))
}

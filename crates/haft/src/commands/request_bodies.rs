//! Bodies of requests that create a tool or an agent: a definition from a file, or a few fields.

use haft_core::Locale;
use serde_json::{Map, Value, json};

use crate::definitions;

/// Reads a definition from a file or, for `-`, from standard input. `name` replaces the name in it.
pub(super) fn definition(file: &str, name: Option<&str>, locale: Locale) -> anyhow::Result<Value> {
    let mut definition = definitions::read_one(file, locale)?;
    if let (Some(name), Value::Object(fields)) = (name, &mut definition) {
        fields.insert("name".to_owned(), name.into());
    }
    Ok(definition)
}

/// Returns an object of the fields that have a value.
pub(super) fn fields<const N: usize>(given: [(&str, Option<Value>); N]) -> Value {
    let given = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(given.collect::<Map<String, Value>>())
}

/// Returns the `config` of an agent for a model written as PROVIDER/MODEL or MODEL.
pub(super) fn model(written: &str) -> Value {
    match written.split_once('/') {
        Some((provider, model)) => json!({"provider": provider, "model": model}),
        None => json!({"model": written}),
    }
}

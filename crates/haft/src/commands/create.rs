//! Bodies of requests that create a tool or an agent: a definition from a file, or a few fields.

use haft_core::Locale;
use serde_json::{Map, Value, json};

use crate::definitions;

/// A definition from a file or, as `-`, from standard input. A name given beside it wins.
pub(super) fn definition(file: &str, name: Option<&str>, locale: Locale) -> anyhow::Result<Value> {
    let mut definition = definitions::read_one(file, locale)?;
    if let (Some(name), Value::Object(fields)) = (name, &mut definition) {
        fields.insert("name".to_owned(), name.into());
    }
    Ok(definition)
}

/// An object of the fields that are given.
pub(super) fn fields<const N: usize>(given: [(&str, Option<Value>); N]) -> Value {
    let given = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(given.collect::<Map<String, Value>>())
}

/// The `config` of an agent that asks a model, written as PROVIDER/MODEL or MODEL.
pub(super) fn model(written: &str) -> Value {
    match written.split_once('/') {
        Some((provider, model)) => json!({"provider": provider, "model": model}),
        None => json!({"model": written}),
    }
}

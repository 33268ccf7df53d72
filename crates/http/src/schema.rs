//! Generates the argument schema of a tool without one from its placeholders.

use haft_core::text::Variable;
use serde_json::{Value, json};

/// Generates a schema from variables in order of first appearance; path variables are required.
pub(crate) fn generate<'a>(
    path: impl Iterator<Item = &'a Variable>,
    others: impl Iterator<Item = &'a Variable>,
) -> Value {
    let path: Vec<&Variable> = path.collect();
    let mut required: Vec<&str> = Vec::new();
    for variable in path.iter().filter(|variable| !variable.is_reserved()) {
        if !required.contains(&variable.name.as_str()) {
            required.push(&variable.name);
        }
    }
    let properties = properties(path.iter().copied().chain(others));
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// One property for each argument that the variables refer to.
pub(crate) fn properties<'a>(variables: impl Iterator<Item = &'a Variable>) -> Value {
    let mut seen: Vec<Seen<'a>> = Vec::new();
    for variable in variables.filter(|variable| !variable.is_reserved()) {
        let step = variable.steps.first().map(String::as_str);
        match seen.iter_mut().find(|known| known.name == variable.name) {
            Some(known) => known.steps.push(step),
            None => seen.push(Seen { name: &variable.name, steps: vec![step] }),
        }
    }
    let property = |seen: &Seen<'_>| {
        let about = format!("Parameter: {}", seen.name);
        (seen.name.to_owned(), json!({"type": seen.kind(), "description": about}))
    };
    Value::Object(seen.iter().map(property).collect())
}

/// An argument, and the keys that are accessed inside it.
struct Seen<'a> {
    name: &'a str,
    steps: Vec<Option<&'a str>>,
}

impl Seen<'_> {
    /// An argument with accessed keys is an object, or a list if all keys are numbers.
    fn kind(&self) -> &'static str {
        let inner: Vec<&str> = self.steps.iter().copied().flatten().collect();
        let is_place = |step: &&str| step.bytes().all(|byte| byte.is_ascii_digit());
        if inner.is_empty() {
            "string"
        } else if inner.iter().all(is_place) {
            "array"
        } else {
            "object"
        }
    }
}

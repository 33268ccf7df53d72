//! The argument schema of a tool that has none: made from its placeholders, for every door alike.

use haft_core::text::Variable;
use serde_json::{Map, Value, json};

/// Makes a schema from variables in order of first appearance; those of the path are required.
pub(crate) fn generate<'a>(
    path: impl Iterator<Item = &'a Variable>,
    others: impl Iterator<Item = &'a Variable>,
) -> Value {
    let mut seen: Vec<Seen<'a>> = Vec::new();
    let all = path.map(|variable| (variable, true)).chain(others.map(|variable| (variable, false)));
    for (variable, is_required) in all.filter(|(variable, _)| !variable.is_reserved()) {
        let step = variable.steps.first().map(String::as_str);
        match seen.iter_mut().find(|known| known.name == variable.name) {
            Some(known) => {
                known.required |= is_required;
                known.steps.push(step);
            }
            None => seen.push(Seen { name: &variable.name, required: is_required, steps: vec![step] }),
        }
    }
    let properties: Map<String, Value> = seen
        .iter()
        .map(|seen| {
            let about = format!("Parameter: {}", seen.name);
            (seen.name.to_owned(), json!({"type": seen.kind(), "description": about}))
        })
        .collect();
    let required: Vec<&str> = seen.iter().filter(|seen| seen.required).map(|seen| seen.name).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// One argument, and what is looked for inside it.
struct Seen<'a> {
    name: &'a str,
    required: bool,
    steps: Vec<Option<&'a str>>,
}

impl Seen<'_> {
    /// What is looked into is an object, or a list where only places in it are named.
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

//! Merges two schemas of one property: either may apply (alternatives), or both must (`allOf`).

use std::collections::HashSet;

use serde_json::{Map, Value, json};

/// Keywords that do not constrain a value.
const ANNOTATIONS: [&str; 8] =
    ["description", "title", "default", "examples", "example", "$comment", "deprecated", "readOnly"];

/// Returns the values that a schema lists in its `enum` or `const`.
pub(super) fn choices(schema: &Value) -> Vec<&Value> {
    schema.as_object().map(choices_in).unwrap_or_default()
}

fn choices_in(schema: &Map<String, Value>) -> Vec<&Value> {
    match (schema.get("enum").and_then(Value::as_array), schema.get("const")) {
        (Some(values), _) => values.iter().collect(),
        (None, Some(value)) => vec![value],
        (None, None) => Vec::new(),
    }
}

/// Returns a schema that allows the values of any of these. The caller sets its description.
pub(super) fn either<'a>(schemas: impl Iterator<Item = &'a Value>) -> Value {
    let mut variants = Variants::default();
    let mut annotations: Option<Map<String, Value>> = None;
    let mut allows_any = false;
    for schema in schemas {
        match schema {
            Value::Bool(false) => continue,
            Value::Object(fields) => {
                let (own, constraints) = split(fields.clone());
                match &mut annotations {
                    Some(common) => common.retain(|name, value| own.get(name) == Some(value)),
                    None => annotations = Some(own),
                }
                allows_any |= constraints.is_empty();
                variants.add(constraints);
            }
            Value::Null | Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                allows_any = true;
                annotations = Some(Map::new());
            }
        }
    }
    let Some(mut annotations) = annotations else { return Value::Bool(false) };
    annotations.shift_remove("description");
    let mut joined = if allows_any { Map::new() } else { variants.into_schema() };
    joined.extend(annotations);
    Value::Object(joined)
}

/// Distinct alternatives of one property.
#[derive(Default)]
struct Variants {
    seen: HashSet<String>,
    /// Values listed by some of them.
    choices: Vec<Value>,
    /// The common type of all variants that list values; `None` if they differ.
    choice_type: Option<Option<Value>>,
    others: Vec<Value>,
}

impl Variants {
    fn add(&mut self, constraints: Map<String, Value>) {
        let lists_values = constraints.contains_key("const") || constraints.contains_key("enum");
        let lists_only = constraints.keys().all(|name| ["const", "enum", "type"].contains(&name.as_str()));
        if lists_values && lists_only {
            let kind = constraints.get("type").cloned();
            self.choice_type = Some(match self.choice_type.take() {
                None => kind,
                Some(before) => before.filter(|before| Some(before) == kind.as_ref()),
            });
            for choice in choices(&Value::Object(constraints)) {
                if self.seen.insert(format!("choice {choice}")) {
                    self.choices.push(choice.clone());
                }
            }
            return;
        }
        // Nested alternatives are flattened.
        let nested = constraints.get("anyOf").and_then(Value::as_array).filter(|_| constraints.len() == 1);
        let schemas = nested.cloned().unwrap_or_else(|| vec![Value::Object(constraints)]);
        for schema in schemas {
            if self.seen.insert(schema.to_string()) {
                self.others.push(schema);
            }
        }
    }

    fn into_schema(self) -> Map<String, Value> {
        // Some clients require a type next to an enum of texts.
        let are_texts = self.choices.iter().all(Value::is_string);
        let listed = self.choice_type.map(|kind| {
            let kind = kind.or_else(|| are_texts.then(|| "string".into()));
            let kind = kind.map(|kind| ("type".to_owned(), kind));
            let choices = ("enum".to_owned(), Value::Array(self.choices));
            Value::Object(kind.into_iter().chain([choices]).collect())
        });
        let mut all: Vec<Value> = listed.into_iter().chain(self.others).collect();
        match (all.len(), all.pop()) {
            (1, Some(Value::Object(only))) => only,
            (_, last) => {
                all.extend(last);
                Map::from_iter([("anyOf".to_owned(), Value::Array(all))])
            }
        }
    }
}

/// Adds the constraints of another schema. The annotations of `known` are unchanged. A conflict turns it into
/// one flat `allOf`, to which each further schema is appended, so work and depth stay bounded.
pub(super) fn constrain(known: &mut Value, more: Value) {
    let (one, other) = match (&mut *known, more) {
        (Value::Object(one), Value::Object(other)) => (one, other),
        (Value::Bool(false), _) | (_, Value::Bool(true)) => return,
        (_, more) => {
            *known = more;
            return;
        }
    };
    if !is_conjunction(one) && merge(one, &other) {
        return;
    }
    let (annotations, constraints) = split(std::mem::take(one));
    let mut parts = parts(constraints);
    let (_, more) = split(other);
    if !more.is_empty() {
        parts.extend(self::parts(more));
    }
    one.insert("allOf".to_owned(), Value::Array(parts));
    one.extend(annotations);
}

/// Merges the keywords of a schema into another one. Returns false, and merges none, if two conflict.
fn merge(one: &mut Map<String, Value>, other: &Map<String, Value>) -> bool {
    let lists = |name: &str| ["const", "enum"].contains(&name);
    let conflicts = |(name, value): (&String, &Value)| {
        !is_annotation(name) && !lists(name) && one.get(name).is_some_and(|known| known != value)
    };
    if one.contains_key("$ref") != other.contains_key("$ref") || other.iter().any(conflicts) {
        return false;
    }
    let (mine, theirs) = (choices_in(one), choices_in(other));
    let allowed = match (mine.is_empty(), theirs.is_empty()) {
        (_, true) => None,
        (true, false) => Some(json!(theirs)),
        (false, false) if mine == theirs => None,
        (false, false) => {
            let allowed: HashSet<String> = theirs.iter().map(ToString::to_string).collect();
            let common: Vec<&Value> =
                mine.iter().copied().filter(|choice| allowed.contains(&choice.to_string())).collect();
            if common.is_empty() {
                return false;
            }
            Some(json!(common))
        }
    };
    for (name, value) in other.iter().filter(|(name, _)| !lists(name)) {
        one.entry(name.clone()).or_insert_with(|| value.clone());
    }
    if let Some(allowed) = allowed {
        one.shift_remove("const");
        one.insert("enum".to_owned(), allowed);
    }
    true
}

/// Returns true if a schema is an `allOf` with only annotations next to it.
fn is_conjunction(schema: &Map<String, Value>) -> bool {
    schema.get("allOf").is_some_and(Value::is_array)
        && schema.keys().all(|name| name == "allOf" || is_annotation(name))
}

/// Returns the parts of a conjunction; any other schema is a single part.
fn parts(mut constraints: Map<String, Value>) -> Vec<Value> {
    match constraints.get_mut("allOf").map(Value::take) {
        Some(Value::Array(parts)) if constraints.len() == 1 => parts,
        Some(value) => {
            constraints.insert("allOf".to_owned(), value);
            vec![Value::Object(constraints)]
        }
        None => vec![Value::Object(constraints)],
    }
}

/// Splits a schema into its annotations and its constraints.
fn split(schema: Map<String, Value>) -> (Map<String, Value>, Map<String, Value>) {
    schema.into_iter().partition(|(name, _)| is_annotation(name))
}

fn is_annotation(keyword: &str) -> bool {
    ANNOTATIONS.contains(&keyword)
}

//! The root of a schema made one plain object: no provider takes alternatives there.

use haft_core::Message;
use serde_json::{Map, Value, json};

use super::{NOT_OBJECT, TOO_LARGE, resolve};

/// References and alternatives within one another, at the root.
const DEEPEST: usize = 8;

/// What may stand beside the properties of a root; all else would be refused there.
const NOT_AT_ROOT: [&str; 13] =
    ["$schema", "$id", "id", "$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const"];

/// The schema with an object at its root. It may allow more than it did: arguments are held against the
/// schema itself when the call is made.
pub(super) fn merged(schema: &Value) -> Result<Value, Message> {
    let mut root = Object::default();
    if !matches!(schema, Value::Null | Value::Bool(true)) {
        root.take_in(schema, schema, 0)?;
    }
    let Object { mut fields, properties, required } = root;
    NOT_AT_ROOT.iter().for_each(|name| drop(fields.shift_remove(*name)));
    let required: Vec<String> = required.into_iter().filter(|name| properties.contains_key(name)).collect();
    fields.insert("type".to_owned(), "object".into());
    fields.insert("properties".to_owned(), properties.into());
    fields.shift_remove("required");
    if !required.is_empty() {
        fields.insert("required".to_owned(), json!(required));
    }
    Ok(Value::Object(fields))
}

/// An object, as far as it is put together.
#[derive(Default)]
struct Object {
    fields: Map<String, Value>,
    properties: Map<String, Value>,
    required: Vec<String>,
}

impl Object {
    fn take_in(&mut self, schema: &Value, root: &Value, depth: usize) -> Result<(), Message> {
        let Value::Object(fields) = schema else { return Err(Message::new(&NOT_OBJECT)) };
        if depth > DEEPEST {
            return Err(Message::new(&TOO_LARGE));
        }
        if !may_be_object(fields) {
            return Err(Message::new(&NOT_OBJECT));
        }
        for (name, value) in fields.iter().filter(|(name, _)| *name != "properties") {
            self.fields.entry(name.clone()).or_insert_with(|| value.clone());
        }
        for (name, property) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.properties.entry(name.clone()).or_insert_with(|| property.clone());
        }
        self.require(names(fields.get("required")));
        if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
            self.take_in(resolve(root, reference)?, root, depth + 1)?;
        }
        for part in list(fields, "allOf") {
            self.take_in(part, root, depth + 1)?;
        }
        for alternatives in ["anyOf", "oneOf"].map(|name| list(fields, name)) {
            self.take_in_any(alternatives, root, depth)?;
        }
        Ok(())
    }

    /// What any of them has may be there; only what all of them require is required.
    fn take_in_any(&mut self, alternatives: &[Value], root: &Value, depth: usize) -> Result<(), Message> {
        let mut common: Option<Vec<String>> = None;
        for alternative in alternatives {
            let mut one = Self::default();
            // An alternative that is no object is not one for arguments.
            if one.take_in(alternative, root, depth + 1).is_err() {
                continue;
            }
            for (name, property) in one.properties {
                self.properties.entry(name).or_insert(property);
            }
            common = Some(match common {
                Some(before) => before.into_iter().filter(|name| one.required.contains(name)).collect(),
                None => one.required,
            });
        }
        if common.is_none() && !alternatives.is_empty() {
            return Err(Message::new(&NOT_OBJECT));
        }
        self.require(common.unwrap_or_default());
        Ok(())
    }

    fn require(&mut self, names: Vec<String>) {
        for name in names {
            if !self.required.contains(&name) {
                self.required.push(name);
            }
        }
    }
}

fn may_be_object(fields: &Map<String, Value>) -> bool {
    match fields.get("type") {
        Some(Value::String(name)) => name == "object",
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        Some(_) | None => true,
    }
}

fn list<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a [Value] {
    fields.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn names(list: Option<&Value>) -> Vec<String> {
    let names = list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    names.map(str::to_owned).collect()
}

//! One plain object schema from a schema with references and alternatives at its root: model providers accept
//! neither there. Every property, every allowed value and every description of the alternatives is kept.

mod forms;
mod join;
mod references;

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use self::forms::Forms;
use crate::json;

/// References and alternatives within one another, at the root.
const MAX_DEPTH: usize = 8;

/// Schemas visited and values copied in all: references would otherwise multiply both without bound.
const MAX_WORK: usize = 50_000;

/// Keywords that the flattened root does not have: they are merged, or no reader accepts them there.
const NOT_AT_ROOT: [&str; 15] = [
    "$schema",
    "$id",
    "id",
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "enum",
    "const",
    "properties",
    "required",
];

/// Why a schema cannot be one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlattenError {
    /// It does not describe an object.
    NotObject,
    /// It is too deep, refers to itself, or holds too many alternatives.
    TooLarge,
    /// It refers to something that is not in it.
    UnknownReference(String),
}

/// Returns the schema with one object at its root. The result may allow more than the schema: arguments are
/// still validated against the schema itself. Its references point into the result.
pub fn flatten(schema: &Value) -> Result<Value, FlattenError> {
    let mut flattener = Flattener { root: schema, remaining: MAX_WORK };
    let mut object = FlatObject::default();
    if !matches!(schema, Value::Null | Value::Bool(true)) {
        flattener.merge(&mut object, schema, 0)?;
    }
    let mut flat = object.into_schema();
    flattener.move_lost_parts(&mut flat)?;
    Ok(flat)
}

struct Flattener<'a> {
    root: &'a Value,
    /// Schemas that may still be visited, and values that may still be copied.
    remaining: usize,
}

/// An object schema while it is assembled.
#[derive(Default)]
struct FlatObject {
    /// All keywords besides `properties` and `required`; the first occurrence counts.
    fields: Map<String, Value>,
    properties: Map<String, Value>,
    required: Names,
    /// What the description says of alternatives that no property tells apart.
    forms: Vec<String>,
}

/// Names in the order of their first occurrence.
#[derive(Default)]
struct Names {
    known: HashSet<String>,
    ordered: Vec<String>,
}

impl Flattener<'_> {
    fn spend(&mut self, work: usize) -> Result<(), FlattenError> {
        let remaining = self.remaining.checked_sub(work);
        self.remaining = remaining.unwrap_or_default();
        remaining.map(drop).ok_or(FlattenError::TooLarge)
    }

    /// Merges a schema into an object that has to satisfy it.
    fn merge(&mut self, object: &mut FlatObject, schema: &Value, depth: usize) -> Result<(), FlattenError> {
        self.spend(1)?;
        if *schema == Value::Bool(true) {
            return Ok(());
        }
        let Value::Object(fields) = schema else { return Err(FlattenError::NotObject) };
        if depth > MAX_DEPTH {
            return Err(FlattenError::TooLarge);
        }
        if !may_be_object(fields) {
            return Err(FlattenError::NotObject);
        }
        self.spend(fields.len())?;
        for (name, value) in fields.iter().filter(|(name, _)| !NOT_AT_ROOT.contains(&name.as_str())) {
            if !object.fields.contains_key(name) {
                self.spend(json::size(value).values)?;
                object.fields.insert(name.clone(), value.clone());
            }
        }
        for (name, property) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.spend(json::size(property).values)?;
            object.constrain(name, property.clone());
        }
        let required = list(fields, "required");
        self.spend(required.len())?;
        object.require(required.iter().filter_map(Value::as_str).map(str::to_owned));
        if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
            let unknown = || FlattenError::UnknownReference(reference.to_owned());
            let (target, _) = self.target(reference).ok_or_else(unknown)?;
            self.merge(object, target, depth + 1)?;
        }
        for part in list(fields, "allOf") {
            self.merge(object, part, depth + 1)?;
        }
        for alternatives in ["anyOf", "oneOf"].map(|name| list(fields, name)) {
            self.merge_any(object, alternatives, depth)?;
        }
        Ok(())
    }

    /// Merges alternatives: what one of them has may be there, what all of them require is required.
    fn merge_any(
        &mut self,
        object: &mut FlatObject,
        alternatives: &[Value],
        depth: usize,
    ) -> Result<(), FlattenError> {
        let mut forms = Vec::new();
        for alternative in alternatives {
            let mut form = FlatObject::default();
            match self.merge(&mut form, alternative, depth + 1) {
                Ok(()) => forms.push(form),
                // An alternative that is not an object cannot hold arguments.
                Err(FlattenError::NotObject) => {}
                Err(error @ (FlattenError::TooLarge | FlattenError::UnknownReference(_))) => {
                    return Err(error);
                }
            }
        }
        match (forms.is_empty(), alternatives.is_empty()) {
            (true, true) => Ok(()),
            (true, false) => Err(FlattenError::NotObject),
            (false, _) => {
                Forms::of(forms).join_into(object);
                Ok(())
            }
        }
    }
}

impl Names {
    fn add(&mut self, name: String) {
        if self.known.insert(name.clone()) {
            self.ordered.push(name);
        }
    }
}

impl FlatObject {
    /// Adds what a property has to satisfy.
    fn constrain(&mut self, name: &str, schema: Value) {
        match self.properties.get_mut(name) {
            Some(known) => join::constrain(known, schema),
            None => drop(self.properties.insert(name.to_owned(), schema)),
        }
    }

    fn require(&mut self, names: impl IntoIterator<Item = String>) {
        names.into_iter().for_each(|name| self.required.add(name));
    }

    fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    }

    /// Whether it takes no property besides its own.
    fn is_closed(&self) -> bool {
        self.fields.get("additionalProperties") == Some(&Value::Bool(false))
    }

    fn into_schema(self) -> Value {
        let Self { mut fields, properties, required, forms } = self;
        let required: Vec<String> =
            required.ordered.into_iter().filter(|name| properties.contains_key(name)).collect();
        fields.insert("type".to_owned(), "object".into());
        fields.insert("properties".to_owned(), properties.into());
        if !required.is_empty() {
            fields.insert("required".to_owned(), json!(required));
        }
        if !forms.is_empty() {
            let own = fields.get("description").and_then(Value::as_str);
            let text = own.into_iter().map(str::to_owned).chain(forms).collect::<Vec<_>>().join("\n");
            fields.insert("description".to_owned(), text.into());
        }
        Value::Object(fields)
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

#[cfg(test)]
mod tests;

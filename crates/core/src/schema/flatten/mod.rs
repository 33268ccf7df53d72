//! Flattens a schema with references and alternatives at its root into one plain object schema, because model
//! providers accept neither there. Preserves every property, allowed value and description of the
//! alternatives.

mod forms;
mod join;
mod references;

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use self::forms::Forms;
use crate::json;

/// Maximum nesting of references and alternatives at the root.
const MAX_DEPTH: usize = 8;

/// Maximum number of visited schemas and copied values. References could otherwise multiply both without
/// bound.
const MAX_WORK: usize = 50_000;

/// Keywords that the flattened root does not contain: they are merged, or not accepted by clients there.
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

/// Why a schema cannot be flattened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlattenError {
    /// It does not describe an object.
    NotObject,
    /// It is too deep, recursive, or has too many alternatives.
    TooLarge,
    /// A reference at its root has no target.
    UnknownReference(String),
}

/// Merges the references and alternatives at the root of a schema into one object schema. The result may accept
/// arguments that `schema` rejects, so validate arguments against `schema`.
///
/// Drops alternatives that are not objects. `null` and `true` become an object schema without properties. Rewrites
/// references whose target moved; a reference below the root without a target is unchanged.
///
/// Returns an error if the schema does not describe an object, is too large or recursive at its root, or has a
/// reference at its root without a target.
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
    /// Remaining number of schemas to visit and values to copy.
    remaining: usize,
}

/// An object schema while it is assembled.
#[derive(Default)]
struct FlatObject {
    /// All keywords except `properties` and `required`; the first occurrence wins.
    fields: Map<String, Value>,
    properties: Map<String, Value>,
    required: Names,
    /// Descriptions of alternatives that no property selects.
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

    /// Merges a schema into an object that must conform to it.
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

    /// Merges alternatives: properties of any of them are allowed, properties required by all are required.
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
                // An alternative that is not an object cannot be selected by arguments.
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
    /// Adds constraints to a property.
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

    /// Returns true if additional properties are not allowed.
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

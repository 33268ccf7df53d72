//! Converts schemas of a document to JSON Schemas that models and validators accept: inlines references,
//! limits recursion, translates the dialects of 2.0 and 3.0, and drops malformed parts.

mod dialect;
mod keywords;
mod values;

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use self::dialect::{copy_bounds, is_nullable, or_null, put_type, types_of};
use super::document::Document;
use super::plain::shortened;

/// Depth limits that are tried until the schema is small enough for a model.
const DEPTHS: [usize; 5] = [10, 6, 4, 3, 2];

/// Maximum nesting including references, which protects the stack.
const DEEPEST_NESTING: usize = 40;

/// Maximum size of a schema, in bytes.
const MOST_BYTES: usize = 32 << 10;

/// Maximum number of schema parts, which bounds repeated references.
const MOST_PARTS: usize = 4_000;

/// Maximum number of properties that are checked for being read-only.
const MOST_LOOKS: usize = 20_000;

/// Converts a schema.
pub(super) fn convert<'a>(document: &Document<'a>, schema: &'a Value) -> Value {
    for deepest in DEPTHS {
        if document.budget.is_spent() {
            break;
        }
        let mut conversion = Conversion {
            document,
            within: Vec::new(),
            read_only: HashSet::new(),
            nesting: 0,
            deepest,
            parts_left: MOST_PARTS,
            looks_left: MOST_LOOKS,
            bytes_left: MOST_BYTES,
            is_over: false,
        };
        let converted = conversion.of(schema, 0);
        let looks = (MOST_LOOKS - conversion.looks_left) / 4;
        document.budget.take_parts(MOST_PARTS - conversion.parts_left + looks);
        if conversion.is_over {
            continue;
        }
        let bytes = converted.to_string().len();
        if bytes <= MOST_BYTES {
            document.budget.take_bytes(bytes);
            return converted;
        }
    }
    json!({"description": "Not described here: its schema is too large."})
}

struct Conversion<'d, 'a> {
    document: &'d Document<'a>,
    /// The references that are being expanded.
    within: Vec<&'a str>,
    /// Read-only property names of the current object.
    read_only: HashSet<&'a str>,
    nesting: usize,
    deepest: usize,
    parts_left: usize,
    looks_left: usize,
    bytes_left: usize,
    /// True if a limit was exceeded.
    is_over: bool,
}

impl<'a> Conversion<'_, 'a> {
    fn of(&mut self, schema: &'a Value, depth: usize) -> Value {
        if !self.step() {
            return json!({});
        }
        let fields = match schema {
            Value::Object(fields) => fields,
            // `true` and `false` are valid schemas.
            Value::Bool(false) => return json!({"not": {}}),
            Value::Null | Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return json!({});
            }
        };
        self.nesting += 1;
        let converted = match fields.get("$ref") {
            Some(Value::String(reference)) => self.of_reference(reference, fields, depth),
            _ if depth > self.deepest || self.nesting > DEEPEST_NESTING => self.cut(fields),
            _ => self.of_fields(fields, depth),
        };
        self.nesting -= 1;
        converted
    }

    /// Converts a schema inside the current object.
    fn of_inner(&mut self, schema: &'a Value, depth: usize) -> Value {
        let around = std::mem::take(&mut self.read_only);
        let converted = self.of(schema, depth + 1);
        self.read_only = around;
        converted
    }

    fn of_reference(&mut self, reference: &'a str, beside: &'a Map<String, Value>, depth: usize) -> Value {
        let name = || shortened(reference.rsplit('/').next().unwrap_or(reference), 100);
        if self.within.contains(&reference) || self.nesting > DEEPEST_NESTING {
            return json!({"description": format!("Recursive: the same as {}, cut here.", name())});
        }
        let Some(target) = self.document.find(reference) else {
            return json!({"description": format!("{}, which the document does not describe.", name())});
        };
        self.within.push(reference);
        let mut converted = self.of(target, depth);
        self.within.pop();
        if let (Value::Object(converted), Some(Value::String(text))) =
            (&mut converted, beside.get("description"))
        {
            self.describe(text, converted);
        }
        if is_nullable(beside) { or_null(converted) } else { converted }
    }

    fn of_fields(&mut self, fields: &'a Map<String, Value>, depth: usize) -> Value {
        let around = self.read_only.clone();
        let mut names = around.clone();
        self.find_read_only(fields, 3, &mut names);
        self.read_only = names;
        let types = types_of(fields);
        let mut converted = Map::new();
        put_type(&types, &mut converted);
        self.copy_annotations(fields, &mut converted);
        self.copy_values(fields, &types, &mut converted);
        copy_bounds(fields, &mut converted);
        self.copy_object(fields, &mut converted, depth);
        self.copy_array(fields, &mut converted, depth);
        self.copy_alternatives(fields, &mut converted, depth);
        self.copy_default(fields, &types, &mut converted);
        self.read_only = around;
        let converted = Value::Object(converted);
        if is_nullable(fields) { or_null(converted) } else { converted }
    }

    /// Converts a schema without its nested schemas.
    fn cut(&mut self, fields: &'a Map<String, Value>) -> Value {
        let types = types_of(fields);
        let mut converted = Map::new();
        put_type(&types, &mut converted);
        let inner = [
            "properties",
            "patternProperties",
            "additionalProperties",
            "items",
            "prefixItems",
            "oneOf",
            "anyOf",
            "allOf",
        ];
        if inner.iter().any(|name| fields.contains_key(*name)) {
            converted.insert("description".to_owned(), "More detail is left out here.".into());
        } else {
            self.copy_annotations(fields, &mut converted);
            self.copy_values(fields, &types, &mut converted);
        }
        let converted = Value::Object(converted);
        if is_nullable(fields) { or_null(converted) } else { converted }
    }

    /// Counts one part. Returns false above the limit.
    fn step(&mut self) -> bool {
        match self.parts_left.checked_sub(1) {
            Some(rest) => self.parts_left = rest,
            None => self.is_over = true,
        }
        self.take(2)
    }

    /// Counts bytes of output. Returns false above the limit; the conversion then fails.
    fn take(&mut self, bytes: usize) -> bool {
        match self.bytes_left.checked_sub(bytes) {
            Some(rest) => self.bytes_left = rest,
            None => self.is_over = true,
        }
        !self.is_over
    }

    /// Collects read-only names of an object, which may be described in several parts.
    fn find_read_only(&mut self, fields: &'a Map<String, Value>, parts: usize, names: &mut HashSet<&'a str>) {
        for (name, schema) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let Some(rest) = self.looks_left.checked_sub(1) else { return };
            self.looks_left = rest;
            if self.is_read_only(schema) {
                names.insert(name);
            }
        }
        let Some(deeper) = parts.checked_sub(1) else { return };
        for part in fields.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            let Some(rest) = self.looks_left.checked_sub(1) else { return };
            self.looks_left = rest;
            if let Value::Object(part) = self.document.resolve(part) {
                self.find_read_only(part, deeper, names);
            }
        }
    }

    fn is_read_only(&self, schema: &'a Value) -> bool {
        let says = |schema: &Value| schema.get("readOnly") == Some(&Value::Bool(true));
        says(schema) || says(self.document.resolve(schema))
    }
}

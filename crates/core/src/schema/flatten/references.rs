//! References of a flattened schema. What they point at moves into `$defs` where the schema has lost it.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{FlattenError, Flattener, NOT_AT_ROOT};
use crate::json;
use crate::schema::graph::pointed_at;

/// Keywords that hold schemas by name.
const NAMED: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

/// Keywords that hold values, in which `$ref` is no reference.
const VALUES: [&str; 5] = ["enum", "const", "default", "examples", "example"];

/// The name of the first part that moves. Further ones count on.
const PART: &str = "part_";

impl<'a> Flattener<'a> {
    /// What a reference points at in the whole schema, and its JSON pointer.
    pub(super) fn target(&self, reference: &str) -> Option<(&'a Value, String)> {
        pointed_at(self.root, reference.strip_prefix('#')?)
    }

    /// Moves each part that references point at and that the flattened schema has lost into its `$defs`, with all
    /// that it refers to itself. A reference to nothing stays as it is.
    pub(super) fn move_lost_parts(&mut self, flat: &mut Value) -> Result<(), FlattenError> {
        let changed = self.changed_properties(flat);
        let (mut names, mut moved) = (HashMap::<*const Value, String>::new(), Map::new());
        let mut waiting = Vec::new();
        each_reference(flat, &mut |reference| waiting.push(reference.clone()));
        let mut number = 0;
        while let Some(reference) = waiting.pop() {
            let Some((target, pointer)) = self.target(&reference) else { continue };
            if !is_lost(&pointer, &changed) || names.contains_key(&std::ptr::from_ref(target)) {
                continue;
            }
            self.spend(json::size(target).values)?;
            let name = unused_name(flat, &mut number);
            let mut part = target.clone();
            each_reference(&mut part, &mut |reference| waiting.push(reference.clone()));
            moved.insert(name.clone(), part);
            names.insert(std::ptr::from_ref(target), name);
        }
        let Some(fields) = flat.as_object_mut().filter(|_| !moved.is_empty()) else { return Ok(()) };
        match fields.get_mut("$defs") {
            Some(Value::Object(known)) => known.extend(moved),
            Some(_) | None => drop(fields.insert("$defs".to_owned(), Value::Object(moved))),
        }
        each_reference(flat, &mut |reference| {
            let target = self.target(reference).map(|(target, _)| std::ptr::from_ref(target));
            if let Some(name) = target.and_then(|target| names.get(&target)) {
                *reference = format!("#/$defs/{name}");
            }
        });
        Ok(())
    }

    /// The properties at the root of the schema that are others once it is flattened.
    fn changed_properties(&self, flat: &Value) -> HashSet<&'a str> {
        let properties = self.root.get("properties").and_then(Value::as_object).into_iter().flatten();
        let is_changed = |name: &str, property: &Value| flat["properties"].get(name) != Some(property);
        properties
            .filter(|(name, property)| is_changed(name, property))
            .map(|(name, _)| name.as_str())
            .collect()
    }
}

/// Whether a flattened schema has something else where a pointer into the whole schema points, or nothing.
fn is_lost(pointer: &str, changed: &HashSet<&str>) -> bool {
    let mut segments = pointer.split('/').skip(1);
    match segments.next() {
        Some("properties") => {
            let name = segments.next().unwrap_or_default().replace("~1", "/").replace("~0", "~");
            changed.contains(name.as_str())
        }
        Some(keyword) => NOT_AT_ROOT.contains(&keyword),
        None => false,
    }
}

/// A name that `$defs` does not have yet.
fn unused_name(flat: &Value, number: &mut usize) -> String {
    loop {
        *number += 1;
        let name = format!("{PART}{number}");
        if flat["$defs"].get(&name).is_none() {
            return name;
        }
    }
}

/// Visits every reference in a schema.
fn each_reference(schema: &mut Value, visit: &mut impl FnMut(&mut String)) {
    match schema {
        Value::Object(fields) => {
            for (keyword, value) in fields.iter_mut() {
                match (keyword.as_str(), value) {
                    ("$ref", Value::String(reference)) => visit(reference),
                    (named, Value::Object(schemas)) if NAMED.contains(&named) => {
                        schemas.values_mut().for_each(|schema| each_reference(schema, visit));
                    }
                    (keyword, value) if !VALUES.contains(&keyword) => each_reference(value, visit),
                    _ => {}
                }
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(|schema| each_reference(schema, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::{FlattenError, flatten};

    fn flat(schema: Value) -> Value {
        flatten(&schema).expect("flattened")
    }

    /// What the reference in a part of a flattened schema points at.
    #[track_caller]
    fn followed<'a>(flat: &'a Value, part: &Value) -> &'a Value {
        let reference = part["$ref"].as_str().expect("a reference");
        flat.pointer(reference.trim_start_matches('#')).unwrap_or_else(|| panic!("{reference}: {flat}"))
    }

    #[test]
    fn references_into_alternatives_point_at_the_same_schema() {
        let place = json!({"type": "object", "properties": {"a/b c": {"type": "integer"}}});
        let schema = flat(json!({
            "anyOf": [
                {"properties": {"kind": {"const": "one"}, "from": place}},
                {"properties": {
                    "kind": {"const": "two"},
                    "to": {"$ref": "#/anyOf/0/properties/from"},
                    "list": {"type": "array", "items": {"$ref": "#/anyOf/0/properties/from"}},
                    "number": {"$ref": "#/anyOf/0/properties/from/properties/a~1b%20c"},
                    "default": {"$ref": "#/$defs/part_1"},
                }},
            ],
            "$defs": {"part_1": {"type": "boolean"}},
        }));
        let properties = &schema["properties"];
        assert_eq!(followed(&schema, &properties["to"]), &place);
        assert_eq!(properties["list"]["items"]["$ref"], properties["to"]["$ref"], "it moves once");
        assert_eq!(followed(&schema, &properties["number"]), &json!({"type": "integer"}));
        assert_eq!(followed(&schema, &properties["default"]), &json!({"type": "boolean"}));
        assert_eq!(schema["$defs"].as_object().map(serde_json::Map::len), Some(3), "{schema}");
    }

    #[test]
    fn parts_move_with_what_they_refer_to_and_may_refer_to_themselves() {
        let schema = flat(json!({"oneOf": [
            {"properties": {"node": {"properties": {
                "next": {"$ref": "#/oneOf/0/properties/node"},
                "leaf": {"$ref": "#/oneOf/1/properties/leaf"},
            }}}},
            {"properties": {"leaf": {"type": "string"}}},
        ]}));
        let node = followed(&schema, &schema["properties"]["node"]["properties"]["next"]);
        assert_eq!(followed(&schema, &node["properties"]["next"]), node);
        assert_eq!(followed(&schema, &node["properties"]["leaf"]), &json!({"type": "string"}));
    }

    #[test]
    fn a_property_that_alternatives_narrow_is_still_referred_to_as_it_was() {
        let schema = flat(json!({
            "properties": {"mode": {"type": "string"}},
            "oneOf": [
                {"properties": {"mode": {"const": "a"}, "other": {"$ref": "#/properties/mode"}}},
                {"properties": {"mode": {"const": "b"}}},
            ],
        }));
        assert_eq!(schema["properties"]["mode"]["enum"], json!(["a", "b"]));
        assert_eq!(followed(&schema, &schema["properties"]["other"]), &json!({"type": "string"}));
    }

    #[test]
    fn references_to_what_is_still_there_and_values_stay_as_they_are() {
        let value = json!({"$ref": "#/anyOf/0/properties/a"});
        let schema = json!({
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "b": {"$ref": "#/properties/a"},
                "c": {"$ref": "#"},
                "d": {"$ref": "#/$defs/d"},
                "e": {"enum": [value], "default": value, "examples": [value]},
                "f": {"$ref": "#/anyOf/gone"},
            },
            "$defs": {"d": {"type": "array", "items": {"$ref": "#/$defs/d"}}},
        });
        assert_eq!(flat(schema.clone()), schema);
        let mut with_alternatives = schema.clone();
        with_alternatives["anyOf"] = json!([{"properties": {"a": true}}, {"required": ["b"]}]);
        let flat = flat(with_alternatives);
        assert_eq!(flat["properties"]["e"], schema["properties"]["e"]);
        assert_eq!(flat["$defs"], schema["$defs"]);
    }

    #[test]
    fn parts_that_are_within_one_another_cannot_multiply() {
        let many: Vec<usize> = (0..1_000).collect();
        let (mut part, mut pointer) = (json!({}), "#/anyOf/0/properties/x".to_owned());
        let mut references = serde_json::Map::new();
        for level in 0..20 {
            part = json!({"properties": {"x": part, "y": {"enum": many}}});
            references.insert(format!("r{level}"), json!({"$ref": pointer}));
            pointer += "/properties/x";
        }
        let alternatives = json!([{"properties": {"x": part}}, {"properties": references}]);
        assert_eq!(flatten(&json!({"anyOf": alternatives})), Err(FlattenError::TooLarge));
        // Many references to one part are no multiplication.
        let reference = json!({"$ref": "#/anyOf/0/properties/x"});
        let references: serde_json::Map<String, Value> =
            (0..5_000).map(|at| (format!("r{at}"), reference.clone())).collect();
        let alternatives = json!([{"properties": {"x": {"enum": many}}}, {"properties": references}]);
        assert!(flatten(&json!({"anyOf": alternatives})).is_ok());
    }
}

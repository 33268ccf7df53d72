//! References of a flattened schema. Their targets are moved into `$defs` if flattening removed them.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{FlattenError, Flattener, NOT_AT_ROOT};
use crate::json;
use crate::schema::graph::pointed_at;

/// Keywords that contain named schemas.
const NAMED: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

/// Keywords that contain values, in which `$ref` is not a reference.
const VALUES: [&str; 5] = ["enum", "const", "default", "examples", "example"];

/// Prefix of the names of moved parts.
const PART: &str = "part_";

impl<'a> Flattener<'a> {
    /// Returns the target of a reference in the original schema, and its JSON pointer.
    pub(super) fn target(&self, reference: &str) -> Option<(&'a Value, String)> {
        pointed_at(self.root, reference.strip_prefix('#')?)
    }

    /// Moves the lost targets of references into `$defs`, including the targets that these refer to. A
    /// reference without a target is unchanged.
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

    /// Returns the root properties that flattening changed.
    fn changed_properties(&self, flat: &Value) -> HashSet<&'a str> {
        let properties = self.root.get("properties").and_then(Value::as_object).into_iter().flatten();
        let is_changed = |name: &str, property: &Value| flat["properties"].get(name) != Some(property);
        properties
            .filter(|(name, property)| is_changed(name, property))
            .map(|(name, _)| name.as_str())
            .collect()
    }
}

/// Returns true if a pointer into the original schema has another target in the flattened one, or none.
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

/// Returns a name that is unused in `$defs`.
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

    /// The target of the reference in a part of a flattened schema.
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
    fn references_to_a_narrowed_property_have_the_same_target() {
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
    fn references_with_a_target_and_values_are_unchanged() {
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
        // Many references to one part copy it only once.
        let reference = json!({"$ref": "#/anyOf/0/properties/x"});
        let references: serde_json::Map<String, Value> =
            (0..5_000).map(|at| (format!("r{at}"), reference.clone())).collect();
        let alternatives = json!([{"properties": {"x": {"enum": many}}}, {"properties": references}]);
        assert!(flatten(&json!({"anyOf": alternatives})).is_ok());
    }
}

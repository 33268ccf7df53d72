//! Converts the keywords of a schema: descriptions, values, objects, arrays, alternatives.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Conversion, MOST_PARTS, values};
use crate::import::openapi::plain::shortened;

/// Size limits of an enum, and of any other value, in bytes.
const ENUM_BYTES: usize = 16 << 10;
const MOST_OPTIONS: usize = 2_000;
const VALUE_BYTES: usize = 2 << 10;
const EXAMPLE_BYTES: usize = 200;

const LONGEST_DESCRIPTION: usize = 1_000;
const LONGEST_FORMAT: usize = 64;

/// The description that replaces an enum that is too long.
const NOT_LISTED: &str = "One of too many values to list here.";

impl<'a> Conversion<'_, 'a> {
    pub(super) fn describe(&mut self, text: &str, converted: &mut Map<String, Value>) {
        let text = shortened(text, LONGEST_DESCRIPTION);
        if !text.is_empty() && self.take(text.len()) {
            converted.insert("description".to_owned(), text.into());
        }
    }

    pub(super) fn copy_annotations(
        &mut self,
        fields: &Map<String, Value>,
        converted: &mut Map<String, Value>,
    ) {
        if let Some(Value::String(text)) = fields.get("description").or_else(|| fields.get("title")) {
            self.describe(text, converted);
        }
        if let Some(Value::String(format)) = fields.get("format")
            && format.len() <= LONGEST_FORMAT
        {
            converted.insert("format".to_owned(), format.clone().into());
        }
        if let Some(Value::String(pattern)) = fields.get("pattern")
            && self.document.budget.takes_pattern(pattern)
            && self.take(pattern.len())
        {
            converted.insert("pattern".to_owned(), pattern.clone().into());
        }
        if let Some(example @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) = fields.get("example")
            && let Some(example) = self.copied(example, EXAMPLE_BYTES)
        {
            converted.insert("examples".to_owned(), Value::Array(vec![example]));
        }
    }

    /// Copies a value of the document if it is small enough.
    fn copied(&mut self, value: &Value, most: usize) -> Option<Value> {
        let bytes = values::size(value, most)?;
        self.take(bytes).then(|| value.clone())
    }

    pub(super) fn copy_values(
        &mut self,
        fields: &Map<String, Value>,
        types: &[&str],
        converted: &mut Map<String, Value>,
    ) {
        let is_fine = |value: &Value| types.is_empty() || types.iter().any(|kind| values::is_of(value, kind));
        if let Some(allowed) = fields.get("enum")
            && let Value::Array(options) = allowed
        {
            let is_short = options.len() <= MOST_OPTIONS;
            match is_short.then(|| self.copied(allowed, ENUM_BYTES)).flatten() {
                Some(Value::Array(options)) => {
                    let cast = options.into_iter().map(|option| values::cast(option, types));
                    let fitting: Vec<Value> = cast.filter(is_fine).collect();
                    // If no enum value matches the type, only the type is kept.
                    if !fitting.is_empty() {
                        converted.insert("enum".to_owned(), Value::Array(fitting));
                    }
                }
                _ => {
                    let about = converted.get("description").and_then(Value::as_str).unwrap_or_default();
                    let about = format!("{about} {NOT_LISTED}");
                    self.describe(&about, converted);
                }
            }
        }
        if let Some(only) = fields.get("const")
            && let Some(only) = self.copied(only, VALUE_BYTES)
        {
            let only = values::cast(only, types);
            if is_fine(&only) {
                converted.insert("const".to_owned(), only);
            }
        }
    }

    pub(super) fn copy_default(
        &mut self,
        fields: &Map<String, Value>,
        types: &[&str],
        converted: &mut Map<String, Value>,
    ) {
        let Some(default) = fields.get("default") else { return };
        let Some(default) = self.copied(default, VALUE_BYTES) else { return };
        let default = values::cast(default, types);
        if values::fits(&default, converted) {
            converted.insert("default".to_owned(), default);
        }
    }

    pub(super) fn copy_object(
        &mut self,
        fields: &'a Map<String, Value>,
        converted: &mut Map<String, Value>,
        depth: usize,
    ) {
        let properties = fields.get("properties").and_then(Value::as_object);
        if let Some(properties) = properties {
            let mut inner = Map::new();
            for (name, schema) in properties {
                if self.is_over {
                    break;
                }
                // Read-only properties cannot be arguments.
                if self.is_read_only(schema) {
                    self.step();
                } else if self.take(name.len() + 3) {
                    inner.insert(name.clone(), self.of_inner(schema, depth));
                }
            }
            converted.entry("type").or_insert_with(|| "object".into());
            converted.insert("properties".to_owned(), Value::Object(inner));
        }
        let mut are_patterns_known = true;
        let patterns = fields.get("patternProperties").and_then(Value::as_object);
        let mut inner = Map::new();
        for (pattern, schema) in patterns.into_iter().flatten() {
            if self.is_over {
                break;
            }
            if !self.document.budget.takes_pattern(pattern) {
                are_patterns_known = false;
            } else if self.take(pattern.len() + 3) {
                inner.insert(pattern.clone(), self.of_inner(schema, depth));
            }
        }
        let has_patterns = !inner.is_empty();
        if has_patterns {
            converted.insert("patternProperties".to_owned(), Value::Object(inner));
        }
        let is_closed = match fields.get("additionalProperties") {
            // Names that match an unusable pattern must stay allowed.
            Some(Value::Bool(false)) if !are_patterns_known => false,
            Some(more @ Value::Bool(_)) => {
                converted.insert("additionalProperties".to_owned(), more.clone());
                more == &Value::Bool(false) && !has_patterns
            }
            Some(more @ Value::Object(_)) => {
                let more = self.of_inner(more, depth);
                converted.insert("additionalProperties".to_owned(), more);
                false
            }
            _ => false,
        };
        let is_givable = |name: &str| !is_closed || properties.is_some_and(|known| known.contains_key(name));
        self.copy_required(fields, converted, is_givable);
    }

    /// Copies required names, without read-only properties.
    fn copy_required(
        &mut self,
        fields: &'a Map<String, Value>,
        converted: &mut Map<String, Value>,
        is_givable: impl Fn(&str) -> bool,
    ) {
        let mut seen: HashSet<&str> = HashSet::new();
        let mut required: Vec<Value> = Vec::new();
        let names = fields.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in names.filter_map(Value::as_str).take(MOST_PARTS) {
            if self.read_only.contains(name) || !is_givable(name) || !seen.insert(name) {
                continue;
            }
            if !self.take(name.len() + 3) {
                break;
            }
            required.push(name.into());
        }
        if !required.is_empty() {
            converted.insert("required".to_owned(), Value::Array(required));
        }
    }

    pub(super) fn copy_array(
        &mut self,
        fields: &'a Map<String, Value>,
        converted: &mut Map<String, Value>,
        depth: usize,
    ) {
        // Before 2020-12, `items` could be a list of positional schemas.
        let (positions, items) = match fields.get("items") {
            Some(Value::Array(positions)) => (Some(positions), fields.get("additionalItems")),
            items => (fields.get("prefixItems").and_then(Value::as_array), items),
        };
        if let Some(positions) = positions.filter(|positions| !positions.is_empty()) {
            let mut converted_positions = Vec::new();
            for position in positions {
                if self.is_over {
                    break;
                }
                converted_positions.push(self.of_inner(position, depth));
            }
            converted.insert("prefixItems".to_owned(), Value::Array(converted_positions));
        }
        match items {
            Some(items @ Value::Bool(_)) => {
                converted.insert("items".to_owned(), items.clone());
            }
            Some(items @ Value::Object(_)) => {
                let items = self.of_inner(items, depth);
                converted.insert("items".to_owned(), items);
            }
            _ => {}
        }
    }

    pub(super) fn copy_alternatives(
        &mut self,
        fields: &'a Map<String, Value>,
        converted: &mut Map<String, Value>,
        depth: usize,
    ) {
        for name in ["anyOf", "oneOf", "allOf"] {
            let Some(Value::Array(parts)) = fields.get(name) else { continue };
            let mut converted_parts = Vec::new();
            for part in parts {
                if self.is_over {
                    break;
                }
                // A part counts as a level, or nested parts would never end.
                converted_parts.push(self.of(part, depth + 1));
            }
            if name == "allOf"
                && let [Value::Object(only)] = converted_parts.as_slice()
                && only.keys().all(|key| key == "description" || !converted.contains_key(key))
            {
                for (key, value) in only {
                    converted.entry(key.clone()).or_insert_with(|| value.clone());
                }
            } else if !converted_parts.is_empty() {
                // Truncated alternatives may become equal, and `oneOf` would then never match.
                let is_free = name == "oneOf" && !converted.contains_key("anyOf");
                let name = if is_free { "anyOf" } else { name };
                converted.insert(name.to_owned(), Value::Array(converted_parts));
            }
        }
        // Validation fills in defaults, which could decide which alternative matches.
        let delicate = ["anyOf", "oneOf", "allOf", "maxProperties"];
        let is_delicate = delicate.iter().any(|name| converted.contains_key(*name));
        if is_delicate && let Some(Value::Object(properties)) = converted.get_mut("properties") {
            for property in properties.values_mut().filter_map(Value::as_object_mut) {
                property.shift_remove("default");
            }
        }
    }
}

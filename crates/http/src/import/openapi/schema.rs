//! Schemas of a document as JSON Schemas that models and validators accept: references
//! inlined, recursion cut, dialects of 2.0 and 3.0 translated, what is malformed dropped.

use serde_json::{Map, Value, json};

use super::document::Document;

/// Levels that are tried, until the schema is small enough to be read by a model.
const DEPTHS: [usize; 5] = [10, 6, 4, 3, 2];

/// A schema of more bytes helps nobody.
const MOST_BYTES: usize = 32 << 10;

/// Parts of a schema that are looked at, however references double them.
const MOST_PARTS: usize = 4_000;

const LONGEST_DESCRIPTION: usize = 1_000;

/// Translates a schema.
pub(super) fn convert(document: &Document<'_>, schema: &Value) -> Value {
    for depth in DEPTHS {
        let mut conversion =
            Conversion { document, within: Vec::new(), deepest: depth, parts_left: MOST_PARTS };
        let converted = conversion.of(schema, 0);
        if conversion.parts_left > 0 && converted.to_string().len() <= MOST_BYTES {
            return converted;
        }
    }
    json!({"description": "Not described here: its schema is too large."})
}

struct Conversion<'a> {
    document: &'a Document<'a>,
    /// References we are inside of.
    within: Vec<&'a str>,
    deepest: usize,
    parts_left: usize,
}

impl<'a> Conversion<'a> {
    fn of(&mut self, schema: &'a Value, depth: usize) -> Value {
        self.parts_left = self.parts_left.saturating_sub(1);
        let Value::Object(fields) = schema else {
            // `true` and `false` are schemas too.
            return if schema == &Value::Bool(false) { json!({"not": {}}) } else { json!({}) };
        };
        if self.parts_left == 0 {
            return json!({});
        }
        if let Some(Value::String(reference)) = fields.get("$ref") {
            return self.of_reference(reference, fields, depth);
        }
        if depth > self.deepest {
            return cut(fields);
        }
        let mut converted = Map::new();
        copy_type(fields, &mut converted);
        copy_plain(fields, &mut converted);
        copy_bounds(fields, &mut converted);
        self.copy_inner(fields, &mut converted, depth);
        Value::Object(converted)
    }

    fn of_reference(&mut self, reference: &'a str, beside: &Map<String, Value>, depth: usize) -> Value {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        if self.within.contains(&reference) {
            return json!({"description": format!("Recursive: the same as {name}, cut here.")});
        }
        let Some(target) = self.document.find(reference) else {
            return json!({"description": format!("{name}, which the document does not describe.")});
        };
        self.within.push(reference);
        let mut converted = self.of(target, depth);
        self.within.pop();
        if let (Value::Object(converted), Some(text)) = (&mut converted, beside.get("description")) {
            converted.insert("description".to_owned(), text.clone());
        }
        converted
    }

    /// Schemas within the schema.
    fn copy_inner(
        &mut self,
        fields: &'a Map<String, Value>,
        converted: &mut Map<String, Value>,
        depth: usize,
    ) {
        if let Some(Value::Object(properties)) = fields.get("properties") {
            // What only the server says cannot be asked for.
            let is_ours =
                |schema: &Value| self.document.resolve(schema).get("readOnly") != Some(&Value::Bool(true));
            let ours: Vec<(&String, &'a Value)> =
                properties.iter().filter(|(_, schema)| is_ours(schema)).collect();
            let mut inner = Map::new();
            for (name, schema) in ours {
                inner.insert(name.clone(), self.of(schema, depth + 1));
            }
            let required = fields.get("required").and_then(Value::as_array).into_iter().flatten();
            let required: Vec<Value> = required
                .filter(|name| name.as_str().is_some_and(|name| inner.contains_key(name)))
                .cloned()
                .collect();
            converted.entry("type").or_insert_with(|| "object".into());
            converted.insert("properties".to_owned(), Value::Object(inner));
            if !required.is_empty() {
                converted.insert("required".to_owned(), Value::Array(required));
            }
        }
        if let Some(items @ (Value::Object(_) | Value::Bool(_))) = fields.get("items") {
            let items = self.of(items, depth + 1);
            converted.insert("items".to_owned(), items);
        }
        if let Some(more @ (Value::Object(_) | Value::Bool(_))) = fields.get("additionalProperties") {
            let more = if more.is_boolean() { more.clone() } else { self.of(more, depth + 1) };
            converted.insert("additionalProperties".to_owned(), more);
        }
        for name in ["oneOf", "anyOf", "allOf"] {
            if let Some(Value::Array(parts)) = fields.get(name)
                && !parts.is_empty()
            {
                // The alternatives stand where the schema stands, and not a level below it.
                let parts: Vec<Value> = parts.iter().map(|part| self.of(part, depth + 1)).collect();
                converted.insert(name.to_owned(), Value::Array(parts));
            }
        }
    }
}

/// What can be said of a schema without looking into it.
fn cut(fields: &Map<String, Value>) -> Value {
    let mut converted = Map::new();
    copy_type(fields, &mut converted);
    let has_more =
        ["properties", "items", "oneOf", "anyOf", "allOf"].iter().any(|name| fields.contains_key(*name));
    if has_more {
        converted.insert("description".to_owned(), "More detail is left out here.".into());
    } else {
        copy_plain(fields, &mut converted);
    }
    Value::Object(converted)
}

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

/// `nullable` of 3.0 and `file` of 2.0 are no words of JSON Schema.
fn copy_type(fields: &Map<String, Value>, converted: &mut Map<String, Value>) {
    let known = |name: &str| match name {
        "file" => Some("string"),
        name => TYPES.iter().find(|known| **known == name).copied(),
    };
    let mut types: Vec<&str> = match fields.get("type") {
        Some(Value::String(name)) => known(name).into_iter().collect(),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).filter_map(known).collect(),
        _ => Vec::new(),
    };
    let is_nullable =
        ["nullable", "x-nullable"].iter().any(|name| fields.get(*name) == Some(&Value::Bool(true)));
    if is_nullable && !types.is_empty() && !types.contains(&"null") {
        types.push("null");
    }
    let value = match types.as_slice() {
        [] => return,
        [one] => Value::from(*one),
        several => several.iter().copied().collect(),
    };
    converted.insert("type".to_owned(), value);
    if is_nullable && let Some(Value::Array(allowed)) = fields.get("enum") {
        let mut allowed = allowed.clone();
        if !allowed.contains(&Value::Null) {
            allowed.push(Value::Null);
        }
        converted.insert("enum".to_owned(), Value::Array(allowed));
    }
}

fn copy_plain(fields: &Map<String, Value>, converted: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = fields.get("description").or_else(|| fields.get("title"))
        && !text.trim().is_empty()
    {
        converted.insert("description".to_owned(), shortened(text, LONGEST_DESCRIPTION).into());
    }
    if let Some(Value::Array(allowed)) = fields.get("enum")
        && !allowed.is_empty()
    {
        converted.entry("enum").or_insert_with(|| Value::Array(allowed.clone()));
    }
    for name in ["const", "default"] {
        if let Some(value) = fields.get(name) {
            converted.insert(name.to_owned(), value.clone());
        }
    }
    if let Some(Value::String(format)) = fields.get("format") {
        converted.insert("format".to_owned(), format.clone().into());
    }
    if let Some(Value::String(pattern)) = fields.get("pattern")
        && regex::Regex::new(pattern).is_ok()
    {
        converted.insert("pattern".to_owned(), pattern.clone().into());
    }
    if let Some(example @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) = fields.get("example") {
        converted.insert("examples".to_owned(), json!([example]));
    }
}

/// Bounds, where they are numbers; in 3.0 a flag says whether one is exclusive.
fn copy_bounds(fields: &Map<String, Value>, converted: &mut Map<String, Value>) {
    for name in ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"] {
        if let Some(count) = fields.get(name).and_then(Value::as_u64) {
            converted.insert(name.to_owned(), count.into());
        }
    }
    if let Some(step) = fields.get("multipleOf").filter(|step| step.as_f64().is_some_and(|step| step > 0.0)) {
        converted.insert("multipleOf".to_owned(), step.clone());
    }
    if let Some(Value::Bool(unique)) = fields.get("uniqueItems") {
        converted.insert("uniqueItems".to_owned(), (*unique).into());
    }
    for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        let limit = fields.get(bound).filter(|limit| limit.is_number());
        match (limit, fields.get(exclusive)) {
            (Some(limit), Some(Value::Bool(true))) => converted.insert(exclusive.to_owned(), limit.clone()),
            (limit, Some(own @ Value::Number(_))) => {
                converted.insert(exclusive.to_owned(), own.clone());
                limit.and_then(|limit| converted.insert(bound.to_owned(), limit.clone()))
            }
            (Some(limit), _) => converted.insert(bound.to_owned(), limit.clone()),
            (None, _) => None,
        };
    }
}

/// The beginning of a text, on one line.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.len() <= most {
        return text;
    }
    let end = text.floor_char_boundary(most.saturating_sub(3));
    format!("{}…", text.get(..end).unwrap_or_default())
}

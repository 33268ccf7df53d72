//! The subset of OpenAPI schemas that Gemini supports; also used for Ollama.

use haft_core::{Message, json};
use serde_json::{Map, Value, json};

use super::kinds::{anything, choices, kinds};
use super::{DEEPEST, TOO_LARGE, resolve};

/// Maximum number of schemas in one tool, with all references resolved.
const MOST: usize = 2_000;

/// Maximum number of copied values: each reference to a long list copies it.
const MAX_COPIED: usize = 100_000;

/// Keywords that are copied unchanged if their value is a number.
const NUMBERS: [&str; 6] = ["minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum"];

/// Supported formats and their types. Others are rejected.
const FORMATS: [(&str, &str); 5] = [
    ("number", "float"),
    ("number", "double"),
    ("integer", "int32"),
    ("integer", "int64"),
    ("string", "date-time"),
];

/// Reduces a flattened schema.
pub(super) fn reduced(root: &Value) -> Result<Value, Message> {
    let mut reducer = Reducer { root, left: MOST, copies_left: MAX_COPIED, under_way: Vec::new() };
    let mut reduced = reducer.reduce(root, 0)?.unwrap_or_default();
    reduced.insert("type".to_owned(), "object".into());
    reduced.shift_remove("nullable");
    Ok(Value::Object(reduced))
}

struct Reducer<'a> {
    root: &'a Value,
    left: usize,
    copies_left: usize,
    /// References that are being resolved, to detect recursion.
    under_way: Vec<String>,
}

impl Reducer<'_> {
    /// Reduces a schema. Returns `None` if no value can match it.
    fn reduce(&mut self, schema: &Value, depth: usize) -> Result<Option<Map<String, Value>>, Message> {
        self.left = self.left.checked_sub(1).ok_or_else(|| Message::new(&TOO_LARGE))?;
        if depth > DEEPEST {
            return Err(Message::new(&TOO_LARGE));
        }
        let Value::Object(fields) = schema else {
            return Ok((*schema != Value::Bool(false)).then(anything));
        };
        self.copy(own_size(fields))?;
        if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
            return self.follow(reference, fields, depth);
        }
        if let Some(parts) = filled(fields, "allOf") {
            self.copy(json::size(schema).values)?;
            let merged = self.all_of(fields, parts)?;
            return self.reduce(&Value::Object(merged), depth + 1);
        }
        let alternatives = filled(fields, "anyOf").or_else(|| filled(fields, "oneOf"));
        if let Some(alternatives) = alternatives.filter(|_| !fields.contains_key("properties")) {
            return self.any_of(fields, alternatives, depth);
        }
        let (kinds, is_nullable) = kinds(fields);
        let mut reduced = match kinds.as_slice() {
            [] => anything(),
            [kind] => self.plain(fields, kind, depth)?,
            several => {
                self.copy(json::size(schema).values * several.len())?;
                let each = several.iter().map(|kind| {
                    let mut one = fields.clone();
                    one.insert("type".to_owned(), (*kind).into());
                    Value::Object(one)
                });
                let each: Vec<Value> = each.collect();
                return self.any_of(&Map::new(), &each, depth).map(|reduced| nullable(reduced, is_nullable));
            }
        };
        self.describe(&mut reduced, fields)?;
        Ok(nullable(Some(reduced), is_nullable))
    }

    /// Adds the description of a schema. Each alternative gets a copy.
    fn describe(
        &mut self,
        reduced: &mut Map<String, Value>,
        fields: &Map<String, Value>,
    ) -> Result<(), Message> {
        let copies = reduced.get("anyOf").and_then(Value::as_array).map_or(1, Vec::len);
        self.copy(described_size(fields).saturating_mul(copies))?;
        describe(reduced, fields);
        Ok(())
    }

    fn copy(&mut self, values: usize) -> Result<(), Message> {
        self.copies_left = self.copies_left.checked_sub(values).ok_or_else(|| Message::new(&TOO_LARGE))?;
        Ok(())
    }

    fn follow(
        &mut self,
        reference: &str,
        fields: &Map<String, Value>,
        depth: usize,
    ) -> Result<Option<Map<String, Value>>, Message> {
        let mut reduced = if self.under_way.iter().any(|known| known == reference) {
            Map::from_iter([("type".to_owned(), "object".into())])
        } else {
            let target = resolve(self.root, reference)?;
            self.under_way.push(reference.to_owned());
            let reduced = self.reduce(target, depth + 1);
            self.under_way.pop();
            let Some(reduced) = reduced? else { return Ok(None) };
            reduced
        };
        self.describe(&mut reduced, fields)?;
        Ok(Some(reduced))
    }

    /// Merges all parts; earlier parts take precedence.
    fn all_of(
        &mut self,
        fields: &Map<String, Value>,
        parts: &[Value],
    ) -> Result<Map<String, Value>, Message> {
        let mut merged = fields.clone();
        merged.shift_remove("allOf");
        for part in parts {
            let part = match part.get("$ref").and_then(Value::as_str) {
                Some(reference) => resolve(self.root, reference)?,
                None => part,
            };
            self.copy(json::size(part).values)?;
            for (name, value) in part.as_object().into_iter().flatten() {
                match (merged.get_mut(name), value) {
                    (Some(Value::Object(before)), Value::Object(more)) if name == "properties" => {
                        for (name, property) in more {
                            before.entry(name.clone()).or_insert_with(|| property.clone());
                        }
                    }
                    (Some(Value::Array(before)), Value::Array(more)) if name == "required" => {
                        before.extend(more.iter().cloned());
                    }
                    (Some(_), _) => {}
                    (None, _) => drop(merged.insert(name.clone(), value.clone())),
                }
            }
        }
        Ok(merged)
    }

    /// Alternatives cannot have sibling keywords, so each gets a copy of them.
    fn any_of(
        &mut self,
        fields: &Map<String, Value>,
        alternatives: &[Value],
        depth: usize,
    ) -> Result<Option<Map<String, Value>>, Message> {
        let is_null = |schema: &&Value| schema.get("type").is_some_and(|kind| kind == "null");
        let is_nullable = alternatives.iter().any(|schema| is_null(&schema));
        let mut reduced = Vec::new();
        for alternative in alternatives.iter().filter(|schema| !is_null(schema)) {
            let mut one = self.reduce(alternative, depth + 1)?;
            // Nested alternatives are merged into the outer list.
            let within = one.as_mut().and_then(|one| one.shift_remove("anyOf"));
            match within {
                Some(Value::Array(within)) => reduced.extend(within.into_iter().filter_map(object_of)),
                Some(_) | None => reduced.extend(one),
            }
        }
        let mut seen: Vec<Map<String, Value>> = Vec::new();
        for mut one in reduced {
            if !one.contains_key("description") {
                self.describe(&mut one, fields)?;
            }
            let one = nullable(Some(one), is_nullable).unwrap_or_default();
            if !seen.contains(&one) {
                seen.push(one);
            }
        }
        Ok(match seen.len() {
            0 => None,
            1 => seen.pop(),
            _ => Some(Map::from_iter([("anyOf".to_owned(), json!(seen))])),
        })
    }

    /// Reduces a schema of one type.
    fn plain(
        &mut self,
        fields: &Map<String, Value>,
        kind: &str,
        depth: usize,
    ) -> Result<Map<String, Value>, Message> {
        let mut reduced = Map::from_iter([("type".to_owned(), kind.into())]);
        let numbers = NUMBERS.into_iter().filter(|name| {
            let of = match *name {
                "minItems" | "maxItems" => "array",
                "minLength" | "maxLength" => "string",
                _ => {
                    if kind == "integer" {
                        "integer"
                    } else {
                        "number"
                    }
                }
            };
            of == kind && fields.get(*name).is_some_and(Value::is_number)
        });
        for name in numbers {
            reduced.insert(name.to_owned(), fields.get(name).cloned().unwrap_or_default());
        }
        let format = fields.get("format").and_then(Value::as_str);
        if let Some(format) = format.filter(|format| FORMATS.contains(&(kind, *format))) {
            reduced.insert("format".to_owned(), format.into());
        }
        match kind {
            "object" => self.object(fields, &mut reduced, depth)?,
            "array" => {
                let items = fields.get("items").filter(|items| items.is_object());
                let items = items.map(|items| self.reduce(items, depth + 1)).transpose()?.flatten();
                reduced.insert("items".to_owned(), items.unwrap_or_else(anything).into());
            }
            "string" => {
                let texts =
                    choices(fields).into_iter().filter_map(Value::as_str).filter(|word| !word.is_empty());
                let texts: Vec<&str> = texts.collect();
                if !texts.is_empty() {
                    reduced.insert("enum".to_owned(), json!(texts));
                }
            }
            _ => {}
        }
        Ok(reduced)
    }

    fn object(
        &mut self,
        fields: &Map<String, Value>,
        reduced: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Message> {
        let mut properties = Map::new();
        for (name, property) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if let Some(property) = self.reduce(property, depth + 1)? {
                properties.insert(name.clone(), property.into());
            }
        }
        let required = fields.get("required").and_then(Value::as_array).into_iter().flatten();
        let mut names: Vec<&str> = required.filter_map(Value::as_str).collect();
        names.retain(|name| properties.contains_key(*name));
        if !properties.is_empty() {
            reduced.insert("properties".to_owned(), properties.into());
        }
        if !names.is_empty() {
            reduced.insert("required".to_owned(), json!(names));
        }
        Ok(())
    }
}

/// The number of copied or listed values in a schema's own keywords, without nested schemas.
fn own_size(fields: &Map<String, Value>) -> usize {
    fields.len() + described_size(fields)
}

/// Number of values in a schema's description and its choices.
fn described_size(fields: &Map<String, Value>) -> usize {
    let texts = ["description", "title"].into_iter().filter_map(|name| fields.get(name));
    choices(fields).into_iter().chain(texts).map(|value| json::size(value).values).sum()
}

/// Adds the description, with choices that the subset cannot express otherwise.
fn describe(reduced: &mut Map<String, Value>, fields: &Map<String, Value>) {
    let own = fields.get("description").or_else(|| fields.get("title")).and_then(Value::as_str);
    let mut texts: Vec<String> = own.map(str::to_owned).into_iter().collect();
    let choices = choices(fields);
    if !choices.is_empty() && !reduced.contains_key("enum") {
        let listed: Vec<String> = choices.iter().map(ToString::to_string).collect();
        texts.push(format!("One of: {}", listed.join(", ")));
    }
    if texts.is_empty() {
        return;
    }
    let text: Value = texts.join(". ").into();
    match reduced.get_mut("anyOf").and_then(Value::as_array_mut) {
        Some(alternatives) => {
            for alternative in alternatives.iter_mut().filter_map(Value::as_object_mut) {
                alternative.entry("description").or_insert_with(|| text.clone());
            }
        }
        None => drop(reduced.insert("description".to_owned(), text)),
    }
}

fn nullable(reduced: Option<Map<String, Value>>, is_nullable: bool) -> Option<Map<String, Value>> {
    let mut reduced = reduced?;
    if is_nullable {
        match reduced.get_mut("anyOf").and_then(Value::as_array_mut) {
            Some(alternatives) => {
                for alternative in alternatives.iter_mut().filter_map(Value::as_object_mut) {
                    alternative.insert("nullable".to_owned(), true.into());
                }
            }
            None => drop(reduced.insert("nullable".to_owned(), true.into())),
        }
    }
    Some(reduced)
}

fn object_of(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(fields) => Some(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

fn filled<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a [Value]> {
    fields.get(name).and_then(Value::as_array).filter(|items| !items.is_empty()).map(Vec::as_slice)
}

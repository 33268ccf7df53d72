//! The response format: its request in the instructions, and schemas adapted for Anthropic.

use haft_core::ResponseFormat;
use serde_json::{Map, Value};

use crate::request::{ModelRequest, ToolChoice};

/// How the response format is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormatBy {
    /// In the dialect's field, if that works together with the request's tools.
    Field,
    /// In the instructions.
    Words,
}

impl FormatBy {
    /// The way a request states its response format.
    pub(crate) fn of(request: &ModelRequest) -> Self {
        if request.format_in_instructions { Self::Words } else { Self::Field }
    }
}

/// Keywords that Anthropic rejects in a response schema. They are moved into the description instead.
const UNENFORCED: [&str; 15] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "contains",
];

/// String formats that Anthropic supports.
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "uuid"];

/// Maximum depth of an adapted schema. Validation of requests allows less.
const DEEPEST: usize = 64;

/// Returns true if tools may be called. Some dialects cannot combine tools with a response format.
pub(crate) fn has_tools(request: &ModelRequest) -> bool {
    !request.tools.is_empty() && request.tool_choice != ToolChoice::None
}

/// The instructions of a request, with the response format if it is requested there.
pub(crate) fn instructions(request: &ModelRequest, by: FormatBy) -> Option<String> {
    let named = request.named_system.iter().map(|named| named.text.as_str());
    let all: Vec<&str> = request.system.as_deref().into_iter().chain(named).collect();
    with_format(all.join("\n\n"), request, by)
}

/// The instructions without those of named participants, which are separate messages.
pub(crate) fn unnamed_instructions(request: &ModelRequest, by: FormatBy) -> Option<String> {
    with_format(request.system.clone().unwrap_or_default(), request, by)
}

fn with_format(instructions: String, request: &ModelRequest, by: FormatBy) -> Option<String> {
    let own = Some(instructions).filter(|system| !system.trim().is_empty());
    let Some(format) = request.response_format.as_ref().filter(|_| by == FormatBy::Words) else { return own };
    let value = match format {
        ResponseFormat::JsonObject => "Your answer must be one JSON object".to_owned(),
        ResponseFormat::JsonSchema { json_schema } => {
            format!(
                "Your answer must be one JSON value that conforms to this JSON Schema:\n{}\nGive it",
                json_schema.schema
            )
        }
    };
    let call = if has_tools(request) { " Call tools first, where you need them." } else { "" };
    let words = format!("{value} and nothing else: no words around it, and no code fence.{call}");
    Some(own.map_or(words.clone(), |own| format!("{own}\n\n{words}")))
}

/// Returns true if the root of a schema is a union, directly or by reference. Gemini's subset would merge the
/// alternatives of a root into one object, which allows more.
pub(crate) fn is_union(schema: &Value) -> bool {
    let mut root = schema;
    for _ in 0..DEEPEST {
        if root.get("anyOf").is_some() || root.get("oneOf").is_some() {
            return true;
        }
        let reference = root.get("$ref").and_then(Value::as_str);
        match reference.and_then(|reference| schema.pointer(reference.strip_prefix('#')?)) {
            Some(target) => root = target,
            None => return false,
        }
    }
    true
}

/// Returns true if a schema contains a map, such as `dict[str, int]`, whose property names are not in the
/// schema. Anthropic and Gemini cannot express maps, and would return them empty.
pub(crate) fn has_map(schema: &Value) -> bool {
    has_map_at(schema, 0)
}

fn has_map_at(schema: &Value, depth: usize) -> bool {
    let Some(fields) = schema.as_object() else { return false };
    let has_properties =
        fields.get("properties").and_then(Value::as_object).is_some_and(|properties| !properties.is_empty());
    let is_map = match fields.get("additionalProperties") {
        Some(Value::Object(values)) if !values.is_empty() => true,
        Some(Value::Bool(false)) => false,
        Some(_) | None => is_object(fields) && !has_properties,
    };
    if is_map || fields.contains_key("patternProperties") || depth >= DEEPEST {
        return true;
    }
    let named =
        ["properties", "$defs", "definitions"].into_iter().filter_map(|name| fields.get(name)?.as_object());
    let listed = ["anyOf", "oneOf", "allOf", "prefixItems"]
        .into_iter()
        .filter_map(|name| fields.get(name)?.as_array());
    let mut inner = named.flat_map(Map::values).chain(listed.flatten()).chain(fields.get("items"));
    inner.any(|inner| has_map_at(inner, depth + 1))
}

/// Returns true if the value of a schema is, or may be, an object.
fn is_object(fields: &Map<String, Value>) -> bool {
    fields.contains_key("properties")
        || fields.get("type").is_some_and(|kind| {
            kind == "object" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "object"))
        })
}

/// Converts a schema without maps to closed objects without the keywords that Anthropic does not enforce.
pub(crate) fn closed(schema: &Value) -> Value {
    closed_at(schema, 0)
}

fn closed_at(schema: &Value, depth: usize) -> Value {
    let Some(fields) = schema.as_object().filter(|_| depth < DEEPEST) else { return schema.clone() };
    let mut written = Map::new();
    let mut rules = Vec::new();
    for (name, value) in fields {
        match name.as_str() {
            "$schema" | "$id" => {}
            "format" if !value.as_str().is_some_and(|format| FORMATS.contains(&format)) => {
                rules.push(format!("{name}: {value}"));
            }
            unenforced if UNENFORCED.contains(&unenforced) => rules.push(format!("{name}: {value}")),
            "properties" | "$defs" | "definitions" => {
                let named = value.as_object().into_iter().flatten();
                let inner = named.map(|(name, inner)| (name.clone(), closed_at(inner, depth + 1)));
                written.insert(name.clone(), Value::Object(inner.collect()));
            }
            "anyOf" | "oneOf" | "allOf" => {
                let inner = value.as_array().into_iter().flatten().map(|inner| closed_at(inner, depth + 1));
                // Anthropic supports alternatives only as `anyOf`.
                let name = if name == "oneOf" { "anyOf" } else { name };
                written.insert(name.to_owned(), inner.collect());
            }
            "items" => {
                written.insert(name.clone(), closed_at(value, depth + 1));
            }
            _ => {
                written.insert(name.clone(), value.clone());
            }
        }
    }
    if is_object(&written) {
        written.insert("additionalProperties".to_owned(), false.into());
    }
    if !rules.is_empty() {
        let before = written.get("description").and_then(Value::as_str).map(|words| format!("{words} "));
        let words = format!("{}({})", before.unwrap_or_default(), rules.join(", "));
        written.insert("description".to_owned(), words.into());
    }
    Value::Object(written)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keywords_that_anthropic_does_not_enforce_become_descriptions() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "age": {"type": "integer", "minimum": 0, "description": "In years."},
                "minimum": {"type": "string", "format": "phone"},
                "day": {"type": "string", "format": "date"},
                "list": {"type": "array", "maxItems": 3, "items": {"oneOf": [
                    {"type": "object", "properties": {"a": {}}, "additionalProperties": true}, {"type": "null"},
                ]}},
            },
            "required": ["age"],
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "age": {"type": "integer", "description": "In years. (minimum: 0)"},
                "minimum": {"type": "string", "description": "(format: \"phone\")"},
                "day": {"type": "string", "format": "date"},
                "list": {"type": "array", "items": {"anyOf": [
                    {"type": "object", "properties": {"a": {}}, "additionalProperties": false}, {"type": "null"},
                ]}, "description": "(maxItems: 3)"},
            },
            "required": ["age"],
            "additionalProperties": false,
        });
        assert_eq!(closed(&schema), expected);
    }

    #[test]
    fn a_union_at_the_root_is_found_through_references() {
        let named = |reference: &str| {
            let either = json!({"oneOf": [{"type": "object"}, {"type": "object"}]});
            let defs = json!({
                "either": either, "alias": {"$ref": "#/$defs/either"}, "loop": {"$ref": "#/$defs/loop"},
                "one": {"type": "object", "properties": {"a": either}},
            });
            json!({"$ref": reference, "$defs": defs})
        };
        for (schema, expected) in [
            (json!({"anyOf": [{"type": "object"}]}), true),
            (json!({"type": "object", "oneOf": [{}, {}]}), true),
            (named("#/$defs/either"), true),
            (named("#/$defs/alias"), true),
            (named("#/$defs/loop"), true),
            (named("#/$defs/one"), false),
            (named("#/$defs/gone"), false),
            (json!({"type": "object", "properties": {"anyOf": {"type": "string"}}}), false),
        ] {
            assert_eq!(is_union(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn maps_are_found_at_any_position() {
        let scores = json!({"type": "object", "additionalProperties": {"type": "integer"}});
        let named = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let with = |name: &str, value: Value| {
            let mut schema = named.clone();
            schema[name] = value;
            schema
        };
        for (schema, expected) in [
            (scores.clone(), true),
            (json!({"type": "object"}), true),
            (json!({"type": ["object", "null"], "properties": {}, "additionalProperties": true}), true),
            (with("additionalProperties", json!({"type": "integer"})), true),
            (with("patternProperties", json!({"^x": {}})), true),
            (with("properties", json!({"scores": scores})), true),
            (with("$defs", json!({"scores": scores})), true),
            (json!({"type": "array", "items": {"anyOf": [{"type": "null"}, scores]}}), true),
            (named.clone(), false),
            (with("additionalProperties", json!(true)), false),
            (with("additionalProperties", json!({})), false),
            (with("additionalProperties", json!(false)), false),
            (json!({"type": "object", "additionalProperties": false}), false),
            (
                with(
                    "properties",
                    json!({"additionalProperties": {"type": "object", "properties": named["properties"]}}),
                ),
                false,
            ),
            (json!({"type": "array", "items": {"type": "string"}}), false),
        ] {
            assert_eq!(has_map(&schema), expected, "{schema}");
        }
    }
}

//! A binding's `toolConfig`, held against the arguments of its tool: names, and values where that is simple.

use std::collections::HashSet;

use haft_core::nearest::nearest;
use haft_core::tool::input::camel_case;
use haft_core::{Message, ToolConfig, ToolSchema, ToolSpec, Violation};
use serde_json::{Map, Value};

haft_core::templates! {
    NO_SUCH_ARGUMENT = "agents.noSuchArgument",
        "is not an argument of {tool}",
        "不是 {tool} 的参数";
    NO_SUCH_ARGUMENT_NEAR = "agents.noSuchArgumentNear",
        "is not an argument of {tool}; did you mean {near}?",
        "不是 {tool} 的参数；是否想用 {near}？";
}

/// The values that a model can neither see nor change.
pub(super) const FIXED: &str = "$fixed";

/// So many parts of a schema are searched for the names of arguments.
const MOST_PARTS: usize = 200;

/// The parts of a schema that say what single arguments may be.
const OF_VALUES: [&str; 5] = ["$schema", "type", "properties", "$defs", "definitions"];

/// The config under the tool's own names for its arguments, with all that is wrong with it.
/// It costs time: keep it off async threads.
pub(super) fn check(
    config: Map<String, Value>,
    tool: &ToolSpec,
    violations: &mut Vec<Violation>,
) -> Map<String, Value> {
    let config = named(config, tool);
    if let Err(violation) = ToolConfig::parse(config.clone()) {
        violations.push(violation.within("toolConfig"));
        return config;
    }
    let mut defaults = config.clone();
    let fixed = match defaults.shift_remove(FIXED) {
        Some(Value::Object(fixed)) => fixed,
        Some(_) | None => Map::new(),
    };
    if defaults.is_empty() && fixed.is_empty() {
        return config;
    }
    let known = Known::of(tool);
    let values = values(tool);
    for (path, fields) in [("toolConfig", defaults), ("toolConfig.$fixed", fixed)] {
        for name in fields.keys().filter(|name| !known.takes(name)) {
            violations.push(Violation::new(format!("{path}.{name}"), unknown(name, &known, tool)));
        }
        let found = values.as_ref().map(|schema| schema.violations(&Value::Object(fields)));
        violations.extend(found.into_iter().flatten().map(|violation| violation.within(path)));
    }
    config
}

/// The fields under the names that the tool's arguments have: `max_results` where there is only `maxResults`.
pub(super) fn named(config: Map<String, Value>, tool: &ToolSpec) -> Map<String, Value> {
    let known = Known::of(tool);
    let mut config = known.rename(config);
    if let Some(Value::Object(fixed)) = config.get_mut(FIXED) {
        *fixed = known.rename(std::mem::take(fixed));
    }
    config
}

fn unknown(name: &str, known: &Known<'_>, tool: &ToolSpec) -> Message {
    match nearest(name, known.names.iter().copied(), 1).first() {
        Some(near) => Message::new(&NO_SUCH_ARGUMENT_NEAR).with("tool", &tool.name).with("near", near),
        None => Message::new(&NO_SUCH_ARGUMENT).with("tool", &tool.name),
    }
}

/// The schema of every argument for itself: none is required, and none depends on another.
fn values(tool: &ToolSpec) -> Option<ToolSchema> {
    let schema = tool.input_schema.as_ref()?.as_object()?;
    let kept = schema.iter().filter(|(name, _)| OF_VALUES.contains(&name.as_str()));
    let kept: Map<String, Value> = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    ToolSchema::of_arguments(&Value::Object(kept)).ok()
}

/// The arguments that a tool has, in all forms that it takes.
struct Known<'a> {
    names: HashSet<&'a str>,
    /// The schema says itself that there may be others.
    is_open: bool,
}

impl<'a> Known<'a> {
    fn of(tool: &'a ToolSpec) -> Self {
        let mut known = Self { names: HashSet::new(), is_open: false };
        let Some(root) = &tool.input_schema else { return known };
        let mut parts = vec![root];
        for _ in 0..MOST_PARTS {
            let Some(part) = parts.pop() else { break };
            let names = part.get("properties").and_then(Value::as_object).into_iter().flatten();
            known.names.extend(names.map(|(name, _)| name.as_str()));
            let others = part.get("additionalProperties").is_some_and(|others| *others != Value::Bool(false));
            known.is_open |= others || part.get("patternProperties").is_some();
            for list in ["allOf", "anyOf", "oneOf"] {
                parts.extend(part.get(list).and_then(Value::as_array).into_iter().flatten());
            }
            let pointer =
                part.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
            parts.extend(pointer.and_then(|pointer| root.pointer(pointer)));
        }
        known
    }

    fn takes(&self, name: &str) -> bool {
        self.is_open || self.names.contains(name)
    }

    /// What is given in both spellings stays in both, and is told of.
    fn rename(&self, fields: Map<String, Value>) -> Map<String, Value> {
        let given: HashSet<String> = fields.keys().cloned().collect();
        let rename = |(written, value): (String, Value)| {
            let camel = camel_case(&written);
            let is_meant = !self.names.contains(written.as_str())
                && self.names.contains(camel.as_str())
                && !given.contains(&camel);
            (if is_meant { camel } else { written }, value)
        };
        fields.into_iter().map(rename).collect()
    }
}

#[cfg(test)]
mod tests {
    use haft_core::{KindName, Locale, ToolName};
    use serde_json::json;

    use super::*;

    fn tool(schema: Value) -> ToolSpec {
        let mut tool = ToolSpec::new(ToolName::constant("search"), "Searches.", KindName::from("mock"));
        tool.input_schema = Some(schema);
        tool
    }

    /// What becomes of a config, or what is said of it.
    #[track_caller]
    fn expect(schema: &Value, config: Value, expected: Result<Value, &[&str]>) {
        let mut violations = Vec::new();
        let given = config.as_object().cloned().expect("an object");
        let read = check(given, &tool(schema.clone()), &mut violations);
        let said: Vec<String> = violations
            .iter()
            .map(|violation| format!("{}: {}", violation.path, violation.message.render(Locale::En)))
            .collect();
        match expected {
            Ok(expected) => {
                assert!(said.is_empty(), "{config}: {said:?}");
                assert_eq!(Value::Object(read), expected, "{config}");
            }
            Err(expected) => assert_eq!(said, expected, "{config}"),
        }
    }

    #[test]
    fn keys_are_arguments_and_values_fit_them() {
        let schema = json!({
            "type": "object", "required": ["query"], "additionalProperties": false,
            "properties": {
                "query": {"type": "string"},
                "maxResults": {"$ref": "#/$defs/count"},
                "lang_code": {"enum": ["en", "zh"]},
            },
            "$defs": {"count": {"type": "integer", "minimum": 1}},
        });
        let good = |config, read| expect(&schema, config, Ok(read));
        good(json!({}), json!({}));
        good(json!({"maxResults": 5}), json!({"maxResults": 5}));
        good(json!({"max_results": 5, "lang_code": "en"}), json!({"maxResults": 5, "lang_code": "en"}));
        good(json!({"$fixed": {"max_results": 5}}), json!({"$fixed": {"maxResults": 5}}));

        let bad = |config, said: &[&str]| expect(&schema, config, Err(said));
        bad(
            json!({"langCode": "en"}),
            &["toolConfig.langCode: is not an argument of search; did you mean lang_code?"],
        );
        bad(json!({"zzz": 1}), &["toolConfig.zzz: is not an argument of search"]);
        bad(
            json!({"max_results": 1, "maxResults": 1}),
            &["toolConfig.max_results: is not an argument of search; did you mean maxResults?"],
        );
        bad(
            json!({"maxResults": 0, "$fixed": {"lang_code": "fr", "zz": 1}}),
            &[
                "toolConfig.maxResults: 0 is less than the minimum of 1",
                "toolConfig.$fixed.zz: is not an argument of search",
                "toolConfig.$fixed.lang_code: \"fr\" is not one of \"en\", \"zh\"",
            ],
        );
        bad(json!({"$fixed": [1]}), &["toolConfig.$fixed: must be an object of argument values"]);
    }

    #[test]
    fn arguments_are_found_in_every_form_of_a_tool() {
        let forms = json!({"type": "object", "oneOf": [
            {"properties": {"operation": {"const": "add"}, "amount": {"type": "number"}}},
            {"$ref": "#/$defs/now"},
        ], "$defs": {"now": {"properties": {"timezone": {"type": "string"}}}}});
        expect(&forms, json!({"amount": 1, "timezone": "UTC"}), Ok(json!({"amount": 1, "timezone": "UTC"})));
        expect(&forms, json!({"unit": 1}), Err(&["toolConfig.unit: is not an argument of search"]));

        let open = json!({"type": "object", "additionalProperties": {"type": "string"}});
        expect(&open, json!({"anything": "goes"}), Ok(json!({"anything": "goes"})));
        let any = json!({"type": "object", "properties": {}});
        expect(&any, json!({"a": 1}), Err(&["toolConfig.a: is not an argument of search"]));
    }
}

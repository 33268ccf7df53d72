//! Unusual schemas in every form: adapted, or left out with a reason, without panics.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Form, Offer};
use crate::request::ModelTool;

fn adapt(form: Form, schema: Value) -> Result<Value, &'static str> {
    form.adapt(&schema).map_err(|why| why.id())
}

/// Reduces a schema as a property.
fn reduced(schema: Value) -> Value {
    let whole = adapt(Form::Subset, json!({"type": "object", "properties": {"x": schema}})).expect("adapted");
    whole["properties"]["x"].clone()
}

#[test]
fn a_schema_is_reduced_to_the_gemini_subset() {
    let any =
        json!({"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "object"}]});
    for (schema, expected) in [
        (
            json!({"type": "string", "format": "uuid", "default": "x", "examples": [1]}),
            json!({"type": "string"}),
        ),
        (json!({"type": "string", "format": "date-time"}), json!({"type": "string", "format": "date-time"})),
        (
            json!({"type": "integer", "format": "int64", "minimum": 1, "exclusiveMaximum": 9}),
            json!({"type": "integer", "format": "int64", "minimum": 1}),
        ),
        (json!({"type": ["string", "null"]}), json!({"type": "string", "nullable": true})),
        (
            json!({"type": ["string", "integer"], "description": "d"}),
            json!({"anyOf": [
            {"type": "integer", "description": "d"}, {"type": "string", "description": "d"}]}),
        ),
        (json!({"const": "only"}), json!({"type": "string", "enum": ["only"]})),
        (json!({"const": 7}), json!({"type": "integer", "description": "One of: 7"})),
        (
            json!({"enum": [1, 2], "description": "d"}),
            json!({"type": "integer", "description": "d. One of: 1, 2"}),
        ),
        (json!({"enum": ["a", "", null]}), json!({"type": "string", "enum": ["a"], "nullable": true})),
        (
            json!({"oneOf": [{"type": "string"}, {"type": "null"}], "description": "d"}),
            json!({"type": "string", "nullable": true, "description": "d"}),
        ),
        (
            json!({"oneOf": [{"type": "string"}, {"type": "boolean"}], "title": "t"}),
            json!({"anyOf": [
            {"type": "string", "description": "t"}, {"type": "boolean", "description": "t"}]}),
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"anyOf": [{"type": "string"}, {"type": "number"}]}]}),
            json!({"anyOf": [{"type": "string"}, {"type": "number"}]}),
        ),
        (
            json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"properties": {"b": {"type": "number"}}, "required": ["b"]}]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}, "required": ["a", "b"]}),
        ),
        (json!({"type": "array"}), json!({"type": "array", "items": any})),
        (
            json!({"items": {"type": "string"}, "maxItems": 3}),
            json!({"type": "array", "items": {"type": "string"}, "maxItems": 3}),
        ),
        (json!({"type": "array", "items": [{"type": "string"}]}), json!({"type": "array", "items": any})),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}, "required": ["gone"]}),
            json!({"type": "object"}),
        ),
        (
            json!({"type": "string", "properties": {"a": {}}, "required": ["a"], "items": {}}),
            json!({"type": "string"}),
        ),
        (
            json!({"properties": {"a": true, "b": false}, "propertyNames": {}}),
            json!({"type": "object", "properties": {"a": any}}),
        ),
        (json!({}), any.clone()),
        (json!(true), any.clone()),
        (json!(null), any.clone()),
    ] {
        assert_eq!(reduced(schema.clone()), expected, "{schema}");
    }
    assert_eq!(reduced(json!(false)), Value::Null, "nothing fits it, so it is not there");
}

#[test]
fn references_are_resolved_and_recursion_is_limited() {
    let tree = json!({
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/tree", "description": "the root"}},
        "$defs": {"tree": {"type": "object", "properties": {
            "name": {"$ref": "#/$defs/name"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
        }}, "name": {"type": "string"}},
    });
    let expected = json!({"type": "object", "properties": {"tree": {"type": "object", "description": "the root", "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"type": "object"}},
    }}}});
    assert_eq!(adapt(Form::Subset, tree.clone()), Ok(expected));
    assert_eq!(adapt(Form::OpenAi, tree.clone()), Ok(tree), "who knows references gets them");
    for reference in ["https://example.com/schema.json", "#/$defs/gone", "other.json", "#gone"] {
        let schema = json!({"type": "object", "properties": {"x": {"$ref": reference}}});
        for form in [Form::OpenAi, Form::Anthropic, Form::Subset] {
            assert_eq!(adapt(form, schema.clone()), Err("llm.tool.reference"), "{form:?}, {reference}");
        }
    }
}

#[test]
fn the_root_becomes_one_object() {
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let a = json!({"type": "object", "properties": {"a": {"type": "string"}, "c": {"type": "string"}}, "required": ["a", "c"]});
    let b = json!({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "required": ["b", "c"]});
    let text = json!({"type": "string"});
    for form in [Form::OpenAi, Form::Anthropic, Form::Subset] {
        let empty = if form == Form::Subset { json!({"type": "object"}) } else { object(json!({})) };
        for nothing in [
            json!(null),
            json!(true),
            json!({}),
            json!({"type": "object"}),
            json!({"type": ["object", "null"]}),
        ] {
            assert_eq!(adapt(form, nothing.clone()), Ok(empty.clone()), "{form:?}, {nothing}");
        }
        let mut any = object(json!({"a": text, "c": text, "b": text}));
        any["required"] = json!(["c"]);
        assert_eq!(adapt(form, json!({"oneOf": [a, b]})), Ok(any.clone()), "{form:?}");
        assert_eq!(adapt(form, json!({"anyOf": [a, {"type": "null"}, b]})), Ok(any.clone()), "{form:?}");
        let mut all = any;
        all["required"] = json!(["a", "c", "b"]);
        assert_eq!(adapt(form, json!({"allOf": [a, b]})), Ok(all), "{form:?}");
        for other in [
            json!(false),
            json!("object"),
            json!([]),
            json!({"type": "string"}),
            json!({"type": ["null"]}),
            json!({"anyOf": [{"type": "string"}]}),
        ] {
            assert_eq!(adapt(form, other.clone()), Err("llm.tool.notObject"), "{form:?}, {other}");
        }
    }
    let referring = json!({"$ref": "#/definitions/a", "definitions": {"a": a}});
    let reduced = adapt(Form::Subset, referring).expect("adapted");
    assert_eq!(reduced["required"], json!(["a", "c"]));
    let endless = json!({"$ref": "#"});
    assert_eq!(adapt(Form::OpenAi, endless), Err("llm.tool.tooLarge"));
}

#[test]
fn references_into_alternatives_are_resolved_in_every_form() {
    let place = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let schema = json!({"anyOf": [
        {"type": "object", "properties": {"kind": {"const": "one"}, "from": place}},
        {"type": "object", "properties": {"kind": {"const": "two"}, "to": {"$ref": "#/anyOf/0/properties/from"}}},
    ]});
    for form in [Form::OpenAi, Form::Anthropic, Form::Subset] {
        let adapted = adapt(form, schema.clone()).expect("adapted");
        let to = &adapted["properties"]["to"];
        let to = match to["$ref"].as_str() {
            Some(reference) => super::resolve(&adapted, reference).expect("it is there"),
            None => to,
        };
        for keyword in ["type", "properties", "required"] {
            assert_eq!(to[keyword], place[keyword], "{form:?}: {adapted}");
        }
    }
}

#[test]
fn a_tool_with_an_invalid_alternative_is_left_out() {
    let form = json!({"properties": {"a": {"type": "string"}}});
    let mut deep = form.clone();
    for _ in 0..9 {
        deep = json!({"allOf": [deep]});
    }
    for dialect in [Form::OpenAi, Form::Anthropic, Form::Subset] {
        for (other, why) in
            [(json!({"$ref": "#/$defs/gone"}), "llm.tool.reference"), (deep.clone(), "llm.tool.tooLarge")]
        {
            assert_eq!(adapt(dialect, json!({"anyOf": [form, other]})), Err(why), "{dialect:?} {other}");
        }
    }
}

#[test]
fn constructs_that_strict_providers_reject_are_removed() {
    let schema = json!({"type": "object", "properties": {
        "list": {"type": "array"},
        "tuple": {"type": "array", "items": [{"type": "string"}]},
        "odd": {"type": "any", "description": 7, "enum": [], "required": true},
        "yes": true,
        "no": false,
        "word": "string",
    }});
    let expected = json!({"type": "object", "properties": {
        "list": {"type": "array", "items": {}},
        "tuple": {"type": "array", "items": {}},
        "odd": {},
        "yes": {},
        "word": {},
    }});
    assert_eq!(adapt(Form::OpenAi, schema), Ok(expected));
    let chinese = json!({"type": "object", "properties": {"城市": {"type": "string"}}});
    assert!(adapt(Form::OpenAi, chinese.clone()).is_ok() && adapt(Form::Subset, chinese.clone()).is_ok());
    assert_eq!(adapt(Form::Anthropic, chinese), Err("llm.tool.property"));
}

#[test]
fn unbounded_schemas_are_left_out() {
    let mut deep = json!({"type": "string"});
    for _ in 0..60 {
        deep = json!({"type": "array", "items": deep});
    }
    let deep = json!({"type": "object", "properties": {"x": deep}});
    let mut defs = serde_json::Map::new();
    for level in 0..20 {
        let next = json!({"$ref": format!("#/$defs/{}", level + 1)});
        defs.insert(level.to_string(), json!({"type": "object", "properties": {"a": next, "b": next}}));
    }
    defs.insert("20".to_owned(), json!({"type": "string"}));
    let wide = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/0"}}, "$defs": defs});
    for (schema, form) in [(deep.clone(), Form::Subset), (deep, Form::OpenAi), (wide, Form::Subset)] {
        assert_eq!(adapt(form, schema), Err("llm.tool.tooLarge"), "{form:?}");
    }
}

#[test]
fn one_invalid_tool_does_not_affect_the_others() {
    let tool = |name: &str, parameters: Value| {
        let (name, description) = (name.to_owned(), String::new());
        Arc::new(ModelTool { name, description, parameters: parameters.into(), strict: None })
    };
    let tools = [
        tool("good", json!({})),
        tool("bad name", json!({})),
        tool("", json!({})),
        tool(&"x".repeat(65), json!({})),
        tool("text", json!({"type": "string"})),
        tool("good", json!({})),
        tool("3d", json!({})),
    ];
    for (form, offered) in [(Form::OpenAi, vec!["good", "3d"]), (Form::Subset, vec!["good"])] {
        let offer = Offer::of(&tools, form);
        assert_eq!(offer.tools.iter().map(|tool| tool.name).collect::<Vec<_>>(), offered, "{form:?}");
        assert_eq!(offer.left_out.len() + offered.len(), tools.len(), "{form:?}");
    }
}

#[test]
fn values_multiplied_by_references_are_left_out_for_gemini() {
    let numbers: Vec<usize> = (0..9_000).collect();
    let names: Vec<String> = numbers.iter().map(|at| format!("p{at}")).collect();
    let again: Vec<Value> = (0..900).map(|_| json!({"$ref": "#/$defs/x"})).collect();
    let properties: serde_json::Map<String, Value> =
        again.iter().enumerate().map(|(at, value)| (format!("p{at}"), value.clone())).collect();
    let own = |a: Value| json!({"type": "object", "properties": {"a": a}});
    let alternatives: Vec<Value> = (0..300).map(|at| json!({"type": "string", "minLength": at})).collect();
    let long = "x".repeat(64_000);
    for (name, schema, x) in [
        ("enum", json!({"properties": properties}), json!({"enum": names})),
        ("types", json!({"properties": properties}), json!({"type": ["string", "integer"], "enum": numbers})),
        ("text", json!({"properties": properties}), json!({"description": "x".repeat(100_000)})),
        ("required", own(json!({"allOf": again})), json!({"required": names})),
        ("alternatives", own(json!({"anyOf": alternatives, "description": long})), json!({})),
        ("choices", own(json!({"oneOf": alternatives, "enum": names})), json!({})),
        (
            "reference to alternatives",
            own(json!({"$ref": "#/$defs/x", "description": long})),
            json!({"anyOf": alternatives}),
        ),
    ] {
        let mut schema = schema;
        schema["$defs"] = json!({"x": x});
        assert_eq!(adapt(Form::Subset, schema), Err("llm.tool.tooLarge"), "{name}");
    }
}

#[test]
fn thousands_of_conflicting_parts_are_flattened_for_every_dialect() {
    let parts = (0..3_300).map(|at| json!({"properties": {"a": {"allOf": [{"minimum": at}]}}}));
    let schema = json!({"allOf": parts.collect::<Vec<_>>()});
    for form in [Form::OpenAi, Form::Anthropic] {
        let adapted = adapt(form, schema.clone()).expect("adapted");
        assert_eq!(adapted["properties"]["a"]["allOf"].as_array().map(Vec::len), Some(3_300), "{form:?}");
    }
    assert!(adapt(Form::Subset, schema).is_ok());
}

//! Schemas of OpenAPI documents: dialects, satisfiability and limits.

use haft_core::ToolSchema;
use haft_http::import::Imported;
use serde_json::{Value, json};

use crate::import_openapi::one;

/// Converts a schema of a JSON body, with these schemas as components.
fn converted(schema: Value, schemas: Value) -> Value {
    let imported = posted(schema, schemas);
    imported.tools[0].definition["inputSchema"]["properties"]["body"].clone()
}

fn posted(schema: Value, schemas: Value) -> Imported {
    let body = json!({"required": true, "content": {"application/json": {"schema": schema}}});
    one(json!({"/x": {"post": {"requestBody": body}}}), json!({"components": {"schemas": schemas}}))
}

/// Returns true if a converted schema accepts a value.
fn takes(schema: &Value, value: &Value) -> bool {
    let whole = json!({"type": "object", "properties": {"it": schema}});
    ToolSchema::of_arguments(&whole).expect("a schema").violations(&json!({"it": value})).is_empty()
}

#[test]
fn converted_schemas_accept_exactly_the_documented_values() {
    let schemas = json!({
        "Pet": {"type": "object", "properties": {"id": {"type": "string", "readOnly": true}, "name": {"type": "string"}}},
        "Name": {"type": "string"},
    });
    for (schema, fits, does_not) in [
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}),
            vec![json!(["a", 1]), json!(["a"])],
            vec![json!(["a", 1, 2]), json!([1])],
        ),
        (
            json!({"type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "integer"}}),
            vec![json!(["a", 1])],
            vec![json!(["a", "b"])],
        ),
        (
            json!({"type": "object", "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": false}),
            vec![json!({"x-a": 1}), json!({})],
            vec![json!({"a": 1}), json!({"x-a": "1"})],
        ),
        (
            json!({"type": "object", "patternProperties": {"(?<!a)b": {}}, "additionalProperties": false}),
            vec![json!({"b": 1})],
            vec![],
        ),
        (
            json!({"allOf": [{"$ref": "#/components/schemas/Pet"}, {"required": ["name", "id"]}]}),
            vec![json!({"name": "Rex"})],
            vec![json!({})],
        ),
        (
            json!({"type": "object", "properties": {"a": {}}, "required": ["a", "a", "gone"], "additionalProperties": false}),
            vec![json!({"a": 1})],
            vec![json!({})],
        ),
        (
            json!({"nullable": true, "allOf": [{"$ref": "#/components/schemas/Pet"}]}),
            vec![json!(null), json!({"name": "Rex"})],
            vec![json!(1)],
        ),
        (
            json!({"nullable": true, "allOf": [{"$ref": "#/components/schemas/Pet"}, {"required": ["name"]}]}),
            vec![json!(null), json!({"name": "Rex"})],
            vec![json!({})],
        ),
        (
            json!({"$ref": "#/components/schemas/Name", "nullable": true}),
            vec![json!(null), json!("a")],
            vec![json!({"a": 1})],
        ),
        (
            json!({"nullable": true, "enum": ["a"], "type": "string"}),
            vec![json!(null), json!("a")],
            vec![json!("b")],
        ),
        (json!({"type": "string", "enum": [1, 2, true]}), vec![json!("1"), json!("true")], vec![json!("3")]),
        (json!({"type": "integer", "enum": ["1", "x"]}), vec![json!(1)], vec![json!(2)]),
        (json!({"type": "string", "enum": [null, {}]}), vec![json!("any")], vec![]),
        (json!({"type": "string", "const": 5}), vec![json!("5")], vec![json!("6")]),
        (
            json!({"oneOf": [{"type": "integer"}, {"type": "number"}]}),
            vec![json!(1), json!(1.5)],
            vec![json!(true)],
        ),
    ] {
        let found = converted(schema.clone(), schemas.clone());
        for value in fits {
            assert!(takes(&found, &value), "{schema} must take {value}: {found}");
        }
        for value in does_not {
            assert!(!takes(&found, &value), "{schema} must not take {value}: {found}");
        }
    }
}

#[test]
fn invalid_defaults_are_dropped() {
    for (schema, default) in [
        (json!({"type": "integer", "default": 30}), json!(30)),
        (json!({"type": "integer", "default": "30"}), json!(30)),
        (json!({"type": "integer", "default": "many"}), Value::Null),
        (json!({"type": "integer", "default": 0, "minimum": 1}), Value::Null),
        (json!({"type": "string", "enum": ["a"], "default": "b"}), Value::Null),
        (json!({"type": "string", "default": 1}), json!("1")),
        (json!({"type": "array", "items": {"type": "string"}, "default": "a"}), Value::Null),
        (json!({"type": "object", "required": ["a"], "default": {}}), Value::Null),
        (json!({"type": "string", "default": "x".repeat(10_000)}), Value::Null),
    ] {
        let body = converted(json!({"type": "object", "properties": {"it": schema}}), json!({}));
        assert_eq!(body["properties"]["it"]["default"], default, "{schema}");
        assert!(takes(&body, &json!({})), "{schema}: nothing needs to be given");
    }
    let alternatives = json!({
        "type": "object",
        "properties": {"a": {"type": "string", "default": "x"}, "b": {"type": "string"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
    });
    let found = converted(alternatives, json!({}));
    assert_eq!(
        found["properties"]["a"],
        json!({"type": "string"}),
        "a default must not decide between forms"
    );
}

#[test]
fn chains_of_references_are_limited() {
    let chain = |length: usize, wrap: &dyn Fn(Value) -> Value| -> Value {
        let link = |at: usize| wrap(json!({"$ref": format!("#/components/schemas/s{}", at + 1)}));
        (0..length).map(|at| (format!("s{at}"), link(at))).collect::<serde_json::Map<_, _>>().into()
    };
    let plain = |reference: Value| reference;
    let inside = |reference: Value| json!({"allOf": [reference]});
    let first = json!({"$ref": "#/components/schemas/s0"});
    for schemas in [chain(3_990, &plain), chain(3_990, &inside)] {
        let found = std::thread::Builder::new()
            .stack_size(2 << 20)
            .spawn({
                let first = first.clone();
                move || converted(first, schemas)
            })
            .expect("a thread")
            .join()
            .expect("no overflow");
        assert!(found.to_string().len() < 1_000, "{found}");
    }
    let short = json!({"s0": {"$ref": "#/components/schemas/s1"}, "s1": {"$ref": "#/components/schemas/s2"}, "s2": {"type": "integer"}});
    assert_eq!(converted(first, short), json!({"type": "integer"}));
}

#[test]
fn exponential_schemas_are_limited() {
    // Each schema refers twice to the next.
    let schemas: serde_json::Map<String, Value> = (0..60)
        .map(|at| {
            let next = json!({"$ref": format!("#/components/schemas/s{}", at + 1)});
            (format!("s{at}"), json!({"type": "object", "properties": {"a": next, "b": next}}))
        })
        .collect();
    let found = converted(json!({"$ref": "#/components/schemas/s0"}), Value::Object(schemas));
    assert!(found.to_string().len() <= 32 << 10, "{} bytes", found.to_string().len());
}

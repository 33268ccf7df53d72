//! Property tests: no JSON causes a panic as a schema, as arguments or as a definition.

use haft_core::call::Validation;
use haft_core::{ToolSchema, tool};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Generates any JSON.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|float| json!(float)),
        ".{0,8}".prop_map(Value::from),
        prop::sample::select(vec!["3", "true", "[1]", "{\"a\":1}", "#/$defs/a", "object", "string"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    let words = [
        "type",
        "properties",
        "items",
        "a",
        "b",
        "$ref",
        "$defs",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "enum",
        "const",
        "pattern",
        "default",
        "required",
        "additionalProperties",
        "$id",
        "$schema",
        "format",
        "name",
        "description",
        "config",
        "url",
        "timeout",
        "retries",
        "inputSchema",
        "rate_limit",
    ];
    prop_oneof![prop::sample::select(words.to_vec()).prop_map(str::to_owned), ".{0,6}"]
}

/// Generates mostly well-formed schemas, so that later checks are reached.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["string", "integer", "number", "boolean", "null", "array", "object"])
            .prop_map(|name| json!({"type": name})),
        Just(json!({"type": "integer", "minimum": 0, "default": 1})),
        Just(json!({"enum": ["a", 1, null]})),
        Just(json!({"$ref": "#/$defs/d"})),
        Just(json!({"const": "a"})),
        Just(json!({"$ref": "#"})),
        Just(json!({"$ref": "#anchor"})),
        Just(json!({"$anchor": "anchor", "type": "integer"})),
        Just(json!({"pattern": "^[a-c]*$", "format": "uuid"})),
        Just(json!(true)),
        Just(json!(false)),
    ];
    let nested = leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|forms| json!({"anyOf": forms})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|forms| json!({"oneOf": forms})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|forms| json!({"allOf": forms})),
            inner.clone().prop_map(|form| json!({"not": form})),
            (inner.clone(), inner.clone()).prop_map(|(test, then)| json!({"if": test, "then": then})),
            inner.clone().prop_map(
                |rest| json!({"unevaluatedProperties": rest, "allOf": [{"properties": {"a": true}}]})
            ),
            inner.clone().prop_map(|rest| json!({"unevaluatedItems": rest, "prefixItems": [true]})),
            inner.clone().prop_map(
                |form| json!({"patternProperties": {"^a": form}, "dependentSchemas": {"b": false}})
            ),
            fields(inner).prop_map(|properties| json!({"type": "object", "properties": properties})),
        ]
    });
    (fields(nested.clone()), nested).prop_map(|(properties, definition)| {
        json!({"type": "object", "properties": properties, "$defs": {"d": definition}})
    })
}

fn fields(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec(("[a-c]", inner), 0..4).prop_map(|fields| fields.into_iter().collect())
}

fn any_arguments() -> impl Strategy<Value = Value> {
    prop_oneof![any_json(), fields(any_json()).prop_map(Value::Object)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn parsing_any_json_as_a_schema_never_panics(schema in any_json()) {
        let _ = ToolSchema::of_arguments(&schema);
        let _ = ToolSchema::of_output(&schema);
    }

    #[test]
    fn parsing_any_json_as_a_definition_never_panics(definition in any_json()) {
        let _ = tool::input::parse(definition);
    }

    #[test]
    fn parsing_any_bytes_as_json_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = haft_core::json::parse(&bytes);
    }

    #[test]
    fn admitted_arguments_are_valid_and_admitted_again(schema in any_schema(), arguments in any_arguments()) {
        let Ok(schema) = ToolSchema::of_arguments(&schema) else { return Ok(()) };
        let Ok(admitted) = schema.admit(arguments, None, Validation::Gentle) else { return Ok(()) };
        let value = admitted.arguments.as_value().clone();
        prop_assert!(schema.violations(&value).is_empty());
        let again = schema.admit(value.clone(), None, Validation::Strict).expect("valid stays valid");
        prop_assert_eq!(again.arguments.as_value(), &value);
        prop_assert!(again.coerced.is_empty());
    }

    #[test]
    fn gentle_validation_does_not_change_valid_arguments(schema in any_schema(), arguments in any_arguments()) {
        let Ok(schema) = ToolSchema::of_arguments(&schema) else { return Ok(()) };
        if let Ok(strict) = schema.admit(arguments.clone(), None, Validation::Strict) {
            let gentle = schema.admit(arguments, None, Validation::Gentle).expect("gentle takes what strict takes");
            prop_assert_eq!(gentle, strict);
        }
    }

    #[test]
    fn arguments_given_are_never_replaced_by_defaults(schema in any_schema(), arguments in fields(any_json())) {
        let Ok(schema) = ToolSchema::of_arguments(&schema) else { return Ok(()) };
        if let Ok(admitted) = schema.admit(Value::Object(arguments.clone()), None, Validation::Strict) {
            for (name, value) in arguments {
                let kept = admitted.arguments.get(&name).expect("kept");
                if value.is_object() || value.is_array() { continue }
                prop_assert_eq!(kept, &value);
            }
        }
    }
}

//! Admission of arguments: messages, coercion, defaults, bindings.

use std::sync::Arc;

use haft_core::call::Validation;
use haft_core::{Binding, Locale, ToolConfig, ToolSchema};
use serde_json::{Map, Value, json};

fn schema(document: Value) -> ToolSchema {
    ToolSchema::of_arguments(&document).expect("a good schema")
}

fn properties(properties: Value) -> ToolSchema {
    schema(json!({"type": "object", "properties": properties}))
}

#[track_caller]
fn says(schema: &ToolSchema, arguments: Value, expected: &str) {
    let error = schema.admit(arguments, None, Validation::Strict).expect_err("must be refused").error;
    assert_eq!(error.message().render(Locale::En), expected);
}

#[track_caller]
fn coerces(schema: &ToolSchema, given: Value, expected: Value, paths: &[&str]) {
    let admitted = schema.admit(given.clone(), None, Validation::Gentle).expect("fits after coercion");
    assert_eq!(*admitted.arguments.as_value(), expected, "{given}");
    assert_eq!(admitted.coerced, paths, "{given}");
    if !paths.is_empty() {
        schema.admit(given, None, Validation::Strict).expect_err("strict takes nothing but what fits");
    }
}

#[test]
fn all_errors_are_reported_at_once_in_the_documented_form() {
    let weather = schema(json!({
        "type": "object",
        "required": ["city", "days"],
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "files": {"type": "array", "items": {"type": "object", "required": ["url"],
                "properties": {"url": {"type": "string", "format": "uri"}}}},
        },
        "additionalProperties": false,
    }));
    says(&weather, json!({"days": 1}), "Invalid inputs: city: is required");
    says(&weather, json!({"city": 7, "days": 1}), "Invalid inputs: city: 7 is not of type \"string\"");
    says(
        &weather,
        json!({"days": 15, "files": [{"url": "x y"}, {}], "town": "Rome"}),
        "Invalid inputs: city: is required, days: 15 is greater than the maximum of 14, \
         files.0.url: \"x y\" is not a \"uri\", files.1.url: is required, town: is not a known property",
    );
    says(&weather, json!([]), "Invalid inputs: (root): [] is not of type \"object\"");
    let error = weather.admit(json!({"days": 0}), None, Validation::Strict).expect_err("refused").error;
    assert_eq!(error.message().render(Locale::Zh), "输入无效：city: 是必填项, days: 0 小于最小值 1");
    assert_eq!(
        error.details(Locale::En)["errors"],
        json!([
            {"path": "city", "message": "is required", "id": "required"},
            {"path": "days", "message": "0 is less than the minimum of 1", "id": "minimum"},
        ])
    );
}

#[test]
fn each_keyword_has_its_own_message() {
    for (keywords, value, expected) in [
        (json!({"type": ["integer", "null"]}), json!([]), "[] is not of types \"null\", \"integer\""),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            json!([]),
            "[] is not of types \"null\", \"integer\"",
        ),
        (json!({"enum": ["a", "b"]}), json!("c"), "\"c\" is not one of \"a\", \"b\""),
        (json!({"const": 1}), json!(2), "2 is not 1"),
        (json!({"pattern": "^a"}), json!("b"), "\"b\" does not match \"^a\""),
        (json!({"exclusiveMinimum": 1}), json!(1), "1 is not greater than 1"),
        (json!({"exclusiveMaximum": 1}), json!(1), "1 is not less than 1"),
        (json!({"multipleOf": 5}), json!(7), "7 is not a multiple of 5"),
        (json!({"minLength": 2}), json!("a"), "\"a\" is shorter than 2 characters"),
        (json!({"maxLength": 2}), json!("abc"), "\"abc\" is longer than 2 characters"),
        (json!({"minItems": 1}), json!([]), "has fewer than 1 items"),
        (json!({"maxItems": 1}), json!([1, 2]), "has more than 1 items"),
        (json!({"uniqueItems": true}), json!([1, 1]), "has equal items"),
        (
            json!({"contains": {"const": 1}}),
            json!([2]),
            "has no matching item, or not the required number of them",
        ),
        (json!({"minProperties": 1}), json!({}), "has fewer than 1 properties"),
        (json!({"maxProperties": 0}), json!({"a": 1}), "has more than 0 properties"),
        (
            json!({"propertyNames": {"maxLength": 1}}),
            json!({"ab": 1}),
            "has a property name that is not allowed: \"ab\" is longer than 1 characters",
        ),
        (json!({"not": {"type": "string"}}), json!("a"), "\"a\" is not allowed here"),
        (json!(false), json!("a"), "\"a\" is not allowed here"),
        (
            json!({"oneOf": [{"minimum": 1}, {"minimum": 2}]}),
            json!(3),
            "3 matches more than one of the allowed forms",
        ),
        (
            json!({"anyOf": [{"minimum": 5}, {"multipleOf": 2}]}),
            json!(3),
            "3 matches none of the allowed forms",
        ),
        (json!({"format": "uuid"}), json!("x"), "\"x\" is not a \"uuid\""),
    ] {
        says(
            &properties(json!({"v": keywords})),
            json!({"v": value}),
            &format!("Invalid inputs: v: {expected}"),
        );
    }
}

#[test]
fn long_values_are_cut_in_messages() {
    let schema = properties(json!({"v": {"type": "integer"}}));
    let error =
        schema.admit(json!({"v": "长".repeat(5000)}), None, Validation::Strict).expect_err("refused").error;
    assert!(error.message().render(Locale::En).chars().count() < 150);
}

#[test]
fn a_discriminated_union_reports_errors_of_the_selected_alternative() {
    let dates = schema(json!({
        "type": "object",
        "oneOf": [
            {"properties": {"operation": {"const": "now"}}, "required": ["operation"]},
            {"properties": {"operation": {"const": "add"}, "amount": {"type": "integer"}}, "required": ["operation", "amount"]},
        ],
    }));
    says(&dates, json!({}), "Invalid inputs: operation: is required");
    says(&dates, json!({"operation": "add"}), "Invalid inputs: amount: is required");
    says(
        &dates,
        json!({"operation": "add", "amount": []}),
        "Invalid inputs: amount: [] is not of type \"integer\"",
    );
    says(
        &dates,
        json!({"operation": "sub"}),
        "Invalid inputs: operation: \"sub\" is not one of \"now\", \"add\"",
    );
    coerces(
        &dates,
        json!({"operation": "add", "amount": "-7"}),
        json!({"operation": "add", "amount": -7}),
        &["amount"],
    );
}

#[test]
fn values_of_certain_meaning_are_coerced() {
    let all = properties(json!({
        "int": {"type": "integer"},
        "num": {"type": "number"},
        "bool": {"type": "boolean"},
        "text": {"type": "string"},
        "list": {"type": "array", "items": {"type": "integer"}},
        "object": {"type": "object", "properties": {"n": {"type": "integer"}}},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "either": {"type": ["integer", "boolean"]},
    }));
    coerces(&all, json!({"int": "3"}), json!({"int": 3}), &["int"]);
    coerces(&all, json!({"int": "-12"}), json!({"int": -12}), &["int"]);
    coerces(&all, json!({"int": "3.0"}), json!({"int": 3}), &["int"]);
    coerces(&all, json!({"num": "3.5"}), json!({"num": 3.5}), &["num"]);
    coerces(&all, json!({"bool": "true"}), json!({"bool": true}), &["bool"]);
    coerces(&all, json!({"bool": "false"}), json!({"bool": false}), &["bool"]);
    coerces(&all, json!({"text": 3}), json!({"text": "3"}), &["text"]);
    coerces(&all, json!({"text": 2.5}), json!({"text": "2.5"}), &["text"]);
    coerces(&all, json!({"list": "[1, 2]"}), json!({"list": [1, 2]}), &["list"]);
    coerces(&all, json!({"list": ["1", 2]}), json!({"list": [1, 2]}), &["list.0"]);
    coerces(&all, json!({"list": "[\"1\"]"}), json!({"list": [1]}), &["list", "list.0"]);
    coerces(&all, json!({"object": "{\"n\": \"5\"}"}), json!({"object": {"n": 5}}), &["object", "object.n"]);
    coerces(&all, json!({"maybe": "3"}), json!({"maybe": 3}), &["maybe"]);
    coerces(&all, json!({"either": "true"}), json!({"either": true}), &["either"]);
    coerces(&all, json!({"int": "9007199254740993"}), json!({"int": 9_007_199_254_740_993_i64}), &["int"]);
    coerces(&all, json!("{\"int\": 1}"), json!({"int": 1}), &["(root)"]);
}

#[test]
fn coercion_does_not_guess() {
    let all = properties(json!({
        "int": {"type": "integer"},
        "bool": {"type": "boolean"},
        "text": {"type": "string"},
        "list": {"type": "array"},
        "free": {"type": ["string", "integer"]},
        "any": {},
    }));
    for hopeless in [
        json!({"int": "3.5"}),
        json!({"int": "three"}),
        json!({"int": ""}),
        json!({"int": "0x10"}),
        json!({"int": true}),
        json!({"int": null}),
        json!({"int": [3]}),
        json!({"int": "1e400"}),
        json!({"int": "99999999999999999999"}),
        json!({"bool": "yes"}),
        json!({"bool": 1}),
        json!({"bool": "True"}),
        json!({"bool": "1"}),
        json!({"text": true}),
        json!({"text": null}),
        json!({"text": ["a"]}),
        json!({"list": "1, 2"}),
        json!({"list": "{}"}),
        json!("[]"),
        json!("nonsense"),
        json!(3),
        json!(null),
    ] {
        schema_refuses(&all, hopeless);
    }
    // Values that conform already are unchanged.
    coerces(
        &all,
        json!({"free": "3", "any": "3", "text": "3"}),
        json!({"free": "3", "any": "3", "text": "3"}),
        &[],
    );
}

#[track_caller]
fn schema_refuses(schema: &ToolSchema, arguments: Value) {
    assert!(schema.admit(arguments.clone(), None, Validation::Gentle).is_err(), "{arguments}");
}

#[test]
fn a_coerced_value_is_validated_again() {
    let bounded = properties(json!({"n": {"type": "integer", "maximum": 10}}));
    let error = bounded.admit(json!({"n": "30"}), None, Validation::Gentle).expect_err("too large").error;
    assert_eq!(error.message().render(Locale::En), "Invalid inputs: n: 30 is greater than the maximum of 10");
}

#[test]
fn defaults_come_from_schema_then_binding_then_call() {
    let search = schema(json!({
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "default": 5},
            "region": {"type": "string", "default": "us"},
            "page": {"type": "object", "default": {}, "properties": {"size": {"type": "integer", "default": 20}}},
            "filters": {"type": "array", "items": {"$ref": "#/$defs/filter"}},
        },
        "$defs": {"filter": {"type": "object", "properties": {
            "op": {"type": "string", "default": "eq"},
            "and": {"type": "array", "items": {"$ref": "#/$defs/filter"}},
        }}},
    }));
    let config = json!({"limit": 10, "$fixed": {"region": "cn"}});
    let config = ToolConfig::parse(config.as_object().cloned().expect("an object")).expect("a config");
    let binding = Arc::new(Binding { tool_config: config, ..Binding::default() });
    let admit = |arguments: Value, binding: Option<&Binding>| {
        let admitted = search.admit(arguments, binding, Validation::Gentle).expect("fits");
        admitted.arguments.as_value().clone()
    };
    assert_eq!(admit(json!({}), None), json!({"limit": 5, "region": "us", "page": {"size": 20}}));
    assert_eq!(admit(json!({}), Some(&binding)), json!({"limit": 10, "region": "cn", "page": {"size": 20}}));
    assert_eq!(
        admit(json!({"limit": 3, "region": "eu", "page": {"size": 1}}), Some(&binding)),
        json!({"limit": 3, "region": "cn", "page": {"size": 1}})
    );
    assert_eq!(
        admit(json!({"filters": [{}, {"op": "lt"}]}), None)["filters"],
        json!([{"op": "eq"}, {"op": "lt"}])
    );
}

#[test]
fn a_default_that_does_not_fit_its_schema_is_ignored() {
    let int_or_null = |default: Value| json!({"type": "integer", "default": default});
    let fine = json!({"type": "integer", "default": 7});
    let object = |fields: Value| json!({"type": "object", "properties": fields});
    // (properties, arguments of a call without any)
    for (fields, expected) in [
        (json!({"a": int_or_null(Value::Null), "b": fine}), json!({"b": 7})),
        (json!({"a": int_or_null(json!("many")), "b": fine}), json!({"b": 7})),
        (json!({"a": {"enum": ["x", "y"], "default": "z"}}), json!({})),
        (json!({"a": {"type": "string", "maxLength": 2, "default": "long"}}), json!({})),
        (json!({"a": {"type": ["integer", "null"], "default": null}}), json!({"a": null})),
        (json!({"a": {"default": null}}), json!({"a": null})),
        (json!({"a": {"anyOf": [{"type": "integer"}, {"type": "string"}], "default": null}}), json!({})),
        (json!({"a": {"$ref": "#/$defs/count", "default": null}}), json!({})),
        (json!({"a": {"$ref": "#/$defs/unset"}}), json!({})),
        // Nested in an object, with and without a default of the object.
        (
            json!({"a": {"type": "object", "default": {}, "properties": {"n": int_or_null(Value::Null)}}}),
            json!({"a": {}}),
        ),
        (json!({"a": {"type": "object", "default": {"n": "x"}, "properties": {"n": fine}}}), json!({})),
        (
            json!({"a": {"type": "object", "default": {}, "required": ["n"], "properties": {"n": fine}}}),
            json!({"a": {"n": 7}}),
        ),
        (
            json!({"a": {"type": "object", "default": {}, "required": ["n"], "properties": {"n": int_or_null(Value::Null)}}}),
            json!({}),
        ),
        (
            json!({"a": {"type": "array", "minItems": 1, "default": [], "items": object(json!({"n": fine}))}}),
            json!({}),
        ),
        // Text of certain meaning becomes the value that it means.
        (json!({"a": int_or_null(json!("5"))}), json!({"a": 5})),
    ] {
        let document = json!({
            "type": "object",
            "properties": fields,
            "$defs": {"count": {"type": "integer"}, "unset": {"type": "integer", "default": null}},
        });
        let schema = schema(document.clone());
        for validation in [Validation::Gentle, Validation::Strict] {
            let admitted = schema.admit(json!({}), None, validation);
            let admitted = admitted.unwrap_or_else(|refused| panic!("{fields}: {:?}", refused.error));
            assert_eq!(*admitted.arguments.as_value(), expected, "{fields}");
        }
        assert_eq!(schema.document(), &document, "the displayed schema is unchanged");
    }
}

#[test]
fn defaults_within_given_objects_and_items_are_ignored_if_they_do_not_conform() {
    let inner = json!({"type": "object", "properties": {
        "bad": {"type": "integer", "default": null},
        "good": {"type": "integer", "default": 1},
    }});
    let schema = properties(json!({
        "one": inner,
        "many": {"type": "array", "default": [], "items": inner},
    }));
    let given = json!({"one": {}, "many": [{}, {"bad": 2}]});
    let admitted = schema.admit(given, None, Validation::Strict).expect("fits");
    assert_eq!(
        *admitted.arguments.as_value(),
        json!({"one": {"good": 1}, "many": [{"good": 1}, {"bad": 2, "good": 1}]})
    );
}

#[test]
fn a_default_behind_a_reference_or_all_of_at_the_root_is_ignored_too() {
    let arguments = json!({"type": "object", "properties": {
        "bad": {"type": "integer", "default": null}, "good": {"type": "integer", "default": 7},
    }});
    for document in [
        json!({"$ref": "#/$defs/Args", "$defs": {"Args": arguments}}),
        json!({"$ref": "#/$defs/Alias", "$defs": {"Alias": {"$ref": "#/$defs/Args"}, "Args": arguments}}),
        json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$ref": "#/definitions/Args", "definitions": {"Args": arguments},
        }),
        json!({
            "allOf": [{"$ref": "#/$defs/Args"}, {"properties": {"good": {"minimum": 1}}}],
            "properties": {"bad": {"default": null}, "good": {"default": 7}},
            "$defs": {"Args": arguments},
        }),
    ] {
        for validation in [Validation::Gentle, Validation::Strict] {
            let admitted = schema(document.clone()).admit(json!({}), None, validation);
            let admitted = admitted.unwrap_or_else(|refused| panic!("{document}: {:?}", refused.error));
            assert_eq!(*admitted.arguments.as_value(), json!({"good": 7}), "{document}");
        }
    }
}

#[test]
fn an_invalid_default_is_ignored_if_the_schema_has_too_many_errors_to_list() {
    // Costly because of its size: the errors of all defaults together cannot be listed.
    let mut fields: Map<String, Value> =
        (0..3000).map(|number| (format!("n{number}"), json!({"type": "integer", "default": 1}))).collect();
    fields.insert("n7".to_owned(), json!({"type": "integer", "default": null}));
    let wide = schema(json!({"type": "object", "required": ["id"], "properties": fields}));
    let admitted = wide.admit(json!({"id": 1}), None, Validation::Strict).expect("fits");
    let filled = admitted.arguments.as_value().as_object().expect("an object");
    assert_eq!((filled.len(), filled.get("n7"), filled.get("n8")), (3000, None, Some(&json!(1))));

    // Costly because of its depth: not even the errors of one default can be listed.
    let form = |kind: usize| {
        let inner = json!({"$ref": "#/$defs/node"});
        json!({"type": "object", "additionalProperties": false, "properties": {"x": inner, format!("y{kind}"): {}}})
    };
    let node = json!({"anyOf": (0..10).map(form).collect::<Vec<Value>>()});
    let nested = |leaf: Value| (0..12).fold(leaf, |inner, _| json!({"x": inner}));
    let field = |default: Value| json!({"allOf": [{"$ref": "#/$defs/node"}], "default": default});
    let deep = schema(json!({
        "type": "object",
        "properties": {"bad": field(nested(json!(7))), "good": field(nested(json!({"y3": 1})))},
        "$defs": {"node": node},
    }));
    let admitted = deep.admit(json!({}), None, Validation::Strict).expect("fits");
    assert_eq!(*admitted.arguments.as_value(), json!({"good": nested(json!({"y3": 1}))}));
}

#[test]
fn a_condition_on_the_whole_object_does_not_drop_a_default() {
    let schema = schema(json!({
        "type": "object",
        "properties": {"kind": {"type": "string"}, "n": {"type": "integer", "default": 1}},
        "if": {"properties": {"kind": {"const": "large"}}},
        "then": {"properties": {"n": {"minimum": 10}}},
    }));
    let admitted = schema.admit(json!({"kind": "small"}), None, Validation::Gentle).expect("fits");
    assert_eq!(*admitted.arguments.as_value(), json!({"kind": "small", "n": 1}));
}

#[test]
fn fixed_values_are_hidden_from_the_model() {
    let schema = schema(json!({"type": "object", "required": ["a", "b"], "properties": {"a": {}, "b": {}}}));
    let hidden = json!({"a": 1}).as_object().cloned().expect("an object");
    assert_eq!(
        schema.document_without(&hidden),
        json!({"type": "object", "required": ["b"], "properties": {"b": {}}})
    );
}

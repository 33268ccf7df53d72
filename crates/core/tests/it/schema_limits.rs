//! Schemas that are too costly are rejected when saved, by counting; schemas that only look costly are
//! accepted.

use haft_core::ToolSchema;
use haft_core::call::Validation;
use serde_json::{Map, Value, json};

#[track_caller]
fn refused(schema: &Value) -> String {
    let violations = ToolSchema::of_arguments(schema).expect_err("must be refused");
    let said: Vec<String> = violations.iter().map(|v| format!("{}: {}", v.path, v.message)).collect();
    said.join(", ")
}

#[track_caller]
fn accepted(schema: &Value) -> ToolSchema {
    ToolSchema::of_arguments(schema).expect("must be accepted")
}

/// A schema in which `a0` refers to `a1` twice, `a1` to `a2` twice, …, each time through `through`.
fn doubling(levels: usize, through: impl Fn(Value, Value) -> Value) -> Value {
    let mut definitions = Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
        definitions.insert(format!("a{level}"), through(next.clone(), next));
    }
    definitions.insert(format!("a{levels}"), json!({"type": "string"}));
    json!({"type": "object", "properties": {"v": {"$ref": "#/$defs/a0"}}, "$defs": definitions})
}

#[test]
fn references_that_double_on_one_value_are_rejected() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let schema = doubling(20, |a, b| json!({keyword: [a, b]}));
        assert!(schema.to_string().len() < 2048);
        assert!(refused(&schema).contains("more than 100000 steps"), "{keyword}");
    }
    refused(&doubling(20, |a, b| json!({"if": a, "then": b})));
    refused(&doubling(20, |a, b| json!({"not": {"allOf": [a, b]}})));
}

#[test]
fn references_that_double_over_different_properties_cost_little_and_pass() {
    let schema = doubling(20, |a, b| json!({"type": "object", "properties": {"x": a, "y": b}}));
    let compiled = accepted(&schema);
    assert!(!compiled.violations(&json!({"v": {"x": {"y": 7}}})).is_empty());
}

#[test]
fn recursion_is_fine_until_it_branches_on_the_same_child() {
    let tree = json!({
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"type": "object", "properties": {
            "value": {"type": "integer"},
            "left": {"$ref": "#/$defs/node"},
            "right": {"$ref": "#/$defs/node"},
            "all": {"type": "array", "items": {"$ref": "#/$defs/node"}},
        }}},
    });
    let compiled = accepted(&tree);
    let mut deep = json!({"value": 1});
    for _ in 0..100 {
        deep = json!({"left": deep});
    }
    assert!(compiled.violations(&json!({"root": deep})).is_empty());
}

/// Alternatives that all validate `next`: without memoization, their number to the power of the depth.
fn branching(forms: usize, through: &str) -> Value {
    let form = |n: usize| json!({"properties": {"kind": {"const": n}, "next": {"$ref": through}}});
    let forms: Vec<Value> = (0..forms).map(form).collect();
    json!({
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"anyOf": forms, "$anchor": "node"}, "other": {"$ref": "#/$defs/node"}},
    })
}

#[test]
fn recursive_alternatives_are_validated_at_any_depth_and_listed_if_cheap() {
    for through in ["#/$defs/node", "#/$defs/other", "#node"] {
        let compiled = accepted(&branching(10, through));
        let nested =
            |leaf: Value, depth: usize| (0..depth).fold(leaf, |inner, _| json!({"kind": 3, "next": inner}));
        assert!(
            compiled.violations(&json!({"root": nested(json!({"kind": 9}), 60)})).is_empty(),
            "{through}"
        );
        let said = compiled.violations(&json!({"root": nested(json!({"kind": 99}), 60)}));
        assert_eq!(said.len(), 1);
        assert!(said[0].message.to_string().contains("too deep to list every error"), "{said:?}");
        let said = compiled.violations(&json!({"root": nested(json!({"kind": 99}), 1)}));
        assert_eq!(said[0].path, "root.next.kind", "{said:?}");
    }
}

#[test]
fn repeated_visits_for_unevaluated_keywords_are_counted() {
    for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
        let nested = |depth: usize| {
            (0..depth).fold(
                json!({"type": "object"}),
                |inner, _| json!({"allOf": [inner], keyword: {"type": "integer"}}),
            )
        };
        let schema = |depth| json!({"type": "object", "properties": {"v": nested(depth)}});
        assert!(refused(&schema(25)).contains("steps"), "{keyword}");
        assert!(accepted(&schema(4)).violations(&json!({"v": {}})).is_empty(), "{keyword}");
    }
}

#[test]
fn repeated_properties_are_counted_without_recursion() {
    let schema = doubling(24, |a, b| json!({"allOf": [{"properties": {"x": a}}, {"properties": {"x": b}}]}));
    assert!(refused(&schema).contains("steps"));
}

#[test]
fn a_reference_is_resolved_like_the_validator_does() {
    // A cheap schema in place of the definition that the reference actually resolves to.
    let costly = doubling(20, |a, b| json!({"allOf": [a, b]}));
    for disguise in [
        json!({"$anchor": "/$defs/a0"}),
        json!({"$id": "#/$defs/a0"}),
        json!({"$dynamicAnchor": "/$defs/a0"}),
    ] {
        for draft in
            ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema"]
        {
            let mut schema = costly.clone();
            schema["$schema"] = json!(draft);
            schema["properties"]["cheap"] = disguise.clone();
            refused(&schema);
        }
    }
    let twice = json!({"type": "object", "$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}});
    assert!(refused(&twice).contains("the anchor x is declared twice"));
    let other_draft = json!({"type": "object", "properties": {"a": {"$schema": "http://json-schema.org/draft-04/schema#"}}});
    assert!(refused(&other_draft).contains("nested $id or $schema"));
}

#[test]
fn errors_defaults_patterns_and_paths_do_not_multiply() {
    // Each of many items lacks each of many names.
    let names: Vec<String> = (0..10_000).map(|n| format!("n{n}")).collect();
    let lacking = accepted(&json!({"type": "object", "properties": {"v": {"items": {"required": names}}}}));
    assert_eq!(lacking.violations(&json!({"v": vec![json!({}); 3000]})).len(), 1);
    let either = accepted(
        &json!({"type": "object", "properties": {"v": {"items": {"anyOf": [{"required": names}]}}}}),
    );
    assert_eq!(either.violations(&json!({"v": vec![json!({}); 3000]})).len(), 1);
    let hundred: Vec<String> = (0..150).map(|n| format!("n{n}")).collect();
    let said = accepted(&json!({"type": "object", "required": hundred})).violations(&json!({}));
    assert_eq!((said.len(), said[100].message.to_string().as_str()), (101, "and 50 more errors"));

    // One large default, repeated by references.
    let mut schema = doubling(12, |a, b| json!({"properties": {"x": a, "y": b}}));
    schema["$defs"]["a12"] = json!({"properties": {"z": {"default": "x".repeat(100_000)}}});
    assert!(refused(&schema).contains("defaults"));
    // A small default in each of very many items.
    let items = json!({"type": "object", "properties": {"v": {"items": {"properties": {"d": {"default": "x".repeat(64_000)}}}}}});
    let many = json!({"v": vec![json!({}); 50_000]});
    let error = accepted(&items).admit(many, None, Validation::Gentle).expect_err("too many").error;
    assert!(error.message().to_string().contains("holds more values than"));

    let patterns = |count: usize| {
        let properties: Map<String, Value> =
            (0..count).map(|n| (format!("p{n}"), json!({"pattern": format!("^{n}")}))).collect();
        json!({"type": "object", "properties": properties})
    };
    accepted(&patterns(512));
    assert!(refused(&patterns(513)).contains("more than 512 patterns"));
    let greedy: Map<String, Value> =
        (0..400).map(|n| (format!("p{n}"), json!({"pattern": format!(r"\p{{L}}{{30}}{n}")}))).collect();
    refused(&json!({"type": "object", "properties": greedy}));

    let properties: Map<String, Value> = (0..5000).map(|n| (format!("p{n}"), json!({}))).collect();
    let long = json!({"type": "object", "properties": {"k".repeat(100_000): {"properties": properties}}});
    assert!(refused(&long).contains("too long for its nesting"));
}

#[test]
fn a_reference_cycle_on_one_value_is_rejected() {
    for endless in [
        json!({"type": "object", "$ref": "#"}),
        json!({"type": "object", "allOf": [{"$ref": "#"}]}),
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}},
               "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"anyOf": [{"$ref": "#/$defs/x"}]}}}),
    ] {
        assert!(refused(&endless).contains("refers to itself"), "{endless}");
    }
}

#[test]
fn only_local_references_are_followed() {
    for remote in ["https://example.com/s.json", "file:///etc/passwd", "other.json#/a", "//host/x", "urn:x:y"]
    {
        let schema = json!({"type": "object", "properties": {"a": {"$ref": remote}}});
        assert_eq!(
            refused(&schema),
            format!(
                "properties.a.$ref: {remote} points outside this schema; only local references such as #/$defs/name are followed"
            )
        );
    }
    let missing = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}});
    assert_eq!(refused(&missing), "properties.a.$ref: #/$defs/none points to nothing in this schema");
    let nested = json!({"type": "object", "$defs": {"a": {"$id": "https://example.com/a", "$ref": "#/b"}}});
    assert!(refused(&nested).contains("nested $id"));
}

#[test]
fn size_depth_references_and_enums_are_bounded() {
    let mut deep = json!({});
    for _ in 0..40 {
        deep = json!({"properties": {"a": deep}});
    }
    assert!(refused(&deep).contains("levels deep; at most 64"));

    let large = json!({"type": "object", "description": "x".repeat(300_000)});
    assert!(refused(&large).contains("bytes; at most 262144"));

    let with_references = |count: usize| {
        let properties: Map<String, Value> =
            (0..count).map(|n| (format!("p{n}"), json!({"$ref": "#/$defs/a"}))).collect();
        json!({"type": "object", "properties": properties, "$defs": {"a": {"type": "string"}}})
    };
    accepted(&with_references(256));
    assert!(refused(&with_references(257)).contains("more than 256 $refs"));

    let with_enum = |count: usize| json!({"type": "object", "properties": {"e": {"enum": (0..count).collect::<Vec<_>>()}}});
    accepted(&with_enum(2000));
    assert_eq!(refused(&with_enum(2001)), "properties.e.enum: has 2001 values; at most 2000");
}

#[test]
fn patterns_run_in_linear_time_or_are_refused() {
    let with_pattern = |pattern: &str| json!({"type": "object", "properties": {"p": {"pattern": pattern}}});
    // A backtracking engine would take exponential time.
    let compiled = accepted(&with_pattern("^(a+)+$"));
    assert!(!compiled.violations(&json!({"p": format!("{}!", "a".repeat(50_000))})).is_empty());
    for bad in ["(", "[z-a]", r"(a)\1", "(?=x)y", "(?:a{1000}){1000}"] {
        let said = refused(&with_pattern(bad));
        assert!(said.starts_with("properties.p.pattern: "), "{bad}: {said}");
        let said = refused(&json!({"type": "object", "patternProperties": {bad: true}}));
        assert!(said.starts_with("patternProperties"), "{bad}: {said}");
    }
}

#[test]
fn non_object_and_malformed_schemas_are_rejected() {
    for bad in [json!(true), json!(null), json!([]), json!("x")] {
        assert_eq!(refused(&bad), "(root): a schema of arguments must have \"type\": \"object\"");
    }
    for bad in [json!({"type": "string"}), json!({"type": ["array", "null"]}), json!({"type": 1})] {
        assert_eq!(refused(&bad), "type: a schema of arguments must have \"type\": \"object\"");
    }
    for (bad, place) in [
        (json!({"properties": {"a": {"type": "strng"}}}), "properties.a.type"),
        (json!({"properties": []}), "properties"),
        (json!({"properties": {"a": {"minLength": -1}}}), "properties.a.minLength"),
        (json!({"required": "a"}), "required"),
        (json!({"$schema": "https://example.com/mine"}), "$schema"),
        (json!({"$schema": 7}), "$schema"),
    ] {
        let said = refused(&bad);
        assert!(said.starts_with(&format!("{place}: ")), "{bad}: {said}");
    }
    accepted(&json!({}));
    accepted(&json!({"$schema": "https://json-schema.org/draft-07/schema", "$id": "https://example.com/x"}));
}

#[test]
fn a_large_value_is_rejected_without_listing_every_error() {
    let schema = accepted(
        &json!({"type": "object", "properties": {"n": {"type": "array", "items": {"type": "integer"}}}}),
    );
    let numbers: Vec<i32> = (0..300_000).collect();
    assert!(schema.violations(&json!({"n": numbers})).is_empty());
    let texts: Vec<String> = (0..300_000).map(|n| n.to_string()).collect();
    let said = schema.violations(&json!({"n": texts}));
    assert_eq!(said.len(), 1);
    assert_eq!(
        (said[0].path.as_str(), said[0].message.to_string().as_str()),
        ("n.0", "\"0\" is not of type \"integer\"")
    );
    let few: Vec<String> = (0..99).map(|n| format!("x{n}")).collect();
    assert_eq!(schema.violations(&json!({"n": few})).len(), 99, "all at once while that is of use");
}

#[test]
fn a_costly_schema_checks_only_as_many_values_as_it_can() {
    let forms: Vec<Value> = (0..2000).map(|n| json!({"minimum": n})).collect();
    let schema = accepted(&json!({"type": "object", "properties": {"n": {"items": {"allOf": forms}}}}));
    assert!(schema.violations(&json!({"n": vec![5000; 1000]})).is_empty());
    let said = schema.violations(&json!({"n": vec![5000; 200_000]}));
    assert!(said[0].message.to_string().starts_with("holds more values than the "), "{said:?}");
}

#[test]
fn an_id_of_draft_4_cannot_move_the_base_either() {
    let nested = json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "object",
        "properties": {"a": {"id": "http://example.com/a", "$ref": "#/b"}}});
    assert!(refused(&nested).contains("nested $id"));
    accepted(
        &json!({"$schema": "http://json-schema.org/draft-04/schema#", "id": "http://example.com/x", "type": "object",
        "properties": {"id": {"type": "string"}}}),
    );
    accepted(&json!({"type": "object", "properties": {"a": {"id": "only a remark since draft 6"}}}));
}

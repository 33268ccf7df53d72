//! Alternatives at the root are joined without loss, and at a cost proportional to their size.

use serde_json::{Value, json};

use super::{FlattenError, flatten};
use crate::json::size;

fn flat(schema: Value) -> Value {
    flatten(&schema).expect("flattened")
}

#[test]
fn constants_become_one_enum_and_descriptions_name_the_alternative_of_each_property() {
    let form = |name: &str, about: &str, required: Value, mut properties: Value| {
        properties["operation"] = json!({"const": name});
        json!({"title": name, "description": about, "type": "object", "properties": properties,
               "required": required, "additionalProperties": false})
    };
    let text = |about: &str| json!({"type": "string", "description": about});
    let schema = flat(json!({"type": "object", "oneOf": [
        form("now", "The current time.", json!(["operation"]), json!({"zone": text("Where.")})),
        form("diff", "Between two dates.", json!(["operation", "date", "unit"]),
            json!({"date": text("From this date"), "unit": {"enum": ["day", "hour"], "default": "day"}, "zone": text("Where.")})),
        form("add", "Later.", json!(["operation", "date"]),
            json!({"date": text("The date"), "unit": {"enum": ["hour", "week"]}, "zone": text("Where.")})),
    ]}));
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "zone": {"type": "string", "description": "Where."},
                "operation": {
                    "type": "string", "enum": ["now", "diff", "add"],
                    "description": "- now: The current time.\n- diff: Between two dates. Needs date, unit.\n- add: Later. Needs date.",
                },
                "date": {
                    "type": "string",
                    "description": "From this date (only with operation diff); The date (only with operation add)",
                },
                "unit": {"type": "string", "enum": ["day", "hour", "week"], "description": "(only with operation diff, add)"},
            },
            "additionalProperties": false,
            "required": ["operation"],
        })
    );
}

#[test]
fn clashing_schemas_of_one_property_become_alternatives_of_it() {
    let with = |value: Value| json!({"properties": {"value": value}});
    let value = |alternatives: Value| flat(json!({"anyOf": alternatives}))["properties"]["value"].clone();
    for (alternatives, expected) in [
        (
            json!([with(json!({"type": "string"})), with(json!({"type": "number"}))]),
            json!({"anyOf": [{"type": "string"}, {"type": "number"}]}),
        ),
        (
            json!([
                with(json!({"type": "string"})),
                with(json!({"const": 1})),
                with(json!({"enum": [2, 1]})),
                with(json!({"type": "string"}))
            ]),
            json!({"anyOf": [{"enum": [1, 2]}, {"type": "string"}]}),
        ),
        (
            json!([
                with(json!({"type": "string", "const": "a"})),
                with(json!({"type": "string", "enum": ["b", "a"]}))
            ]),
            json!({"type": "string", "enum": ["a", "b"]}),
        ),
        (
            json!([with(json!({"type": "string"})), with(json!({"description": "Any"}))]),
            json!({"description": "Any"}),
        ),
        (json!([with(json!({"type": "string"})), with(json!(true))]), json!({})),
        (
            json!([with(json!({"type": "string", "default": "x"})), with(json!(false))]),
            json!({"type": "string", "default": "x"}),
        ),
        (
            json!([
                with(json!({"anyOf": [{"type": "string"}, {"type": "null"}]})),
                with(json!({"anyOf": [{"type": "null"}, {"type": "integer"}]}))
            ]),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "integer"}]}),
        ),
        (
            json!([
                with(json!({"type": "string", "default": "a"})),
                with(json!({"type": "string", "default": "b"}))
            ]),
            json!({"type": "string"}),
        ),
    ] {
        let mut joined = value(alternatives.clone());
        if expected.get("description").is_none() {
            joined.as_object_mut().expect("an object").remove("description");
        }
        assert_eq!(joined, expected, "{alternatives}");
    }
}

#[test]
fn a_root_property_is_narrowed_only_if_every_alternative_narrows_it() {
    let form = |value: Value| json!({"properties": {"mode": value}});
    let mode = |forms: Value| {
        let schema = json!({"type": "object", "properties": {"mode": {"type": "string"}}, "oneOf": forms});
        flat(schema)["properties"]["mode"].clone()
    };
    let narrowed = mode(json!([form(json!({"const": "a"})), form(json!({"const": "b"}))]));
    assert_eq!(narrowed, json!({"type": "string", "enum": ["a", "b"]}));
    let open = mode(json!([form(json!({"const": "a"})), {"required": ["other"]}]));
    assert_eq!(open, json!({"type": "string"}), "the second alternative takes any mode");
    let all = json!({"allOf": [
        {"properties": {"a": {"type": "string"}, "b": {"type": "integer", "minimum": 1}}},
        {"properties": {"a": {"enum": ["x"]}, "b": {"minimum": 2}}},
    ]});
    let properties = flat(all)["properties"].clone();
    assert_eq!(properties["a"], json!({"type": "string", "enum": ["x"]}));
    assert_eq!(properties["b"], json!({"allOf": [{"type": "integer", "minimum": 1}, {"minimum": 2}]}));
}

#[test]
fn alternatives_without_a_discriminator_are_described_at_the_root() {
    let titled = flat(json!({"description": "Finds.", "anyOf": [
        {"title": "By name", "description": "Slow.", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        {"title": "By id", "properties": {"id": {"type": "integer", "description": "Its id"}}},
    ]}));
    assert_eq!(titled["description"], "Finds.\nOne of these forms:\n- By name: Slow. Needs name.\n- By id");
    assert_eq!(titled["properties"]["name"]["description"], "(only with By name)");
    assert_eq!(titled["properties"]["id"]["description"], "Its id (only with By id)");

    let required = flat(json!({
        "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }));
    assert_eq!(required["description"], "One of these forms:\n- Needs a.\n- Needs b.");
    assert_eq!(required.get("required"), None);
}

#[test]
fn a_property_of_most_alternatives_lists_those_without_it() {
    let forms = (0..6).map(|number| {
        let mut properties = json!({"kind": {"const": number}});
        if number != 3 {
            properties["text"] = json!({"type": "string", "description": "Words"});
        }
        json!({"properties": properties})
    });
    let schema = flat(json!({"oneOf": forms.collect::<Vec<_>>()}));
    assert_eq!(schema["properties"]["text"]["description"], "Words (not with kind 3)");
    assert_eq!(schema["properties"]["kind"]["enum"], json!([0, 1, 2, 3, 4, 5]));
}

#[test]
fn nested_alternatives_preserve_every_value() {
    let leaf = |name: &str| json!({"properties": {"op": {"const": name}, name: {"type": "string"}}, "required": ["op"]});
    let schema = flat(json!({
        "oneOf": [{"oneOf": [leaf("a"), leaf("b")]}, {"$ref": "#/$defs/c"}],
        "$defs": {"c": leaf("c")},
    }));
    assert_eq!(schema["properties"]["op"]["enum"], json!(["a", "b", "c"]));
    assert_eq!(schema["properties"]["a"]["description"], "(only with op a)");
    assert_eq!(schema["required"], json!(["op"]));
}

#[test]
fn non_objects_and_endless_schemas_are_rejected() {
    for (schema, error) in [
        (json!("object"), FlattenError::NotObject),
        (json!({"type": "string"}), FlattenError::NotObject),
        (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), FlattenError::NotObject),
        (json!({"$ref": "#"}), FlattenError::TooLarge),
        (json!({"$ref": "#/gone"}), FlattenError::UnknownReference("#/gone".to_owned())),
        (json!({"allOf": [false]}), FlattenError::NotObject),
        (
            json!({"$ref": "https://a.example"}),
            FlattenError::UnknownReference("https://a.example".to_owned()),
        ),
    ] {
        assert_eq!(flatten(&schema), Err(error), "{schema}");
    }
    // Each of the 60 references doubles the number of schemas to visit.
    let again: Vec<Value> = (0..60).map(|_| json!({"$ref": "#"})).collect();
    assert_eq!(flatten(&json!({"oneOf": again})), Err(FlattenError::TooLarge));
}

#[test]
fn only_alternatives_that_are_not_objects_are_dropped() {
    let form = json!({"properties": {"a": {}}, "required": ["a"]});
    let mut deep = form.clone();
    for _ in 0..9 {
        deep = json!({"allOf": [deep]});
    }
    let unknown = || FlattenError::UnknownReference("#/gone".to_owned());
    for alternatives in ["oneOf", "anyOf"] {
        for (other, error) in [
            (json!({"$ref": "#/gone"}), unknown()),
            (json!({"anyOf": [{"$ref": "#/gone"}]}), unknown()),
            (json!({"$ref": "#"}), FlattenError::TooLarge),
            (deep.clone(), FlattenError::TooLarge),
        ] {
            assert_eq!(flatten(&json!({alternatives: [form, other]})), Err(error), "{alternatives} {other}");
        }
        for other in [json!({"type": "null"}), json!(false), json!({"allOf": [{"type": "string"}]})] {
            let schema = flat(json!({alternatives: [form, other]}));
            assert_eq!(schema["properties"], json!({"a": {}}), "{alternatives} {other}");
            assert_eq!(schema["required"], json!(["a"]), "{alternatives} {other}");
        }
        // A schema that allows any value allows any object.
        assert_eq!(flat(json!({alternatives: [form, true]})).get("required"), None, "{alternatives}");
    }
}

#[test]
fn thousands_of_alternatives_are_joined_in_one_pass() {
    let forms = (0..5_000).map(|number| {
        let shared = json!({"type": "string", "description": format!("About {number}")});
        json!({"title": number.to_string(), "properties": {"kind": {"const": number.to_string()}, "shared": shared}})
    });
    let schema = flat(json!({"oneOf": forms.collect::<Vec<_>>()}));
    assert_eq!(schema["properties"]["kind"]["enum"].as_array().map(Vec::len), Some(5_000));
    let text = schema["properties"]["shared"]["description"].as_str().expect("a text");
    assert!(text.ends_with("About 4999 (only with kind 4999)"), "{}", text.len());
}

#[test]
fn thousands_of_conflicting_parts_become_one_flat_all_of() {
    let part = |property: Value| json!({"properties": {"a": property}});
    let alternative = |property: Value| json!({"oneOf": [part(property)]});
    let number = |number: usize| json!({"minimum": number});
    let cases: [(&str, &dyn Fn(usize) -> Value); 6] = [
        ("conjunctions", &|at| part(json!({"allOf": [number(at)]}))),
        ("keywords", &|at| part(number(at))),
        ("disjoint enums", &|at| part(json!({"enum": [at]}))),
        ("references", &|at| part(json!({"$ref": format!("#/$defs/{at}")}))),
        ("annotations", &|at| part(json!({"minimum": at, "description": format!("{at}"), "default": at}))),
        ("alternatives", &|at| alternative(json!({"minimum": at, "description": format!("{at}")}))),
    ];
    for (name, form) in cases {
        let schema = flat(json!({"allOf": (0..3_000).map(form).collect::<Vec<_>>()}));
        let property = &schema["properties"]["a"];
        assert_eq!(property["allOf"].as_array().map(Vec::len), Some(3_000), "{name}");
        assert!(size(property).depth <= 4, "{name}: {}", size(property).depth);
    }
    let described = flat(json!({"allOf": [
        part(json!({"minimum": 1, "description": "First"})),
        part(json!({"minimum": 2, "description": "Second"})),
        part(json!({"description": "Third"})),
    ]}));
    let expected = json!({"allOf": [{"minimum": 1}, {"minimum": 2}], "description": "First"});
    assert_eq!(described["properties"]["a"], expected);
}

#[test]
fn values_that_references_multiply_are_refused() {
    let properties: serde_json::Map<String, Value> =
        (0..9_000).map(|at| (format!("p{at}"), json!({}))).collect();
    let again: Vec<Value> = (0..4_990).map(|_| json!({"$ref": "#/$defs/x"})).collect();
    let wide: [Value; 4] = [
        json!({"properties": properties}),
        json!({"properties": {"a": {"enum": (0..9_000).collect::<Vec<_>>()}}}),
        json!({"examples": (0..9_000).collect::<Vec<_>>()}),
        json!({"required": (0..9_000).map(|at| format!("p{at}")).collect::<Vec<_>>()}),
    ];
    for x in wide {
        for alternatives in ["oneOf", "anyOf"] {
            let schema = json!({alternatives: again, "$defs": {"x": x}});
            assert_eq!(flatten(&schema), Err(FlattenError::TooLarge), "{alternatives}");
        }
        // A few references are accepted.
        assert!(flatten(&json!({"oneOf": again[..2], "$defs": {"x": x}})).is_ok());
    }
}

#[test]
fn a_description_names_a_limited_number_of_alternatives() {
    let forms = (0..200).map(|at| {
        let extra = if at % 2 == 0 {
            json!({"kind": {"const": at}, "x": {}})
        } else {
            json!({"kind": {"const": at}})
        };
        json!({"properties": extra})
    });
    let schema = flat(json!({"oneOf": forms.collect::<Vec<_>>()}));
    let text = schema["properties"]["x"]["description"].as_str().expect("a text");
    assert!(text.starts_with("(only with kind 0, 2, ") && text.ends_with(", 98, …)"), "{text}");
}

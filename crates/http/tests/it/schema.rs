//! Properties derived from a definition: the argument schema, and the effect.

use haft_engine::ErrorKind;
use haft_testkit::json_reply;
use serde_json::{Value, json};

use crate::support::{Stage, defined, engine, open, with};

/// The final schema of a tool with this config, as text, since the order matters.
fn generated(definition: Value) -> String {
    let tools = engine(&[]);
    let case = definition.to_string();
    let version = tools.register(haft_engine::Tool::from_json(definition));
    let version = version.unwrap_or_else(|error| panic!("{case}: {error}"));
    version.spec.input_schema.as_ref().unwrap_or_else(|| panic!("{case}: no schema")).to_string()
}

/// A generated schema with these arguments, given as name and type.
fn schema(arguments: &[(&str, &str)], required: &[&str]) -> String {
    let properties: serde_json::Map<String, Value> = arguments
        .iter()
        .map(|(name, kind)| {
            ((*name).to_owned(), json!({"type": kind, "description": format!("Parameter: {name}")}))
        })
        .collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
        .to_string()
}

#[tokio::test]
async fn a_schema_is_generated_from_placeholders_in_order() {
    let string = "string";
    for (config, arguments, required) in [
        (json!({"url": "https://a.example/"}), vec![], vec![]),
        (json!({"url": "https://a.example/{{x}}"}), vec![("x", string)], vec!["x"]),
        (
            json!({"url": "https://a.example/{{z}}/{{a}}-{{m}}"}),
            vec![("z", string), ("a", string), ("m", string)],
            vec!["z", "a", "m"],
        ),
        (
            json!({"url": "https://a.example/{{b}}?q={{q}}&b={{b}}&a={{a}}"}),
            vec![("b", string), ("q", string), ("a", string)],
            vec!["b"],
        ),
        (
            json!({"url": "https://a.example/?x={{x}}", "params": {"y": "{{y}}", "x": "{{x}}", "l": ["{{z}} {{y}}"]}}),
            vec![("x", string), ("y", string), ("z", string)],
            vec![],
        ),
        (
            json!({
                "url": "https://a.example/{{p}}", "method": "POST", "headers": {"X-H": "{{h}} {{b}}", "X-P": "{{p}}"},
                "body": {"b": ["{{b}}", {"deep": {"er": "{{ c }}"}}]},
            }),
            vec![("p", string), ("b", string), ("c", string), ("h", string)],
            vec!["p"],
        ),
        (
            json!({"url": "https://a.example/", "method": "POST", "query": {"q": "{{q}}"}, "body": {"b": "{{b}}"}}),
            vec![("q", string), ("b", string)],
            vec![],
        ),
        (
            json!({"url": "/{{id}}", "baseUrl": "https://a.example/v1", "headers": {"X": "{{id}}"}}),
            vec![("id", string)],
            vec!["id"],
        ),
    ] {
        assert_eq!(generated(defined(config.clone())), schema(&arguments, &required), "{config}");
    }
}

#[tokio::test]
async fn a_dotted_name_makes_one_object_property() {
    for (params, arguments) in [
        (json!({"a": "{{o.x}}"}), vec![("o", "object")]),
        (json!({"a": "{{o.x.y.0}}"}), vec![("o", "object")]),
        (json!({"a": "{{l.0}}"}), vec![("l", "array")]),
        (json!({"a": "{{l.0.name}}", "b": "{{l.1}}"}), vec![("l", "array")]),
        (json!({"a": "{{m.0}}", "b": "{{m.name}}"}), vec![("m", "object")]),
        (json!({"a": "{{m.name}}", "b": "{{m.0}}"}), vec![("m", "object")]),
        (json!({"a": "{{w}}", "b": "{{w.x}}"}), vec![("w", "object")]),
        (json!({"a": "{{w.0}}", "b": "{{w}}"}), vec![("w", "array")]),
        (json!({"a": "{{z.x}}", "b": "{{s}}", "c": "{{z.y}}"}), vec![("z", "object"), ("s", "string")]),
    ] {
        let config = json!({"url": "https://a.example/", "params": params});
        assert_eq!(generated(defined(config)), schema(&arguments, &[]), "{params}");
    }
    let in_path = json!({"url": "https://a.example/{{o.id}}/{{l.0}}"});
    let expected = schema(&[("o", "object"), ("l", "array")], &["o", "l"]);
    assert_eq!(generated(defined(in_path)), expected, "dotted names in the path");
}

#[tokio::test]
async fn reserved_variables_and_secrets_are_not_arguments() {
    let config = json!({
        "url": "https://a.example/{{callId}}/{{x}}?k=secret://k", "method": "POST",
        "headers": {"X-Id": "{{callId}}", "X-Key": "secret://me/k"},
        "body": {"id": "{{callId}}", "note": "{{note}}"},
        "auth": {"type": "bearer", "token": "secret://t"},
    });
    let expected = schema(&[("x", "string"), ("note", "string")], &["x"]);
    assert_eq!(generated(defined(config)), expected, "reserved names");
}

#[tokio::test]
async fn the_generic_form_has_a_fixed_schema() {
    let made =
        generated(defined(json!({"baseUrl": "https://a.example/v1", "headers": {"X-Key": "secret://k"}})));
    let made: Value = serde_json::from_str(&made).expect("JSON");
    let words = |name: &str| made["properties"][name]["description"].clone();
    assert_eq!(
        made,
        json!({
            "type": "object",
            "properties": {
                "url": {"type": "string", "description": words("url")},
                "method": {"type": "string", "enum": ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]},
                "body": {"description": words("body")},
            },
            "required": ["url", "method"],
            "additionalProperties": false,
        }),
        "url, method, and an optional body"
    );
    for name in ["url", "body"] {
        assert!(words(name).as_str().is_some_and(|words| !words.is_empty()), "{name} is described");
    }
}

#[tokio::test]
async fn a_given_schema_is_unchanged() {
    let own = json!({"type": "object", "properties": {"days": {"type": "integer", "default": 3}}});
    for (case, fields) in [
        ("inputSchema", json!({"inputSchema": own})),
        ("input_schema", json!({"input_schema": own})),
        ("parameters", json!({"parameters": own})),
    ] {
        let config = json!({"url": "https://a.example/{{city}}", "params": {"d": "{{days}}"}});
        assert_eq!(generated(with(defined(config), fields)), own.to_string(), "{case}");
    }
    let absent = with(defined(json!({"url": "https://a.example/{{city}}"})), json!({"inputSchema": null}));
    assert_eq!(generated(absent), schema(&[("city", "string")], &["city"]), "null is none");
}

#[tokio::test]
async fn arguments_are_validated_with_the_generated_schema() {
    let stage = Stage::new().await;
    let definition =
        defined(stage.config_at("/{{city}}", json!({"params": {"d": "{{days}}", "o": "{{o.x}}"}})));
    for (arguments, target) in [
        (json!({"city": "Rome", "days": "3"}), "/Rome?d=3"),
        (json!({"city": "Rome", "days": 3}), "/Rome?d=3"),
        (json!({"city": 7, "o": {"x": 1}}), "/7?o=1"),
    ] {
        let case = arguments.to_string();
        let made = stage.call_definition(definition.clone(), arguments).await;
        assert_eq!(made.only_request(&case).target, target, "{case}");
    }
    for (arguments, reported) in [
        (json!({"days": "3"}), "Invalid inputs: city: is required"),
        (json!({"city": "Rome", "cty": "x"}), "Invalid inputs: cty: is not a known property"),
        (json!({"city": true}), "Invalid inputs: city: true is not of type \"string\""),
        (json!({"city": "Rome", "o": "x"}), "Invalid inputs: o: \"x\" is not of type \"object\""),
    ] {
        let case = arguments.to_string();
        let made = stage.call_definition(definition.clone(), arguments).await;
        assert_eq!(made.refused(&case), (ErrorKind::Validation, reported.to_owned()), "{case}");
    }
}

#[tokio::test]
async fn the_method_determines_the_effect_and_retries() {
    let stage = Stage::answering(&[], |seen| {
        let status = seen.target.trim_start_matches('/').parse().expect("a status");
        json_reply(status, &json!({}))
    })
    .await;
    for (method, effect, repeats_500) in [
        ("GET", None, true),
        ("HEAD", None, true),
        ("PUT", None, true),
        ("DELETE", None, true),
        ("POST", None, false),
        ("PATCH", None, false),
        ("POST", Some("read"), true),
        ("POST", Some("idempotent"), true),
        ("GET", Some("write"), false),
    ] {
        for (path, repeats) in [("/500", repeats_500), ("/502", repeats_500), ("/503", true), ("/429", true)]
        {
            let case = format!("{method} as {effect:?}: {path}");
            let config = stage.config_at(path, json!({"method": method, "query": {}}));
            let made = stage.call_definition(with(open(config), json!({"effect": effect})), json!({})).await;
            let attempts = if repeats { 4 } else { 1 };
            assert_eq!((made.result.attempts, made.seen.len()), (attempts, attempts as usize), "{case}");
            assert_eq!(made.error(&case).is_retryable(), repeats, "{case}: as reported to the caller");
        }
    }
}

#[tokio::test]
async fn the_generic_form_has_the_effect_write() {
    let stage = Stage::answering(&[], |_| json_reply(500, &json!({}))).await;
    let made = stage
        .call_definition(
            defined(json!({"baseUrl": stage.up.url("/v1")})),
            json!({"url": "/x", "method": "GET"}),
        )
        .await;
    assert_eq!(made.failed("generic").0, ErrorKind::Server, "generic");
    assert_eq!(made.seen.len(), 1, "a write is not sent twice");
}

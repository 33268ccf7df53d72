//! Tool definitions as people write them: every field, spelling, alias and form, and rejected ones.

use haft_core::tool::input::{ToolInput, parse};
use haft_core::{Effect, Locale, Policy};
use serde_json::{Value, json};

fn read(definition: Value) -> ToolInput {
    parse(definition.clone()).unwrap_or_else(|violations| panic!("{definition}: {violations:?}"))
}

#[track_caller]
fn refused(definition: Value) -> String {
    let violations = parse(definition).expect_err("must be refused");
    let said: Vec<String> = violations.iter().map(|v| format!("{}: {}", v.path, v.message)).collect();
    said.join(", ")
}

fn with(extra: Value) -> Value {
    let mut definition = json!({"name": "a", "description": "A tool.", "type": "mock"});
    for (name, value) in extra.as_object().expect("fields") {
        definition[name] = value.clone();
    }
    definition
}

#[test]
fn a_minimal_definition_gets_the_documented_defaults() {
    let spec = read(with(json!({}))).spec;
    assert_eq!(
        serde_json::to_value(&spec).expect("written"),
        json!({
            "name": "a", "description": "A tool.", "category": null, "title": null, "icon": null, "type": "mock",
            "inputSchema": null, "outputSchema": null, "async": false, "config": {}, "timeout": 30000,
            "totalTimeout": 120_000, "effect": null, "policy": null, "askWhen": null, "retryCount": null, "retryDelay": 1000,
            "cacheTtl": 0, "rateLimit": null, "maxConcurrency": null, "priority": 0, "isActive": true,
        })
    );
    let again = read(serde_json::to_value(&spec).expect("written")).spec;
    assert_eq!(again, spec, "a serialized definition can be read");
}

#[test]
fn every_field_is_read_in_both_spellings() {
    let camel = with(json!({
        "category": "math", "title": {"en": "Sum", "zh": "求和"}, "icon": "plus", "inputSchema": {"type": "object"},
        "outputSchema": {"type": "number"}, "async": true, "config": {"x": 1}, "timeout": 5, "totalTimeout": 6,
        "effect": "idempotent", "policy": "ask", "retryCount": 2, "retryDelay": 7, "cacheTtl": 8,
        "rateLimit": {"perMinute": 9, "burst": 3}, "maxConcurrency": 4, "priority": -5, "isActive": false,
    }));
    let snake = with(json!({
        "category": "math", "title": {"en": "Sum", "zh": "求和"}, "icon": "plus", "input_schema": {"type": "object"},
        "output_schema": {"type": "number"}, "async": true, "config": {"x": 1}, "timeout": 5, "total_timeout": 6,
        "effect": "idempotent", "policy": "ask", "retry_count": 2, "retry_delay": 7, "cache_ttl": 8,
        "rate_limit": {"per_minute": 9, "burst": 3}, "max_concurrency": 4, "priority": -5, "is_active": false,
    }));
    let spec = read(camel).spec;
    assert_eq!(read(snake).spec, spec);
    assert_eq!((spec.effect, spec.policy), (Some(Effect::Idempotent), Some(Policy::Ask)));
    assert!(!spec.is_active && spec.run_async);
}

#[test]
fn aliases_mean_the_same() {
    assert_eq!(read(with(json!({"retries": 4}))).spec.retry_count, Some(4));
    assert_eq!(read(with(json!({"metadata": {"k": 1}}))).spec.config["k"], 1);
    assert_eq!(
        read(with(json!({"parameters": {"type": "object"}}))).spec.input_schema,
        Some(json!({"type": "object"}))
    );
    assert_eq!(read(with(json!({"type": "MOCK"}))).spec.kind.as_str(), "mock");
    let native = json!({"name": "n", "description": "N.", "type": "native", "params": {"type": "object"}});
    assert_eq!(read(native).spec.input_schema, Some(json!({"type": "object"})));
    let owner = "0190b5a0-0000-7000-8000-000000000000";
    assert_eq!(
        read(with(json!({"user_id": owner, "id": "x", "version": 3}))).server_fields["ownerId"],
        owner
    );
}

#[test]
fn null_stands_for_the_default_of_every_optional_field() {
    let bare = read(with(json!({}))).spec;
    let schema: Value = serde_json::from_str(include_str!("../../src/tool/schema.json")).expect("JSON");
    let required = ["name", "description", "type"];
    let fields = schema["properties"].as_object().expect("fields").keys();
    for field in fields.filter(|field| !required.contains(&field.as_str())) {
        assert_eq!(read(with(json!({field: null}))).spec, bare, "{field}");
    }
}

#[test]
fn null_next_to_the_flat_form_or_an_alias_counts_as_absent() {
    let flat = |more: Value| {
        let mut tool =
            json!({"name": "w", "description": "W.", "url": "https://a.example/x", "timeout": 200_000});
        tool.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        read(tool).spec
    };
    let bare = flat(json!({}));
    assert_eq!((bare.kind.as_str(), bare.total_timeout), ("http", 200_000));
    for more in [
        json!({"config": null}),
        json!({"metadata": null}),
        json!({"config": null, "metadata": null}),
        json!({"type": null}),
        json!({"totalTimeout": null}),
        json!({"retries": null, "retryCount": null}),
    ] {
        assert_eq!(flat(more.clone()), bare, "{more}");
    }
    let security = json!({"timeout": null, "security": {"timeout": 10000}});
    assert_eq!(flat(security).timeout, 10000);
    let retries = flat(json!({"retries": null, "retryCount": 3}));
    assert_eq!(retries, flat(json!({"retryCount": null, "retries": 3})));
    assert_eq!(retries.retry_count, Some(3));
}

#[test]
fn the_flat_form_is_the_config_form() {
    let flat = json!({
        "name": "w", "description": "W.", "endpoint": "https://a.example/x", "method": "POST", "headers": {"X": "1"},
        "params": {"q": 1}, "query": {"z": 2}, "body": {"b": 3}, "auth": {"type": "none"}, "security": {"timeout": 10000},
    });
    let nested = json!({
        "name": "w", "description": "W.", "type": "http", "timeout": 10000,
        "config": {"url": "https://a.example/x", "method": "POST", "headers": {"X": "1"},
            "params": {"q": 1}, "query": {"z": 2}, "body": {"b": 3}, "auth": {"type": "none"}, "security": {"timeout": 10000}},
    });
    let spec = read(flat).spec;
    assert_eq!(spec.category.as_deref(), Some("custom"), "http tools default to it");
    assert_eq!(read(nested).spec, spec);
    assert_eq!(
        read(json!({"name": "g", "description": "G.", "base_url": "https://a.example"})).spec.kind.as_str(),
        "http"
    );
}

#[test]
fn the_examples_of_the_specification_are_accepted() {
    let news = json!({
        "name": "news_search", "description": "Looks up recent news.", "endpoint": "https://api.search.com/v1/query",
        "method": "POST", "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
        "headers": {"Authorization": "Bearer sk-xxx"}, "timeout": 10000, "retryCount": 2, "isActive": true,
    });
    let spec = read(news).spec;
    assert_eq!((spec.kind.as_str(), spec.timeout, spec.retry_count), ("http", 10_000, Some(2)));
    assert_eq!(spec.config["url"], "https://api.search.com/v1/query");
}

#[test]
fn duplicate_fields_must_be_equal() {
    read(with(json!({"retries": 2, "retryCount": 2})));
    assert_eq!(
        refused(with(json!({"retryCount": 2, "retries": 3}))),
        "retries: is also given as retryCount, with another value; give only one of them"
    );
    assert!(
        refused(with(json!({"url": "https://a", "config": {"url": "https://b"}})))
            .contains("also given as config.url")
    );
    assert!(
        refused(with(json!({"url": "https://a", "endpoint": "https://b"}))).contains("also given as url")
    );
    assert!(
        refused(with(json!({"timeout": 5, "security": {"timeout": 6}})))
            .contains("config.security.timeout: is also given as timeout")
    );
}

#[test]
fn a_long_attempt_makes_room_in_the_whole_call() {
    assert_eq!(read(with(json!({"timeout": 600_000}))).spec.total_timeout, 600_000);
    assert_eq!(read(with(json!({"timeout": 600_000, "totalTimeout": 1000}))).spec.total_timeout, 1000);
}

#[test]
fn durations_are_read_in_the_script_of_a_mock() {
    let answers = |delay: Value, retry_after: Value| {
        json!([{"delay": delay, "data": {"delay": "1s"}},
            {"error": {"kind": "RateLimit", "message": "m", "retryAfter": retry_after}}, 7])
    };
    let spec = read(with(json!({"config": {"answers": answers(json!("1s"), json!("1m30s"))}}))).spec;
    assert_eq!(spec.config["answers"], answers(json!(1_000), json!(90_000)));
}

#[test]
fn a_title_in_one_language_stands_for_both() {
    for (given, en, zh) in [
        (json!({"en": "Weather"}), "Weather", "Weather"),
        (json!({"zh": "天气"}), "天气", "天气"),
        (json!({"en": "Weather", "zh": null}), "Weather", "Weather"),
        (json!({"en": "Weather", "zh": "天气"}), "Weather", "天气"),
    ] {
        let spec = read(with(json!({"title": given}))).spec;
        assert_eq!((spec.title(Locale::En), spec.title(Locale::Zh)), (en, zh), "{given}");
    }
}

#[test]
fn all_errors_are_reported_at_once_with_their_field() {
    assert_eq!(refused(json!([])), "(root): [] is not of type \"object\"");
    assert_eq!(
        refused(json!({})),
        "name: is required, description: is required, type: is missing, and there is no url that would make it an \
         http tool; give a url, or a type such as http, builtin or agent"
    );
    assert_eq!(
        refused(with(json!({"timout": 5, "cacheTtl": -1, "xyzzy": 1}))),
        "timout: is not a field of a tool; did you mean timeout?, xyzzy: is not a field of a tool, \
         cacheTtl: -1 is less than the minimum of 0"
    );
    for (field, value) in [
        ("name", json!("no spaces")),
        ("name", json!("x".repeat(65))),
        ("name", json!("")),
        ("name", json!(7)),
        ("description", json!("")),
        ("timeout", json!(0)),
        ("timeout", json!(600_001)),
        ("timeout", json!("30")),
        ("timeout", json!(1.5)),
        ("retryCount", json!(11)),
        ("retryCount", json!(-1)),
        ("effect", json!("reads")),
        ("policy", json!("maybe")),
        ("rateLimit", json!({"perMinute": 0})),
        ("rateLimit", json!({"burst": 1})),
        ("maxConcurrency", json!(0)),
        ("isActive", json!("yes")),
        ("config", json!([])),
        ("inputSchema", json!("x")),
        ("title", json!({})),
        ("title", json!({"en": ""})),
        ("title", json!({"en": 3})),
        ("title", json!({"fr": "Temps"})),
        ("title", json!(3)),
        ("async", json!(1)),
        ("priority", json!("high")),
        ("totalTimeout", json!(0)),
        ("type", json!("no such kind!")),
        ("icon", json!("")),
    ] {
        let said = refused(with(json!({field: value})));
        assert!(said.starts_with(field), "{field}: {said}");
    }
    assert!(
        refused(with(json!({"name": "0190b5a0-0000-7000-8000-000000000000"})))
            .contains("has the form of an id")
    );
    for name in haft_core::name::RESERVED_NAMES {
        assert!(refused(with(json!({"name": name}))).contains("an agent's own tools"), "{name}");
    }
}

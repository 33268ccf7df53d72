//! Equivalent spellings: snake_case, lower case, aliases, the flat form.

use haft_testkit::json_reply;
use serde_json::{Value, json};

use crate::support::{CallOutcome, Stage, defined, open, with, wrong};

/// The result and requests of a call, for comparison.
fn deeds(made: &CallOutcome) -> Value {
    let requests: Vec<Value> = made
        .seen
        .iter()
        .map(|seen| {
            let header = |name| seen.header(name).map(str::to_owned);
            json!({
                "method": seen.method, "target": seen.target, "body": seen.text(),
                "contentType": header("content-type"), "authorization": header("authorization"),
            })
        })
        .collect();
    let error = made.result.error().map(ToString::to_string);
    json!({"requests": requests, "data": made.result.data(), "error": error})
}

#[tokio::test]
async fn snake_case_is_equivalent_to_camel_case() {
    let answer =
        json!({"items": [{"id": 1, "mail": "ada@example.com"}], "access_token": "t", "token_type": "bearer"});
    let stage = Stage::answering(&[], move |_| json_reply(200, &answer)).await;
    let base = stage.up.url("/v1");
    let token = stage.up.url("/token");
    for (case, camel, snake) in [
        (
            "bodyType",
            json!({"url": "/x", "baseUrl": base, "method": "POST", "bodyType": "form", "body": {"user_name": "{{n}}"}}),
            json!({"url": "/x", "base_url": base, "method": "post", "body_type": "FORM", "body": {"user_name": "{{n}}"}}),
        ),
        (
            "responseFilter",
            json!({"url": "/x", "baseUrl": base, "params": {}, "responseFilter": "items[0].id"}),
            json!({"url": "/x", "base_url": base, "params": {}, "response_filter": "items[0].id"}),
        ),
        (
            "sendDefaults",
            json!({"url": "/x", "baseUrl": base, "params": {"n": "{{n}}", "d": "{{d}}"}, "sendDefaults": false}),
            json!({"url": "/x", "base_url": base, "params": {"n": "{{n}}", "d": "{{d}}"}, "send_defaults": false}),
        ),
        (
            "maxResponseSize",
            json!({"url": "/x", "baseUrl": base, "params": {}, "security": {"maxResponseSize": 5}}),
            json!({"url": "/x", "base_url": base, "params": {}, "security": {"max_response_size": 5}}),
        ),
        (
            "oauth2ClientCredentials",
            json!({"url": "/x", "baseUrl": base, "params": {}, "auth": {
                "type": "oauth2ClientCredentials", "tokenUrl": token, "clientId": "i", "clientSecret": "s3cret", "scope": "a b",
            }}),
            json!({"url": "/x", "base_url": base, "params": {}, "auth": {
                "type": "oauth2_client_credentials", "token_url": token, "client_id": "i", "client_secret": "s3cret", "scope": ["a", "b"],
            }}),
        ),
        (
            "apiKey",
            json!({"url": "/x", "baseUrl": base, "params": {}, "auth": {"type": "apiKey", "in": "query", "name": "k", "value": "v1"}}),
            json!({"url": "/x", "base_url": base, "params": {}, "auth": {"type": "api_key", "in": "query", "name": "k", "value": "v1"}}),
        ),
    ] {
        let schema =
            json!({"inputSchema": {"type": "object", "properties": {"d": {"default": "by default"}}}});
        let arguments = json!({"n": "Ada"});
        let first = stage.call_definition(with(defined(camel), schema.clone()), arguments.clone()).await;
        let second = stage.call_definition(with(defined(snake), schema), arguments).await;
        assert_eq!(deeds(&first), deeds(&second), "{case}");
        // Each setting has a visible effect, so that ignored fields are detected.
        let shown = deeds(&first).to_string();
        let proof = match case {
            "bodyType" => "user_name=Ada",
            "responseFilter" => "\"data\":1,",
            "sendDefaults" => "/v1/x?n=Ada\"",
            "maxResponseSize" => "limit 5 bytes",
            "oauth2ClientCredentials" => "scope=a%20b",
            _ => "/v1/x?k=v1",
        };
        assert!(shown.contains(proof), "{case}: {proof} is not in {shown}");
    }
}

#[tokio::test]
async fn allowed_domains_are_enforced_in_both_spellings() {
    let stage = Stage::new().await;
    for name in ["allowedDomains", "allowed_domains"] {
        let config = stage.config_at("/x", json!({"security": {name: ["other.example"]}}));
        let reported = wrong(&stage.tools, defined(config));
        let words =
            "does not include 127.0.0.1, the host of the tool's url, so every call would fail; add it";
        assert_eq!(reported, [("config.security.allowedDomains".to_owned(), words.to_owned())], "{name}");
    }
}

#[tokio::test]
async fn names_inside_values_are_not_respelled() {
    let stage = Stage::new().await;
    let config = json!({
        "method": "POST",
        "headers": {"X_Under_Score": "1"},
        "query": {"page_size": "{{page_size}}"},
        "body": {"first_name": {"in_here": "{{page_size}}"}},
    });
    let made = stage.call_with(stage.config_at("/n", config), json!({"page_size": 2})).await;
    let seen = made.only_request("names");
    assert_eq!(seen.target, "/n?page_size=2", "the query");
    assert_eq!(seen.header("x_under_score"), Some("1"), "the header");
    assert_eq!(seen.text(), r#"{"first_name":{"in_here":2}}"#, "the body");
}

#[tokio::test]
async fn aliases_are_accepted() {
    let stage = Stage::new().await;
    let url = stage.up.url("/w");
    for (case, definition, method) in [
        ("rest", json!({"name": "t", "description": "d", "type": "rest", "config": {"url": url}}), "GET"),
        ("REST", json!({"name": "t", "description": "d", "type": "REST", "config": {"url": url}}), "GET"),
        ("Http", json!({"name": "t", "description": "d", "type": "Http", "config": {"url": url}}), "GET"),
        ("no type", json!({"name": "t", "description": "d", "config": {"url": url}}), "GET"),
        ("endpoint", json!({"name": "t", "description": "d", "config": {"endpoint": url}}), "GET"),
        ("flat", json!({"name": "t", "description": "d", "endpoint": url, "method": "put"}), "PUT"),
        (
            "metadata",
            json!({"name": "t", "description": "d", "metadata": {"url": url, "method": "Patch"}}),
            "PATCH",
        ),
        (
            "the same twice",
            json!({"name": "t", "description": "d", "url": url, "config": {"url": url}}),
            "GET",
        ),
        ("auth none", json!({"name": "t", "description": "d", "url": url, "auth": "none"}), "GET"),
        ("auth None", json!({"name": "t", "description": "d", "url": url, "auth": {"type": "None"}}), "GET"),
        ("auth null", json!({"name": "t", "description": "d", "url": url, "auth": null}), "GET"),
        (
            "nulls",
            json!({"name": "t", "description": "d", "config": {"url": url, "params": null, "security": null}}),
            "GET",
        ),
        ("blanks", json!({"name": "t", "description": "d", "url": format!(" {url}\n")}), "GET"),
        ("HTTP://", json!({"name": "t", "description": "d", "url": url.replace("http", "HTTP")}), "GET"),
    ] {
        let made = stage.call_definition(definition, json!({})).await;
        let seen = made.only_request(case);
        assert_eq!((seen.method.as_str(), seen.target.as_str()), (method, "/w"), "{case}");
        assert_eq!(seen.header("authorization"), None, "{case}");
        let kept = stage.tools.get("t").expect("the tool");
        assert_eq!(kept.spec.kind.as_str(), "http", "{case}: the kind");
    }
}

#[tokio::test]
async fn a_base_url_in_snake_case_implies_the_kind() {
    let stage = Stage::new().await;
    let definition = json!({"name": "t", "description": "d", "config": {"base_url": stage.up.url("/v1")}});
    let reported = wrong(&stage.tools, definition);
    assert!(reported.is_empty(), "base_url without a type: {reported:?}");
}

#[tokio::test]
async fn a_timeout_in_security_is_the_timeout_of_the_tool() {
    let stage = Stage::new().await;
    stage.register(&open(stage.config_at("/w", json!({"security": {"timeout": 1234}}))));
    let kept = stage.tools.get("t").expect("the tool");
    assert_eq!(kept.spec.timeout, 1234, "milliseconds");
}

#[tokio::test]
async fn conflicting_aliases_of_a_field_are_rejected() {
    let stage = Stage::new().await;
    let (url, other) = ("https://a.example/", "https://b.example/");
    for (case, fields, path) in [
        ("flat and config", json!({"url": url, "config": {"url": other}}), "url"),
        ("endpoint and url", json!({"url": url, "endpoint": other}), "endpoint"),
        ("within config", json!({"config": {"url": url, "endpoint": other}}), "config.endpoint"),
        ("method", json!({"method": "GET", "config": {"url": url, "method": "POST"}}), "method"),
    ] {
        let definition = with(json!({"name": "t", "description": "d", "type": "http"}), fields);
        let reported = wrong(&stage.tools, definition);
        assert!(
            reported.iter().any(|(at, words)| at == path && words.contains("is also given as")),
            "{case}: {reported:?}"
        );
    }
}

#[tokio::test]
async fn conflicting_spellings_of_a_field_are_rejected() {
    let stage = Stage::new().await;
    let url = "https://a.example/";
    for (case, config) in [
        ("bodyType", json!({"url": url, "method": "POST", "bodyType": "json", "body_type": "form"})),
        ("baseUrl", json!({"baseUrl": url, "base_url": "https://b.example/"})),
        ("maxResponseSize", json!({"url": url, "security": {"maxResponseSize": 5, "max_response_size": 6}})),
        (
            "clientId",
            json!({"url": url, "auth": {
                "type": "oauth2ClientCredentials", "tokenUrl": url, "clientSecret": "s", "clientId": "a", "client_id": "b",
            }}),
        ),
    ] {
        let reported = wrong(&stage.tools, defined(config));
        assert!(!reported.is_empty(), "{case}: one of two values is silently dropped");
    }
}

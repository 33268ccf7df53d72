//! Dry runs: the request that would be sent, without its secrets, and nothing sent.

use haft_engine::{CallOptions, ErrorKind};
use haft_testkit::json_reply;
use serde_json::{Value, json};

use crate::support::{CallOutcome, Stage, open};

const LITERAL: &str = "l1teral-cred-ential";

async fn stage() -> Stage {
    Stage::answering(&[("k", "the-hidden-value")], |_| json_reply(200, &json!({}))).await
}

async fn dry(stage: &Stage, config: Value, arguments: Value) -> CallOutcome {
    stage.register(&open(config));
    let options = CallOptions::default().dry_run().call_id("call_1".parse().expect("an id"));
    let made = stage.call(arguments, options).await;
    assert_eq!(stage.up.connections(), 0, "a dry run asked the upstream");
    made
}

#[tokio::test]
async fn a_dry_run_shows_the_whole_request_and_sends_nothing() {
    let stage = stage().await;
    let arguments = json!({"id": "a/b", "city": "Zürich", "n": 3, "trace": "t"});
    for (config, shown) in [
        (
            stage.config_at("/items/{{id}}?c={{city}}", json!({"params": {"n": "{{n}}", "gone": "{{gone}}"}})),
            json!({"method": "GET", "url": stage.up.url("/items/a%2Fb?c=Z%C3%BCrich&n=3"), "headers": {}}),
        ),
        (
            stage.config_at("/i", json!({
                "method": "POST",
                "headers": {"X-City": "{{city}}", "X-Key": "secret://k", "X-Long": "v=secret://me/k;"},
                "query": {"n": "{{n}}"},
                "body": {"n": "{{n}}", "text": "n={{n}}", "pass": "secret://k", "gone": "{{gone}}"},
            })),
            json!({
                "method": "POST",
                "url": stage.up.url("/i?n=3"),
                "headers": {
                    "x-city": "Zürich", "x-key": "secret://k", "x-long": "v=secret://me/k;",
                    "idempotency-key": "call_1", "content-type": "application/json",
                },
                "body": {"n": 3, "text": "n=3", "pass": "secret://k"},
            }),
        ),
        (
            stage.config_at("/i", json!({"method": "PUT", "bodyType": "form", "body": {"a": "{{id}}", "n": "{{n}}"}})),
            json!({
                "method": "PUT",
                "url": stage.up.url("/i"),
                "headers": {"idempotency-key": "call_1", "content-type": "application/x-www-form-urlencoded"},
                "body": "a=a%2Fb&n=3",
            }),
        ),
        (
            stage.config_at("/i", json!({
                "method": "PATCH", "bodyType": "text", "body": "to {{city}}", "headers": {"Content-Type": "text/x-note"},
            })),
            json!({
                "method": "PATCH",
                "url": stage.up.url("/i"),
                "headers": {"idempotency-key": "call_1", "content-type": "text/x-note"},
                "body": "to Zürich",
            }),
        ),
        (
            stage.config_at("/i", json!({"method": "DELETE", "query": {}})),
            json!({"method": "DELETE", "url": stage.up.url("/i"), "headers": {"idempotency-key": "call_1"}}),
        ),
    ] {
        let case = config.to_string();
        let made = dry(&stage, config, arguments.clone()).await;
        assert_eq!(made.data(&case), &shown, "{case}");
        assert_eq!(made.result.attempts, 0, "{case}: attempts");
    }
}

#[tokio::test]
async fn a_dry_run_names_secrets_and_masks_literals() {
    let stage = stage().await;
    for (config, header, value) in [
        (json!({"auth": {"type": "bearer", "token": "secret://k"}}), "authorization", "Bearer secret://k"),
        (json!({"auth": {"type": "bearer", "token": LITERAL}}), "authorization", "Bearer ***"),
        (
            json!({"auth": {"type": "basic", "username": "u", "password": "secret://k"}}),
            "authorization",
            "Basic ***",
        ),
        (
            json!({"auth": {"type": "basic", "username": "u", "password": LITERAL}}),
            "authorization",
            "Basic ***",
        ),
        (
            json!({"auth": {"type": "apiKey", "name": "X-Plain", "value": "secret://k"}}),
            "x-plain",
            "secret://k",
        ),
        (json!({"auth": {"type": "apiKey", "name": "X-Plain", "value": LITERAL}}), "x-plain", "***"),
        (json!({"headers": {"Authorization": format!("Bearer {LITERAL}")}}), "authorization", "Bearer ***"),
        (json!({"headers": {"X-Api-Key": LITERAL}}), "x-api-key", "***"),
        (json!({"headers": {"X-Auth-Token": LITERAL}}), "x-auth-token", "***"),
        (
            json!({"headers": {"Authorization": "Token secret://me/k"}}),
            "authorization",
            "Token secret://me/k",
        ),
    ] {
        let case = config.to_string();
        let made = dry(&stage, stage.config_at("/i", config), json!({})).await;
        assert_eq!(made.data(&case)["headers"][header], value, "{case}");
        let shown = made.visible_text();
        assert!(!shown.contains(LITERAL) && !shown.contains("the-hidden-value"), "{case}: {shown}");
    }
    let key = |value: &str| json!({"auth": {"type": "apiKey", "in": "query", "name": "k", "value": value}});
    for (written, config, target) in [
        ("/i?x=1", key("secret://k"), "/i?x=1&k=secret://k"),
        ("/i?x=1", key(LITERAL), "/i?x=1&k=***"),
        ("/i?k=secret://k&x=1", json!({"query": {}}), "/i?k=secret://k&x=1"),
        ("/i", json!({"params": {"api_key": LITERAL}}), "/i?api_key=***"),
    ] {
        let case = format!("{written} {config}");
        let made = dry(&stage, stage.config_at(written, config), json!({})).await;
        assert_eq!(made.data(&case)["url"], stage.up.url(target), "{case}");
    }
}

#[tokio::test]
async fn secret_names_are_readable_in_a_query_and_a_form() {
    let stage = stage().await;
    let made = dry(&stage, stage.config_at("/i", json!({"params": {"k": "secret://k"}})), json!({})).await;
    assert_eq!(made.data("params")["url"], stage.up.url("/i?k=secret://k"), "params");
    let config = json!({"method": "POST", "bodyType": "form", "body": {"k": "secret://k"}});
    let made = dry(&stage, stage.config_at("/i", config), json!({})).await;
    assert_eq!(made.data("form")["body"], "k=secret://k", "a form");
}

#[tokio::test]
async fn a_literal_cookie_is_masked() {
    let stage = stage().await;
    let cookie = format!("session={LITERAL}; theme=dark");
    let made = dry(&stage, stage.config_at("/i", json!({"headers": {"Cookie": cookie}})), json!({})).await;
    let shown = made.visible_text();
    assert!(made.result.is_success() && !shown.contains(LITERAL), "cookie: {shown}");
}

#[tokio::test]
async fn a_dry_run_reports_the_violations_of_a_call() {
    let stage = stage().await;
    for (written, config, arguments, name) in [
        ("/{{x}}", json!({}), json!({}), "x"),
        ("/{{x}}", json!({}), json!({"x": ".."}), "x"),
        ("/i", json!({"headers": {"X-V": "{{v}}"}}), json!({"v": "a\r\nb"}), "v"),
        ("/i", json!({"params": {"q": "to {{q}}"}}), json!({}), "q"),
    ] {
        let case = format!("{written} {config} with {arguments}");
        let made = dry(&stage, stage.config_at(written, config), arguments).await;
        let (kind, reported) = made.refused(&case);
        assert_eq!(kind, ErrorKind::Validation, "{case}: {reported}");
        assert!(reported.starts_with(&format!("Invalid inputs: {name}: ")), "{case}: {reported}");
    }
}

#[tokio::test]
async fn a_dry_run_does_not_require_secrets() {
    let stage = stage().await;
    let config = json!({"auth": {"type": "bearer", "token": "secret://not_set"}});
    let made = dry(&stage, stage.config_at("/i", config), json!({})).await;
    assert_eq!(made.data("not set")["headers"]["authorization"], "Bearer secret://not_set", "not set");
}

#[tokio::test]
async fn a_dry_run_of_a_generic_tool_shows_the_models_request() {
    let stage = stage().await;
    let config = json!({"baseUrl": stage.up.url("/v1"), "headers": {"X-Key": "secret://k"}});
    let arguments = json!({"url": "/items?limit=5", "method": "POST", "body": {"a": 1}});
    let made = dry(&stage, config, arguments).await;
    let shown = json!({
        "method": "POST",
        "url": stage.up.url("/v1/items?limit=5"),
        "headers": {"x-key": "secret://k", "idempotency-key": "call_1", "content-type": "application/json"},
        "body": {"a": 1},
    });
    assert_eq!(made.data("generic"), &shown, "generic");
}

//! The call id in requests: `{{callId}}`, and the idempotency key.

use std::sync::atomic::{AtomicUsize, Ordering};

use haft_engine::CallOptions;
use haft_testkit::json_reply;
use serde_json::json;

use crate::support::{Stage, open, with};

#[tokio::test]
async fn the_call_id_is_a_variable_and_the_idempotency_key() {
    let stage = Stage::new().await;
    let config = json!({
        "method": "POST",
        "query": {"q": "{{callId}}"},
        "headers": {"X-Call": "id={{ callId }}"},
        "body": {"id": "{{callId}}", "text": "call {{callId}}"},
    });
    stage.register(&open(stage.config_at("/calls/{{callId}}", config)));
    let given = CallOptions::default().call_id("call_123".parse().expect("an id"));
    for (case, options) in [("given", given), ("made", CallOptions::default())] {
        // An argument with that name is not the call id.
        let made = stage.call(json!({"callId": "forged"}), options).await;
        let seen = made.only_request(case);
        let id = made.result.call_id.as_str();
        assert_eq!(id == "call_123", case == "given", "{case}: {id}");
        assert_eq!(seen.target, format!("/calls/{id}?q={id}"), "{case}: the target");
        assert_eq!(seen.header("x-call"), Some(format!("id={id}").as_str()), "{case}: the header");
        assert_eq!(seen.json(), json!({"id": id, "text": format!("call {id}")}), "{case}: the body");
        assert_eq!(seen.header("idempotency-key"), Some(id), "{case}: the key");
    }
}

#[tokio::test]
async fn every_writing_method_has_the_idempotency_key() {
    let stage = Stage::new().await;
    for (method, has_key) in
        [("GET", false), ("HEAD", false), ("POST", true), ("PUT", true), ("PATCH", true), ("DELETE", true)]
    {
        let made = stage.call_with(stage.config_at("/k", json!({"method": method})), json!({})).await;
        let key = has_key.then(|| made.result.call_id.as_str());
        assert_eq!(made.only_request(method).header("idempotency-key"), key, "{method}");
    }
}

#[tokio::test]
async fn every_attempt_has_the_same_key() {
    for (method, status) in [("POST", 503), ("PATCH", 429), ("PUT", 500), ("DELETE", 502)] {
        let before = AtomicUsize::new(0);
        let stage = Stage::answering(&[], move |_| {
            let status = if before.fetch_add(1, Ordering::SeqCst) < 2 { status } else { 200 };
            json_reply(status, &json!({}))
        })
        .await;
        let made = stage.call_with(stage.config_at("/k", json!({"method": method})), json!({"a": 1})).await;
        assert!(made.result.is_success(), "{method} {status}: {:?}", made.result.error());
        assert_eq!((made.result.attempts, made.seen.len()), (3, 3), "{method} {status}: attempts");
        let id = made.result.call_id.as_str();
        for seen in &made.seen {
            assert_eq!(seen.header("idempotency-key"), Some(id), "{method} {status}: the key");
        }
        let first = (&made.seen[0].target, &made.seen[0].body);
        assert!(
            made.seen.iter().all(|seen| (&seen.target, &seen.body) == first),
            "{method} {status}: the same request"
        );
    }
}

#[tokio::test]
async fn each_call_has_a_different_key() {
    let stage = Stage::new().await;
    stage.register(&open(stage.config_at("/k", json!({"method": "POST"}))));
    let first = stage.call(json!({}), CallOptions::default()).await;
    let second = stage.call(json!({}), CallOptions::default()).await;
    let key = |case: &str, seen: &haft_testkit::RecordedRequest| {
        seen.header("idempotency-key").unwrap_or_else(|| panic!("{case}: no key")).to_owned()
    };
    assert_ne!(
        key("first", first.only_request("first")),
        key("second", second.only_request("second")),
        "two calls"
    );
}

#[tokio::test]
async fn a_configured_key_takes_precedence() {
    let stage = Stage::new().await;
    for (name, value, arguments, sent) in [
        ("Idempotency-Key", "order-{{n}}", json!({"n": 7}), Some("order-7")),
        ("idempotency-key", "{{key}}", json!({"key": "mine"}), Some("mine")),
        // The header is omitted because its only placeholder is absent, so the call id is sent instead.
        ("Idempotency-Key", "{{key}}", json!({}), None),
    ] {
        let case = format!("{name}: {value} with {arguments}");
        let config = json!({"method": "POST", "headers": {name: value}, "body": {"a": 1}});
        let made = stage
            .call_definition(with(open(stage.config_at("/k", config)), json!({"retryCount": 0})), arguments)
            .await;
        let keys: Vec<_> = made.only_request(&case).headers.get_all("idempotency-key").iter().collect();
        assert_eq!(keys, [sent.unwrap_or(made.result.call_id.as_str())], "{case}");
    }
}

//! Attempts to bypass a tool's rules: redirects, odd methods, repeated fields, unreadable failures.

use haft_engine::{ErrorKind, Locale};
use haft_testkit::{http_response, json_reply};
use serde_json::json;

use crate::support::{Stage, with};

#[tokio::test]
async fn a_write_is_not_repeated_if_its_redirect_fails() {
    for (status, kind) in [(503, ErrorKind::Server), (429, ErrorKind::RateLimit)] {
        let stage = Stage::answering(&[], move |seen| match seen.target.as_str() {
            "/orders" => http_response(303, &[("location", "/orders/1")], ""),
            _ => http_response(status, &[], "busy"),
        })
        .await;
        let made = stage.call_with(stage.config_at("/orders", json!({"method": "POST"})), json!({})).await;
        let case = status.to_string();
        assert_eq!(made.error(&case).kind(), kind, "{case}");
        let orders = made.seen.iter().filter(|seen| seen.method == "POST").count();
        assert_eq!((orders, made.result.attempts), (1, 1), "{case}");
        assert!(!made.error(&case).is_retryable(), "{case}: {}", made.error(&case).to_json(Locale::En));
    }
}

#[tokio::test]
async fn the_generic_form_does_not_follow_redirects_outside_its_base() {
    let stage = Stage::answering(&[], |seen| match seen.target.as_str() {
        "/v1/go?to=/admin" => http_response(302, &[("location", "/admin")], ""),
        "/v1/go?to=/v1/items" => http_response(302, &[("location", "/v1/items")], ""),
        _ => json_reply(200, &json!({"at": seen.target})),
    })
    .await;
    let config = json!({"baseUrl": stage.up.url("/v1"), "headers": {"X-Key": "k-123456"}});
    let stays = stage.call_with(config.clone(), json!({"url": "/go?to=/v1/items", "method": "GET"})).await;
    assert_eq!(stays.data("stays"), &json!({"at": "/v1/items"}));
    let leaves = stage.call_with(config, json!({"url": "/go?to=/admin", "method": "GET"})).await;
    let (kind, words) = leaves.failed("leaves");
    assert_eq!(kind, ErrorKind::Permission, "{words}");
    assert!(words.starts_with("Not allowed: the request would leave http://127.0.0.1:"), "{words}");
    assert!(leaves.seen.iter().all(|seen| seen.target != "/admin"), "{:?}", leaves.seen);
}

#[tokio::test]
async fn a_model_can_neither_choose_other_methods_nor_override_the_tool() {
    let stage = Stage::new().await;
    let key = json!({"type": "apiKey", "in": "query", "name": "key", "value": "secret-12345"});
    let generic = json!({"baseUrl": stage.up.url("/v1"), "auth": key, "query": {"tenant": "a"}});
    for (arguments, path) in [
        (json!({"url": "/x", "method": "CONNECT"}), "method: must be one of GET, POST"),
        (json!({"url": "/x", "method": "FOO BAR"}), "method: must be one of GET, POST"),
        (json!({"url": "/x?key=other", "method": "GET"}), "url?key: is set by the tool"),
        (json!({"url": "/x?a=1&%74enant=b", "method": "GET"}), "url?tenant: is set by the tool"),
    ] {
        let made = stage.call_with(generic.clone(), arguments.clone()).await;
        let (kind, words) = made.refused(&arguments.to_string());
        assert_eq!(kind, ErrorKind::Validation, "{arguments}");
        assert!(words.contains(path), "{arguments}: {words}");
    }
    let lower = stage.call_with(generic, json!({"url": "/x", "method": "patch", "body": {"a": 1}})).await;
    assert_eq!(lower.only_request("lower").method, "PATCH");

    let plain = stage.config_at(
        "/items",
        json!({"auth": {"type": "apiKey", "in": "query", "name": "key", "value": "secret-12345"}}),
    );
    let made = stage.call_with(plain, json!({"key": "other", "q": 1})).await;
    assert!(made.refused("plain").1.contains("key: is set by the tool"), "{}", made.visible_text());
}

#[tokio::test]
async fn a_status_is_reported_even_if_the_body_is_unreadable() {
    for (status, headers, kind) in [
        (401, vec![("content-encoding", "rot13")], ErrorKind::Authentication),
        (400, vec![("content-encoding", "gzip")], ErrorKind::Validation),
        (404, vec![("content-encoding", "br, zstd")], ErrorKind::NotFound),
    ] {
        let stage = Stage::answering(&[], move |_| http_response(status, &headers, "mislabeled")).await;
        let made = stage.call_with(stage.config_at("/", json!({"method": "PUT"})), json!({})).await;
        assert_eq!((made.error("it").kind(), made.result.attempts), (kind, 1), "{status}");
    }
    let stage = Stage::answering(&[], |_| http_response(422, &[], "x".repeat(3 << 20))).await;
    let made = stage
        .call_with(stage.config_at("/", json!({"security": {"maxResponseSize": 1000}})), json!({}))
        .await;
    assert_eq!(made.error("long").kind(), ErrorKind::Validation);
    let body = made.error("long").details(Locale::En)["body"].as_str().map(str::len);
    assert_eq!(body, Some(1000), "as much as the tool may read");
}

#[tokio::test]
async fn an_empty_body_has_a_content_length_where_one_is_usual() {
    let stage = Stage::new().await;
    for (method, announced) in
        [("POST", Some("0")), ("PUT", Some("0")), ("PATCH", Some("0")), ("GET", None), ("DELETE", None)]
    {
        let config = stage.config_at("/", json!({"method": method, "query": {"a": 1}}));
        let made = stage.call_with(config, json!({})).await;
        assert_eq!(made.only_request(method).header("content-length"), announced, "{method}");
    }
}

#[tokio::test]
async fn defaults_inside_json_text_are_not_sent() {
    let stage = Stage::new().await;
    let inner =
        json!({"type": "object", "properties": {"limit": {"type": "integer", "default": 5}, "q": {}}});
    let schema = json!({"type": "object", "properties": {"filter": inner}});
    let definition = |send: bool| {
        let config = stage.config_at("/", json!({"method": "POST", "sendDefaults": send}));
        with(crate::support::defined(config), json!({"inputSchema": schema}))
    };
    for (send, arguments, sent) in [
        (false, json!({"filter": "{\"q\": 1}"}), json!({"filter": {"q": 1}})),
        (false, json!({"filter": "{\"q\": 1, \"limit\": 7}"}), json!({"filter": {"q": 1, "limit": 7}})),
        (false, json!({"filter": {"q": 1}}), json!({"filter": {"q": 1}})),
        (true, json!({"filter": "{\"q\": 1}"}), json!({"filter": {"q": 1, "limit": 5}})),
    ] {
        let made = stage.call_definition(definition(send), arguments.clone()).await;
        assert_eq!(made.only_request("it").json(), sent, "{arguments}");
    }
}

/// Records all calls.
#[derive(Default)]
struct RecordingSink(std::sync::Mutex<Vec<haft_engine::CallRecord>>);

impl haft_engine::CallSink for RecordingSink {
    fn write<'a>(
        &'a self,
        records: &'a [haft_engine::CallRecord],
    ) -> haft_engine::BoxFuture<'a, Result<(), haft_engine::SinkError>> {
        self.0.lock().expect("not poisoned").extend_from_slice(records);
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test]
async fn a_secret_in_an_argument_is_masked_in_the_call_record() {
    let upstream = haft_testkit::Upstream::start(crate::support::echo).await;
    let sink = std::sync::Arc::new(RecordingSink::default());
    let tools = crate::support::builder(&[("k", "hunter2-hunter2")]).sink(sink.clone()).build();
    let config = json!({"url": upstream.url("/"), "method": "POST", "headers": {"X-K": "secret://k"}});
    tools.register(haft_engine::Tool::from_json(crate::support::open(config))).expect("registered");
    let arguments = json!({"note": "the key is hunter2-hunter2"});
    let result = tools.execute("t", arguments, haft_engine::CallOptions::default()).await.expect("an answer");
    assert!(result.is_success());
    tools.close().await;
    let records = sink.0.lock().expect("not poisoned");
    assert_eq!(records[0].arguments.value(), Some(json!({"note": "the key is ***"})));
    let shown = records[0].outcome.as_ref().expect("a success").text();
    assert!(shown.contains("***") && !shown.contains("hunter2"), "{shown}");
}

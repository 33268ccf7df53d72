//! Redaction in the call log: no secret, and no value that the tool's author hides, whatever the outcome of
//! the call.

use axum::http::Method;
use haft_testkit::{Client, TestResponse, Upstream, json_reply};
use serde_json::{Value, json};

use crate::agents::make;
use crate::http_tools::start;
use crate::tool_calls::{execute, read};

const SECRET: &str = "zeppelin-secret-0123456789";

async fn upstream() -> Upstream {
    Upstream::start(|seen| {
        let status = if seen.target.contains("/fail") { 400 } else { 200 };
        json_reply(status, &json!({"target": seen.target, "key": seen.header("x-key")}))
    })
    .await
}

async fn set_secret(api: &Client) {
    assert_eq!(api.put("/api/secrets/key", &json!({"value": SECRET})).await.status, 200);
}

/// Creates a tool that uses the secret, with additional fields. Returns its id.
async fn make_keyed(api: &Client, upstream: &Upstream, name: &str, more: Value) -> String {
    let mut tool = json!({
        "name": name, "description": "d", "url": upstream.url("/ok"), "params": {"q": "{{q}}"},
        "headers": {"X-Key": "secret://key"}, "retryCount": 0,
        "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}},
    });
    for (field, value) in more.as_object().expect("fields") {
        tool[field] = value.clone();
    }
    make(api, "/api/tools", &tool).await["id"].as_str().expect("an id").to_owned()
}

/// Returns the log entry of a call, after asserting that neither it nor the list contains `hidden`.
async fn redacted_entry(api: &Client, call: &TestResponse, hidden: &str) -> Value {
    let row = read(api, call).await;
    assert!(!row.to_string().contains(hidden), "{row:#}");
    let list = api.get("/api/tool-calls?limit=200").await;
    assert!(!list.body.to_string().contains(hidden), "{:#}", list.body);
    row
}

#[tokio::test]
async fn secrets_are_redacted_whatever_the_outcome_of_a_call() {
    let (upstream, (_server, api)) = (upstream().await, start(&[]).await);
    set_secret(&api).await;
    let echo = json!({"q": format!("my {SECRET}")});
    let masked = json!({"q": "my ***"});

    // Refused before the first call of the tool, when the secret has not been read yet.
    make_keyed(&api, &upstream, "refused", json!({})).await;
    let wrong = json!({"q": format!("my {SECRET}"), "n": format!("{SECRET}0")});
    let refused = execute(&api, "refused", wrong).await;
    assert_eq!((refused.status, refused.kind()), (400, "Validation"), "{}", refused.body);
    let row = redacted_entry(&api, &refused, "zeppelin").await;
    assert_eq!((&row["arguments"]["q"], &row["notReplayable"]), (&masked["q"], &json!("masked")), "{row}");
    assert!(row["error"]["message"].as_str().is_some_and(|message| message.contains("n: ")), "{row}");

    make_keyed(&api, &upstream, "worked", json!({"cacheTtl": 600})).await;
    for is_cached in [false, true] {
        let called = execute(&api, "worked", echo.clone()).await;
        assert_eq!(called.data()["cached"], json!(is_cached), "{}", called.body);
        let row = redacted_entry(&api, &called, "zeppelin").await;
        assert_eq!((&row["arguments"], &row["cached"]), (&masked, &json!(is_cached)), "{row}");
        assert_eq!(row["result"]["key"], "***");
    }

    make_keyed(&api, &upstream, "failed", json!({"url": upstream.url("/fail")})).await;
    let failed = execute(&api, "failed", echo.clone()).await;
    assert_eq!((failed.status, failed.kind()), (400, "Validation"), "{}", failed.body);
    let row = redacted_entry(&api, &failed, "zeppelin").await;
    assert!(row["error"]["details"]["body"].as_str().is_some_and(|body| body.contains("***")), "{row}");

    let limit = json!({"rateLimit": {"perMinute": 1, "burst": 1}});
    make_keyed(&api, &upstream, "limited", limit).await;
    execute(&api, "limited", json!({})).await;
    let limited = execute(&api, "limited", echo.clone()).await;
    assert_eq!(limited.status, 429, "{}", limited.body);
    assert_eq!(redacted_entry(&api, &limited, "zeppelin").await["arguments"], masked);

    let id = make_keyed(&api, &upstream, "off", json!({})).await;
    let path = format!("/api/tools/{id}");
    assert_eq!(api.send_json(Method::PATCH, &path, &json!({"isActive": false})).await.status, 200);
    let off = execute(&api, "off", echo.clone()).await;
    assert_eq!(off.kind(), "ToolDisabled", "{}", off.body);
    assert_eq!(redacted_entry(&api, &off, "zeppelin").await["arguments"], masked);
}

#[tokio::test]
async fn cut_values_contain_no_part_of_a_secret() {
    let (upstream, (_server, api)) = (upstream().await, start(&[]).await);
    set_secret(&api).await;
    make_keyed(&api, &upstream, "long", json!({"method": "POST", "params": {"q": "{{q}}"}})).await;
    for before in [16_350, 16_365, 16_370] {
        let called = execute(&api, "long", json!({"q": format!("{}{SECRET}", "x".repeat(before))})).await;
        let row = redacted_entry(&api, &called, "zepp").await;
        assert_eq!(row["replayable"], json!(false), "{before}");
    }
    // A message quotes only the beginning of a value, which may end inside a secret.
    for before in [60, 70] {
        let wrong = json!({"n": format!("{}{SECRET}", "x".repeat(before))});
        let refused = execute(&api, "long", wrong).await;
        assert_eq!(refused.kind(), "Validation", "{}", refused.body);
        redacted_entry(&api, &refused, "zepp").await;
    }
}

#[tokio::test]
async fn arguments_that_only_look_redacted_can_be_replayed() {
    let (upstream, (_server, api)) = (upstream().await, start(&[]).await);
    set_secret(&api).await;
    make_keyed(&api, &upstream, "worked", json!({})).await;
    let arguments = json!({"q": "*** bold *** and [redacted]"});
    let row = read(&api, &execute(&api, "worked", arguments.clone()).await).await;
    assert_eq!((&row["arguments"], &row["replayable"]), (&arguments, &json!(true)), "{row}");
    let path = format!("/api/tool-calls/{}/replay", row["id"].as_str().expect("an id"));
    assert_eq!(api.post(&path, &json!({})).await.status, 200);
}

#[tokio::test]
async fn redaction_rules_of_a_tool_apply_to_arguments_too() {
    let (upstream, (_server, api)) = (upstream().await, start(&[]).await);
    let tool = json!({
        "name": "people", "description": "d", "url": upstream.url("/ok"), "method": "POST",
        "config": {"body": {"all": "{{user}}"}, "redact": [{"pattern": "email"}, "user.name"]},
        "inputSchema": {"type": "object", "properties": {
            "user": {"type": "object"}, "age": {"type": "integer"},
            "mail": {"type": "string", "format": "email"},
        }},
    });
    make(&api, "/api/tools", &tool).await;
    let arguments = json!({"user": {"name": "Zeppelin", "mail": "zeppelin@b.example", "n": 1}});
    let called = execute(&api, "people", arguments).await;
    assert_eq!(called.status, 200, "{}", called.body);
    let seen = upstream.seen().pop().expect("a request");
    assert!(seen.text().contains("Zeppelin"), "the upstream gets all of it: {}", seen.text());
    let row = redacted_entry(&api, &called, "eppelin").await;
    let hidden = json!({"user": {"name": "[redacted]", "mail": "[redacted]", "n": 1}});
    assert_eq!((&row["arguments"], &row["notReplayable"]), (&hidden, &json!("masked")), "{row}");

    // The caller may read the value in the response. In the log it is hidden, also where a message quotes it.
    let wrong = json!({"mail": "zeppelin@b.example is no mail", "age": "zeppelin@b.example"});
    let refused = execute(&api, "people", wrong).await;
    assert!(refused.message().contains("zeppelin@b.example"), "{}", refused.message());
    let row = redacted_entry(&api, &refused, "zeppelin").await;
    assert_eq!(row["arguments"]["age"], "[redacted]", "{row}");
    assert!(row["error"]["message"].as_str().is_some_and(|message| message.contains("age: … is")), "{row}");
    let replay = format!("/api/tool-calls/{}/replay", row["id"].as_str().expect("an id"));
    assert_eq!(api.post(&replay, &json!({})).await.status, 409);
}

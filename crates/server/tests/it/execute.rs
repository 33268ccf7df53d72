//! `POST /api/tools/{idOrName}/execute`

use serde_json::{Value, json};

use crate::support::{App, mock};

/// A reply without what differs from run to run.
fn stable(mut body: Value) -> Value {
    body["data"]["callId"] = json!("…");
    body["data"]["executionTime"] = json!(0);
    if body["error"].is_object() {
        body["error"]["requestId"] = json!("…");
    }
    body
}

#[tokio::test]
async fn a_success_is_the_result_in_the_envelope() {
    let app = App::start().await;
    let tool = app.create(mock("weather", json!([{"data": {"temperature": 20}}]))).await;
    let expected = json!({
        "code": 200, "message": "success",
        "data": {"success": true, "data": {"temperature": 20}, "callId": "…", "toolName": "weather", "executionTime": 0,
                 "attempts": 1, "cached": false},
    });
    for name in ["weather", tool["id"].as_str().expect("an id")] {
        let reply = app.execute(name, json!({"arguments": {}})).await;
        assert_eq!((reply.status, stable(reply.body)), (200, expected.clone()));
    }
}

#[tokio::test]
async fn a_failed_call_has_its_status_and_says_it_in_both_places() {
    let app = App::start().await;
    let mut definition = mock("weather", json!([]));
    definition["inputSchema"] = json!({"type": "object", "required": ["city"]});
    app.create(definition).await;
    let reply = app.execute("weather", json!({"arguments": {}})).await;
    assert_eq!(reply.status, 400);
    assert_eq!(reply.header("x-should-retry"), Some("false"));
    let details = json!({"errors": [{"path": "city", "message": "is required", "id": "required"}]});
    assert_eq!(
        stable(reply.body),
        json!({
            "code": 400, "message": "Invalid inputs: city: is required",
            "data": {"success": false, "error": {"kind": "Validation", "message": "Invalid inputs: city: is required",
                     "retryable": false, "details": details}, "callId": "…", "toolName": "weather", "executionTime": 0,
                     "attempts": 0, "cached": false},
            "error": {"kind": "Validation", "details": details, "requestId": "…"},
        })
    );
}

#[tokio::test]
async fn every_kind_a_tool_can_fail_with_comes_out_with_its_status() {
    let app = App::start().await;
    for (kind, status) in [
        ("Network", 502),
        ("Timeout", 504),
        ("Validation", 400),
        ("Authentication", 502),
        ("Permission", 403),
        ("NotFound", 404),
        ("RateLimit", 429),
        ("Server", 502),
        ("ResponseTooLarge", 502),
        ("Execution", 422),
        ("Denied", 403),
        ("Unknown", 409),
        ("BudgetExceeded", 429),
        ("Unavailable", 503),
        ("Internal", 500),
    ] {
        let mut definition = mock(kind, json!([{"error": {"kind": kind, "message": "it failed"}}]));
        definition["retryCount"] = json!(0);
        app.create(definition).await;
        let reply = app.execute(kind, json!({})).await;
        assert_eq!((reply.status, reply.kind(), reply.message()), (status, kind, "it failed"));
        assert_eq!(reply.data()["attempts"], 1);
        let may_be_repeated = ["Network", "Timeout", "RateLimit", "Server", "Unavailable"].contains(&kind);
        assert_eq!(reply.header("x-should-retry"), (!may_be_repeated).then_some("false"), "{kind}");
        assert_eq!(reply.data()["error"]["retryable"], may_be_repeated, "{kind}");
    }
    let mut write = mock("write", json!([{"error": {"kind": "Timeout", "message": "late"}}]));
    write["effect"] = json!("write");
    app.create(write).await;
    let reply = app.execute("write", json!({})).await;
    assert_eq!((reply.status, reply.header("x-should-retry")), (504, Some("false")), "it may have happened");
}

#[tokio::test]
async fn guards_answer_with_a_time_to_come_back() {
    let app = App::start().await;
    let mut limited = mock("limited", json!([{"data": 1}]));
    limited["rateLimit"] = json!({"perMinute": 1, "burst": 1});
    app.create(limited).await;
    assert_eq!(app.execute("limited", json!({})).await.status, 200);
    let reply = app.execute("limited", json!({})).await;
    assert_eq!((reply.status, reply.kind()), (429, "RateLimit"));
    assert!(
        reply
            .header("retry-after")
            .and_then(|value| value.parse::<u64>().ok())
            .is_some_and(|s| (55..=60).contains(&s))
    );

    let mut broken = mock("broken", json!([{"error": {"kind": "Server", "message": "down"}}]));
    broken["retryCount"] = json!(0);
    broken["config"]["breakerKey"] = json!("api.example");
    app.create(broken).await;
    for _ in 0..5 {
        assert_eq!(app.execute("broken", json!({})).await.status, 502);
    }
    let reply = app.execute("broken", json!({})).await;
    assert_eq!((reply.status, reply.kind()), (503, "CircuitOpen"));
    assert_eq!(reply.header("x-should-retry"), None, "later is fine");
    assert_eq!(reply.header("retry-after"), Some("30"));
}

#[tokio::test]
async fn messages_come_in_the_callers_language() {
    let app = App::start().await;
    let zh = app.api.with("accept-language", "zh-CN,zh;q=0.9,en;q=0.8");
    let reply = zh.post("/api/tools/fixd/execute", &json!({})).await;
    assert_eq!((reply.status, reply.message()), (404, "没有名为 fixd 的工具；是否想用 fixed？"));
    assert_eq!(reply.data()["error"]["message"], "没有名为 fixd 的工具；是否想用 fixed？");
    assert_eq!(reply.body["error"]["details"], json!({"what": "tool", "closest": ["fixed"]}));
}

#[tokio::test]
async fn options_do_what_they_say_in_both_spellings() {
    let app = App::start().await;
    app.create(mock("slow", json!([{"delay": 5000, "data": 1}]))).await;
    let reply = app.execute("slow", json!({"options": {"timeout": 30, "retries": 1, "retryDelay": 1}})).await;
    assert_eq!((reply.status, &reply.data()["attempts"]), (504, &json!(2)));
    let reply =
        app.execute("slow", json!({"options": {"timeout": 30, "retries": 1, "retry_delay": 1}})).await;
    assert_eq!((reply.status, &reply.data()["attempts"]), (504, &json!(2)));

    let reply = app.execute("slow", json!({"arguments": {"a": 1}, "options": {"dryRun": true}})).await;
    assert_eq!(reply.data()["data"], json!({"tool": "slow", "arguments": {"a": 1}}));

    let mut typed = mock("typed", json!([]));
    typed["inputSchema"] = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    app.create(typed).await;
    assert_eq!(app.execute("typed", json!({"arguments": {"n": "3"}})).await.data()["data"], json!({"n": 3}));
    assert_eq!(
        app.execute("typed", json!({"arguments": {"n": "3"}, "options": {"strict": true}})).await.status,
        400
    );

    let options = json!({"options": {"callId": "call_1", "mode": "sync",
        "conversation_id": "0190b5a0-0000-7000-8000-000000000001"}});
    assert_eq!(app.execute("typed", options).await.data()["callId"], "call_1");
}

#[tokio::test]
async fn null_stands_for_the_default_of_every_option() {
    let app = App::start().await;
    let document = app.api.get("/api/openapi.json").await.body;
    let options = &document["components"]["schemas"]["ExecuteTool"]["properties"]["options"]["properties"];
    let names: Vec<&String> = options.as_object().expect("options").keys().collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        let reply = app.execute("fixed", json!({"arguments": {"n": 1}, "options": {name: null}})).await;
        assert_eq!((reply.status, &reply.data()["data"]), (200, &json!({"n": 1})), "{name}: {}", reply.body);
    }
}

#[tokio::test]
async fn a_body_that_is_not_right_is_refused_by_name() {
    let app = App::start().await;
    for (body, message) in [
        (
            json!({"expression": "1+1"}),
            "The body has no field `expression`. Put arguments under `arguments`.",
        ),
        (
            json!({"argumens": {}, "n": 1, "options": {"timeout": 0}}),
            "The body has no field `argumens`, `n`. Put arguments under `arguments`.",
        ),
        (json!({"arguments": {}, "timeout": 5}), "The body has no field `timeout`. Put it under `options`."),
        (json!({"agent_id": "clerk"}), "The body has no field `agent_id`. Put it under `options`."),
        (
            json!({"expression": "1+1", "timeout": 5, "retries": 1}),
            "The body has no field `expression`. Put arguments under `arguments`. \
             The body has no fields `timeout`, `retries`. Put them under `options`.",
        ),
        (
            json!({"options": {"timeout": 0}}),
            "Invalid inputs: options.timeout: 0 is not between 1 and 600000",
        ),
        (json!({"options": {"retries": 99}}), "Invalid inputs: options.retries: 99 is not between 0 and 10"),
        (
            json!({"options": {"mode": "later"}}),
            "Invalid inputs: options.mode: \"later\" is not one of \"sync\", \"async\", null",
        ),
        (
            json!({"options": {"agentId": 7}}),
            "Invalid inputs: options.agentId: 7 is not of types \"null\", \"string\"",
        ),
        (
            json!({"options": {"timeout": "soon"}}),
            "Invalid inputs: options.timeout: \"soon\" is not of types \"null\", \"integer\"",
        ),
        (
            json!({"options": {"callId": "a b"}}),
            "Invalid inputs: options.callId: \"a b\" does not match \"^[!-~]{1,128}$\"",
        ),
        (json!({"options": []}), "Invalid inputs: options: [] is not of type \"object\""),
        (json!([]), "Invalid inputs: (root): [] is not of type \"object\""),
        (json!({"arguments": [1]}), "Invalid inputs: (root): [1] is not of type \"object\""),
        (json!({"arguments": null}), "Invalid inputs: (root): null is not of type \"object\""),
    ] {
        let reply = app.execute("fixed", body).await;
        assert_eq!((reply.status, reply.message()), (400, message));
    }
    for options in [json!({"mode": "async"}), json!({"asyncAfter": 5})] {
        let reply = app.execute("fixed", json!({"options": options})).await;
        assert_eq!((reply.status, reply.kind()), (400, "BadRequest"));
        assert!(reply.message().contains("Background calls are not available here: no server is running"));
    }
}

#[tokio::test]
async fn exact_integers_stay_exact_through_the_whole_way() {
    let app = App::start().await;
    let body = br#"{"arguments": {"n": 9007199254740993, "m": -9223372036854775808}}"#.to_vec();
    let api = app.api.with("content-type", "application/json");
    let reply = api.send(reqwest::Method::POST, "/api/tools/fixed/execute", body).await;
    assert_eq!(reply.data()["data"].to_string(), r#"{"n":9007199254740993,"m":-9223372036854775808}"#);
}

#[tokio::test]
async fn equal_reads_are_kept() {
    let app = App::start().await;
    let mut kept = mock("kept", json!([{"data": 1}, {"data": 2}]));
    kept["cacheTtl"] = json!(60);
    app.create(kept).await;
    assert_eq!(app.execute("kept", json!({})).await.data()["cached"], false);
    let again = app.execute("kept", json!({})).await;
    assert_eq!((&again.data()["cached"], &again.data()["data"]), (&json!(true), &json!(1)));
}

#[tokio::test]
async fn arguments_outside_of_arguments_are_named_in_both_languages() {
    let app = App::start().await;
    let body = json!({"expression": "1+1"});
    let reply = app.execute("fixed", body.clone()).await;
    assert_eq!((reply.status, reply.kind()), (400, "Validation"));
    assert_eq!(reply.body["error"]["details"]["errors"][0]["path"], "expression");
    let chinese = app.api.with("accept-language", "zh");
    let reply = chinese.post("/api/tools/fixed/execute", &body).await;
    assert_eq!(reply.message(), "请求体没有字段 `expression`。请将参数放在 `arguments` 下。");
    let reply = chinese.post("/api/tools/fixed/execute", &json!({"timeout": 5})).await;
    assert_eq!(reply.message(), "请求体没有字段 `timeout`。请将其放在 `options` 下。");
}

#[tokio::test]
async fn durations_and_names_of_agents_are_accepted() {
    let app = App::start().await;
    let agent = json!({"name": "clerk", "bindings": [{"toolId": "fixed", "overrides": {"timeout": "2m"}}],
        "config": {"maxSeconds": "1h30m"}});
    let made = app.api.post("/api/agents", &agent).await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(made.data()["bindings"][0]["overrides"]["timeout"], 120_000);
    assert_eq!(made.data()["config"]["maxSeconds"], 5_400);
    for name in ["clerk", made.data()["id"].as_str().expect("an id")] {
        let options = json!({"options": {"agentId": name, "timeout": "30s", "retryDelay": "1ms"}});
        assert_eq!(app.execute("fixed", options).await.status, 200, "{name}");
    }
    let nobody = app.execute("fixed", json!({"options": {"agentId": "nobody"}})).await;
    assert_eq!((nobody.status, nobody.message()), (404, "there is no agent nobody"));

    let mut tool = mock("timed", json!([]));
    for (field, written) in
        [("timeout", "45s"), ("totalTimeout", "2m"), ("retryDelay", "500ms"), ("cacheTtl", "1h")]
    {
        tool[field] = json!(written);
    }
    let tool = app.api.post("/api/tools", &tool).await;
    let kept = ["timeout", "totalTimeout", "retryDelay", "cacheTtl"].map(|field| tool.data()[field].clone());
    assert_eq!(kept, [45_000, 120_000, 500, 3_600].map(|number| json!(number)), "{}", tool.body);
    let alert = app.api.post("/api/alerts", &json!({"metric": "p95", "above": 1, "forSeconds": "5m"})).await;
    assert_eq!(alert.data()["forSeconds"], 300, "{}", alert.body);
    for (path, body) in [
        ("/api/tools", json!({"name": "bad", "description": "A mock.", "type": "mock", "timeout": "soon"})),
        ("/api/tools", json!({"name": "bad", "description": "A mock.", "type": "mock", "timeout": "1d"})),
        ("/api/alerts", json!({"metric": "p95", "above": 1, "forSeconds": "500ms"})),
        ("/api/agents", json!({"name": "bad", "config": {"maxSeconds": "2d"}})),
    ] {
        let reply = app.api.post(path, &body).await;
        assert_eq!((reply.status, reply.kind()), (400, "Validation"), "{body}: {}", reply.body);
    }
}

//! The call log over REST: an entry for each call, filters, and replays.

use std::time::Duration;

use axum::http::Method;
use haft_testkit::{Client, TestResponse, TestStorage, Upstream, json_reply};
use serde_json::{Value, json};

use crate::agents::{make, scoped, stranger};
use crate::http_tools::start;

/// Creates a mock tool with the given results. Without results, it returns its arguments.
pub(crate) async fn mock(api: &Client, name: &str, answers: Value) -> Value {
    let tool = json!({
        "name": name, "description": "A mock.", "type": "mock", "inputSchema": {"type": "object"},
        "retryCount": 0, "config": {"answers": answers},
    });
    make(api, "/api/tools", &tool).await
}

pub(crate) async fn execute(api: &Client, tool: &str, arguments: Value) -> TestResponse {
    api.post(&format!("/api/tools/{tool}/execute"), &json!({"arguments": arguments})).await
}

/// Waits until `count` calls are logged, and returns them. Entries are written shortly after the response.
pub(crate) async fn wait_for_logged_calls(api: &Client, query: &str, count: usize) -> Vec<Value> {
    for _ in 0..250 {
        let reply = api.get(&format!("/api/tool-calls?limit=200{query}")).await;
        assert_eq!(reply.status, 200, "{query}: {}", reply.body);
        let items = reply.data()["items"].as_array().expect("a list").clone();
        assert!(items.len() <= count, "{query}: more than {count}: {items:#?}");
        if items.len() == count {
            return items;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{query}: there were never {count} logged calls");
}

/// Waits for the log entry of a call, and returns it.
pub(crate) async fn read(api: &Client, reply: &TestResponse) -> Value {
    let id = reply.data()["callId"].as_str().expect("a call id").to_owned();
    for _ in 0..250 {
        let read = api.get(&format!("/api/tool-calls/{id}")).await;
        if read.status == 200 {
            return read.data().clone();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{id} was never logged");
}

#[tokio::test]
async fn each_outcome_leaves_one_log_entry() {
    let (_server, api) = start(&[]).await;
    let broken = json!([{"error": {"kind": "Execution", "message": "it broke"}}]);
    mock(&api, "broken", broken).await;
    let slow = mock(&api, "slow", json!([{"delay": 5000, "data": 1}])).await;
    let me = api.get("/api/me").await;

    let worked = execute(&api, "calculator", json!({"expression": "6 * 7"})).await;
    let row = read(&api, &worked).await;
    let mut shown = row.clone();
    for field in ["id", "startedAt", "duration"] {
        assert!(!shown[field].is_null(), "{field}");
        shown.as_object_mut().expect("an object").remove(field);
    }
    assert_eq!(
        shown,
        json!({
            "callId": worked.data()["callId"], "spaceId": me.data()["space"]["id"], "toolId": "calculator",
            "toolVersion": 1, "toolName": "calculator", "agentId": null, "conversationId": null,
            "userId": me.data()["user"]["id"], "source": "api", "status": "success", "error": null,
            "attempts": 1, "cached": false, "coerced": [], "warnings": [], "replayOf": null,
            "argumentsCut": false, "resultCut": false, "replayable": true, "notReplayable": null,
            "arguments": {"expression": "6 * 7"}, "result": worked.data()["data"],
        })
    );
    let by_row = api.get(&format!("/api/tool-calls/{}", row["id"].as_str().expect("an id"))).await;
    assert_eq!(by_row.data(), &row);

    for (tool, arguments, kind, status) in [
        ("calculator", json!({}), "Validation", "failed"),
        ("whether", json!({"a": 1}), "NotFound", "failed"),
        ("broken", json!({"a": 1}), "Execution", "failed"),
    ] {
        let reply = execute(&api, tool, arguments.clone()).await;
        let row = read(&api, &reply).await;
        let error = &reply.data()["error"];
        assert_eq!((&row["toolName"], &row["status"]), (&json!(tool), &json!(status)), "{row}");
        assert_eq!((&row["error"]["kind"], &row["error"]["message"]), (&json!(kind), &error["message"]));
        assert_eq!((&row["error"]["details"], &row["arguments"]), (&error["details"], &arguments), "{tool}");
        assert_eq!((&row["result"], &row["toolId"].is_null()), (&Value::Null, &(tool == "whether")));
    }
    let options = json!({"arguments": {}, "options": {"timeout": 50, "retries": 1, "retryDelay": 1}});
    let timed_out = api.post("/api/tools/slow/execute", &options).await;
    let row = read(&api, &timed_out).await;
    assert_eq!((&row["error"]["kind"], &row["attempts"]), (&json!("Timeout"), &json!(2)), "{row}");
    assert_eq!(row["toolId"], slow["id"]);

    // A client that disconnects cancels its call.
    let left = execute(&api, "slow", json!({"left": true}));
    assert!(tokio::time::timeout(Duration::from_millis(300), left).await.is_err());
    let cancelled = wait_for_logged_calls(&api, "&status=cancelled", 1).await;
    assert_eq!(cancelled[0]["error"]["kind"], "Cancelled");
    // A dry run calls nothing.
    let dry = json!({"arguments": {}, "options": {"dryRun": true}});
    api.post("/api/tools/broken/execute", &dry).await;
    wait_for_logged_calls(&api, "", 6).await;
    // Logged error messages are English, whatever the language of the caller.
    let chinese = execute(&api.with("accept-language", "zh"), "calculator", json!({})).await;
    let row = read(&api, &chinese).await;
    assert!(row["error"]["message"].as_str().is_some_and(str::is_ascii), "{row}");
}

#[tokio::test]
async fn log_entries_outlive_the_server_and_a_clean_stop_loses_none() {
    let place = TestStorage::new();
    let variables = place.variables();
    let directory: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let (server, api) = start(&directory).await;
    for number in 0..50 {
        execute(&api, "calculator", json!({"expression": format!("{number} + 1")})).await;
    }
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    let (_server, api) = start(&directory).await;
    wait_for_logged_calls(&api, "", 50).await;
}

#[tokio::test]
async fn calls_are_found_by_every_filter() {
    let (_server, api) = start(&[]).await;
    let broken = json!([{"error": {"kind": "Server", "message": "zeppelin has landed"}}]);
    let tool = mock(&api, "broken", broken).await;
    let agent = make(&api, "/api/agents", &json!({"name": "clerk", "toolIds": ["calculator"]})).await;
    let (agent, tool) = (agent["id"].as_str().expect("an id"), tool["id"].as_str().expect("an id"));
    execute(&api, "calculator", json!({"expression": "1"})).await;
    execute(&api.with("haft-source", "cli"), "calculator", json!({"expression": "2"})).await;
    execute(&api, "broken", json!({})).await;
    let body = json!({"arguments": {"expression": "3"}, "options": {"agentId": agent}});
    let for_agent = api.post("/api/tools/calculator/execute", &body).await;
    assert_eq!(for_agent.status, 200, "{}", for_agent.body);
    wait_for_logged_calls(&api, "", 4).await;
    for (query, count) in [
        ("&tool=calculator".to_owned(), 3),
        (format!("&tool={tool}"), 1),
        ("&tool=broken".to_owned(), 1),
        ("&tool=nothing".to_owned(), 0),
        ("&status=success".to_owned(), 3),
        ("&status=failed".to_owned(), 1),
        ("&status=cancelled".to_owned(), 0),
        ("&kind=Server".to_owned(), 1),
        ("&kind=Timeout".to_owned(), 0),
        ("&source=cli".to_owned(), 1),
        ("&source=api".to_owned(), 3),
        (format!("&agent={agent}"), 1),
        ("&agent=clerk".to_owned(), 1),
        ("&agent=nobody".to_owned(), 0),
        ("&user=me".to_owned(), 4),
        ("&user=admin".to_owned(), 4),
        ("&user=unknown".to_owned(), 0),
        ("&from=2020-01-01T00:00:00Z".to_owned(), 4),
        ("&to=2020-01-01T00:00:00Z".to_owned(), 0),
        ("&text=zeppelin".to_owned(), 1),
        ("&text=calculator".to_owned(), 3),
        ("&text=calc*".to_owned(), 3),
        ("&text=calc".to_owned(), 0),
        ("&tool=calculator&source=cli&status=success".to_owned(), 1),
    ] {
        wait_for_logged_calls(&api, &query, count).await;
    }
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let reply = api.get(&format!("/api/tool-calls?limit=3{cursor}")).await;
        let items = reply.data()["items"].as_array().expect("a list");
        seen.extend(items.iter().map(|item| item["id"].as_str().expect("an id").to_owned()));
        match reply.data()["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 4);
    assert!(seen.is_sorted_by(|a, b| a > b), "the newest first: {seen:?}");
    for wrong in [
        "limit=0",
        "limit=201",
        "cursor=x",
        "status=odd",
        "kind=odd",
        "source=odd",
        "from=odd",
        "text=*",
        "colour=red",
    ] {
        assert_eq!(api.get(&format!("/api/tool-calls?{wrong}")).await.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn calls_belong_to_a_space_and_replays_need_permission() {
    let (server, api) = start(&[]).await;
    let reply = execute(&api, "calculator", json!({"expression": "1"})).await;
    read(&api, &reply).await;
    let id = reply.data()["callId"].as_str().expect("an id");
    let bob = stranger(&server, &api).await;
    wait_for_logged_calls(&bob, "", 0).await;
    let missing_id = "0190b5a0-0000-7000-8000-000000000000";
    for (method, end) in [(Method::GET, ""), (Method::POST, "/replay")] {
        let ask = async |id: &str| {
            bob.send_json(method.clone(), &format!("/api/tool-calls/{id}{end}"), &json!({})).await
        };
        let (foreign, missing) = (ask(id).await, ask(missing_id).await);
        assert_eq!((foreign.status, missing.status), (404, 404), "{end}: {}", foreign.body);
        assert_eq!(foreign.message().replace(id, "ID"), missing.message().replace(missing_id, "ID"));
    }
    wait_for_logged_calls(&bob, "", 0).await;
    let replay = format!("/api/tool-calls/{id}/replay");
    let reader = scoped(&server, &api, "read").await;
    assert_eq!(reader.get(&format!("/api/tool-calls/{id}")).await.status, 200);
    assert_eq!(reader.post(&replay, &json!({})).await.status, 403);
    assert_eq!(scoped(&server, &api, "call").await.post(&replay, &json!({})).await.status, 200);
}

#[tokio::test]
async fn replay_has_the_arguments_of_the_call() {
    let (_server, api) = start(&[]).await;
    let tool = mock(&api, "echo", json!([])).await;
    let first = execute(&api, "echo", json!({"city": "Oslo"})).await;
    let first_id = read(&api, &first).await["callId"].as_str().expect("an id").to_owned();
    // The tool is found by its id, whatever its current name, and called in its current version.
    let renamed = json!({"name": "parrot"});
    let path = format!("/api/tools/{}", tool["id"].as_str().expect("an id"));
    assert_eq!(api.send_json(Method::PATCH, &path, &renamed).await.status, 200);
    let replay = |id: &str| format!("/api/tool-calls/{id}/replay");
    let again = api.post(&replay(&first_id), &json!({})).await;
    assert_eq!((again.status, &again.data()["data"]), (200, &json!({"city": "Oslo"})), "{}", again.body);
    let row = read(&api, &again).await;
    assert_eq!((&row["replayOf"], &row["toolVersion"]), (&json!(first_id), &json!(2)), "{row}");
    assert_ne!(row["callId"], json!(first_id));
    let other = api.post(&replay(&first_id), &json!({"arguments": {"snake_case": 1}})).await;
    assert_eq!(other.data()["data"], json!({"snake_case": 1}), "argument names are not converted");
    for wrong in [json!([]), json!({"argument": {}}), json!({"arguments": {}, "tool": "x"})] {
        assert_eq!(api.post(&replay(&first_id), &wrong).await.status, 400, "{wrong}");
    }

    // Arguments that were cut cannot be replayed.
    let long = execute(&api, "parrot", json!({"text": "x".repeat(20_000)})).await;
    let row = read(&api, &long).await;
    assert_eq!(
        (&row["argumentsCut"], &row["resultCut"], &row["replayable"], &row["notReplayable"]),
        (&json!(true), &json!(true), &json!(false), &json!("cut"))
    );
    for body in ["arguments", "result"] {
        assert_eq!(row[body].as_str().map(str::len), Some(16 << 10), "{body}");
    }
    let long_id = row["callId"].as_str().expect("an id");
    let refused = api.post(&replay(long_id), &json!({})).await;
    assert_eq!((refused.status, refused.kind()), (409, "Conflict"), "{}", refused.body);
    assert!(refused.message().contains("too long"), "{}", refused.message());
    assert_eq!(api.post(&replay(long_id), &json!({"arguments": {}})).await.status, 200);

    // A deleted tool is not found, and this is logged, too.
    assert_eq!(api.delete(&path).await.status, 200);
    let gone = api.post(&replay(&first_id), &json!({})).await;
    assert_eq!((gone.status, gone.kind()), (404, "NotFound"), "{}", gone.body);
    assert_eq!(read(&api, &gone).await["replayOf"], json!(first_id));
}

#[tokio::test]
async fn secrets_are_redacted_in_the_log_and_not_replayed() {
    let upstream =
        Upstream::start(|seen| json_reply(200, &json!({"key": seen.header("x-key"), "target": seen.target})))
            .await;
    let (_server, api) = start(&[]).await;
    let value = "zeppelin-secret-0123456789";
    assert_eq!(api.put("/api/secrets/KEY", &json!({"value": value})).await.status, 200);
    let tool = json!({
        "name": "keyed", "description": "d", "url": upstream.url("/k"), "params": {"q": "{{q}}"},
        "headers": {"X-Key": "secret://KEY"},
    });
    make(&api, "/api/tools", &tool).await;
    let reply = execute(&api, "keyed", json!({"q": value})).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let row = read(&api, &reply).await;
    assert!(!row.to_string().contains(value), "{row}");
    assert_eq!((&row["arguments"], &row["notReplayable"]), (&json!({"q": "***"}), &json!("masked")), "{row}");
    assert_eq!(row["result"]["key"], "***");
    assert!(!api.get("/api/tool-calls").await.body.to_string().contains(value));
    let replay = format!("/api/tool-calls/{}/replay", row["callId"].as_str().expect("an id"));
    let refused = api.post(&replay, &json!({})).await;
    assert_eq!((refused.status, refused.kind()), (409, "Conflict"), "{}", refused.body);
    assert!(refused.message().contains("redacted"), "{}", refused.message());
    let calls = upstream.seen().len();
    assert_eq!(api.post(&replay, &json!({"arguments": {"q": "harmless"}})).await.status, 200);
    assert_eq!(upstream.seen().len(), calls + 1);
}

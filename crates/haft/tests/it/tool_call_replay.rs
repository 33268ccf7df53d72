//! Replays of logged calls: real calls with the secrets of their caller, for the agent and conversation of
//! the logged call.

use axum::http::Method;
use haft_testkit::{Client, HaftProcess, TestResponse, Upstream, json_reply};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::agents::make;
use crate::http_tools::start;
use crate::tool_calls::{execute, mock, read};

async fn replay(api: &Client, call: &TestResponse, body: Value) -> TestResponse {
    let row = read(api, call).await;
    api.post(&format!("/api/tool-calls/{}/replay", row["id"].as_str().expect("an id")), &body).await
}

#[tokio::test]
async fn replay_has_the_agent_and_the_conversation_of_the_call() {
    let (_server, api) = start(&[]).await;
    let properties =
        json!({"n": {"type": "integer"}, "unit": {"type": "string"}, "city": {"type": "string"}});
    let tool = json!({
        "name": "echo", "description": "d", "type": "mock", "config": {"answers": []},
        "inputSchema": {"type": "object", "properties": properties},
    });
    make(&api, "/api/tools", &tool).await;
    let config = json!({"unit": "metric", "$fixed": {"city": "Oslo"}});
    let agent = json!({"name": "clerk", "bindings": [{"toolId": "echo", "toolConfig": config}]});
    let agent = make(&api, "/api/agents", &agent).await["id"].clone();
    let conversation = json!(Uuid::now_v7());
    let body = json!({"arguments": {"n": 1}, "options": {"agentId": agent, "conversationId": conversation}});
    let called = api.post("/api/tools/echo/execute", &body).await;
    let given = json!({"n": 1, "unit": "metric", "city": "Oslo"});
    assert_eq!((called.status, &called.data()["data"]), (200, &given), "{}", called.body);

    let again = replay(&api, &called, json!({})).await;
    assert_eq!((again.status, &again.data()["data"]), (200, &given), "{}", again.body);
    let row = read(&api, &again).await;
    assert_eq!((&row["agentId"], &row["conversationId"]), (&agent, &conversation), "{row}");
    assert_eq!(row["replayOf"], called.data()["callId"], "{row}");
    // A value that is fixed by the agent cannot be changed in a replay.
    let other = replay(&api, &called, json!({"arguments": {"city": "Rome"}})).await;
    assert_eq!(other.data()["data"], json!({"city": "Oslo", "unit": "metric"}), "{}", other.body);
    let path = format!("/api/agents/{}", agent.as_str().expect("an id"));
    assert_eq!(api.delete(&path).await.status, 200);
    let after = replay(&api, &called, json!({})).await;
    assert_eq!((after.status, &read(&api, &after).await["agentId"]), (200, &agent), "{}", after.body);
}

#[tokio::test]
async fn a_replay_needs_no_body() {
    let (_server, api) = start(&[]).await;
    mock(&api, "echo", json!([])).await;
    let called = execute(&api, "echo", json!({"n": 1})).await;
    let path = format!("/api/tool-calls/{}/replay", read(&api, &called).await["id"].as_str().expect("an id"));
    let send = async |api: &Client, body: &str| api.send(Method::POST, &path, body.into()).await;
    let typed = api.with("content-type", "application/json");
    for (client, body) in [(&api, ""), (&typed, ""), (&typed, "{}")] {
        let again = send(client, body).await;
        assert_eq!((again.status, &again.data()["data"]), (200, &json!({"n": 1})), "{body}: {}", again.body);
    }
    let other = send(&typed, "{\"arguments\": {\"some_name\": 2}}").await;
    assert_eq!(other.data()["data"], json!({"some_name": 2}), "{}", other.body);
    for (client, body, status, expected) in [
        (&api, "{}", 415, "Content-Type: application/json"),
        (&typed, "{", 400, "not valid JSON"),
        (&typed, "\"zeppelin\"", 400, "The body must be a JSON object."),
        (&typed, "{\"argument\": {}}", 400, "argument: is unknown"),
    ] {
        let refused = send(client, body).await;
        assert_eq!(refused.status, status, "{body}: {}", refused.body);
        assert!(refused.message().contains(expected), "{body}: {}", refused.message());
        assert!(!refused.body.to_string().contains("zeppelin"), "it is not quoted: {}", refused.body);
    }
}

#[tokio::test]
async fn replay_is_never_served_from_the_cache() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({}))).await;
    let (_server, api) = start(&[]).await;
    let tool = json!({"name": "kept", "description": "d", "url": upstream.url("/"), "cacheTtl": 600});
    make(&api, "/api/tools", &tool).await;
    let first = execute(&api, "kept", json!({})).await;
    let second = execute(&api, "kept", json!({})).await;
    assert_eq!((&second.data()["cached"], upstream.seen().len()), (&json!(true), 1), "{}", second.body);
    for (call, requests) in [(&first, 2), (&second, 3)] {
        let again = replay(&api, call, json!({})).await;
        assert_eq!((&again.data()["cached"], upstream.seen().len()), (&json!(false), requests));
        assert_eq!(read(&api, &again).await["cached"], json!(false));
    }
    assert_eq!(execute(&api, "kept", json!({})).await.data()["cached"], json!(true));
}

#[tokio::test]
async fn replay_is_a_separate_call_to_the_upstream() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({}))).await;
    let (_server, api) = start(&[]).await;
    let tool = json!({"name": "order", "description": "d", "method": "POST", "url": upstream.url("/")});
    make(&api, "/api/tools", &tool).await;
    let body = json!({"arguments": {}, "options": {"callId": "the-first"}});
    let called = api.post("/api/tools/order/execute", &body).await;
    let again = replay(&api, &called, json!({})).await;
    assert_eq!(again.status, 200, "{}", again.body);
    let keys: Vec<String> = upstream
        .seen()
        .iter()
        .map(|seen| seen.header("idempotency-key").expect("a key").to_owned())
        .collect();
    assert_eq!(keys, ["the-first", again.data()["callId"].as_str().expect("an id")]);
    assert_ne!(keys[0], keys[1]);
}

#[tokio::test]
async fn disabled_deleted_or_replaced_tool_is_not_called() {
    let (_server, api) = start(&[]).await;
    let tool = mock(&api, "echo", json!([])).await;
    let called = execute(&api, "echo", json!({"n": 1})).await;
    let path = format!("/api/tools/{}", tool["id"].as_str().expect("an id"));
    let off = api.send_json(Method::PATCH, &path, &json!({"isActive": false})).await;
    assert_eq!(off.status, 200, "{}", off.body);
    let refused = replay(&api, &called, json!({})).await;
    assert_eq!((refused.status, refused.kind()), (409, "ToolDisabled"), "{}", refused.body);
    assert_eq!(read(&api, &refused).await["replayOf"], called.data()["callId"]);

    assert_eq!(api.delete(&path).await.status, 200);
    let gone = replay(&api, &called, json!({})).await;
    assert_eq!((gone.status, gone.kind()), (404, "NotFound"), "{}", gone.body);
    // A new tool with the same name does not inherit the calls of the old one.
    mock(&api, "echo", json!([{"data": "another"}])).await;
    let other = replay(&api, &called, json!({})).await;
    assert_eq!((other.status, other.kind()), (404, "NotFound"), "{}", other.body);
    assert!(other.message().contains("echo is now another tool"), "{}", other.message());
    // A call that named no existing tool is replayed by this name.
    let early = execute(&api, "later", json!({"n": 2})).await;
    assert_eq!(early.status, 404);
    mock(&api, "later", json!([])).await;
    let works = replay(&api, &early, json!({})).await;
    assert_eq!((works.status, &works.data()["data"]), (200, &json!({"n": 2})), "{}", works.body);
}

/// Creates a member of a space. Returns a client with a token for the space.
async fn member(server: &HaftProcess, admin: &Client, space: &str, name: &str) -> Client {
    let user = json!({"name": name, "password": "correct horse battery"});
    make(admin, "/api/users", &user).await;
    let path = format!("/api/spaces/{space}/members/{name}");
    assert_eq!(admin.put(&path, &json!({"role": "caller"})).await.status, 200);
    let anyone = Client::anonymous(&server.url);
    let entered = anyone.post("/api/login", &user).await;
    let cookie = entered.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie");
    let token = json!({"name": "t", "scope": "call", "spaceId": space});
    let token = make(&anyone.with("cookie", cookie), "/api/tokens", &token).await;
    Client::new(&server.url, token["token"].as_str().expect("a token"))
}

#[tokio::test]
async fn replay_uses_the_secrets_of_its_caller() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({}))).await;
    let (server, admin) = start(&[]).await;
    let space = make(&admin, "/api/spaces", &json!({"name": "team"})).await;
    let space = space["id"].as_str().expect("an id");
    let token = make(&admin, "/api/tokens", &json!({"name": "team", "spaceId": space})).await;
    let ada = Client::new(&server.url, token["token"].as_str().expect("a token"));
    let bob = member(&server, &admin, space, "bob").await;
    for (client, value) in [(&ada, "key-of-ada"), (&bob, "key-of-bob")] {
        let stored = client.put("/api/secrets/key?owner=me", &json!({"value": value})).await;
        assert_eq!(stored.status, 200, "{}", stored.body);
    }
    let tool = json!({
        "name": "own", "description": "d", "url": upstream.url("/"), "headers": {"X-Own": "secret://me/key"},
    });
    make(&ada, "/api/tools", &tool).await;
    let called = execute(&ada, "own", json!({})).await;
    assert_eq!(called.status, 200, "{}", called.body);
    let again = replay(&bob, &called, json!({})).await;
    assert_eq!(again.status, 200, "{}", again.body);
    let keys: Vec<Option<String>> =
        upstream.seen().iter().map(|seen| seen.header("x-own").map(str::to_owned)).collect();
    assert_eq!(keys, [Some("key-of-ada".to_owned()), Some("key-of-bob".to_owned())]);
    let me = bob.get("/api/me").await;
    assert_eq!(read(&bob, &again).await["userId"], me.data()["user"]["id"]);
}

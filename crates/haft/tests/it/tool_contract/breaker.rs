//! Circuit breakers: failures that open them, calls that they refuse, their list, and closing them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haft_testkit::{Client, Upstream, eventually, http_response, json_reply};
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use super::execute;
use crate::agents::make;
use crate::http_tools::start;

fn tool(name: &str, url: &str, more: &Value) -> Value {
    let mut tool = json!({"name": name, "description": "d", "url": url, "retryCount": 0, "retryDelay": 1});
    for (field, value) in more.as_object().expect("fields") {
        tool[field.as_str()] = value.clone();
    }
    tool
}

async fn open_circuits(api: &Client) -> Vec<Value> {
    let reply = api.get("/api/circuits").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let circuits = reply.data()["items"].as_array().expect("a list").clone();
    circuits.into_iter().filter(|circuit| circuit["state"] != "closed").collect()
}

#[tokio::test]
async fn failing_endpoints_do_not_affect_healthy_tools_of_the_same_origin() {
    let upstream = Upstream::start(|seen| match seen.target.as_str() {
        "/bad" | "/worse" => json_reply(500, &json!({"reason": "because"})),
        _ => json_reply(200, &json!({"ok": true})),
    })
    .await;
    let (_server, api) = start(&[]).await;
    for name in ["bad", "worse", "fine"] {
        make(&api, "/api/tools", &tool(name, &upstream.url(&format!("/{name}")), &json!({}))).await;
    }
    for name in ["bad", "worse"] {
        for _ in 0..5 {
            assert_eq!(execute(&api, name, json!({})).await.status, 502);
        }
        let sent = upstream.seen().len();
        let refused = execute(&api, name, json!({})).await;
        assert_eq!((refused.status, refused.kind()), (503, "CircuitOpen"));
        assert_eq!(upstream.seen().len(), sent, "nothing is sent");
        assert_eq!(execute(&api, "fine", json!({})).await.status, 200);
    }
    let origin = format!("http://{}", upstream.address);
    let open = open_circuits(&api).await;
    let keys: Vec<&Value> = open.iter().map(|circuit| &circuit["key"]).collect();
    assert_eq!(keys, [&json!(format!("bad at {origin}")), &json!(format!("worse at {origin}"))]);

    // The message is equal in the response, in the list and in the call log, and has the caller's language.
    let before_seconds = |text: &str| text.split(" A trial call").next().unwrap_or_default().to_owned();
    let refused = execute(&api, "bad", json!({})).await;
    let expected =
        format!("bad at {origin} is paused because its own calls kept failing (last failure: Server).");
    assert_eq!(before_seconds(refused.message()), expected);
    assert_eq!(before_seconds(open[0]["message"].as_str().expect("a text")), expected);
    eventually("the refusal is logged with the same message", async || {
        let logged = api.get("/api/tool-calls?tool=bad&limit=50").await;
        let rows = logged.data()["items"].as_array().cloned().unwrap_or_default();
        let refused = rows.iter().find(|row| row["error"]["kind"] == "CircuitOpen");
        refused.is_some_and(|row| {
            before_seconds(row["error"]["message"].as_str().unwrap_or_default()) == expected
        })
    })
    .await;
    let zh = api.with("accept-language", "zh");
    let refused = execute(&zh, "bad", json!({})).await;
    let expected = format!("bad（上游：{origin}）自身的调用持续失败");
    assert!(refused.message().contains(&expected), "{}", refused.message());
    let listed = zh.get("/api/circuits?tool=bad").await;
    let messages: Vec<String> = listed.data()["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["message"].to_string())
        .collect();
    assert!(messages.iter().any(|messages| messages.contains("自身的调用持续失败")), "{messages:?}");
}

#[tokio::test]
async fn network_errors_elsewhere_or_after_connecting_pause_only_the_tool_itself() {
    // Bound and not listening, so that connections are refused.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let closed = format!("http://{}", socket.local_addr().expect("an address"));
    let location = format!("{closed}/");
    let upstream = Upstream::start(move |seen| match seen.target.as_str() {
        "/undecodable" => http_response(200, &[("content-encoding", "gzip")], "this is no gzip"),
        "/redirect" => http_response(302, &[("location", location.as_str())], ""),
        _ => json_reply(200, &json!({"ok": true})),
    })
    .await;
    let (_server, api) = start(&[]).await;
    assert!(api.put("/api/secrets/client", &json!({"value": "s3cret-client"})).await.status < 300);
    make(&api, "/api/tools", &tool("healthy", &upstream.url("/healthy"), &json!({}))).await;
    let auth = json!({
        "type": "oauth2ClientCredentials", "tokenUrl": format!("{closed}/token"),
        "clientId": "haft", "clientSecret": "secret://client",
    });
    for (name, config) in
        [("token", json!({"config": {"auth": auth}})), ("undecodable", json!({})), ("redirect", json!({}))]
    {
        make(&api, "/api/tools", &tool(name, &upstream.url(&format!("/{name}")), &config)).await;
        for _ in 0..5 {
            let failed = execute(&api, name, json!({})).await;
            assert_eq!(failed.kind(), "Network", "{name}: {}", failed.body);
        }
        assert_eq!(execute(&api, name, json!({})).await.kind(), "CircuitOpen", "{name}");
        let healthy = execute(&api, "healthy", json!({})).await;
        assert_eq!(healthy.status, 200, "{name}: {}", healthy.body);
    }
}

#[tokio::test]
async fn the_open_circuit_of_an_origin_is_listed_and_closed_for_a_tool_that_was_never_called() {
    let (_server, api) = start(&[]).await;
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let origin = format!("http://{}", socket.local_addr().expect("an address"));
    for name in ["called", "never"] {
        make(&api, "/api/tools", &tool(name, &format!("{origin}/{name}"), &json!({}))).await;
    }
    for _ in 0..5 {
        assert_eq!(execute(&api, "called", json!({})).await.kind(), "Network");
    }
    let listed = api.get("/api/circuits?tool=never").await;
    let items = listed.data()["items"].as_array().expect("a list");
    let found: Vec<_> = items.iter().map(|one| (&one["key"], &one["state"])).collect();
    assert_eq!(found, [(&json!(origin), &json!("open"))]);
    let reset = api.post("/api/tools/never/circuit/reset", &json!({})).await;
    assert_eq!(reset.data(), &json!({"reset": true}));
    assert_eq!(execute(&api, "never", json!({})).await.kind(), "Network", "the call is sent");
}

#[tokio::test]
async fn the_refusal_of_a_renamed_tool_still_identifies_its_circuit() {
    let upstream = Upstream::start(|_| json_reply(500, &json!({}))).await;
    let (_server, api) = start(&[]).await;
    let url = upstream.url("/");
    let made = make(&api, "/api/tools", &tool("old", &url, &json!({}))).await;
    for _ in 0..5 {
        assert_eq!(execute(&api, "old", json!({})).await.status, 502);
    }
    let refused = execute(&api, "old", json!({})).await;
    let id = made["id"].as_str().expect("an id");
    let renamed = api.put(&format!("/api/tools/{id}"), &tool("new", &url, &json!({}))).await;
    assert_eq!(renamed.status, 200, "{}", renamed.body);
    execute(&api, "new", json!({})).await;
    let open = open_circuits(&api).await;
    let details = &refused.data()["error"]["details"];
    assert_ne!(open[0]["key"], details["circuit"], "the key follows the name");
    assert_eq!((&open[0]["toolId"], &open[0]["upstream"]), (&details["toolId"], &details["upstream"]));
}

#[tokio::test]
async fn a_call_with_ten_retries_makes_all_its_attempts_and_counts_once() {
    let is_well = Arc::new(AtomicBool::new(false));
    let asked = is_well.clone();
    let upstream = Upstream::start(move |_| {
        let status = if asked.load(Ordering::SeqCst) { 200 } else { 500 };
        json_reply(status, &json!({}))
    })
    .await;
    let (_server, api) = start(&[]).await;
    make(&api, "/api/tools", &tool("t", &upstream.url("/"), &json!({"retryCount": 10}))).await;
    let reply = execute(&api, "t", json!({})).await;
    assert_eq!((reply.status, &reply.data()["attempts"]), (502, &json!(11)), "{}", reply.body);
    assert!(open_circuits(&api).await.is_empty());
    is_well.store(true, Ordering::SeqCst);
    assert_eq!(execute(&api, "t", json!({})).await.status, 200);
}

#[tokio::test]
async fn failed_connections_pause_the_origin_until_the_circuit_is_closed() {
    let (_server, api) = start(&[]).await;
    // Bound and not listening, so that connections are refused.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let origin = format!("http://{}", socket.local_addr().expect("an address"));
    for name in ["a", "b", "healthy"] {
        make(&api, "/api/tools", &tool(name, &format!("{origin}/{name}"), &json!({}))).await;
    }
    for name in ["a", "b", "a", "b", "a"] {
        assert_eq!(execute(&api, name, json!({})).await.kind(), "Network");
    }
    let refused = execute(&api, "healthy", json!({})).await;
    assert_eq!((refused.status, refused.kind()), (503, "CircuitOpen"));
    let expected = format!("{origin} is paused because connections to it kept failing in calls of b, a.");
    assert!(refused.message().starts_with(&expected), "{}", refused.message());
    assert_eq!(refused.data()["error"]["details"]["circuit"], json!(origin));

    let unknown = api.post("/api/circuits/reset", &json!({"key": "http://other"})).await;
    assert_eq!((unknown.status, unknown.kind()), (404, "NotFound"));
    for bad in [json!({}), json!({"key": 5}), json!({"key": origin, "more": 1})] {
        assert_eq!(api.post("/api/circuits/reset", &bad).await.status, 400, "{bad}");
    }
    assert_eq!(api.post("/api/circuits/reset", &json!({"key": origin})).await.status, 200);
    assert_eq!(execute(&api, "healthy", json!({})).await.kind(), "Network", "it is tried again");

    // Closing by tool also closes circuits of older, pinned versions.
    let elsewhere = TcpSocket::new_v4().expect("a socket");
    elsewhere.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let other = format!("http://{}", elsewhere.local_addr().expect("an address"));
    for _ in 0..5 {
        execute(&api, "a", json!({})).await;
    }
    assert_eq!(api.put("/api/tools/a", &tool("a", &other, &json!({}))).await.status, 200);
    assert!(!open_circuits(&api).await.is_empty());
    let reset = api.post("/api/tools/a/circuit/reset", &json!({})).await;
    assert_eq!(reset.data(), &json!({"reset": true}));
    assert!(open_circuits(&api).await.is_empty(), "{:?}", open_circuits(&api).await);
}

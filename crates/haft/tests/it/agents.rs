//! Agents over REST: creation, validation, listing, and access control. Also helpers for other test modules.

use axum::http::Method;
use haft_testkit::{Client, HaftProcess, TestResponse};
use serde_json::{Value, json};

use crate::http_tools::start;

/// Returns the definition of an HTTP tool with several types of arguments, and headers.
pub(crate) fn search() -> Value {
    json!({
        "name": "search", "description": "Searches.", "endpoint": "https://search.example/v1", "method": "post",
        "headers": {"X-Api-Key": "secret://search_key", "X-Trace": "on"}, "policy": "ask",
        "parameters": {
            "type": "object", "additionalProperties": false, "required": ["query", "region"],
            "properties": {
                "query": {"type": "string"},
                "maxResults": {"type": "integer", "minimum": 1, "maximum": 50},
                "region": {"enum": ["cn", "us"]},
            },
        },
    })
}

/// Creates a resource with POST and returns its data.
pub(crate) async fn make(api: &Client, path: &str, body: &Value) -> Value {
    let reply = api.post(path, body).await;
    assert_eq!(reply.status, 201, "{path} {body}: {}", reply.body);
    reply.data().clone()
}

pub(crate) async fn patch(api: &Client, path: &str, body: &Value) -> TestResponse {
    api.send_json(Method::PATCH, path, body).await
}

/// Creates another user, who has a separate space, and returns the user's client.
pub(crate) async fn stranger(server: &HaftProcess, api: &Client) -> Client {
    let password = "correct horse battery";
    make(api, "/api/users", &json!({"name": "bob", "password": password})).await;
    let anyone = Client::anonymous(&server.url);
    let session = anyone.post("/api/login", &json!({"name": "bob", "password": password})).await;
    assert_eq!(session.status, 200, "{}", session.body);
    let cookie = session.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie");
    let token = make(&anyone.with("cookie", cookie), "/api/tokens", &json!({"name": "t"})).await;
    Client::new(&server.url, token["token"].as_str().expect("a token"))
}

/// Creates a token with a smaller scope and returns its client.
pub(crate) async fn scoped(server: &HaftProcess, api: &Client, scope: &str) -> Client {
    let token = make(api, "/api/tokens", &json!({"name": scope, "scope": scope})).await;
    Client::new(&server.url, token["token"].as_str().expect("a token"))
}

/// Asserts a validation error whose message contains `message`. `about` is the request that failed.
#[track_caller]
pub(crate) fn refused(reply: &TestResponse, message: &str, about: &Value) {
    assert_eq!((reply.status, reply.kind()), (400, "Validation"), "{about}: {}", reply.body);
    assert!(reply.message().starts_with("Invalid inputs: "), "{about}: {}", reply.message());
    assert!(reply.message().contains(message), "{about}: {}", reply.message());
}

#[tokio::test]
async fn agent_is_created_and_read_with_every_field() {
    let (_server, api) = start(&[]).await;
    let tool = make(&api, "/api/tools", &search()).await;
    let reply =
        api.post("/api/agents", &json!({"name": "天气 clerk", "tool_ids": ["search", "calculator"]})).await;
    assert_eq!((reply.status, reply.header("etag")), (201, Some("\"1\"")), "{}", reply.body);
    let agent = reply.data();
    let mut fields = agent.clone();
    for field in ["id", "spaceId", "ownerId", "createdAt", "updatedAt"] {
        assert!(fields[field].is_string(), "{field}");
        fields.as_object_mut().expect("an object").remove(field);
    }
    let binding = |tool: &Value, order: u32| json!({"toolId": tool, "sortOrder": order, "toolConfig": {}, "overrides": {}, "isEnabled": true});
    assert_eq!(
        fields,
        json!({
            "name": "天气 clerk", "category": null, "description": "", "systemPrompt": "", "isActive": true, "locale": null,
            "config": {
                "provider": null, "model": null, "temperature": null, "maxTokens": null, "maxSteps": 16,
                "maxCalls": 128, "maxSeconds": 1800, "maxTotalTokens": 2_000_000,
                "parallelToolCalls": true, "toolChoice": null, "resume": "auto",
            },
            "toolIds": [tool["id"], "calculator"],
            "bindings": [binding(&tool["id"], 0), binding(&json!("calculator"), 1)],
            "version": 1,
        })
    );
    for name in [agent["id"].as_str().expect("an id"), "%E5%A4%A9%E6%B0%94%20clerk"] {
        let read = api.get(&format!("/api/agents/{name}")).await;
        assert_eq!((read.status, read.data(), read.header("etag")), (200, agent, Some("\"1\"")));
    }
    let taken = api.post("/api/agents", &json!({"name": "天气 clerk"})).await;
    assert_eq!((taken.status, taken.kind()), (409, "Conflict"), "{}", taken.body);
    let removed = api.delete("/api/agents/%E5%A4%A9%E6%B0%94%20clerk").await;
    assert_eq!((removed.status, removed.data()), (200, agent));
    assert_eq!(api.get("/api/agents").await.data()["items"], json!([]));
}

#[tokio::test]
async fn invalid_agent_is_rejected_with_all_errors_and_not_stored() {
    let (_server, api) = start(&[]).await;
    make(&api, "/api/tools", &search()).await;
    let choice = "config.toolChoice: must be auto, none, required or the name of one of the agent's tools";
    let name = "name: must have 1 to 64 visible characters, and no whitespace at either end";
    let long = "x".repeat(65);
    for (body, message) in [
        (json!([]), "(root): [] is not of type \"object\""),
        (json!({}), "name: is required"),
        (json!({"name": null}), "name: is required"),
        (json!({"name": 7}), "name: 7 is not of type \"string\""),
        (json!({"name": ""}), name),
        (json!({"name": " a"}), name),
        (json!({"name": "a\u{200b}b"}), name),
        (json!({"name": long}), name),
        (json!({"name": "0190b5a0-0000-7000-8000-000000000000"}), "name: must not have the form of an id"),
        (json!({"name": "a", "colour": 1}), "colour: is not a known property"),
        (json!({"name": "a", "locale": "fr"}), "locale: \"fr\" is not one of \"en\", \"zh\""),
        (json!({"name": "a", "isActive": 1}), "isActive: 1 is not of type \"boolean\""),
        (
            json!({"name": "a", "config": {"temperature": 2.5}}),
            "config.temperature: 2.5 is greater than the maximum of 2",
        ),
        (
            json!({"name": "a", "config": {"temperature": -0.1}}),
            "config.temperature: -0.1 is less than the minimum of 0",
        ),
        (
            json!({"name": "a", "config": {"max_tokens": 0}}),
            "config.maxTokens: 0 is less than the minimum of 1",
        ),
        (json!({"name": "a", "config": {"maxSteps": 0}}), "config.maxSteps: 0 is less than the minimum of 1"),
        (
            json!({"name": "a", "config": {"maxSteps": 101}}),
            "config.maxSteps: 101 is greater than the maximum of 100",
        ),
        (json!({"name": "a", "config": {"steps": 1}}), "config.steps: is not a known property"),
        (
            json!({"name": "a", "config": {"resume": "never"}}),
            "config.resume: \"never\" is not one of \"auto\", \"manual\"",
        ),
        (json!({"name": "a", "config": {"toolChoice": "sometimes"}}), choice),
        (json!({"name": "a", "config": {"toolChoice": ["auto"]}}), choice),
        (
            json!({"name": "a", "config": {"toolChoice": {"name": "search"}}, "toolIds": ["calculator"]}),
            choice,
        ),
        (
            json!({"name": "a", "toolIds": ["calculator", "search", "nope"]}),
            "toolIds.2: there is no tool nope",
        ),
        (json!({"name": "a", "toolIds": ["search", 7]}), "toolIds.1: 7 is not of type \"string\""),
        (
            json!({"name": "a", "toolIds": ["search", "search"]}),
            "toolIds.1: is already bound; an agent can bind a tool only once",
        ),
        (
            json!({"name": "a", "toolIds": ["calculator"], "bindings": [{"toolId": "search"}]}),
            "toolIds: lists other tools than bindings",
        ),
        (
            json!({"name": "a", "bindings": [{"toolId": "search"}, {"toolId": "nope"}]}),
            "bindings.1.toolId: there is no tool nope",
        ),
        (
            json!({"name": "a", "bindings": [{"toolId": "search", "toolConfig": {"maxResults": 51}}]}),
            "bindings.0.toolConfig.maxResults: 51 is greater than the maximum of 50",
        ),
        (
            json!({"name": "a", "bindings": [{"toolId": "search", "policy": "allow"}]}),
            "bindings.0.policy: may be",
        ),
        (json!({"name": "a", "bindings": [7]}), "bindings.0: 7 is not of type \"object\""),
        (json!({"name": "a", "version": 1}), "version: is set by the server"),
        (
            json!({"name": "a", "ownerId": "0190b5a0-0000-7000-8000-000000000000"}),
            "ownerId: is set by the server",
        ),
    ] {
        refused(&api.post("/api/agents", &body).await, message, &body);
    }
    let all = json!({
        "name": " x", "config": {"maxSteps": 0, "temperature": -1}, "toolIds": ["nope"], "version": 7, "colour": 1,
    });
    let reply = api.post("/api/agents", &all).await;
    let errors = reply.body["error"]["details"]["errors"].as_array().expect("a list");
    let mut paths: Vec<&str> = errors.iter().filter_map(|error| error["path"].as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["colour", "config.maxSteps", "config.temperature", "name", "toolIds.0", "version"]);
    let chinese = api.with("accept-language", "zh").post("/api/agents", &json!({"name": ""})).await;
    assert_eq!(chinese.message(), "输入无效：name: 必须为 1 到 64 个可见字符，首尾不能有空白");
    assert_eq!(api.get("/api/agents").await.data()["items"], json!([]), "nothing was stored");
}

#[tokio::test]
async fn agents_are_listed_by_page_and_filter() {
    let (_server, api) = start(&[]).await;
    for body in [
        json!({"name": "alpha", "category": "office", "description": "Counts 100%."}),
        json!({"name": "beta", "category": "office", "isActive": false}),
        json!({"name": "gamma", "description": "Alphabet."}),
    ] {
        make(&api, "/api/agents", &body).await;
    }
    for (query, expected) in [
        ("", json!(["alpha", "beta", "gamma"])),
        ("?q=ALPHA", json!(["alpha", "gamma"])),
        ("?q=100%25", json!(["alpha"])),
        ("?active=false", json!(["beta"])),
        ("?category=office", json!(["alpha", "beta"])),
        ("?category=office&active=true", json!(["alpha"])),
        ("?category=none", json!([])),
    ] {
        let reply = api.get(&format!("/api/agents{query}")).await;
        let items = reply.data()["items"].as_array().expect("a list");
        let names: Value = items.iter().map(|agent| agent["name"].clone()).collect();
        assert_eq!((names, &reply.data()["nextCursor"]), (expected, &Value::Null), "{query}");
    }
    let first = api.get("/api/agents?limit=2").await;
    let cursor = first.data()["nextCursor"].as_str().expect("a cursor");
    let second = api.get(&format!("/api/agents?limit=2&cursor={cursor}")).await;
    assert_eq!(second.data()["items"][0]["name"], "gamma");
    assert_eq!(second.data()["nextCursor"], Value::Null);
    for wrong in ["?limit=0", "?limit=201", "?cursor=x", "?colour=red", "?active=perhaps"] {
        assert_eq!(api.get(&format!("/api/agents{wrong}")).await.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn agents_are_visible_in_their_space_and_changed_with_edit_rights_only() {
    let (server, api) = start(&[]).await;
    let agent = make(&api, "/api/agents", &json!({"name": "clerk", "toolIds": ["calculator"]})).await;
    let id = agent["id"].as_str().expect("an id");
    let bob = stranger(&server, &api).await;
    let unknown = "0190b5a0-0000-7000-8000-000000000000";
    for path in ["/api/agents/ID", "/api/agents/ID/tools", "/api/agents/ID/tools/calculator"] {
        for method in [Method::GET, Method::PUT, Method::PATCH, Method::POST, Method::DELETE] {
            let ask = async |id: &str| {
                bob.send_json(method.clone(), &path.replace("ID", id), &json!({"name": "x"})).await
            };
            let (foreign, missing) = (ask(id).await, ask(unknown).await);
            assert!([404, 405].contains(&foreign.status), "{method} {path}: {}", foreign.body);
            assert_eq!(foreign.status, missing.status, "{method} {path}");
            if foreign.status == 404 {
                assert_eq!(
                    foreign.message().replace(id, "ID"),
                    missing.message().replace(unknown, "ID"),
                    "{method} {path}"
                );
            }
        }
    }
    assert_eq!(bob.get("/api/agents").await.data()["items"], json!([]));
    make(&bob, "/api/agents", &json!({"name": "clerk"})).await;

    for scope in ["read", "call"] {
        let client = scoped(&server, &api, scope).await;
        assert_eq!(client.get("/api/agents/clerk").await.data()["id"], agent["id"], "{scope}");
        for (method, path) in [
            (Method::POST, "/api/agents"),
            (Method::PUT, "/api/agents/clerk"),
            (Method::PATCH, "/api/agents/clerk"),
            (Method::DELETE, "/api/agents/clerk"),
            (Method::POST, "/api/agents/clerk/tools"),
            (Method::PATCH, "/api/agents/clerk/tools/calculator"),
            (Method::DELETE, "/api/agents/clerk/tools/calculator"),
        ] {
            let reply = client.send_json(method.clone(), path, &json!({})).await;
            assert_eq!((reply.status, reply.kind()), (403, "Permission"), "{scope}: {method} {path}");
        }
    }
}

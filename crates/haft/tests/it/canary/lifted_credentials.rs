//! Literal credentials in a definition are moved to separate secrets, and a new credential replaces the old
//! one.

use haft_testkit::{Client, Upstream, json_reply};
use serde_json::{Value, json};

use crate::agents::make;
use crate::http_tools::start;

/// Starts an upstream that records requests and does not echo them.
async fn silent_upstream() -> Upstream {
    Upstream::start(|_| json_reply(200, &json!({}))).await
}

/// Calls a tool and returns the value of a header that it sent.
async fn sent_header(api: &Client, upstream: &Upstream, tool: &str, header: &str) -> String {
    let called = api.post(&format!("/api/tools/{tool}/execute"), &json!({})).await;
    assert_eq!(called.status, 200, "{tool}: {}", called.body);
    let seen = upstream.seen().pop().expect("a request");
    seen.header(header).unwrap_or_default().to_owned()
}

fn tool(upstream: &Upstream, name: &str, header: &str, value: &str) -> Value {
    json!({"name": name, "description": "d", "url": upstream.url("/"), "headers": {header: value}})
}

#[tokio::test]
async fn new_credential_replaces_the_old_one() {
    let (upstream, (_server, api)) = (silent_upstream().await, start(&[]).await);
    let with = |value: &str| tool(&upstream, "keyed", "Authorization", &format!("Bearer {value}"));
    make(&api, "/api/tools", &with("credential-number-1")).await;
    assert_eq!(sent_header(&api, &upstream, "keyed", "authorization").await, "Bearer credential-number-1");
    // Only the credential is different, which counts as a change.
    assert_eq!(api.put("/api/tools/keyed", &with("credential-number-2")).await.status, 200);
    assert_eq!(sent_header(&api, &upstream, "keyed", "authorization").await, "Bearer credential-number-2");
    let dry = api.put("/api/tools/keyed?dryRun=true", &with("credential-number-0")).await;
    assert_eq!(dry.status, 200, "{}", dry.body);
    assert_eq!(sent_header(&api, &upstream, "keyed", "authorization").await, "Bearer credential-number-2");
    let imported = api.post("/api/tools/import", &json!({"tools": [with("credential-number-3")]})).await;
    assert_eq!(imported.status, 200, "{}", imported.body);
    assert_eq!(sent_header(&api, &upstream, "keyed", "authorization").await, "Bearer credential-number-3");
    let shown = api.get("/api/tools/keyed").await.data().clone();
    assert_eq!(api.put("/api/tools/keyed", &shown).await.status, 200);
    assert_eq!(sent_header(&api, &upstream, "keyed", "authorization").await, "Bearer credential-number-3");
}

#[tokio::test]
async fn credential_never_replaces_that_of_another_tool() {
    let (upstream, (_server, api)) = (silent_upstream().await, start(&[]).await);
    // Colliding secret names: each tool sends its own credential, or the second tool is rejected.
    assert_eq!(
        api.post("/api/tools", &tool(&upstream, "orders", "X-Token", "token-of-orders")).await.status,
        201
    );
    let second = api.post("/api/tools", &tool(&upstream, "orders_x", "Token", "token-of-orders-x")).await;
    assert_eq!(sent_header(&api, &upstream, "orders", "x-token").await, "token-of-orders", "{}", second.body);
    if second.status == 201 {
        assert_eq!(sent_header(&api, &upstream, "orders_x", "token").await, "token-of-orders-x");
    }

    assert_eq!(api.put("/api/secrets/shop_x_key", &json!({"value": "set-by-hand"})).await.status, 200);
    make(&api, "/api/tools", &tool(&upstream, "reader", "X-Key", "secret://shop_x_key")).await;
    let lifted = api.post("/api/tools", &tool(&upstream, "shop", "X-Key", "key-of-the-shop")).await;
    assert_eq!(sent_header(&api, &upstream, "reader", "x-key").await, "set-by-hand", "{}", lifted.body);

    let mut renamed = make(&api, "/api/tools", &tool(&upstream, "first", "X-Key", "key-of-the-first")).await;
    let path = format!("/api/tools/{}", renamed["id"].as_str().expect("an id"));
    renamed["name"] = json!("renamed");
    assert_eq!(api.put(&path, &renamed).await.status, 200);
    let namesake = api.post("/api/tools", &tool(&upstream, "first", "X-Key", "key-of-the-namesake")).await;
    assert_eq!(
        sent_header(&api, &upstream, "renamed", "x-key").await,
        "key-of-the-first",
        "{}",
        namesake.body
    );
}

#[tokio::test]
async fn credentials_of_every_form_become_secrets() {
    let (upstream, (_server, api)) = (silent_upstream().await, start(&[]).await);
    let base = |name: &str| json!({"name": name, "description": "d", "url": upstream.url("/")});
    let mut numeric = base("numeric");
    numeric["headers"] = json!({"X-Api-Key": 98_765_432_109_876_u64});
    let mut cookies = base("cookies");
    cookies["config"] = json!({"cookies": {"session": "session-98765432109876"}});
    for definition in [numeric, cookies] {
        let created = make(&api, "/api/tools", &definition).await;
        let name = created["name"].as_str().expect("a name");
        for path in [
            format!("/api/tools/{name}"),
            format!("/api/tools/{name}/versions/1"),
            "/api/tools/export".to_owned(),
        ] {
            let shown = api.get(&path).await.body.to_string();
            assert!(!shown.contains("98765432109876"), "{path} {shown}");
        }
        let header = if name == "numeric" { "x-api-key" } else { "cookie" };
        assert!(
            sent_header(&api, &upstream, name, header).await.contains("98765432109876"),
            "{name} sends the credential"
        );
    }
}

//! Addresses of providers: operators may set any address, other users only those allowed by the egress guard.

use haft_testkit::{Client, HaftProcess, Upstream, json_reply};
use serde_json::{Value, json};

use crate::HAFT;
use crate::agents::{make, stranger};

/// Starts a server that allows tools no private network.
async fn start_without_private_networks() -> (HaftProcess, Client) {
    let server = HaftProcess::start(HAFT, &["serve"], &[("HAFT_ADMIN_TOKEN", crate::TOKEN)]).await;
    let api = Client::new(&server.url, crate::TOKEN);
    (server, api)
}

/// Creates a user and returns a client with a session. `is_admin` makes the user an operator.
async fn person(server: &HaftProcess, api: &Client, name: &str, is_admin: bool) -> Client {
    let password = "correct horse battery";
    make(api, "/api/users", &json!({"name": name, "password": password, "isAdmin": is_admin})).await;
    let anyone = Client::anonymous(&server.url);
    let entered = anyone.post("/api/login", &json!({"name": name, "password": password})).await;
    let cookie = entered.header("set-cookie").and_then(|set| set.split(';').next()).expect("a session");
    anyone.with("cookie", cookie).with("origin", &server.url)
}

async fn test_result(api: &Client, name: &str, body: &Value) -> Value {
    let reply = api.post(&format!("/api/providers/{name}/test"), body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.data().clone()
}

#[tokio::test]
async fn private_address_is_refused_from_users_and_accepted_from_operators() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({"data": [{"id": "m"}]}))).await;
    let (server, api) = start_without_private_networks().await;
    let bob = stranger(&server, &api).await;
    let body = json!({"name": "near", "kind": "openai", "baseUrl": upstream.url("/v1")});

    // Bob is admin of a space, but no operator.
    assert_eq!(make(&bob, "/api/providers", &body).await["byOperator"], json!(false));
    for trial in [json!({}), json!({"model": "m"})] {
        let outcome = test_result(&bob, "near", &trial).await;
        assert_eq!((&outcome["ok"], &outcome["status"]), (&json!(false), &Value::Null), "{outcome}");
        let message = outcome["message"].as_str().expect("a text");
        assert!(message.contains("127.0.0.1 resolves to a private address"), "{message}");
    }
    assert_eq!(upstream.connections(), 0, "no connection was opened");

    assert_eq!(make(&api, "/api/providers", &body).await["byOperator"], json!(true));
    let outcome = test_result(&api, "near", &json!({})).await;
    assert_eq!((&outcome["ok"], &outcome["models"]), (&json!(true), &json!(["m"])), "{outcome}");
}

#[tokio::test]
async fn address_of_an_operator_stays_trusted_until_another_user_changes_it() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({"data": []}))).await;
    let (server, api) = start_without_private_networks().await;
    let (ada, bob) = (person(&server, &api, "ada", true).await, person(&server, &api, "bob", false).await);
    let team = make(&ada, "/api/spaces", &json!({"name": "team"})).await;
    let space = team["id"].as_str().expect("an id");
    let member = format!("/api/spaces/{space}/members/bob");
    assert!(ada.put(&member, &json!({"role": "admin"})).await.status < 300);
    let (ada, bob) = (ada.with("haft-space", space), bob.with("haft-space", space));

    let near = |kind: &str, models: Value| json!({"name": "near", "kind": kind, "baseUrl": upstream.url("/v1"), "models": models});
    make(&ada, "/api/providers", &near("openai", json!([]))).await;
    let put = async |client: &Client, body: Value| {
        let reply = client.put("/api/providers/near", &body).await;
        assert_eq!(reply.status, 200, "{body}: {}", reply.body);
        reply.data()["byOperator"].clone()
    };
    assert_eq!(put(&bob, near("openai", json!(["m"]))).await, json!(true), "the address is the operator's");
    assert_eq!(test_result(&bob, "near", &json!({})).await["ok"], json!(true));
    assert_eq!(put(&bob, near("ollama", json!([]))).await, json!(false), "another kind requests other paths");
    assert_eq!(put(&bob, near("openai", json!([]))).await, json!(false), "the address is now bob's");
    assert_eq!(test_result(&bob, "near", &json!({})).await["ok"], json!(false));
    let read = ada.get("/api/providers/near").await;
    assert_eq!(put(&ada, read.data().clone()).await, json!(true), "the operator saved the address again");
    let elsewhere = json!({"name": "near", "kind": "openai", "baseUrl": upstream.url("/v2")});
    assert_eq!(put(&bob, elsewhere).await, json!(false));
}

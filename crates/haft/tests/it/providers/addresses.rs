//! Whose word a provider's address is: the operator's may lead anywhere, a user's passes the guard.

use haft_testkit::{Client, HaftProcess, Upstream, json_reply};
use serde_json::{Value, json};

use crate::HAFT;
use crate::agents::{make, stranger};

/// A server on which no network was opened for tools.
async fn closed() -> (HaftProcess, Client) {
    let server = HaftProcess::start(HAFT, &["serve"], &[("HAFT_ADMIN_TOKEN", crate::TOKEN)]).await;
    let api = Client::new(&server.url, crate::TOKEN);
    (server, api)
}

/// Somebody with a session, who may run the server.
async fn person(server: &HaftProcess, api: &Client, name: &str, is_admin: bool) -> Client {
    let password = "correct horse battery";
    make(api, "/api/users", &json!({"name": name, "password": password, "isAdmin": is_admin})).await;
    let anyone = Client::anonymous(&server.url);
    let entered = anyone.post("/api/login", &json!({"name": name, "password": password})).await;
    let cookie = entered.header("set-cookie").and_then(|set| set.split(';').next()).expect("a session");
    anyone.with("cookie", cookie).with("origin", &server.url)
}

async fn tried(api: &Client, name: &str, body: &Value) -> Value {
    let reply = api.post(&format!("/api/providers/{name}/test"), body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.data().clone()
}

#[tokio::test]
async fn a_users_address_passes_the_guard_and_the_operators_may_be_on_this_machine() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({"data": [{"id": "m"}]}))).await;
    let (server, api) = closed().await;
    let bob = stranger(&server, &api).await;
    let body = json!({"name": "near", "kind": "openai", "baseUrl": upstream.url("/v1")});

    // Bob runs his own space, and not the server.
    assert_eq!(make(&bob, "/api/providers", &body).await["byOperator"], json!(false));
    for trial in [json!({}), json!({"model": "m"})] {
        let outcome = tried(&bob, "near", &trial).await;
        assert_eq!((&outcome["ok"], &outcome["status"]), (&json!(false), &Value::Null), "{outcome}");
        let said = outcome["message"].as_str().expect("words");
        assert!(said.contains("127.0.0.1 resolves to a private address"), "{said}");
    }
    assert_eq!(upstream.connections(), 0, "nobody was dialled");

    assert_eq!(make(&api, "/api/providers", &body).await["byOperator"], json!(true));
    let outcome = tried(&api, "near", &json!({})).await;
    assert_eq!((&outcome["ok"], &outcome["models"]), (&json!(true), &json!(["m"])), "{outcome}");
}

#[tokio::test]
async fn what_the_operator_said_holds_as_long_as_nobody_else_says_another_address() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({"data": []}))).await;
    let (server, api) = closed().await;
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
    assert_eq!(tried(&bob, "near", &json!({})).await["ok"], json!(true));
    assert_eq!(put(&bob, near("ollama", json!([]))).await, json!(false), "it asks for other paths there");
    assert_eq!(put(&bob, near("openai", json!([]))).await, json!(false), "and is bob's from then on");
    assert_eq!(tried(&bob, "near", &json!({})).await["ok"], json!(false));
    let read = ada.get("/api/providers/near").await;
    assert_eq!(put(&ada, read.data().clone()).await, json!(true), "until the operator says it again");
    let elsewhere = json!({"name": "near", "kind": "openai", "baseUrl": upstream.url("/v2")});
    assert_eq!(put(&bob, elsewhere).await, json!(false));
}

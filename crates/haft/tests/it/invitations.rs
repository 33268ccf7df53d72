//! Joining a space takes an invitation that the user accepts, and inviting reveals no account.

use axum::http::Method;
use haft_testkit::{Client, HaftProcess};
use serde_json::{Value, json};

use crate::agents::{make, scoped};
use crate::http_tools::start;

const PASSWORD: &str = "correct horse battery";

/// A console session of a new user.
async fn user(server: &HaftProcess, operator: &Client, name: &str) -> Client {
    make(operator, "/api/users", &json!({"name": name, "password": PASSWORD})).await;
    login(server, name).await
}

/// A console session.
async fn login(server: &HaftProcess, name: &str) -> Client {
    let anyone = Client::anonymous(&server.url);
    let entered = anyone.post("/api/login", &json!({"name": name, "password": PASSWORD})).await;
    assert_eq!(entered.status, 200, "{}", entered.body);
    let cookie = entered.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie");
    anyone.with("cookie", cookie)
}

/// Makes `user` a member of `space`: an admin of the space invites by name, and the user accepts.
pub(crate) async fn join(admin: &Client, user: &Client, space: &str, name: &str, role: &str) {
    let invited = admin.put(&format!("/api/spaces/{space}/members/{name}"), &json!({"role": role})).await;
    assert!(invited.status < 300, "{}", invited.body);
    // The role of a member changes at once.
    if invited.status == 202 {
        let accepted = user.post(&format!("/api/invitations/{space}/accept"), &json!({})).await;
        assert_eq!(accepted.status, 200, "{}", accepted.body);
    }
}

async fn items(client: &Client, path: &str) -> Vec<Value> {
    let reply = client.get(path).await;
    assert_eq!(reply.status, 200, "{path}: {}", reply.body);
    reply.data()["items"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn invited_user_becomes_a_member_by_accepting_and_not_before() {
    let (server, operator) = start(&[]).await;
    let (ada, bob) = (user(&server, &operator, "ada").await, user(&server, &operator, "bob").await);
    let space = make(&ada, "/api/spaces", &json!({"name": "team"})).await["id"].clone();
    let space = space.as_str().expect("an id");
    let member = format!("/api/spaces/{space}/members/bob");

    let invited = ada.put(&member, &json!({"role": "viewer"})).await;
    assert_eq!(invited.status, 202, "{}", invited.body);
    assert_eq!(bob.get(&format!("/api/spaces/{space}")).await.status, 404);
    // Inviting again replaces the role.
    assert_eq!(ada.put(&member, &json!({"role": "editor"})).await.status, 202);
    let own = items(&bob, "/api/invitations").await;
    assert_eq!(own.len(), 1, "{own:?}");
    assert_eq!(
        (&own[0]["spaceName"], &own[0]["role"], &own[0]["invitedBy"]),
        (&json!("team"), &json!("editor"), &json!("ada"))
    );
    assert_eq!(items(&ada, &format!("/api/spaces/{space}/invitations")).await, own);

    let accept = format!("/api/invitations/{space}/accept");
    // A token of lesser scope acts for no space but its own.
    let reader = scoped(&server, &bob, "read").await;
    assert_eq!(items(&reader, "/api/invitations").await, [json!(null); 0]);
    assert_eq!(reader.post(&accept, &json!({})).await.status, 403);
    assert_eq!(ada.post(&accept, &json!({})).await.status, 404);
    assert_eq!(bob.post(&accept, &json!({})).await.status, 200);
    assert_eq!(bob.post(&accept, &json!({})).await.status, 404);
    let role = bob.get(&format!("/api/spaces/{space}")).await;
    assert_eq!(role.data()["role"], "editor", "{}", role.body);
    // The role of a member changes at once.
    assert_eq!(ada.put(&member, &json!({"role": "viewer"})).await.status, 200);
}

#[tokio::test]
async fn role_of_a_deactivated_member_is_changed_and_removed() {
    let (server, operator) = start(&[]).await;
    let (ada, bob) = (user(&server, &operator, "ada").await, user(&server, &operator, "bob").await);
    let me = bob.get("/api/me").await;
    let account = format!("/api/users/{}", me.data()["user"]["id"].as_str().expect("an id"));
    let set_active = async |is_active: bool| {
        let changed = operator.send_json(Method::PATCH, &account, &json!({"isActive": is_active})).await;
        assert_eq!(changed.status, 200, "{}", changed.body);
    };
    let space = make(&ada, "/api/spaces", &json!({"name": "team"})).await["id"].clone();
    let space = space.as_str().expect("an id");
    let (path, member) = (format!("/api/spaces/{space}"), format!("/api/spaces/{space}/members/bob"));
    join(&ada, &bob, space, "bob", "editor").await;

    set_active(false).await;
    let changed = ada.put(&member, &json!({"role": "viewer"})).await;
    assert_eq!((changed.status, &changed.data()["role"]), (200, &json!("viewer")), "{}", changed.body);
    set_active(true).await;
    let role = login(&server, "bob").await.get(&path).await;
    assert_eq!(role.data()["role"], "viewer", "{}", role.body);

    set_active(false).await;
    assert_eq!(ada.delete(&member).await.status, 200);
    set_active(true).await;
    assert_eq!(login(&server, "bob").await.get(&path).await.status, 404);

    let changes = items(&ada.with("haft-space", space), "/api/changes?what=member").await;
    let details: Vec<&Value> = changes.iter().take(2).map(|change| &change["details"]).collect();
    assert_eq!(details, [&json!({"before": "viewer"}), &json!({"role": "viewer", "before": "editor"})]);
}

#[tokio::test]
async fn inviting_does_not_reveal_whether_an_account_exists() {
    let (server, operator) = start(&[]).await;
    let (ada, _bob) = (user(&server, &operator, "ada").await, user(&server, &operator, "bob").await);
    let space = make(&ada, "/api/spaces", &json!({"name": "team"})).await["id"].clone();
    let members = format!("/api/spaces/{}/members", space.as_str().expect("an id"));
    let mut replies = Vec::new();
    for name in ["bob", "eve"] {
        let mut reply = ada.put(&format!("{members}/{name}"), &json!({"role": "caller"})).await;
        for field in ["createdAt", "expiresAt"] {
            reply.body["data"][field] = Value::Null;
        }
        replies.push((reply.status, reply.body.to_string().replace(name, "NAME")));
    }
    assert_eq!(replies[0].0, 202);
    assert_eq!(replies[0], replies[1]);
    for bad in ["%20bob", "0190b5a0-0000-7000-8000-000000000000"] {
        let refused = ada.put(&format!("{members}/{bad}"), &json!({"role": "caller"})).await;
        assert_eq!(refused.status, 400, "{bad}: {}", refused.body);
    }
    // A personal space has no other members.
    let own = ada.get("/api/me").await.data()["space"]["id"].clone();
    let path = format!("/api/spaces/{}/members/bob", own.as_str().expect("an id"));
    assert_eq!(ada.put(&path, &json!({"role": "caller"})).await.status, 409);
}

#[tokio::test]
async fn token_of_lesser_scope_lists_its_own_space_only() {
    let (server, operator) = start(&[]).await;
    make(&operator, "/api/spaces", &json!({"name": "team"})).await;
    assert_eq!(items(&operator, "/api/spaces").await.len(), 2);
    for scope in ["read", "call"] {
        let client = scoped(&server, &operator, scope).await;
        let own = client.get("/api/me").await.data()["space"]["id"].clone();
        let listed = items(&client, "/api/spaces").await;
        assert_eq!(listed.iter().map(|space| &space["id"]).collect::<Vec<_>>(), [&own], "{scope}");
    }
}

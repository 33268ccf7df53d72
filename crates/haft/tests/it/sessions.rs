//! Logins and sessions: passwords, requests of other sites, throttled guessing, and addresses behind a proxy.

use axum::http::Method;
use haft_testkit::{Client, HaftProcess, TestResponse};
use serde_json::json;

use crate::HAFT;
use crate::http_tools::start;

const PASSWORD: &str = "correct horse battery";

/// Returns a client with the session of a login reply.
fn session(url: &str, reply: &TestResponse) -> Client {
    let cookie = reply.header("set-cookie").expect("a cookie").split(';').next().expect("a pair").to_owned();
    Client::anonymous(url).with("cookie", &cookie)
}

async fn with_user(api: &Client, name: &str) {
    let made = api.post("/api/users", &json!({"name": name, "password": PASSWORD})).await;
    assert_eq!(made.status, 201, "{}", made.body);
}

#[tokio::test]
async fn password_starts_a_session_that_ends_on_logout_or_a_new_password() {
    let (server, api) = start(&[]).await;
    with_user(&api, "ada").await;
    let stranger = Client::anonymous(&server.url);
    for body in [json!({"name": "ada", "password": "wrong"}), json!({"name": "nobody", "password": PASSWORD})]
    {
        let refused = stranger.post("/api/login", &body).await;
        let found = (refused.status, refused.kind(), refused.message());
        assert_eq!(found, (401, "Unauthorized", "The name or the password is wrong."), "{body}");
        assert!(refused.header("set-cookie").is_none());
    }
    for body in
        [json!({}), json!({"name": "ada"}), json!({"name": "ada", "password": PASSWORD, "x": 1}), json!([])]
    {
        assert_eq!(stranger.post("/api/login", &body).await.status, 400, "{body}");
    }
    let reply = stranger.post("/api/login", &json!({"name": "ada", "password": PASSWORD})).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let cookie = reply.header("set-cookie").expect("a cookie");
    assert!(
        cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Lax") && cookie.contains("; Path=/"),
        "{cookie}"
    );
    let ada = session(&server.url, &reply);
    let me = ada.get("/api/me").await;
    assert_eq!((&me.data()["user"]["name"], &me.data()["role"]), (&json!("ada"), &json!("admin")));
    assert_eq!(me.data()["spaces"].as_array().map(Vec::len), Some(1));
    assert_eq!(me.data()["hasPassword"], true);
    assert_eq!(
        api.get("/api/me").await.data()["hasPassword"],
        false,
        "the admin logged in with the first link"
    );

    // A header selects another of her spaces. Spaces of other users are refused.
    let team = ada.post("/api/spaces", &json!({"name": "team"})).await;
    let id = team.data()["id"].as_str().expect("an id");
    let there = ada.with("haft-space", id).get("/api/me").await;
    assert_eq!(there.data()["space"]["name"], "team", "{}", there.body);
    let foreign = api.get("/api/me").await.data()["space"]["id"].as_str().expect("an id").to_owned();
    for space in [foreign.as_str(), "not-an-id", "00000000-0000-0000-0000-000000000000"] {
        let refused = ada.with("haft-space", space).get("/api/tools").await;
        assert_eq!((refused.status, refused.kind()), (403, "Permission"), "{space}");
        assert!(refused.message().contains("you are not a member of it"), "{}", refused.body);
    }

    // A new password ends the sessions that were started with the old one.
    let other = session(
        &server.url,
        &stranger.post("/api/login", &json!({"name": "ada", "password": PASSWORD})).await,
    );
    assert_eq!(ada.post("/api/logout", &json!({})).await.status, 200);
    assert_eq!(ada.get("/api/me").await.status, 401, "a session ends at once");
    let own = me.data()["user"]["id"].as_str().expect("an id");
    let changed = other
        .send_json(Method::PATCH, &format!("/api/users/{own}"), &json!({"password": "another horse battery"}))
        .await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    assert_eq!(other.get("/api/me").await.status, 401);
    let off = api.send_json(Method::PATCH, &format!("/api/users/{own}"), &json!({"isActive": false})).await;
    assert_eq!(off.data()["isActive"], false, "{}", off.body);
    let refused =
        stranger.post("/api/login", &json!({"name": "ada", "password": "another horse battery"})).await;
    assert_eq!(refused.status, 401);
}

#[tokio::test]
async fn pages_of_other_sites_cannot_use_a_session() {
    let (server, api) = start(&[]).await;
    with_user(&api, "ada").await;
    let login = json!({"name": "ada", "password": PASSWORD});
    let ada = session(&server.url, &Client::anonymous(&server.url).post("/api/login", &login).await);
    let space = json!({"name": "made"});
    for (name, value, status) in [
        ("origin", server.url.as_str(), 201),
        ("origin", "https://evil.example", 403),
        ("origin", "null", 403),
        ("sec-fetch-site", "same-origin", 201),
        ("sec-fetch-site", "none", 201),
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "same-site", 403),
    ] {
        let reply = ada.with(name, value).post("/api/spaces", &space).await;
        assert_eq!(reply.status, status, "{name}: {value}: {}", reply.body);
    }
    assert_eq!(ada.post("/api/spaces", &space).await.status, 201, "a program sends neither header");
    assert_eq!(ada.with("origin", "https://evil.example").get("/api/me").await.status, 200);
    let login = Client::anonymous(&server.url)
        .with("origin", "https://evil.example")
        .post("/api/login", &login)
        .await;
    assert_eq!(login.status, 403, "another site cannot log a user in either");
    // A browser never sends a token by itself, so tokens are accepted from any origin.
    assert_eq!(api.with("origin", "https://evil.example").post("/api/spaces", &space).await.status, 201);
}

#[tokio::test]
async fn only_sites_that_the_operator_listed_may_read_responses() {
    let (server, _api) = start(&[("HAFT_ALLOWED_ORIGINS", "https://app.example,https://two.example")]).await;
    let asked = |origin: &str| {
        let client = Client::anonymous(&server.url).with("origin", origin);
        client.with("access-control-request-method", "POST")
    };
    let listed = asked("https://two.example").send(Method::OPTIONS, "/api/tools", Vec::new()).await;
    assert_eq!(
        (listed.status, listed.header("access-control-allow-origin")),
        (204, Some("https://two.example"))
    );
    assert!(
        listed.header("access-control-allow-headers").is_some_and(|names| names.contains("Authorization"))
    );
    for origin in ["https://evil.example", "https://app.example.evil.example", "http://app.example", "null"] {
        let reply = asked(origin).send(Method::OPTIONS, "/api/tools", Vec::new()).await;
        assert_eq!(reply.header("access-control-allow-origin"), None, "{origin}");
    }
    let (closed, _) = start(&[]).await;
    let reply = Client::anonymous(&closed.url).with("origin", "https://app.example").get("/healthz").await;
    assert_eq!(reply.header("access-control-allow-origin"), None, "off by default");
}

#[tokio::test]
async fn guessing_is_throttled_and_the_right_password_works_later() {
    let (server, api) = start(&[("HAFT_TRUSTED_PROXIES", "127.0.0.0/8")]).await;
    with_user(&api, "ada").await;
    let from = |address: &str| Client::anonymous(&server.url).with("x-forwarded-for", address);
    let (wrong, right) =
        (json!({"name": "ada", "password": "guess"}), json!({"name": "ada", "password": PASSWORD}));
    let mut statuses = Vec::new();
    for _ in 0..7 {
        statuses.push(from("203.0.113.7").post("/api/login", &wrong).await.status);
    }
    assert_eq!(statuses, [401, 401, 401, 401, 401, 401, 429]);
    let elsewhere = from("203.0.113.8").post("/api/login", &right).await;
    assert_eq!(
        (elsewhere.status, elsewhere.kind()),
        (429, "RateLimit"),
        "the account is throttled for every address"
    );
    let pause: u64 = elsewhere.header("retry-after").expect("a pause").parse().expect("seconds");
    assert!((1..=2).contains(&pause), "{pause}");
    tokio::time::sleep(std::time::Duration::from_secs(pause)).await;
    assert_eq!(from("203.0.113.8").post("/api/login", &right).await.status, 200);

    // The address that the trusted proxy saw counts. Forged addresses in front of it are ignored.
    let api_from = |address: &str| api.with("x-forwarded-for", address);
    assert_eq!(api_from("203.0.113.9").get("/api/tools").await.status, 200);
    for number in 0..70 {
        let forged = from(&format!("198.51.100.{number}, 203.0.113.9"));
        forged.with("authorization", &format!("Bearer haft_wrong_{number}")).get("/api/tools").await;
    }
    let limited = from("203.0.113.9").with("authorization", "Bearer haft_wrong").get("/api/tools").await;
    assert_eq!(limited.status, 429, "{}", limited.body);
    let other = from("198.51.100.1").with("authorization", "Bearer haft_wrong").get("/api/tools").await;
    assert_eq!(other.status, 401);
    assert_eq!(
        api_from("203.0.113.9").get("/api/tools").await.status,
        200,
        "the token was used from this address before"
    );
}

#[tokio::test]
async fn only_the_current_admin_token_is_valid() {
    let place = haft_testkit::TestStorage::new();
    let data = place.variables();
    let environment = |token: Option<&'static str>| {
        let mut environment: Vec<(&str, &str)> =
            data.iter().map(|(name, value)| (*name, value.as_str())).collect();
        environment.extend(token.map(|token| ("HAFT_ADMIN_TOKEN", token)));
        environment
    };
    for (token, good, bad) in [
        (
            Some("first-token-of-the-operator"),
            Some("first-token-of-the-operator"),
            "second-token-of-the-operator",
        ),
        (
            Some("second-token-of-the-operator"),
            Some("second-token-of-the-operator"),
            "first-token-of-the-operator",
        ),
        (None, None, "second-token-of-the-operator"),
    ] {
        let server = HaftProcess::start(HAFT, &["serve"], &environment(token)).await;
        if let Some(good) = good {
            assert_eq!(Client::new(&server.url, good).get("/api/me").await.status, 200, "{good}");
        }
        assert_eq!(Client::new(&server.url, bad).get("/api/me").await.status, 401, "{bad}");
        server.terminate();
        assert_eq!(server.ended().await, Some(0));
    }
}

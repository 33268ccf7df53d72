//! Coming in and going out: passwords, sessions, other sites' pages, guessing, and who a proxy speaks for.

use axum::http::Method;
use haft_testkit::{Client, HaftProcess, Reply};
use serde_json::json;

use crate::HAFT;
use crate::http_tools::start;

const PASSWORD: &str = "correct horse battery";

/// A client that carries the session of a reply.
fn session(url: &str, reply: &Reply) -> Client {
    let cookie = reply.header("set-cookie").expect("a cookie").split(';').next().expect("a pair").to_owned();
    Client::anonymous(url).with("cookie", &cookie)
}

async fn with_user(api: &Client, name: &str) {
    let made = api.post("/api/users", &json!({"name": name, "password": PASSWORD})).await;
    assert_eq!(made.status, 201, "{}", made.body);
}

#[tokio::test]
async fn a_password_begins_a_session_that_ends_when_told() {
    let (server, api) = start(&[]).await;
    with_user(&api, "ada").await;
    let stranger = Client::anonymous(&server.url);
    for body in [json!({"name": "ada", "password": "wrong"}), json!({"name": "nobody", "password": PASSWORD})]
    {
        let refused = stranger.post("/api/login", &body).await;
        let said = (refused.status, refused.kind(), refused.message());
        assert_eq!(said, (401, "Unauthorized", "the name or the password is wrong"), "{body}");
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
    assert_eq!(api.get("/api/me").await.data()["hasPassword"], false, "the admin came in by the first link");

    // Another space of hers, by header; one that is not hers is not there.
    let team = ada.post("/api/spaces", &json!({"name": "team"})).await;
    let id = team.data()["id"].as_str().expect("an id");
    let there = ada.with("haft-space", id).get("/api/me").await;
    assert_eq!(there.data()["space"]["name"], "team", "{}", there.body);
    let foreign = api.get("/api/me").await.data()["space"]["id"].as_str().expect("an id").to_owned();
    for space in [foreign.as_str(), "not-an-id", "00000000-0000-0000-0000-000000000000"] {
        let refused = ada.with("haft-space", space).get("/api/tools").await;
        assert_eq!((refused.status, refused.kind()), (403, "Permission"), "{space}");
        assert!(refused.message().contains("you are not one of its members"), "{}", refused.body);
    }

    // A new password ends what was begun with the old one.
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
async fn pages_of_other_sites_cannot_act_for_a_session() {
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
    assert_eq!(ada.post("/api/spaces", &space).await.status, 201, "what is no browser says nothing");
    assert_eq!(ada.with("origin", "https://evil.example").get("/api/me").await.status, 200);
    let login = Client::anonymous(&server.url)
        .with("origin", "https://evil.example")
        .post("/api/login", &login)
        .await;
    assert_eq!(login.status, 403, "nobody is logged in from elsewhere either");
    // A token is no ambient right, so it may be used from anywhere.
    assert_eq!(api.with("origin", "https://evil.example").post("/api/spaces", &space).await.status, 201);
}

#[tokio::test]
async fn only_sites_that_the_operator_listed_may_read_answers() {
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
async fn guessing_is_slowed_down_and_the_right_one_is_let_in_later() {
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
        "the account is guarded from everywhere"
    );
    let pause: u64 = elsewhere.header("retry-after").expect("a pause").parse().expect("seconds");
    assert!((1..=2).contains(&pause), "{pause}");
    tokio::time::sleep(std::time::Duration::from_secs(pause)).await;
    assert_eq!(from("203.0.113.8").post("/api/login", &right).await.status, 200);

    // Nobody can pretend to be another address past the proxies that are trusted.
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
    assert_eq!(api_from("203.0.113.9").get("/api/tools").await.status, 200, "it was used from there before");
}

#[tokio::test]
async fn a_token_of_the_operator_is_the_one_that_is_set_now() {
    let place = haft_testkit::Place::new();
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

//! Tokens and sessions: minimum length of the admin token, throttled guessing, and the end of sessions.

use std::fmt::Display;
use std::iter::once;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::time::Duration;

use axum::http::Method;
use futures_util::future::join_all;
use haft_testkit::{Client, HaftProcess, TestResponse, TestStorage, eventually, run};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::HAFT;
use crate::survival::Settings;

/// Returns a client with the session that a login started.
fn session(url: &str, login: &TestResponse) -> Client {
    assert_eq!(login.status, 200, "{}", login.body);
    let cookie = login.header("set-cookie").expect("a cookie");
    Client::anonymous(url).with("cookie", cookie.split(';').next().expect("a pair"))
}

#[tokio::test]
async fn short_token_of_the_operator_is_refused() {
    let place = TestStorage::new();
    let data = place.variables();
    for token in ["a", "fifteen letters"] {
        let mut environment: Vec<(&str, &str)> =
            data.iter().map(|(name, value)| (*name, value.as_str())).collect();
        environment.push(("HAFT_ADMIN_TOKEN", token));
        let ended = run(HAFT, &["serve", "--addr", "127.0.0.1:0"], &environment, "").await;
        assert_eq!(ended.code, 1, "{token}");
        let length = token.len();
        let expected = format!("HAFT_ADMIN_TOKEN has {length} characters and needs at least 16");
        assert!(ended.stderr.contains(&expected), "{}", ended.stderr);
    }
    let (_server, api) = Settings::of(&place).with("HAFT_ADMIN_TOKEN", "sixteen letters.").start().await;
    assert_eq!(api.get("/api/me").await.status, 200);
}

#[tokio::test]
async fn guessing_tokens_is_throttled_and_repeating_an_old_token_is_not_guessing() {
    let place = TestStorage::new();
    let (server, api) = Settings::of(&place).with("HAFT_TRUSTED_PROXIES", "127.0.0.0/8").start().await;
    let new = api.post("/api/tokens", &json!({"name": "never used"})).await;
    let new = new.data()["token"].as_str().expect("a token").to_owned();
    let status = async |token: &str| Client::new(&server.url, token).get("/api/me").await.status;
    // A program that keeps sending an expired token does not lock out others.
    for _ in 0..100 {
        assert_eq!(status("haft_an_old_token").await, 401);
    }
    // Concurrent requests, so that enough of them are checked to cause a long pause.
    let guesses: Vec<String> = (0..200).map(|number| format!("haft_guess_{number}")).collect();
    for status in join_all(guesses.iter().map(|guess| status(guess))).await {
        assert!(matches!(status, 401 | 429), "{status}");
    }
    let throttled = Client::new(&server.url, "haft_another").get("/api/me").await;
    assert_eq!((throttled.status, throttled.kind()), (429, "RateLimit"));
    assert!(throttled.header("retry-after").is_some());
    // While guessing is throttled, a valid token is refused like an invalid one.
    assert_eq!(status(&new).await, 429);
    // A token that is in use at another address is refused, too.
    let elsewhere = Client::new(&server.url, &new).with("x-forwarded-for", "198.51.100.1");
    assert_eq!(elsewhere.get("/api/me").await.status, 200);
    assert_eq!(status(&new).await, 429);
    // A token that was valid from this address before is accepted, also after users and tokens changed.
    assert_eq!(api.post("/api/tokens", &json!({"name": "another"})).await.status, 201);
    assert_eq!(api.get("/api/me").await.status, 200);
}

/// Sends requests on one connection, each from an address with a token. Returns their statuses.
async fn send_tokens<A: Display, T: Display>(
    server: &HaftProcess,
    tokens: impl Iterator<Item = (A, T)>,
) -> Vec<u16> {
    let mut requests = String::new();
    for (address, token) in tokens {
        requests += &format!(
            "GET /api/me HTTP/1.1\r\nhost: x\r\nx-forwarded-for: {address}\r\nauthorization: Bearer {token}\r\n\r\n"
        );
    }
    requests += "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let host = server.url.trim_start_matches("http://");
    let (mut reader, mut writer) = TcpStream::connect(host).await.expect("a connection").into_split();
    let mut responses = String::new();
    let (sent, received) =
        tokio::join!(writer.write_all(requests.as_bytes()), reader.read_to_string(&mut responses));
    sent.and(received).expect("all responses");
    let statuses = responses.split("HTTP/1.1 ").skip(1);
    let mut statuses: Vec<u16> = statuses.map(|response| response[..3].parse().expect("a status")).collect();
    assert_eq!(statuses.pop(), Some(200), "the last request needs no token");
    statuses
}

/// Guesses tokens from an address until it is locked out for two minutes or longer.
async fn lock_out(server: &HaftProcess, address: &str) {
    let client = Client::anonymous(&server.url).with("x-forwarded-for", address);
    let with_token = |number: u32| client.with("authorization", &format!("Bearer haft_guess_{number}"));
    // Each round at least doubles the pause.
    for first in (0..2000).step_by(200) {
        // Concurrent requests, so that many of them are checked before the lock-out begins.
        let guesses: Vec<Client> = (first..first + 200).map(with_token).collect();
        join_all(guesses.iter().map(|client| client.get("/api/me"))).await;
        let refused = with_token(first).get("/api/me").await;
        let pause = refused.header("retry-after").map_or(0, |seconds| seconds.parse().expect("seconds"));
        if pause >= 120 {
            return;
        }
        tokio::time::sleep(Duration::from_secs(pause)).await;
    }
    panic!("{address} is not locked out for two minutes");
}

#[tokio::test]
async fn lock_out_holds_when_the_throttle_is_full() {
    let place = TestStorage::new();
    let (server, api) = Settings::of(&place).with("HAFT_TRUSTED_PROXIES", "127.0.0.0/8").start().await;
    let [locked, control, almost_locked, elsewhere] = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"];
    let valid = api.post("/api/tokens", &json!({"name": "never used"})).await;
    let valid = valid.data()["token"].as_str().expect("a token");
    let send_valid = |address| send_tokens(&server, once((address, valid)));
    let guess = |address, numbers: Range<usize>| {
        send_tokens(&server, numbers.map(move |number| (address, format!("haft_guess_{number}"))))
    };
    lock_out(&server, locked).await;
    assert_eq!(send_valid(locked).await, [429]);

    // A control address shows how many failures cause a lock-out; this address has one less.
    let statuses = guess(control, 0..100).await;
    let checked = statuses.iter().position(|status| *status == 429).expect("a lock-out");
    assert_eq!(guess(almost_locked, 0..checked - 1).await, vec![401; checked - 1]);

    // Failures of more addresses than the throttle counts: it forgets the oldest, but no lock-out.
    let guess_once_each = |addresses: Range<u32>| {
        let addresses = addresses.map(|number| Ipv4Addr::from(0x0a00_0000 + number));
        send_tokens(&server, addresses.map(|address| (address, "haft_guess")))
    };
    let parts = (0..4).map(|part| guess_once_each(part * 5_000..(part + 1) * 5_000));
    for statuses in join_all(parts).await {
        assert_eq!(statuses, [401; 5_000]);
    }
    assert_eq!(guess(almost_locked, 100..102).await, [401, 401], "the throttle was full and forgot failures");
    assert_eq!(send_valid(locked).await, [429], "the lock-out holds");
    assert_eq!(send_valid(elsewhere).await, [200]);
}

#[tokio::test]
async fn session_ends_with_the_token_it_was_made_from() {
    let place = TestStorage::new();
    let (server, api) = Settings::of(&place).start().await;
    let end = "2090-01-01T00:00:00.000Z";
    let made = api.post("/api/tokens", &json!({"name": "short", "expiresAt": end})).await;
    let (id, token) =
        (made.data()["id"].as_str().expect("an id"), made.data()["token"].as_str().expect("one"));
    let login = Client::anonymous(&server.url).post("/api/login", &json!({"token": token})).await;
    let session = session(&server.url, &login);
    assert_eq!(session.get("/api/me").await.status, 200);

    // A token that the session creates does not outlive the session's token either.
    let later = "2099-01-01T00:00:00Z";
    for body in [json!({"name": "forever"}), json!({"name": "later", "expiresAt": later})] {
        let made = session.post("/api/tokens", &body).await;
        assert_eq!((made.status, &made.data()["expiresAt"]), (201, &json!(end)), "{}", made.body);
    }

    // A password would outlive the token, and so would sessions started with the password.
    let own = format!("/api/users/{}", login.data()["user"]["id"].as_str().expect("an id"));
    let password = json!({"password": "correct horse battery"});
    for ending in [&session, &Client::new(&server.url, token)] {
        let refused = ending.send_json(Method::PATCH, &own, &password).await;
        assert_eq!((refused.status, refused.kind()), (403, "Permission"), "{}", refused.body);
        assert!(refused.message().contains("cannot set its user's password"), "{}", refused.body);
    }
    // A token without an expiry may set the password.
    assert_eq!(api.send_json(Method::PATCH, &own, &password).await.status, 200);
    let login = Client::anonymous(&server.url).post("/api/login", &json!({"token": token})).await;
    let session = self::session(&server.url, &login);

    assert_eq!(api.delete(&format!("/api/tokens/{id}")).await.status, 200);
    let over = session.get("/api/me").await;
    assert_eq!((over.status, over.kind()), (401, "Unauthorized"));
    assert_eq!(session.post("/api/tokens", &json!({"name": "more"})).await.status, 401);
}

#[tokio::test]
async fn session_ends_when_the_token_it_was_made_from_expires() {
    let place = TestStorage::new();
    let (server, api) = Settings::of(&place).start().await;
    let end = haft_engine::now().saturating_add(Duration::from_secs(3)).expect("a time");
    let made = api.post("/api/tokens", &json!({"name": "short", "expiresAt": end.to_string()})).await;
    let token = made.data()["token"].as_str().expect("a token");
    let login = Client::anonymous(&server.url).post("/api/login", &json!({"token": token})).await;
    let session = session(&server.url, &login);
    assert_eq!(session.get("/api/me").await.status, 200);
    let is_over = async || session.get("/api/me").await.status == 401;
    eventually("the session is over", is_over).await;
    assert!(haft_engine::now() >= end, "it ended before its token");
    assert_eq!(Client::new(&server.url, token).get("/api/me").await.status, 401);
}

#[tokio::test]
async fn session_of_the_operator_ends_when_the_admin_token_changes() {
    let place = TestStorage::new();
    let settings = Settings::of(&place);
    let (server, _api) = settings.start().await;
    let login = Client::anonymous(&server.url).post("/api/login", &json!({"token": crate::TOKEN})).await;
    let cookie = login.header("set-cookie").expect("a cookie").split(';').next().expect("a pair").to_owned();
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    for (token, status) in [(crate::TOKEN, 200), ("another-token-of-the-tests", 401)] {
        let (server, _api) = settings.clone().with("HAFT_ADMIN_TOKEN", token).start().await;
        let session = Client::anonymous(&server.url).with("cookie", &cookie);
        assert_eq!(session.get("/api/me").await.status, status, "{token}");
        server.terminate();
        assert_eq!(server.ended().await, Some(0));
    }
}

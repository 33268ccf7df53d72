//! Failures of the token endpoint: error messages, retries, and that the tool itself sends nothing.

use std::sync::atomic::{AtomicUsize, Ordering};

use haft_engine::{CallOptions, ErrorKind, Locale};
use haft_testkit::{Upstream, http_response, json_reply};
use serde_json::{Value, json};

use crate::support::{CallOutcome, Stage, open, with};

const CLIENT_SECRET: &str = "cl1ent-secret-42";

async fn stage() -> Stage {
    Stage::answering(&[("client", CLIENT_SECRET)], |_| json_reply(200, &json!({"ok": true}))).await
}

/// A tool that uses this token endpoint, with one attempt.
fn tool(stage: &Stage, token_url: &str, config: Value) -> Value {
    let auth = json!({
        "type": "oauth2ClientCredentials", "tokenUrl": token_url,
        "clientId": "haft", "clientSecret": "secret://client",
    });
    let config = with(json!({"auth": auth, "params": {}}), config);
    with(open(stage.config_at("/data", config)), json!({"retryCount": 0}))
}

/// Calls a tool whose token endpoint returns this response.
async fn called(stage: &Stage, status: u16, body: &str) -> CallOutcome {
    let body = body.to_owned();
    let issuer = Upstream::start(move |_| {
        http_response(status, &[("content-type", "application/json")], body.clone())
    })
    .await;
    let made = stage.call_definition(tool(stage, &issuer.url("/token"), json!({})), json!({})).await;
    assert_eq!(issuer.seen().len(), 1, "{status}: the issuer was asked once");
    made
}

#[tokio::test]
async fn a_failure_of_the_issuer_has_the_right_kind() {
    let stage = stage().await;
    let check = "; check the client id, the secret and the scope";
    let not_a_token = "The response of 127.0.0.1 is not a bearer token";
    for (status, body, kind, reported) in [
        (
            400,
            "{}",
            ErrorKind::Authentication,
            format!("127.0.0.1 returned no token: 400 Bad Request{check}"),
        ),
        (401, "", ErrorKind::Authentication, format!("127.0.0.1 returned no token: 401 Unauthorized{check}")),
        (403, "no", ErrorKind::Authentication, format!("127.0.0.1 returned no token: 403 Forbidden{check}")),
        (
            404,
            "<html>",
            ErrorKind::Authentication,
            format!("127.0.0.1 returned no token: 404 Not Found{check}"),
        ),
        (429, "{}", ErrorKind::RateLimit, "127.0.0.1 returned no token: 429 Too Many Requests".to_owned()),
        (500, "{}", ErrorKind::Server, "127.0.0.1 returned no token: 500 Internal Server Error".to_owned()),
        (503, "", ErrorKind::Server, "127.0.0.1 returned no token: 503 Service Unavailable".to_owned()),
        (200, "", ErrorKind::Authentication, not_a_token.to_owned()),
        (200, "garbage", ErrorKind::Authentication, not_a_token.to_owned()),
        (200, "[]", ErrorKind::Authentication, not_a_token.to_owned()),
        (200, "{}", ErrorKind::Authentication, not_a_token.to_owned()),
        (200, r#"{"access_token": ""}"#, ErrorKind::Authentication, not_a_token.to_owned()),
        (200, r#"{"access_token": 42}"#, ErrorKind::Authentication, not_a_token.to_owned()),
        (
            200,
            r#"{"access_token": "t0ken-value", "token_type": "mac"}"#,
            ErrorKind::Authentication,
            not_a_token.to_owned(),
        ),
    ] {
        let case = format!("{status} {body}");
        let made = called(&stage, status, body).await;
        assert_eq!(made.refused(&case), (kind, reported), "{case}");
        assert!(!made.visible_text().contains("t0ken-value"), "{case}: {}", made.visible_text());
    }
}

#[tokio::test]
async fn the_token_type_is_optional_and_ignores_case() {
    let stage = stage().await;
    for kind in [json!("bearer"), json!("Bearer"), json!("BEARER"), Value::Null] {
        let case = kind.to_string();
        let body = json!({"access_token": "t0ken-value", "token_type": kind}).to_string();
        let made = called(&stage, 200, &body).await;
        assert_eq!(made.only_request(&case).header("authorization"), Some("Bearer t0ken-value"), "{case}");
    }
}

#[tokio::test]
async fn a_token_with_invalid_characters_is_rejected() {
    let stage = stage().await;
    for token in ["two\nlines", "a\r\nX-Evil: 1", "nul\u{0}"] {
        let case = format!("{token:?}");
        let made = called(&stage, 200, &json!({"access_token": token}).to_string()).await;
        let (kind, reported) = made.refused(&case);
        assert_eq!(kind, ErrorKind::Authentication, "{case}: {reported}");
    }
}

#[tokio::test]
async fn the_error_of_the_issuer_becomes_the_cause() {
    let stage = stage().await;
    let body = json!({"error": "invalid_client", "error_description": "unknown client haft"}).to_string();
    let made = called(&stage, 401, &body).await;
    let details = made.error("cause").details(Locale::En);
    assert_eq!(details["cause"], "invalid_client: unknown client haft", "the cause");
    assert_eq!(details["status"], 401, "the status");
}

#[tokio::test]
async fn an_echoing_issuer_exposes_no_secret() {
    for secret in ["secret://client", CLIENT_SECRET] {
        let stage = stage().await;
        let issuer = Upstream::start(|seen| {
            let said = format!("wrong: {}", seen.text());
            json_reply(401, &json!({"error": "invalid_client", "error_description": said}))
        })
        .await;
        let mut definition = tool(&stage, &issuer.url("/token"), json!({}));
        definition["config"]["auth"]["clientSecret"] = secret.into();
        let made = stage.call_definition(definition, json!({})).await;
        assert_eq!(made.refused(secret).0, ErrorKind::Authentication, "{secret}");
        let shown = made.visible_text();
        assert!(shown.contains("invalid_client") && !shown.contains(CLIENT_SECRET), "{secret}: {shown}");
    }
}

#[tokio::test]
async fn a_write_is_retried_if_the_token_fetch_failed() {
    for (status, method) in [(500, "POST"), (503, "PATCH"), (429, "POST"), (502, "GET")] {
        let case = format!("{method} {status}");
        let stage = stage().await;
        let before = AtomicUsize::new(0);
        let issuer = Upstream::start(move |_| match before.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => json_reply(status, &json!({})),
            _ => json_reply(200, &json!({"access_token": "t0ken-value"})),
        })
        .await;
        let config = tool(&stage, &issuer.url("/token"), json!({"method": method}));
        let made = stage.call_definition(with(config, json!({"retryCount": null})), json!({})).await;
        assert_eq!(made.only_request(&case).header("authorization"), Some("Bearer t0ken-value"), "{case}");
        assert_eq!((made.result.attempts, issuer.seen().len()), (3, 3), "{case}: attempts");
    }
}

#[tokio::test]
async fn a_failed_fetch_is_not_cached() {
    let stage = stage().await;
    let before = AtomicUsize::new(0);
    let issuer = Upstream::start(move |_| match before.fetch_add(1, Ordering::SeqCst) {
        0 => json_reply(401, &json!({})),
        _ => json_reply(200, &json!({"access_token": "t0ken-value"})),
    })
    .await;
    stage.register(&tool(&stage, &issuer.url("/token"), json!({})));
    let first = stage.call(json!({}), CallOptions::default()).await;
    assert_eq!(first.refused("first").0, ErrorKind::Authentication, "first");
    let second = stage.call(json!({}), CallOptions::default()).await;
    assert_eq!(second.only_request("second").header("authorization"), Some("Bearer t0ken-value"), "second");
}

#[tokio::test]
async fn an_issuer_at_a_blocked_address_is_not_contacted() {
    let stage = stage().await;
    for host in ["10.0.0.1", "192.168.1.1", "169.254.169.254", "172.16.0.1"] {
        for url in [format!("http://{host}/token"), format!("https://{host}:8443/token")] {
            let made = stage.call_definition(tool(&stage, &url, json!({})), json!({})).await;
            let reported = format!("Address not allowed: {host} resolves to a private address");
            let (kind, message) = made.refused(&url);
            assert!(kind == ErrorKind::Permission && message.starts_with(&reported), "{url}: {message}");
        }
    }
    let made = stage.call_definition(tool(&stage, "http://[::1]:9/token", json!({})), json!({})).await;
    assert_eq!(made.refused("::1").0, ErrorKind::Permission, "::1 is not among the opened");
}

#[tokio::test]
async fn the_client_secret_follows_no_redirect_to_another_origin() {
    let stage = stage().await;
    let other = Upstream::start(|_| json_reply(200, &json!({"access_token": "t0ken-value"}))).await;
    for status in [307, 308] {
        let target = other.url("/steal");
        let issuer =
            Upstream::start(move |_| http_response(status, &[("location", target.as_str())], "")).await;
        let made = stage.call_definition(tool(&stage, &issuer.url("/token"), json!({})), json!({})).await;
        assert_eq!(made.refused(&status.to_string()).0, ErrorKind::Permission, "{status}");
        assert_eq!(other.seen().len(), 0, "{status}: the other origin saw nothing");
    }
}

#[tokio::test]
async fn arguments_are_checked_before_a_token_is_fetched() {
    let stage = stage().await;
    let issuer = Upstream::start(|_| json_reply(200, &json!({"access_token": "t0ken-value"}))).await;
    for (config, arguments) in [
        (json!({"params": {"q": "to {{q}}"}}), json!({})),
        (json!({"headers": {"X-V": "{{v}}"}}), json!({"v": "a\nb"})),
    ] {
        let case = config.to_string();
        let made = stage.call_definition(tool(&stage, &issuer.url("/token"), config), arguments).await;
        assert_eq!(made.refused(&case).0, ErrorKind::Validation, "{case}");
        assert_eq!(issuer.seen().len(), 0, "{case}: nothing is sent before the arguments fit");
    }
}

#[tokio::test]
async fn a_dry_run_fetches_no_token() {
    let stage = stage().await;
    let issuer = Upstream::start(|_| json_reply(200, &json!({"access_token": "t0ken-value"}))).await;
    stage.register(&tool(&stage, &issuer.url("/token"), json!({})));
    let made = stage.call(json!({}), CallOptions::default().dry_run()).await;
    assert_eq!(made.data("dry")["headers"], json!({"authorization": "Bearer ***"}), "dry");
    assert_eq!((issuer.connections(), stage.up.connections()), (0, 0), "no request was sent");
    assert!(!made.visible_text().contains(CLIENT_SECRET), "dry: {}", made.visible_text());
}

//! Authentication: credentials are sent to the upstream and never leak to callers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_engine::{ErrorKind, Locale};
use haft_testkit::{http_response, json_reply};
use serde_json::{Value, json};

use crate::support::{Stage, assert_masked, echo, open, spellings, with};

/// A credential that looks different in every encoding.
const CREDENTIAL: &str = "S3cr/t+cred=ential-42";

#[tokio::test]
async fn credentials_are_sent_as_configured() {
    let secrets =
        [("k", CREDENTIAL), ("me/own", "my-own-value"), ("user", "ada\n"), ("pass", " pä:ss:wörd \n")];
    let stage = Stage::answering(&secrets, |_| json_reply(200, &json!({}))).await;
    let basic = |both: &str| format!("Basic {}", STANDARD.encode(both));
    let header = "authorization";
    for (auth, name, sent) in [
        (json!({"type": "bearer", "token": "literal-token"}), header, "Bearer literal-token".to_owned()),
        (json!({"type": "bearer", "token": "secret://k"}), header, format!("Bearer {CREDENTIAL}")),
        (json!({"type": "bearer", "token": "secret://me/own"}), header, "Bearer my-own-value".to_owned()),
        (json!({"type": "bearer", "token": "v1.secret://k"}), header, format!("Bearer v1.{CREDENTIAL}")),
        (json!({"type": "Bearer", "token": "x"}), header, "Bearer x".to_owned()),
        (json!({"type": "basic", "username": "ada", "password": "p"}), header, basic("ada:p")),
        (json!({"type": "basic", "username": "ada"}), header, basic("ada:")),
        (
            json!({"type": "basic", "username": "ädä", "password": "pä:ss:wörd"}),
            header,
            basic("ädä:pä:ss:wörd"),
        ),
        (
            json!({"type": "basic", "username": "secret://user", "password": "secret://pass"}),
            header,
            basic("ada:pä:ss:wörd"),
        ),
        (json!({"type": "apiKey", "name": "X-Key", "value": "literal"}), "x-key", "literal".to_owned()),
        (
            json!({"type": "apiKey", "in": "header", "name": "X-Key", "value": "secret://k"}),
            "x-key",
            CREDENTIAL.to_owned(),
        ),
        (
            json!({"type": "apiKey", "in": "header", "name": "Authorization", "value": "Token secret://k"}),
            header,
            format!("Token {CREDENTIAL}"),
        ),
    ] {
        let case = auth.to_string();
        let made = stage.call_with(stage.config_at("/a", json!({"auth": auth})), json!({})).await;
        let seen = made.only_request(&case);
        assert_eq!(seen.header(name), Some(sent.as_str()), "{case}");
        assert_eq!(seen.target, "/a", "{case}: the target");
    }
    for (written, auth, target) in [
        ("/a", json!({"type": "apiKey", "in": "query", "name": "key", "value": "a&b"}), "/a?key=a%26b"),
        (
            "/a?x=1",
            json!({"type": "apiKey", "in": "query", "name": "k[y]", "value": "v"}),
            "/a?x=1&k%5By%5D=v",
        ),
        (
            "/a",
            json!({"type": "apiKey", "in": "query", "name": "key", "value": "secret://k"}),
            "/a?key=S3cr%2Ft%2Bcred%3Dential-42",
        ),
    ] {
        let case = auth.to_string();
        let made = stage.call_with(stage.config_at(written, json!({"auth": auth})), json!({})).await;
        let seen = made.only_request(&case);
        assert_eq!((seen.target.as_str(), seen.header(header)), (target, None), "{case}");
    }
}

#[tokio::test]
async fn an_argument_cannot_replace_a_credential() {
    let stage = Stage::new().await;
    let arguments = json!({"Authorization": "forged", "token": "forged", "key": "forged"});
    let auth = json!({"type": "bearer", "token": "own-token"});
    let made =
        stage.call_with(stage.config_at("/a", json!({"auth": auth, "params": {}})), arguments.clone()).await;
    let values: Vec<_> = made.only_request("bearer").headers.get_all("authorization").iter().collect();
    assert_eq!(values, ["Bearer own-token"], "bearer");

    let auth = json!({"type": "apiKey", "in": "query", "name": "key", "value": "own-key"});
    let made = stage.call_with(stage.config_at("/a", json!({"auth": auth, "params": {}})), arguments).await;
    assert_eq!(made.only_request("apiKey").target, "/a?key=own-key", "apiKey");
}

#[tokio::test]
async fn a_missing_secret_is_reported_and_nothing_is_sent() {
    let stage = Stage::new().await;
    for (config, name) in [
        (json!({"auth": {"type": "bearer", "token": "secret://gone"}}), "secret://gone"),
        (
            json!({"auth": {"type": "basic", "username": "u", "password": "secret://me/gone"}}),
            "secret://me/gone",
        ),
        (
            json!({"auth": {"type": "apiKey", "in": "query", "name": "k", "value": "secret://gone"}}),
            "secret://gone",
        ),
        (json!({"headers": {"X-Key": "Bearer secret://gone"}}), "secret://gone"),
        (json!({"params": {"k": ["secret://gone"]}}), "secret://gone"),
        (json!({"method": "POST", "body": {"a": {"b": "secret://gone"}}}), "secret://gone"),
    ] {
        let case = config.to_string();
        let made = stage.call_with(stage.config_at("/a", config), json!({})).await;
        let reported = format!("The secret {name} is not set; add it, or remove it from the tool");
        assert_eq!(made.refused(&case), (ErrorKind::Execution, reported), "{case}");
        assert!(!made.error(&case).is_retryable(), "{case}: trying again is no help");
    }
}

/// Every configuration of the credential: as a secret, and literally where literals are recognized.
fn configurations() -> Vec<Value> {
    let mut configurations = Vec::new();
    for credential in ["secret://k", CREDENTIAL] {
        configurations.extend([
            json!({"auth": {"type": "bearer", "token": credential}}),
            json!({"auth": {"type": "basic", "username": "ada", "password": credential}}),
            json!({"auth": {"type": "apiKey", "name": "X-Plain", "value": credential}}),
            json!({"auth": {"type": "apiKey", "in": "query", "name": "plain", "value": credential}}),
            json!({"headers": {"Authorization": format!("Bearer {credential}")}}),
            json!({"headers": {"X-Weather-API-Key": credential}}),
            json!({"params": {"api_key": credential}}),
        ]);
    }
    configurations.extend([
        json!({"headers": {"X-Plain": "before secret://k after"}}),
        json!({"params": {"plain": ["secret://k"]}}),
        json!({"method": "POST", "body": {"plain": {"deep": "secret://k"}}}),
        json!({"method": "POST", "bodyType": "form", "body": {"plain": "secret://k"}}),
        json!({"method": "POST", "bodyType": "text", "body": "plain secret://k"}),
    ]);
    configurations
}

#[tokio::test]
async fn no_credential_is_returned_from_an_echoing_upstream() {
    let stage = Stage::answering(&[("k", CREDENTIAL)], echo).await;
    for config in configurations() {
        for (path, kind) in
            [("/200", None), ("/400", Some(ErrorKind::Validation)), ("/500", Some(ErrorKind::Server))]
        {
            let case = format!("{config} at {path}");
            let definition = with(open(stage.config_at(path, config.clone())), json!({"retryCount": 0}));
            let made = stage.call_definition(definition, json!({})).await;
            assert_eq!(made.seen.len(), 1, "{case}: it was sent");
            assert_eq!(made.result.error().map(|error| error.kind()), kind, "{case}: the kind");
            assert_masked(&made.visible_text(), CREDENTIAL, &case);
        }
    }
}

#[tokio::test]
async fn no_credential_is_returned_in_text_or_binary_responses() {
    for (case, kind, before, after) in [
        ("text", "text/plain", "the key is ".as_bytes(), " indeed".as_bytes()),
        ("html", "text/html", "<b title='".as_bytes(), "'>".as_bytes()),
        ("binary", "application/octet-stream", b"\xff\x00".as_slice(), b"\xfe\xff\x00".as_slice()),
        ("image", "image/png", b"\x89PNG\x00".as_slice(), b"\x00\xff\xee".as_slice()),
        ("broken JSON", "application/json", "{\"k\": \"".as_bytes(), "\"".as_bytes()),
    ] {
        let body = [before, CREDENTIAL.as_bytes(), after].concat();
        let stage = Stage::answering(&[("k", CREDENTIAL)], move |_| {
            http_response(200, &[("content-type", kind)], body.clone())
        })
        .await;
        for credential in ["secret://k", CREDENTIAL] {
            let auth = json!({"auth": {"type": "bearer", "token": credential}});
            let made = stage.call_with(stage.config_at("/a", auth), json!({})).await;
            assert!(made.result.is_success(), "{case}: {:?}", made.result.error());
            assert_masked(&made.visible_text(), CREDENTIAL, &format!("{case} with {credential}"));
        }
    }
}

#[tokio::test]
async fn a_credential_is_masked_in_every_charset() {
    let credential = "schlüssel-zum-geheimfach";
    let utf16: Vec<u8> = format!("it is {credential}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (kind, body) in [
        ("text/plain; charset=iso-8859-1", b"it is schl\xfcssel-zum-geheimfach".to_vec()),
        ("application/json; charset=iso-8859-1", b"{\"k\": \"schl\xfcssel-zum-geheimfach\"}".to_vec()),
        ("text/plain; charset=utf-16le", utf16),
        ("application/json", br#"{"k": "schl\u00fcssel-zum-geheimfach"}"#.to_vec()),
    ] {
        let stage = Stage::answering(&[("k", credential)], move |_| {
            http_response(200, &[("content-type", kind)], body.clone())
        })
        .await;
        for value in ["secret://k", credential] {
            let case = format!("{kind} with {value}");
            let auth = json!({"auth": {"type": "apiKey", "name": "X-Key", "value": value}});
            let made = stage.call_with(stage.config_at("/a", auth), json!({})).await;
            let shown = made.visible_text();
            assert!(made.result.is_success(), "{case}: {shown}");
            assert!(!shown.contains("zum-geheimfach") && shown.contains("***"), "{case}: {shown}");
        }
    }
}

#[tokio::test]
async fn a_credential_at_the_truncation_limit_of_an_error_body_is_masked() {
    for before in [2047, 2048 - 8, 2048 - CREDENTIAL.len() + 1] {
        let body = format!("{}{CREDENTIAL}", "x".repeat(before));
        let stage = Stage::answering(&[("k", CREDENTIAL)], move |_| {
            http_response(400, &[("content-type", "text/plain")], body.clone())
        })
        .await;
        for credential in ["secret://k", CREDENTIAL] {
            let case = format!("{credential} behind {before} bytes");
            let auth = json!({"auth": {"type": "bearer", "token": credential}});
            let made = stage.call_with(stage.config_at("/a", auth), json!({})).await;
            let details = made.error(&case).details(Locale::En);
            let kept = details["body"].as_str().unwrap_or_default().trim_start_matches('x');
            assert!(!CREDENTIAL.starts_with(kept) || kept.is_empty(), "{case}: {kept:?} is left");
        }
    }
}

#[tokio::test]
async fn a_literal_cookie_is_masked_completely() {
    let stage = Stage::answering(&[], echo).await;
    let cookie = format!("session={CREDENTIAL}; theme=dark");
    let made =
        stage.call_with(stage.config_at("/200", json!({"headers": {"Cookie": cookie}})), json!({})).await;
    assert_eq!(made.only_request("cookie").header("cookie"), Some(cookie.as_str()), "it is sent");
    let shown = made.visible_text();
    for spelling in spellings(CREDENTIAL) {
        assert!(!shown.contains(&spelling), "cookie: {spelling} is in {shown}");
    }
}

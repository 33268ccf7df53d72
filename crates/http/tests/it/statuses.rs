//! Statuses of upstreams, requested pauses, and hosts that a tool must not contact.

use std::net::TcpListener;

use haft_engine::{ErrorKind, Locale};
use haft_testkit::{http_response, json_reply};
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use crate::support::{ResponseStage, Stage, open, with, wrong};

#[tokio::test]
async fn every_status_has_its_kind_of_error_or_none() {
    let stage = ResponseStage::new().await;
    for (status, kind, message) in [
        (
            400,
            ErrorKind::Validation,
            "127.0.0.1 refused the request: 400 Bad Request; see the response in details.body",
        ),
        (
            422,
            ErrorKind::Validation,
            "127.0.0.1 refused the request: 422 Unprocessable Entity; see the response in details.body",
        ),
        (
            401,
            ErrorKind::Authentication,
            "127.0.0.1 rejected the credentials: 401 Unauthorized; check the tool's auth or headers",
        ),
        (403, ErrorKind::Permission, "127.0.0.1 denied permission: 403 Forbidden"),
        (404, ErrorKind::NotFound, "127.0.0.1 has no such resource: 404 Not Found"),
        (408, ErrorKind::Timeout, "127.0.0.1 timed out: 408 Request Timeout"),
        (
            429,
            ErrorKind::RateLimit,
            "127.0.0.1 limits the call rate: 429 Too Many Requests; wait before retrying",
        ),
        (500, ErrorKind::Server, "127.0.0.1 failed: 500 Internal Server Error"),
        (502, ErrorKind::Server, "127.0.0.1 failed: 502 Bad Gateway"),
        (503, ErrorKind::Server, "127.0.0.1 failed: 503 Service Unavailable"),
        (504, ErrorKind::Server, "127.0.0.1 failed: 504 Gateway Timeout"),
        (402, ErrorKind::Execution, "127.0.0.1 returned 402 Payment Required, which is not a success status"),
        (
            405,
            ErrorKind::Execution,
            "127.0.0.1 returned 405 Method Not Allowed, which is not a success status",
        ),
        (409, ErrorKind::Execution, "127.0.0.1 returned 409 Conflict, which is not a success status"),
        (418, ErrorKind::Execution, "127.0.0.1 returned 418 I'm a teapot, which is not a success status"),
        (300, ErrorKind::Execution, "127.0.0.1 returned 300 Multiple Choices, which is not a success status"),
        (302, ErrorKind::Execution, "127.0.0.1 returned 302 Found, which is not a success status"),
    ] {
        let case = status.to_string();
        let made = stage.read(json!({}), status, "application/json", r#"{"why": "because"}"#).await;
        assert_eq!(made.failed(&case), (kind, message.to_owned()), "{case}");
        assert_eq!(made.result.attempts, 1, "{case}: attempts");
        let details = made.error(&case).details(Locale::En);
        assert_eq!(details["status"], status, "{case}: the status");
        assert_eq!(details["body"], r#"{"why":"because"}"#, "{case}: the body");
    }
    for status in [200, 201, 202, 203, 206, 226] {
        let made = stage.read(json!({}), status, "application/json", r#"{"a": 1}"#).await;
        assert_eq!(made.data(&status.to_string()), &json!({"a": 1}), "{status}");
    }
}

#[tokio::test]
async fn an_error_without_a_body_has_no_body_in_its_details() {
    let stage = ResponseStage::new().await;
    let made = stage.read(json!({}), 404, "", "").await;
    let details = made.error("404").details(Locale::En);
    assert_eq!(Value::Object(details), json!({"status": 404}), "404");
}

#[tokio::test]
async fn a_pause_requested_by_the_upstream_is_respected() {
    for (status, header, pause) in [
        (429, "2", json!(2000)),
        (503, "0.5", json!(500)),
        (500, " 7 ", json!(7000)),
        (429, "999999999", json!(86_400_000)),
        (429, "Fri, 31 Dec 2100 23:59:59 GMT", json!(86_400_000)),
        (429, "Wed, 21 Oct 2015 07:28:00 GMT", json!(0)),
        (429, "soon", Value::Null),
        (429, "-5", Value::Null),
        (429, "NaN", Value::Null),
        (429, "", Value::Null),
        (404, "2", Value::Null),
    ] {
        let case = format!("{status} {header:?}");
        let stage =
            Stage::answering(&[], move |_| http_response(status, &[("retry-after", header)], "")).await;
        let definition = with(open(stage.config_at("/r", json!({}))), json!({"retryCount": 0}));
        let made = stage.call_definition(definition, json!({})).await;
        let details = made.error(&case).details(Locale::En);
        let kept = details.get("retryAfterMs").cloned().unwrap_or_default();
        assert_eq!(kept, pause, "{case}");
    }
}

#[tokio::test]
async fn a_requested_pause_longer_than_the_call_ends_it() {
    let stage = Stage::answering(&[], |_| http_response(503, &[("retry-after", "3600")], "")).await;
    let definition =
        with(open(stage.config_at("/r", json!({}))), json!({"totalTimeout": 5000, "timeout": 5000}));
    let made = stage.call_definition(definition, json!({})).await;
    assert_eq!(made.failed("an hour").0, ErrorKind::Server, "an hour");
    assert_eq!(made.seen.len(), 1, "an hour: one attempt");
}

#[tokio::test]
async fn a_refused_connection_is_retried_for_any_method() {
    let stage = Stage::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
        let config = json!({"url": format!("http://{address}/x?key=hidden"), "method": method, "query": {}});
        let made = stage.call_definition(with(open(config), json!({"retryCount": null})), json!({})).await;
        let (kind, message) = made.refused(method);
        assert_eq!((kind, message.as_str()), (ErrorKind::Network, "127.0.0.1 cannot be reached"), "{method}");
        assert_eq!(made.result.attempts, 4, "{method}: attempts");
        assert!(!made.visible_text().contains("hidden"), "{method}: {}", made.visible_text());
    }
}

#[tokio::test]
async fn only_a_failed_connection_to_the_own_origin_is_a_connection_failure() {
    // Bound but never listening, so that connections are refused and no other server gets the port.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let closed = format!("http://{}", socket.local_addr().expect("an address"));
    let location = format!("{closed}/");
    let stage = Stage::answering(&[("client", "s3cret-client")], move |seen| match seen.target.as_str() {
        "/jobs" => json_reply(202, &json!({"id": 7})),
        "/redirect" => http_response(302, &[("location", location.as_str())], ""),
        "/undecodable" => http_response(200, &[("content-encoding", "gzip")], "this is no gzip"),
        _ => json_reply(200, &json!({"ok": true})),
    })
    .await;
    let auth = json!({
        "type": "oauth2ClientCredentials", "tokenUrl": format!("{closed}/token"),
        "clientId": "haft", "clientSecret": "secret://client",
    });
    let poll = json!({"url": format!("{closed}/jobs/{{{{id}}}}"), "interval": 0.1});
    for (what, config, expected) in [
        ("the own origin", json!({"url": format!("{closed}/x")}), true),
        ("a token endpoint at the own origin", json!({"url": format!("{closed}/x"), "auth": auth}), true),
        ("a token endpoint elsewhere", stage.config_at("/x", json!({"auth": auth})), false),
        ("a redirect elsewhere", stage.config_at("/redirect", json!({})), false),
        ("a response that cannot be decoded", stage.config_at("/undecodable", json!({})), false),
        ("a poll elsewhere", stage.config_at("/jobs", json!({"method": "POST", "poll": poll})), false),
    ] {
        let made = stage.call_definition(with(open(config), json!({"retryCount": 0})), json!({})).await;
        let error = made.error(what);
        let found = (error.kind(), error.is_connection_failure());
        assert_eq!(found, (ErrorKind::Network, expected), "{what}: {error}");
    }
}

#[tokio::test]
async fn a_tool_contacts_only_its_hosts() {
    let stage = Stage::new().await;
    for (domains, allowed) in [
        (json!([]), true),
        (json!(["127.0.0.1"]), true),
        (json!(["other.example", "127.0.0.1"]), true),
        (json!(["other.example"]), false),
        (json!(["*.example.com", "api.example.com:8443"]), false),
    ] {
        let case = domains.to_string();
        let config = stage.config_at("/h", json!({"security": {"allowedDomains": domains}}));
        if allowed {
            assert_eq!(stage.call_with(config, json!({})).await.only_request(&case).target, "/h", "{case}");
        } else {
            let places: Vec<String> =
                wrong(&stage.tools, open(config)).into_iter().map(|(place, _)| place).collect();
            assert_eq!(places, ["config.security.allowedDomains"], "{case}: refused when it is saved");
        }
    }
}

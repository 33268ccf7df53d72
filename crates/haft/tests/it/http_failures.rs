//! Failures of the upstream of an HTTP tool, as callers see them over REST: each status and each connection
//! fault.

use std::time::{Duration, Instant};

use haft_testkit::{Client, TestResponse, Upstream, http_response, json_reply};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::http_tools::start;

/// Creates a tool, calls it and returns the reply.
async fn call(api: &Client, definition: Value, arguments: Value) -> TestResponse {
    let created = api.post("/api/tools", &definition).await;
    assert_eq!(created.status, 201, "{}", created.body);
    let name = definition["name"].as_str().expect("a name");
    api.post(&format!("/api/tools/{name}/execute"), &json!({"arguments": arguments})).await
}

fn tool(name: &str, method: &str, url: &str, more: Value) -> Value {
    let mut tool = json!({"name": name, "description": "d", "method": method, "url": url, "retryDelay": 1});
    for (field, value) in more.as_object().expect("an object") {
        tool[field] = value.clone();
    }
    tool
}

#[tokio::test]
async fn each_upstream_status_maps_to_a_kind_a_status_and_a_number_of_attempts() {
    let (_server, api) = start(&[]).await;
    // status, kind, Haft's status, attempts of a GET, of a POST, of a POST with retryCount 2
    for (status, kind, ours, get, post, retried) in [
        (400, "Validation", 400, 1, 1, 1),
        (401, "Authentication", 502, 1, 1, 1),
        (402, "Execution", 422, 1, 1, 1),
        (403, "Permission", 403, 1, 1, 1),
        (404, "NotFound", 404, 1, 1, 1),
        (405, "Execution", 422, 1, 1, 1),
        (408, "Timeout", 504, 4, 1, 3),
        (409, "Execution", 422, 1, 1, 1),
        (410, "Execution", 422, 1, 1, 1),
        (418, "Execution", 422, 1, 1, 1),
        (422, "Validation", 400, 1, 1, 1),
        (429, "RateLimit", 429, 4, 4, 3),
        (500, "Server", 502, 4, 1, 3),
        (501, "Server", 502, 4, 1, 3),
        (502, "Server", 502, 4, 1, 3),
        (503, "Server", 502, 4, 4, 3),
        (504, "Server", 502, 4, 1, 3),
        (599, "Server", 502, 4, 1, 3),
        (300, "Execution", 422, 1, 1, 1),
        (304, "Execution", 422, 1, 1, 1),
    ] {
        for (case, method, more, attempts) in [
            ("get", "GET", json!({}), get),
            ("post", "POST", json!({}), post),
            ("retried", "POST", json!({"retryCount": 2}), retried),
        ] {
            let name = format!("t{status}_{case}");
            // Each case has a separate origin, whose circuit the earlier failures have not opened.
            let upstream = Upstream::start(move |_| json_reply(status, &json!({"reason": "because"}))).await;
            let reply = call(&api, tool(&name, method, &upstream.url("/"), more), json!({})).await;
            let sent = upstream.seen().len();
            let about = format!("{name}: {}", reply.body);
            assert_eq!((reply.status, reply.kind()), (ours, kind), "{about}");
            assert_eq!((sent, &reply.data()["attempts"]), (attempts, &json!(attempts)), "{about}");
            let details = &reply.data()["error"]["details"];
            assert_eq!(details["status"], status, "{about}");
            if status != 304 {
                assert_eq!(details["body"], r#"{"reason":"because"}"#, "{about}");
            }
            let effect_known = method == "GET" || case == "retried" || matches!(status, 429 | 503);
            let retryable = matches!(kind, "Timeout" | "RateLimit" | "Server") && effect_known;
            assert_eq!(reply.data()["error"]["retryable"], retryable, "{about}");
            assert_eq!(reply.header("x-should-retry") == Some("false"), !retryable, "{about}");
        }
    }
}

#[tokio::test]
async fn each_connection_fault_maps_to_a_kind_and_a_number_of_attempts() {
    let (_server, api) = start(&[]).await;
    let mut refusing = Vec::new();
    // A refused connection has had no effect; a fault after the connection may have had one.
    for (fault, is_without_effect) in
        [(Fault::Refused, true), (Fault::Closed, false), (Fault::Cut, false), (Fault::Garbage, false)]
    {
        for (method, more, attempts) in [
            ("GET", json!({}), 4),
            ("GET", json!({"retryCount": 2}), 3),
            ("PUT", json!({"retryCount": 0}), 1),
            ("DELETE", json!({"retryCount": 2}), 3),
            ("POST", json!({}), if is_without_effect { 4 } else { 1 }),
            ("PATCH", json!({"retryCount": 1}), 2),
        ] {
            let name = format!("{fault:?}_{method}_{attempts}");
            let upstream = Upstream::raw(move |stream| fault.happen(stream)).await;
            let url = match fault {
                Fault::Refused => {
                    // Bound but not listening: no later upstream gets the port, and with it the open circuit.
                    let socket = TcpSocket::new_v4().expect("a socket");
                    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
                    let url = format!("http://{}/", socket.local_addr().expect("an address"));
                    refusing.push(socket);
                    url
                }
                Fault::Closed | Fault::Cut | Fault::Garbage => upstream.url("/"),
            };
            let reply = call(&api, tool(&name, method, &url, more), json!({})).await;
            let about = format!("{name}: {}", reply.body);
            assert_eq!((reply.status, reply.kind()), (502, "Network"), "{about}");
            assert_eq!(reply.data()["attempts"], attempts, "{about}");
            assert!(reply.data()["error"]["details"]["cause"].is_string(), "{about}");
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    Refused,
    Closed,
    Cut,
    Garbage,
}

impl Fault {
    async fn happen(self, mut stream: TcpStream) {
        let answer: &[u8] = match self {
            Self::Refused | Self::Closed => return,
            Self::Cut => b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
            Self::Garbage => b"SSH-2.0-OpenSSH_9.6\r\n",
        };
        let _ = stream.read(&mut [0; 4096]).await;
        let _ = stream.write_all(answer).await;
    }
}

#[tokio::test]
async fn unknown_host_is_a_network_error_and_private_address_is_not_allowed() {
    let (_server, api) = start(&[]).await;
    for (name, url, more, status, kind, expected) in [
        (
            "dns",
            "http://no-such-host.invalid/",
            json!({}),
            502,
            "Network",
            "no-such-host.invalid cannot be found",
        ),
        (
            "meta",
            "http://169.254.169.254/latest",
            json!({}),
            403,
            "Permission",
            "Address not allowed: 169.254.169.254 resolves to a private address",
        ),
    ] {
        let mut more = more;
        more["retryCount"] = json!(0);
        let reply = call(&api, tool(name, "GET", url, more), json!({})).await;
        assert_eq!((reply.status, reply.kind()), (status, kind), "{name}: {}", reply.body);
        assert!(reply.message().contains(expected), "{name}: {}", reply.message());
    }
}

#[tokio::test]
async fn tool_cannot_call_its_own_server() {
    let (server, api) = start(&[]).await;
    let port = server.url.rsplit_once(':').expect("a port").1.to_owned();
    for (name, host) in [("literal", "127.0.0.1"), ("short", "127.1"), ("name", "localhost")] {
        let url = format!("http://{host}:{port}/healthz");
        let reply = call(&api, tool(name, "GET", &url, json!({})), json!({})).await;
        assert_eq!((reply.status, reply.kind()), (403, "Permission"), "{name}: {}", reply.body);
        assert!(reply.message().contains("is this server itself"), "{name}: {}", reply.message());
    }
}

#[tokio::test]
async fn write_that_times_out_is_sent_once_unless_its_tool_allows_retries() {
    let (_server, api) = start(&[]).await;
    for (name, method, more, sent) in [
        ("post", "POST", json!({"timeout": 400}), 1),
        ("post_retried", "POST", json!({"timeout": 400, "retryCount": 2}), 3),
        ("post_read", "POST", json!({"timeout": 400, "effect": "read"}), 4),
        ("put", "PUT", json!({"timeout": 400}), 4),
        ("put_write", "PUT", json!({"timeout": 400, "effect": "write"}), 1),
        ("get_none", "GET", json!({"timeout": 400, "retryCount": 0}), 1),
    ] {
        let slow = Upstream::start_async(async |_| {
            tokio::time::sleep(Duration::from_secs(5)).await;
            json_reply(200, &json!({}))
        })
        .await;
        let reply = call(&api, tool(name, method, &slow.url("/"), more), json!({})).await;
        assert_eq!((reply.status, reply.kind()), (504, "Timeout"), "{name}: {}", reply.body);
        let seen = slow.seen();
        assert_eq!(seen.len(), sent, "{name}");
        let key = seen[0].header("idempotency-key");
        assert_eq!(key.is_some(), method != "GET", "{name}");
        assert!(
            seen.iter().all(|seen| seen.header("idempotency-key") == key),
            "{name}: one key for all attempts"
        );
    }
}

#[tokio::test]
async fn retry_after_is_obeyed_within_the_deadline_of_the_call() {
    let upstream = Upstream::start(|seen| {
        let wait = seen.target.trim_start_matches("/wait/").to_owned();
        http_response(503, &[("retry-after", wait.as_str())], "later")
    })
    .await;
    let (_server, api) = start(&[]).await;
    let start = Instant::now();
    let patient = tool("patient", "POST", &upstream.url("/wait/1"), json!({"retryCount": 1}));
    let reply = call(&api, patient, json!({})).await;
    assert_eq!(
        (reply.status, reply.kind(), &reply.data()["attempts"]),
        (502, "Server", &json!(2)),
        "{}",
        reply.body
    );
    assert!(
        start.elapsed() >= Duration::from_secs(1),
        "the pause of Retry-After is made: {:?}",
        start.elapsed()
    );

    let start = Instant::now();
    let hurried =
        tool("hurried", "GET", &upstream.url("/wait/60"), json!({"totalTimeout": 5000, "timeout": 1000}));
    let reply = call(&api, hurried, json!({})).await;
    assert_eq!((reply.status, &reply.data()["attempts"]), (502, &json!(1)), "{}", reply.body);
    assert!(
        start.elapsed() < Duration::from_secs(4),
        "a pause past the deadline is skipped: {:?}",
        start.elapsed()
    );
    assert_eq!(reply.data()["error"]["details"]["retryAfterMs"], 60_000, "{}", reply.body);
}

#[tokio::test]
async fn an_error_body_reaches_the_caller_without_secrets() {
    let upstream = Upstream::start(|seen| {
        let all = format!("{:?} {}", seen.headers, seen.target);
        http_response(
            400,
            &[("content-type", "text/plain")],
            format!("bad request: {all} {}", "x".repeat(5000)),
        )
    })
    .await;
    let (_server, api) = start(&[("HAFT_SECRET_DEEP", "s3cr3t/v+lue")]).await;
    let definition = tool(
        "echo",
        "GET",
        &upstream.url("/"),
        json!({
            "headers": {"Authorization": "Bearer sk-literal-credential", "X-Deep": "secret://deep"},
            "query": {"key": "secret://deep"},
        }),
    );
    let reply = call(&api, definition, json!({})).await;
    assert_eq!((reply.status, reply.kind()), (400, "Validation"), "{}", reply.body);
    let body = reply.data()["error"]["details"]["body"].as_str().expect("a body");
    assert!(body.starts_with("bad request: ") && body.contains("***"), "{body}");
    assert!(body.len() <= 2048, "{}", body.len());
    for secret in ["sk-literal-credential", "s3cr3t/v+lue", "s3cr3t%2Fv%2Blue"] {
        assert!(!reply.body.to_string().contains(secret), "{secret} in {}", reply.body);
    }
    assert!(upstream.seen()[0].target.contains("s3cr3t%2Fv%2Blue"), "the upstream got it");
}

#[tokio::test]
async fn proxies_of_the_environment_are_ignored() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({"direct": true}))).await;
    let proxy = Upstream::start(|_| json_reply(200, &json!({"direct": false}))).await;
    let address = format!("http://{}", proxy.address);
    let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"];
    let environment: Vec<(&str, &str)> = names.iter().map(|name| (*name, address.as_str())).collect();
    let (_server, api) = start(&environment).await;
    let reply = call(&api, tool("direct", "GET", &upstream.url("/"), json!({})), json!({})).await;
    assert_eq!(reply.data()["data"], json!({"direct": true}), "{}", reply.body);
    assert_eq!(proxy.connections(), 0);
}

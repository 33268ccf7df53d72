//! Connections of hostile clients: endless headers, silence, large bodies before a login, too many
//! connections.

use haft_testkit::{HaftProcess, TestStorage};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Duration, timeout};

use super::metric;
use crate::survival::Settings;

const CLOSE_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) async fn connect(server: &HaftProcess) -> TcpStream {
    TcpStream::connect(server.url.trim_start_matches("http://")).await.expect("connected")
}

/// Reads until the server closes the connection.
async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut response = Vec::new();
    // A connection with unread data is reset instead of closed.
    let _ = timeout(CLOSE_TIMEOUT, stream.read_to_end(&mut response)).await.expect("the server closes it");
    String::from_utf8(response).expect("text")
}

#[tokio::test]
async fn silent_and_slow_connections_are_closed_and_responses_in_progress_are_not() {
    let place = TestStorage::new();
    let settings = Settings::of(&place).with("HAFT_HEADER_TIMEOUT", "1").with("HAFT_IDLE_TIMEOUT", "1");
    let (server, api) = settings.start().await;
    let slow = json!({"name": "slow", "description": "A mock.", "type": "mock", "config": {"answers": [{"delay": 4000, "data": "done"}]}});
    assert_eq!(api.post("/api/tools", &slow).await.status, 201);
    let mut events = api.events("/api/events").await;
    let called = tokio::spawn({
        let api = api.clone();
        async move { api.post("/api/tools/slow/execute", &json!({})).await }
    });

    let mut silent = connect(&server).await;
    let mut begun = connect(&server).await;
    begun.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n").await.expect("written");
    let mut used = connect(&server).await;
    used.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("written");
    let dripping = async {
        let mut stream = connect(&server).await;
        stream.write_all(b"GET / HTTP/1.1\r\n").await.expect("written");
        // Bounded, and far beyond the timeout.
        for _ in 0..200 {
            if stream.write_all(b"x: y\r\n").await.is_err() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        false
    };
    // The request on this connection takes longer than the idle timeout.
    let mut answered = connect(&server).await;
    let head = format!(
        "POST /api/tools/slow/execute HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}",
        crate::TOKEN
    );
    answered.write_all(head.as_bytes()).await.expect("written");
    let (silent, begun, used, answered, is_closed) = tokio::join!(
        read_to_end(&mut silent),
        read_to_end(&mut begun),
        read_to_end(&mut used),
        read_to_end(&mut answered),
        dripping
    );
    assert_eq!((silent.as_str(), begun.as_str()), ("", ""));
    assert!(answered.starts_with("HTTP/1.1 200 OK\r\n"), "{answered}");
    assert!(used.starts_with("HTTP/1.1 200 OK\r\n"), "{used}");
    assert!(is_closed, "a head that never ends");

    let reply = called.await.expect("done");
    assert_eq!((reply.status, &reply.data()["data"]), (200, &json!("done")));
    events.until("tool.call.completed").await;
}

#[tokio::test]
async fn login_limits_its_body_and_refuses_more_before_reading_it() {
    let place = TestStorage::new();
    let (server, api) = Settings::of(&place).start().await;
    for length in [10 << 20, (16 << 10) + 1] {
        let mut stream = connect(&server).await;
        let head = format!(
            "POST /api/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.expect("written");
        let response = read_to_end(&mut stream).await;
        assert!(response.starts_with("HTTP/1.1 413 "), "{response}");
        assert!(response.contains("connection: close") && response.contains("16384"), "{response}");
    }
    let mut stream = connect(&server).await;
    let head = "POST /api/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.expect("written");
    for _ in 0..5 {
        // The server may have refused the request by now.
        let _ = stream.write_all(format!("1000\r\n{}\r\n", " ".repeat(4096)).as_bytes()).await;
    }
    let response = read_to_end(&mut stream).await;
    assert!(response.is_empty() || response.starts_with("HTTP/1.1 413 "), "{response}");

    let padded = json!({"token": crate::TOKEN, "name": null, "link": null});
    assert_eq!(haft_testkit::Client::anonymous(&server.url).post("/api/login", &padded).await.status, 200);
    // An authenticated caller may send more.
    let text = "x".repeat(100 << 10);
    let body = json!({"arguments": {"operation": "length", "text": text}});
    assert_ne!(api.post("/api/tools/string/execute", &body).await.status, 413);
}

#[tokio::test]
async fn body_that_drips_in_is_refused_at_its_deadline() {
    let place = TestStorage::new();
    let (server, _api) = Settings::of(&place).with("HAFT_BODY_TIMEOUT", "1").start().await;
    let mut stream = connect(&server).await;
    let head = "POST /api/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 10000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.expect("written");
    // Bounded, and far beyond the timeout.
    for _ in 0..100 {
        if stream.write_all(b" ").await.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let response = read_to_end(&mut stream).await;
    assert!(response.is_empty() || response.starts_with("HTTP/1.1 408 "), "{response}");
}

#[tokio::test]
async fn http_2_is_refused() {
    let place = TestStorage::new();
    let (server, _api) = Settings::of(&place).start().await;
    let mut stream = connect(&server).await;
    // The preface and an empty SETTINGS frame, which a server of HTTP/2 answers with its own.
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.expect("written");
    let mut response = Vec::new();
    let _ = timeout(CLOSE_TIMEOUT, stream.read_to_end(&mut response)).await.expect("the server closes it");
    assert!(response.is_empty() || response.starts_with(b"HTTP/1.1 400 "), "{response:?}");
}

#[tokio::test]
async fn head_of_a_request_is_limited() {
    let place = TestStorage::new();
    let (server, api) = Settings::of(&place).start().await;
    let mut stream = connect(&server).await;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n").await.expect("written");
    for _ in 0..30 {
        // The server may have refused the request by now.
        let _ = stream.write_all(format!("x-filler: {}\r\n", "x".repeat(4096)).as_bytes()).await;
    }
    let response = read_to_end(&mut stream).await;
    assert!(response.is_empty() || response.starts_with("HTTP/1.1 431 "), "{response}");
    assert_eq!(api.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn connections_are_limited_in_total_and_by_address() {
    for (name, with, is_exempt) in [
        ("HAFT_MAX_CONNECTIONS_PER_ADDRESS", ("HAFT_LANG", "en"), false),
        ("HAFT_MAX_CONNECTIONS_PER_ADDRESS", ("HAFT_TRUSTED_PROXIES", "127.0.0.0/8"), true),
        ("HAFT_MAX_CONNECTIONS", ("HAFT_TRUSTED_PROXIES", "127.0.0.0/8"), false),
    ] {
        let place = TestStorage::new();
        let (server, api) = Settings::of(&place).with(name, "3").with(with.0, with.1).start().await;
        // The client's connection counts, and stays open.
        assert_eq!(api.get("/readyz").await.status, 200);
        let held = [connect(&server).await, connect(&server).await];
        let mut more = connect(&server).await;
        // The server may have closed the connection by now.
        let _ = more.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
        let response = read_to_end(&mut more).await;
        let is_admitted = response.starts_with("HTTP/1.1 200 ");
        assert_eq!(is_admitted, is_exempt, "{name}, {with:?}: {response}");
        let refused = metric(&api, "haft_connections_refused_total").await.expect("a metric");
        assert_eq!(refused, u64::from(!is_exempt), "{name}, {with:?}");
        drop(held);
        let admitted = async || {
            let mut stream = connect(&server).await;
            let asked = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
            stream.write_all(asked).await.is_ok()
                && read_to_end(&mut stream).await.starts_with("HTTP/1.1 200 ")
        };
        haft_testkit::eventually("a connection is accepted again", admitted).await;
    }
}

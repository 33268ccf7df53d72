//! Responses before the body is read: the connection stays open, or the response announces that it ends.

use haft_testkit::TestStorage;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::connections::connect;
use crate::survival::Settings;

/// Sends the head of a request that announces a body.
async fn send_head(stream: &mut TcpStream, line: &str, body: usize) {
    let token = crate::TOKEN;
    let head = format!(
        "{line} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {body}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("written");
}

/// Reads the part of the response that has arrived.
async fn read_response(stream: &mut TcpStream) -> String {
    let mut response = vec![0; 16 << 10];
    let read = stream.read(&mut response).await.expect("an answer");
    response.truncate(read);
    String::from_utf8(response).expect("text")
}

/// Sends a request whose body follows its head, and returns the part of the response that has arrived.
async fn send(stream: &mut TcpStream, line: &str, body: usize) -> String {
    send_head(stream, line, body).await;
    // The server must not wait for all of a large body.
    let _ = stream.write_all(" ".repeat(body.min(16 << 10)).as_bytes()).await;
    read_response(stream).await
}

#[tokio::test]
async fn connection_stays_open_after_a_small_body_and_ends_after_a_large_one() {
    let place = TestStorage::new();
    let (server, _api) = Settings::of(&place).start().await;
    for (line, status) in [
        ("POST /api/nowhere", 404),
        ("PUT /api/me", 405),
        ("POST /nowhere", 404),
        ("POST /healthz", 405),
        ("POST /metrics", 405),
    ] {
        let mut stream = connect(&server).await;
        for _ in 0..3 {
            let response = send(&mut stream, line, 100).await;
            assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{line}: {response}");
            assert!(!response.contains("connection: close"), "{line}: {response}");
        }
        let response = send(&mut stream, line, 1 << 20).await;
        assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{line}: {response}");
        assert!(response.contains("connection: close"), "{line}: {response}");
    }
}

#[tokio::test]
async fn success_of_a_route_that_reads_no_body_announces_the_end_of_the_connection() {
    let place = TestStorage::new();
    let (server, api) = Settings::of(&place).start().await;
    let tool = json!({"name": "mocked", "description": "A mock.", "type": "mock", "config": {"answers": [{"data": 1}]}});
    assert_eq!(api.post("/api/tools", &tool).await.status, 201);
    let mut stream = connect(&server).await;
    // The body would follow in a later packet.
    send_head(&mut stream, "DELETE /api/tools/mocked", 2).await;
    let response = read_response(&mut stream).await;
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    assert!(response.contains("connection: close"), "{response}");
}

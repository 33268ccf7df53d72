//! Requests that are answered before their body is read: the connection goes on, or the answer says that it ends.

use haft_testkit::Place;
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

/// Reads the answer as far as it came.
async fn read_answer(stream: &mut TcpStream) -> String {
    let mut answer = vec![0; 16 << 10];
    let read = stream.read(&mut answer).await.expect("an answer");
    answer.truncate(read);
    String::from_utf8(answer).expect("text")
}

/// Sends a request whose body comes behind its head, and returns the answer as far as it came.
async fn send(stream: &mut TcpStream, line: &str, body: usize) -> String {
    send_head(stream, line, body).await;
    // The server must not wait for all of a large body.
    let _ = stream.write_all(" ".repeat(body.min(16 << 10)).as_bytes()).await;
    read_answer(stream).await
}

#[tokio::test]
async fn connection_goes_on_after_a_small_body_and_is_said_to_end_after_a_large_one() {
    let place = Place::new();
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
            let answer = send(&mut stream, line, 100).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{line}: {answer}");
            assert!(!answer.contains("connection: close"), "{line}: {answer}");
        }
        let answer = send(&mut stream, line, 1 << 20).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{line}: {answer}");
        assert!(answer.contains("connection: close"), "{line}: {answer}");
    }
}

#[tokio::test]
async fn success_of_a_route_that_reads_no_body_says_that_the_connection_ends() {
    let place = Place::new();
    let (server, api) = Settings::of(&place).start().await;
    let tool = json!({"name": "mocked", "description": "A mock.", "type": "mock", "config": {"answers": [{"data": 1}]}});
    assert_eq!(api.post("/api/tools", &tool).await.status, 201);
    let mut stream = connect(&server).await;
    // The body would come in a later packet.
    send_head(&mut stream, "DELETE /api/tools/mocked", 2).await;
    let answer = read_answer(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
}

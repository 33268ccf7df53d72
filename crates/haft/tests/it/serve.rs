//! `haft serve`: start, first lines, stop.

use std::time::{Duration, Instant};

use haft_testkit::{Client, HaftProcess, run};
use serde_json::json;

use crate::HAFT;

#[tokio::test]
async fn a_first_start_makes_a_token_and_prints_a_line_that_works() {
    let server = HaftProcess::start(HAFT, &["serve"], &[]).await;
    let token = server.printed[0].strip_prefix("token for this run: ").expect("a token");
    assert!(token.starts_with("haft_") && token.len() == 5 + 64, "{token}");
    assert_eq!(
        server.printed[1],
        format!("try: curl -H 'Authorization: Bearer {token}' {}/api/tools", server.url)
    );
    let reply = Client::new(&server.url, token).get("/api/tools").await;
    assert_eq!((reply.status, &reply.data()["items"][0]["name"]), (200, &json!("array")));
    let other = HaftProcess::start(HAFT, &["serve"], &[]).await;
    assert_ne!(other.printed[0], server.printed[0]);
}

#[tokio::test]
async fn a_token_that_was_given_is_never_printed() {
    let server = HaftProcess::start(HAFT, &["serve"], &[("HAFT_ADMIN_TOKEN", "given-token")]).await;
    assert!(server.printed.is_empty());
    assert_eq!(Client::new(&server.url, "given-token").get("/api/tools").await.status, 200);
    assert_eq!(Client::anonymous(&server.url).get("/healthz").await.status, 200);
}

#[tokio::test]
async fn an_address_others_can_reach_needs_a_token_first() {
    for address in ["0.0.0.0:0", "[::]:0"] {
        let ended = run(HAFT, &["serve", "--addr", address], &[], "").await;
        assert_eq!(ended.code, 1);
        assert!(
            ended.stderr.contains("can be reached from outside: set HAFT_ADMIN_TOKEN first"),
            "{}",
            ended.stderr
        );
        let empty = run(HAFT, &["serve", "--addr", address], &[("HAFT_ADMIN_TOKEN", "")], "").await;
        assert_eq!(empty.code, 1, "an empty token is none");
    }
}

#[tokio::test]
async fn a_port_that_is_taken_is_said() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let ended = run(HAFT, &["serve", "--addr", &address], &[], "").await;
    assert_eq!(ended.code, 1);
    assert!(ended.stderr.contains(&format!("cannot listen on {address}")), "{}", ended.stderr);
}

#[tokio::test]
async fn a_stop_lets_calls_under_way_finish_and_takes_no_new_ones() {
    let server = HaftProcess::start(HAFT, &["serve"], &[("HAFT_ADMIN_TOKEN", "t")]).await;
    let api = Client::new(&server.url, "t");
    let slow = json!({"name": "slow", "description": "A mock.", "type": "mock", "config": {"answers": [{"delay": 1500, "data": "done"}]}});
    assert_eq!(api.post("/api/tools", &slow).await.status, 201);
    let running = tokio::spawn({
        let api = api.clone();
        async move { api.post("/api/tools/slow/execute", &json!({})).await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.terminate();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let address = server.url.trim_start_matches("http://").to_owned();
    assert!(tokio::net::TcpStream::connect(&address).await.is_err(), "no new connections");
    let reply = running.await.expect("done");
    assert_eq!((reply.status, &reply.data()["data"]), (200, &json!("done")));
    assert_eq!(server.ended().await, Some(0));
}

#[tokio::test]
async fn a_stop_without_calls_is_quick() {
    let server = HaftProcess::start(HAFT, &["serve"], &[("HAFT_ADMIN_TOKEN", "t")]).await;
    // A connection that is kept alive must not hold up the stop.
    assert_eq!(Client::new(&server.url, "t").get("/api/tools").await.status, 200);
    let asked = Instant::now();
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    assert!(asked.elapsed() < Duration::from_secs(5));
}

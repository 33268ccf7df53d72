//! `haft serve`: start, first lines, stop.

use std::time::{Duration, Instant};

use haft_testkit::{Client, HaftProcess, TestStorage, eventually, run};
use serde_json::json;
use tokio::io::AsyncBufReadExt as _;

use crate::HAFT;

#[tokio::test]
async fn first_start_creates_a_token_and_prints_a_working_command() {
    let server = HaftProcess::start(HAFT, &["serve"], &[]).await;
    let alone = server.printed[1].strip_prefix("token: ").expect("a token on a separate line");
    let token = server.printed[2].strip_prefix("try: curl -H 'Authorization: Bearer ").expect("a token");
    let (token, rest) = token.split_once('\'').expect("a line");
    assert_eq!(token, alone);
    assert!(token.starts_with("haft_") && token.len() == 5 + 43, "{token}");
    assert_eq!(rest, format!(" {}/api/tools", server.url));
    let api = Client::new(&server.url, token);
    let reply = api.get("/api/tools").await;
    assert_eq!((reply.status, &reply.data()["items"][0]["name"]), (200, &json!("array")));
    let sample =
        api.post("/api/tools/sample_weather/execute", &json!({"arguments": {"city": "Tokyo"}})).await;
    assert_eq!(sample.data()["data"]["sky"], "clear", "{}", sample.body);
    assert_eq!(api.get("/api/agents/sample_assistant").await.data()["toolIds"][1], "calculator");

    // The link logs a browser in once.
    let link =
        server.printed[0].strip_prefix(&format!("console: {}/login?link=", server.url)).expect("a link");
    let (link, _) = link.split_once(' ').expect("a link");
    let stranger = Client::anonymous(&server.url);
    let first = stranger.post("/api/login", &json!({"link": link})).await;
    assert_eq!(first.status, 200, "{}", first.body);
    assert_eq!(first.data()["user"]["name"], "admin");
    let cookie = first.header("set-cookie").expect("a cookie").to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    let session = stranger.with("cookie", cookie.split(';').next().expect("a pair"));
    assert_eq!(session.get("/api/me").await.data()["role"], "admin");
    let again = Client::anonymous(&server.url).post("/api/login", &json!({"link": link})).await;
    assert_eq!((again.status, again.kind()), (401, "Unauthorized"));
    let other = HaftProcess::start(HAFT, &["serve"], &[]).await;
    assert_ne!(other.printed[0], server.printed[0]);
}

#[tokio::test]
async fn admin_token_from_the_environment_is_never_printed() {
    let server =
        HaftProcess::start(HAFT, &["serve"], &[("HAFT_ADMIN_TOKEN", "given-token-of-the-operator")]).await;
    assert!(server.printed.is_empty());
    assert_eq!(Client::new(&server.url, "given-token-of-the-operator").get("/api/tools").await.status, 200);
    assert_eq!(Client::anonymous(&server.url).get("/healthz").await.status, 200);
}

#[tokio::test]
async fn address_that_others_can_reach_needs_an_admin_token() {
    for address in ["0.0.0.0:0", "[::]:0"] {
        let place = TestStorage::new();
        let data = place.variables();
        let mut environment: Vec<(&str, &str)> =
            data.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let ended = run(HAFT, &["serve", "--addr", address], &environment, "").await;
        assert_eq!(ended.code, 1);
        assert!(
            ended.stderr.contains("can be reached from outside: set HAFT_ADMIN_TOKEN first"),
            "{}",
            ended.stderr
        );
        environment.push(("HAFT_ADMIN_TOKEN", ""));
        let empty = run(HAFT, &["serve", "--addr", address], &environment, "").await;
        assert_eq!(empty.code, 1, "an empty token does not count");
    }
}

#[tokio::test]
async fn port_in_use_is_reported() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let place = TestStorage::new();
    let data = place.variables();
    let environment: Vec<(&str, &str)> = data.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let ended = run(HAFT, &["serve", "--addr", &address], &environment, "").await;
    assert_eq!(ended.code, 1);
    assert!(ended.stderr.contains(&format!("cannot listen on {address}")), "{}", ended.stderr);
}

#[tokio::test]
async fn stop_lets_running_calls_finish_and_accepts_no_new_ones() {
    let server = HaftProcess::start(HAFT, &["serve"], &[("HAFT_ADMIN_TOKEN", crate::TOKEN)]).await;
    let api = Client::new(&server.url, crate::TOKEN);
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
async fn stop_without_calls_is_quick() {
    let server = HaftProcess::start(HAFT, &["serve"], &[("HAFT_ADMIN_TOKEN", crate::TOKEN)]).await;
    // A connection that is kept alive must not hold up the stop.
    assert_eq!(Client::new(&server.url, crate::TOKEN).get("/api/tools").await.status, 200);
    let asked = Instant::now();
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    assert!(asked.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn server_continues_when_its_output_is_not_read() {
    let place = TestStorage::new();
    let mut server = tokio::process::Command::new(HAFT)
        .args(["serve", "--addr", "127.0.0.1:0"])
        .envs(place.variables())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("it starts");
    let mut printed = tokio::io::BufReader::new(server.stdout.take().expect("its output"));
    let mut line = String::new();
    printed.read_line(&mut line).await.expect("a line");
    drop(printed);
    let url = line.strip_prefix("console: ").and_then(|line| line.split("/login").next()).expect("a link");
    // The server may not listen yet.
    let is_ready = async || {
        let asked =
            Client::anonymous(url).try_send_json(axum::http::Method::GET, "/readyz", &json!(null)).await;
        asked.is_some_and(|reply| reply.status == 200)
    };
    eventually("it is ready", is_ready).await;
}

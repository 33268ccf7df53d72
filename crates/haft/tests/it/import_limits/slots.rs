//! Large imports of several users: each user has one at a time, a slow upload holds no slot, and the server stops
//! without waiting for them.

use haft_testkit::{Client, HaftProcess, eventually};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::bodies::document;
use crate::http_tools::start;

const PATH: &str = "/api/tools/import/openapi";

/// Begins an upload of 10 MB as the admin, and returns when the server waits for its bytes.
async fn begin_upload(server: &HaftProcess) -> TcpStream {
    let mut stream =
        TcpStream::connect(server.url.trim_start_matches("http://")).await.expect("a connection");
    let token = crate::TOKEN;
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         content-length: 10485760\r\nexpect: 100-continue\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    let mut answer = [0; 100];
    let read = stream.read(&mut answer).await.expect("an answer");
    let answer = String::from_utf8_lossy(&answer[..read]);
    assert!(answer.starts_with("HTTP/1.1 100 "), "{answer}");
    stream.write_all(b"{").await.expect("sent");
    stream
}

/// Returns true if the server has a thread that runs an import.
fn is_importing(server: &HaftProcess) -> bool {
    let threads = format!("/proc/{}/task", server.id().expect("it runs"));
    let mut threads = std::fs::read_dir(threads).expect("a process").flatten();
    // A thread that ends in the meantime has no name.
    threads.any(|thread| {
        std::fs::read_to_string(thread.path().join("comm")).is_ok_and(|name| name == "import\n")
    })
}

/// Sends a whole import that takes seconds, and returns when it runs.
async fn begin_import(server: &HaftProcess) -> TcpStream {
    let commands: String = (0..19_000)
        .map(|number| format!("curl 'https://a.example/{number}/x?a=1&b=2&c=3&d=4&e=5&f=6'\n"))
        .collect();
    let body = json!({"command": commands, "only": ["nothing"], "dryRun": true}).to_string();
    assert!(body.len() > 1 << 20, "it is a large import");
    let mut stream =
        TcpStream::connect(server.url.trim_start_matches("http://")).await.expect("a connection");
    let (token, length) = (crate::TOKEN, body.len());
    let head = format!(
        "POST /api/tools/import/curl HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    stream.write_all(body.as_bytes()).await.expect("sent");
    eventually("the import runs", async || is_importing(server)).await;
    stream
}

/// A client of another user, in the space of that user.
async fn other_user(server: &HaftProcess, admin: &Client) -> Client {
    let ada = json!({"name": "ada", "password": "correct horse battery"});
    assert_eq!(admin.post("/api/users", &ada).await.status, 201);
    let anyone = Client::anonymous(&server.url);
    let login = anyone.post("/api/login", &ada).await;
    let cookie = login.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a session");
    anyone.with("cookie", cookie).with("origin", &server.url)
}

#[tokio::test]
async fn slow_upload_of_one_user_does_not_stop_the_large_import_of_another() {
    let (server, api) = start(&[]).await;
    let ada = other_user(&server, &api).await;
    let body = json!({"spec": document(2), "dryRun": true});
    let upload = begin_upload(&server).await;

    let second = api.post(PATH, &body).await;
    assert_eq!((second.status, second.header("retry-after")), (429, Some("10")), "{}", second.body);
    assert!(second.message().contains("Another large import of yours"), "{}", second.message());
    let in_chinese = api.with("accept-language", "zh").post(PATH, &body).await;
    assert!(in_chinese.message().contains("您的另一个大型导入"), "{}", in_chinese.message());

    let other = ada.post(PATH, &body).await;
    assert_eq!(other.status, 200, "{}", other.message());

    drop(upload);
    eventually("the slow upload is gone", async || api.post(PATH, &body).await.status == 200).await;
}

#[tokio::test]
async fn import_whose_client_disconnects_frees_its_slot() {
    let (server, api) = start(&[]).await;
    let import = begin_import(&server).await;
    let body = json!({"spec": document(2), "dryRun": true});
    let second = api.post(PATH, &body).await;
    assert_eq!(second.status, 429, "the first import runs: {}", second.message());
    drop(import);
    eventually("the slot is free", async || api.post(PATH, &body).await.status == 200).await;
}

#[tokio::test]
async fn server_stops_without_waiting_for_an_import_that_runs() {
    let (server, _api) = start(&[]).await;
    let mut import = begin_import(&server).await;
    server.terminate();
    // Without the stop, the import ends with 400, since it selects nothing.
    let mut response = String::new();
    import.read_to_string(&mut response).await.expect("a response");
    assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
    assert!(response.contains("The server is stopping, so the import was not made."), "{response}");
    assert_eq!(server.ended().await, Some(0));
}

//! Interrupted turns: broken connections, Ctrl-C, and results of tasks.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use haft_testkit::{HaftProcess, ModelReply, ModelServer, TestStorage, eventually};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use super::{chat, model_settings, start_server};
use crate::HAFT;
use crate::tasks::mock;

/// Maximum time to wait for output.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Builds a `haft chat` command with piped input and output.
fn chat_command(url: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(HAFT);
    command.arg("chat").args(arguments).env_clear().envs([("HAFT_URL", url), ("HAFT_TOKEN", crate::TOKEN)]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// Starts a TCP proxy that closes its connections on notification. Returns its URL.
async fn breakable_proxy(address: String, cut: Arc<Notify>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let (address, cut) = (address.clone(), cut.clone());
            tokio::spawn(async move {
                let mut far = TcpStream::connect(address).await.expect("the server");
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                    () = cut.notified() => {}
                }
            });
        }
    });
    url
}

#[tokio::test]
async fn broken_stream_is_resumed() {
    let gate = Arc::new(Semaphore::new(2));
    let held = gate.clone();
    let models = ModelServer::start(move |_| {
        let held = held.clone();
        async move { ModelReply::says("One two three four.").in_fragments_of(4).hold_until(held) }
    })
    .await;
    let place = TestStorage::new();
    let settings = model_settings(&place, &models);
    let (server, _api) = settings.start().await;
    let cut = Arc::new(Notify::new());
    let url = breakable_proxy(server.url.trim_start_matches("http://").to_owned(), cut.clone()).await;
    let mut child = chat_command(&url, &["-m", "Count.", "--json"]).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut events: Vec<Value> = Vec::new();
    let mut next =
        async || timeout(TIMEOUT, lines.next_line()).await.expect("a line in time").expect("output");
    while let Some(line) = next().await {
        events.push(serde_json::from_str(&line).expect("JSON"));
        let deltas = events.iter().filter(|event| event["event"] == "message.delta").count();
        if deltas == 2 && gate.available_permits() == 0 {
            cut.notify_waiters();
            gate.add_permits(100);
        }
    }
    assert_eq!(child.wait().await.expect("it ends").code(), Some(0), "{events:?}");
    let text: String = events.iter().filter_map(|event| event["data"]["text"].as_str()).collect();
    assert_eq!(text, "One two three four.", "no text is missing or repeated");
    assert_eq!(models.seen().len(), 1, "one request to the model");
}

#[tokio::test]
async fn ctrl_c_cancels_the_turn_and_preserves_the_conversation() {
    let gate = Arc::new(Semaphore::new(2));
    let held = gate.clone();
    let models = ModelServer::start(move |request| {
        let held = held.clone();
        async move {
            let reply = ModelReply::says("One two three four.").in_fragments_of(4);
            if request.previous_responses() == 0 && request.user_text() == "Count." {
                reply.hold_until(held)
            } else {
                reply
            }
        }
    })
    .await;
    let (server, api, _place) = start_server(&models, &[]).await;
    let child = chat_command(&server.url, &["helper", "Count."]).spawn().expect("it starts");
    // A turn that is cancelled before it is persisted leaves no conversation.
    eventually("the response has begun, and the turn is persisted", async || {
        let is_held = models.under_way() == 1 && gate.available_permits() == 0;
        is_held && api.get("/api/conversations").await.data()["items"][0].is_object()
    })
    .await;
    let id = child.id().expect("it runs").to_string();
    let status = std::process::Command::new("kill").args(["-INT", &id]).status().expect("kill runs");
    assert!(status.success());
    let output = child.wait_with_output().await.expect("it ends");
    let errors = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(130), "{errors}");
    assert!(errors.contains("stopped\n"), "{errors}");
    eventually("the model request is cancelled", async || models.dropped() == 1).await;
    let ended = chat(&server, &["--last", "-m", "Again."], "").await;
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "One two three four.\n"), "{}", ended.stderr);
}

#[tokio::test]
async fn result_of_a_task_is_printed_at_the_prompt() {
    let models = ModelServer::start(async |request| match request.previous_responses() {
        0 => ModelReply::calls([("report", json!({}))]),
        1 => ModelReply::says("It is being made."),
        _ => ModelReply::says("Here it is."),
    })
    .await;
    let report = mock("report", json!({"async": true, "config": {"answers": [{"data": 7, "delay": 500}]}}));
    let (server, _api, _place) = start_server(&models, &[report]).await;
    let mut child = chat_command(&server.url, &["helper", "-i"]).spawn().expect("it starts");
    let mut typed = child.stdin.take().expect("a pipe");
    typed.write_all(b"Make it.\n").await.expect("it reads");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    for expected in ["It is being made.", "Here it is."] {
        let line = timeout(TIMEOUT, lines.next_line()).await.expect("it comes").expect("output");
        assert_eq!(line.as_deref(), Some(expected));
    }
    drop(typed);
    let output = child.wait_with_output().await.expect("it ends");
    let errors = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(errors.contains("… report pending (task "), "{errors}");
}

#[tokio::test]
async fn call_without_an_approver_waits_for_a_server() {
    let call = ModelReply::calls([("pay", json!({}))]);
    let models = ModelServer::script([call, ModelReply::says("Paid.")]).await;
    let place = TestStorage::new();
    let settings = model_settings(&place, &models);
    let (server, api): (HaftProcess, _) = settings.start().await;
    crate::tasks::make(&api, mock("pay", json!({"policy": "ask"}))).await;
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    let alone = settings.clone().with("HAFT_ADMIN_TOKEN", "");
    let ended = alone.haft(&["chat", "-m", "Pay it.", "--tools", "pay"], "").await;
    assert_eq!((ended.code, ended.stdout.as_str()), (4, ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("start haft serve"), "{}", ended.stderr);
    let (server, api) = settings.start().await;
    let approval =
        async || api.get("/api/approvals").await.data()["items"][0]["id"].as_str().map(str::to_owned);
    eventually("the approval still waits", async || approval().await.is_some()).await;
    let id = approval().await.expect("an id");
    let decided = api.post(&format!("/api/approvals/{id}"), &json!({"decision": "approve"})).await;
    assert_eq!(decided.status, 200, "{}", decided.body);
    eventually("the conversation continues", async || models.seen().len() == 2).await;
    let shown = chat(&server, &["--last", "-i"], "").await;
    assert!(shown.stderr.contains("> Pay it.\n"), "{}", shown.stderr);
}

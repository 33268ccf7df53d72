//! A log that cannot be written loses log lines, and has no other effect.

use std::process::Stdio;

use haft_testkit::{Client, TestStorage};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr};

use super::{call_often, metric, task_in_background};
use crate::survival::Settings;

/// Settings that log everything, so that a pipe is full soon.
fn settings(place: &TestStorage, format: &str) -> Settings {
    Settings::of(place)
        .with("HAFT_LOG", "trace")
        .with("HAFT_LOG_FORMAT", format)
        .with("HAFT_ADDR", "127.0.0.1:0")
}

/// Starts a server whose log goes into a pipe.
async fn start_with_pipe(settings: &Settings) -> (Child, ChildStderr, Client) {
    let mut command = settings.command(&["serve"]);
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let log = server.stderr.take().expect("a pipe");
    let mut printed = BufReader::new(server.stdout.take().expect("a pipe")).lines();
    let line = printed.next_line().await.expect("readable").expect("a line");
    let url = line.strip_prefix("listening on ").expect("an address");
    let api = Client::new(url, crate::TOKEN);
    (server, log, api)
}

async fn stop(mut server: Child) {
    let id = server.id().expect("it runs").to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().expect("kill runs").success());
    let ended = tokio::time::timeout(std::time::Duration::from_secs(30), server.wait()).await;
    assert_eq!(ended.expect("it ends").expect("a status").code(), Some(0));
}

/// Asserts that calls and tasks work, and that the server is ready.
async fn assert_works(api: &Client) {
    call_often(api, 100).await;
    task_in_background(api).await;
    assert_eq!(api.get("/readyz").await.status, 200);
    assert_eq!(api.get("/api/tool-calls").await.status, 200);
}

#[tokio::test]
async fn calls_work_while_the_log_is_on_a_full_disk() {
    for format in ["text", "json"] {
        let place = TestStorage::new();
        let (server, api) = settings(&place, format).start_behind("exec 2>/dev/full", "").await;
        assert_works(&api).await;
        assert!(metric(&api, "haft_log_lines_dropped_total").await.expect("a metric") > 0, "{format}");
        server.terminate();
        assert_eq!(server.ended().await, Some(0), "{format}");
    }
}

#[tokio::test]
async fn calls_work_after_the_reader_of_the_log_is_gone() {
    for format in ["text", "json"] {
        let place = TestStorage::new();
        let (server, log, api) = start_with_pipe(&settings(&place, format)).await;
        drop(log);
        assert_works(&api).await;
        assert!(metric(&api, "haft_log_lines_dropped_total").await.expect("a metric") > 0, "{format}");
        stop(server).await;
    }
}

#[tokio::test]
async fn calls_work_while_the_log_is_not_read() {
    for format in ["text", "json"] {
        let place = TestStorage::new();
        let (server, mut log, api) = start_with_pipe(&settings(&place, format)).await;
        // A pipe holds 64 KiB, and the log is longer.
        assert_works(&api).await;
        let (mut read, mut part) = (0, vec![0; 64 << 10]);
        while read < 128 << 10 {
            read += log.read(&mut part).await.expect("readable");
        }
        assert_works(&api).await;
        stop(server).await;
    }
}

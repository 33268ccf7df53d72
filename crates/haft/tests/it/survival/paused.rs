//! Transactions that stay open: a server that is paused inside a transaction, and writers in a queue.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use axum::http::Method;
use haft_testkit::Client;
use serde_json::json;

use super::database::{Database, ask};
use super::{FIVE_SECONDS, Settings, call, mock, skipped, within};

/// Time limit until an abandoned transaction no longer blocks other writers.
const ABANDONED: Duration = Duration::from_secs(30);

const IDLE: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'idle in transaction'";

#[tokio::test(flavor = "multi_thread")]
async fn server_that_is_paused_inside_a_write_blocks_others_for_a_limited_time() {
    let Some(database) = Database::new() else { return };
    let settings = Settings::sharing(&database.url());
    let file = std::env::temp_dir().join(format!("haft-paused-{}", std::process::id()));
    let (first, here) = settings.start_behind("echo $$ >\"$1\"", file.to_str().expect("a path")).await;
    let process = std::fs::read_to_string(&file).expect("a process");
    let _ = std::fs::remove_file(&file);
    let (_second, there) = settings.start().await;
    let writers: Vec<_> = (0..6).map(|writer| tokio::spawn(write(here.clone(), writer))).collect();
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, process.trim()]).status();
        assert!(sent.expect("kill runs").success());
    };
    let mut is_within = false;
    for _ in 0..50 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        signal("-STOP");
        tokio::time::sleep(Duration::from_millis(100)).await;
        is_within = ask(&database.url(), IDLE) != "0";
        if is_within {
            break;
        }
        signal("-CONT");
    }
    if is_within {
        let is_made = async || there.post("/api/tools", &mock("made", &json!(1))).await.status == 201;
        within(ABANDONED, "a write at the other server", is_made).await;
        signal("-CONT");
        // The interrupted transaction was aborted, and the next write works.
        let is_made = async || here.post("/api/tools", &mock("next", &json!(1))).await.status == 201;
        within(FIVE_SECONDS, "a write at the paused server", is_made).await;
    } else {
        skipped("the server was never paused inside a transaction");
    }
    first.kill().await;
    for writer in writers {
        writer.await.expect("only successes and 503");
    }
}

/// Writes until the server is gone.
async fn write(api: Client, writer: usize) {
    for number in 0.. {
        let tool = mock(&format!("w{writer}n{number}"), &json!(number));
        let Some(reply) = api.try_send_json(Method::POST, "/api/tools", &tool).await else { return };
        assert!(matches!(reply.status, 201 | 503), "{}", reply.body);
    }
}

/// Holds the locks of a statement until it is dropped.
pub(super) struct Holder(Child);

impl Holder {
    pub(super) fn of(url: &str, statement: &str) -> Self {
        let mut command = Command::new("psql");
        command.args(["-q", "-X", url]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("psql runs");
        let statements = format!("BEGIN;\n{statement};\n\\echo locked\n");
        child.stdin.as_mut().expect("a pipe").write_all(statements.as_bytes()).expect("written");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        assert_eq!(line, "locked\n");
        Self(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queued_writers_do_not_block_calls() {
    let Some(database) = Database::new() else { return };
    let (_server, api) = Settings::sharing(&database.url()).start().await;
    assert_eq!(api.post("/api/tools", &mock("kept", &json!(1))).await.status, 201);
    // All changes wait for this row.
    let holder = Holder::of(&database.url(), "UPDATE revision SET value = value WHERE id = 1");
    // More writers than the server has connections.
    let begin = |number: usize| {
        let api = api.clone();
        tokio::spawn(async move { api.post("/api/tools", &mock(&format!("t{number}"), &json!(1))).await })
    };
    let writers: Vec<_> = (0..16).map(begin).collect();
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(9) {
        let called = call(&api, "kept").await;
        assert_eq!(called.status, 200, "the database is available: {}", called.body);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for writer in writers {
        let reply = writer.await.expect("an answer");
        assert_eq!((reply.status, reply.kind()), (503, "Unavailable"), "{}", reply.body);
    }
    drop(holder);
    let is_made = async || api.post("/api/tools", &mock("after", &json!(1))).await.status == 201;
    within(FIVE_SECONDS, "writes are back", is_made).await;
}

//! Another process that holds the lock of the database: writes are refused in time, everything else works.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use haft_testkit::{Client, HaftProcess, TestStorage, eventually};
use serde_json::json;

use super::{FIVE_SECONDS, Settings, call, mock, skipped, within};

/// Time limit for a refused write, which waits five seconds for the lock. A busy machine gets more.
const A_WRITE: Duration = Duration::from_secs(8);

/// Time limit for requests that need no lock.
const AT_ONCE: Duration = Duration::from_secs(3);

const SCRIPT: &str = "
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute('BEGIN EXCLUSIVE')
print('locked', flush=True)
sys.stdin.read()
connection.execute('ROLLBACK')
";

/// Holds the lock of a SQLite database until it is dropped.
pub(crate) struct Holder(Child);

impl Holder {
    /// Returns `None` and reports a skipped test if Python is missing.
    pub(crate) fn of(database: &Path) -> Option<Self> {
        let mut command = Command::new("python3");
        command.args(["-c", SCRIPT]).arg(database).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                skipped(&format!("python3 cannot be started to hold a lock: {error}"));
                return None;
            }
        };
        let mut line = String::new();
        let output = child.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut line).expect("a line");
        assert_eq!(line, "locked\n");
        Some(Self(child))
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Starts a server on SQLite and creates a tool. Returns `None` and reports a skipped test on PostgreSQL.
async fn start() -> Option<(TestStorage, HaftProcess, Client)> {
    let place = TestStorage::new();
    if place.is_postgres() {
        skipped("PostgreSQL has no lock for a whole database");
        return None;
    }
    let (server, api) = Settings::of(&place).start().await;
    // The first use of a token is recorded in the database, so this request must precede the lock.
    assert_eq!(api.post("/api/tools", &mock("kept", &json!(1))).await.status, 201);
    Some((place, server, api))
}

#[tokio::test]
async fn locked_database_refuses_writes_in_time_and_accepts_them_again() {
    let Some((place, _server, api)) = start().await else { return };
    let Some(holder) = Holder::of(&place.directory.join("haft.db")) else { return };
    let asked = Instant::now();
    let refused = api.post("/api/tools", &mock("late", &json!(1))).await;
    assert_eq!((refused.status, refused.kind()), (503, "Unavailable"), "{}", refused.body);
    assert!(refused.message().contains("currently unavailable"), "{}", refused.message());
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(asked.elapsed() < A_WRITE, "{:?}", asked.elapsed());
    let asked = Instant::now();
    for path in ["/api/tools", "/api/tools/kept", "/api/tools/kept/versions", "/api/secrets", "/readyz"] {
        assert_eq!(api.get(path).await.status, 200, "{path} can be read");
    }
    assert_eq!(call(&api, "kept").await.status, 200);
    assert!(asked.elapsed() < AT_ONCE, "{:?}", asked.elapsed());
    assert_eq!(api.get("/api/tools/late").await.status, 404);
    drop(holder);
    let is_made = async || api.post("/api/tools", &mock("late", &json!(1))).await.status == 201;
    within(FIVE_SECONDS, "a write without a restart", is_made).await;
    assert_eq!(call(&api, "late").await.status, 200);
}

#[tokio::test]
async fn server_is_not_ready_while_the_call_log_cannot_be_written() {
    let Some((place, _server, api)) = start().await else { return };
    let Some(holder) = Holder::of(&place.directory.join("calls.db")) else { return };
    assert_eq!(call(&api, "kept").await.status, 200);
    let status = async || api.get("/readyz").await.status;
    eventually("the server is not ready", async || status().await == 503).await;
    assert_eq!(api.get("/readyz").await.body, json!({"status": "the call log cannot be written"}));
    assert_eq!(
        call(&api, "kept").await.status,
        200,
        "calls work while the queue has slots for their log entries"
    );
    drop(holder);
    eventually("the server is ready again", async || status().await == 200).await;
    let logged = async || api.get("/api/tool-calls").await.data()["items"].as_array().map(Vec::len);
    eventually("both calls are logged", async || logged().await == Some(2)).await;
}

#[tokio::test]
async fn conversation_that_cannot_be_stored_is_refused_and_leaves_nothing() {
    let Some((place, _server, api)) = start().await else { return };
    let script = json!([{"text": "Yes."}, {"text": "Yes."}, {"text": "Yes."}, {"text": "Yes."}]);
    let model = json!({"name": "play", "kind": "scripted", "script": script});
    assert_eq!(api.post("/api/providers", &model).await.status, 201);
    let ask = |how: &str| {
        let messages = json!([{"role": "user", "content": "Are you there?"}]);
        let mut body = json!({"provider": "play", "model": "any", "messages": messages});
        body[how] = json!(true);
        let api = api.clone();
        async move { api.post("/api/chat", &body).await }
    };
    let asked = ask("detach").await;
    assert_eq!(asked.status, 202, "{}", asked.body);
    let Some(holder) = Holder::of(&place.directory.join("haft.db")) else { return };
    let asked = Instant::now();
    let (streamed, detached) = tokio::join!(ask("stream"), ask("detach"));
    for refused in [streamed, detached] {
        assert_eq!((refused.status, refused.kind()), (503, "Unavailable"), "{}", refused.body);
        assert!(refused.message().contains("currently unavailable"), "{}", refused.message());
    }
    assert!(asked.elapsed() < A_WRITE * 2, "{:?}", asked.elapsed());
    let all = async || api.get("/api/conversations").await.data()["items"].as_array().map(Vec::len);
    assert_eq!(all().await, Some(1), "only the earlier conversation");
    drop(holder);
    let is_accepted = async || ask("detach").await.status == 202;
    within(FIVE_SECONDS, "a conversation without a restart", is_accepted).await;
    assert_eq!(all().await, Some(2));
}

#[tokio::test]
async fn writers_that_wait_for_a_lock_do_not_wait_for_each_other() {
    let Some((place, _server, api)) = start().await else { return };
    let Some(_holder) = Holder::of(&place.directory.join("haft.db")) else { return };
    let asked = Instant::now();
    let write = |number: usize| {
        let api = api.clone();
        tokio::spawn(
            async move { api.post("/api/tools", &mock(&format!("t{number}"), &json!(1))).await.status },
        )
    };
    let writers: Vec<_> = (0..6).map(write).collect();
    for writer in writers {
        assert_eq!(writer.await.expect("an answer"), 503);
    }
    assert!(asked.elapsed() < A_WRITE, "{:?}", asked.elapsed());
}

#[tokio::test]
async fn request_with_a_new_token_does_not_wait_for_a_lock() {
    let Some((place, server, api)) = start().await else { return };
    let made = api.post("/api/tokens", &json!({"name": "new", "scope": "call"})).await;
    let fresh = Client::new(&server.url, made.data()["token"].as_str().expect("a token"));
    let Some(_holder) = Holder::of(&place.directory.join("haft.db")) else { return };
    let asked = Instant::now();
    assert_eq!(call(&fresh, "kept").await.status, 200);
    assert!(
        asked.elapsed() < AT_ONCE,
        "the use of a token is recorded in the background: {:?}",
        asked.elapsed()
    );
}

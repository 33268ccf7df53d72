//! Data that survives faults: `kill -9` during writes, a second server on one directory, a newer schema. More
//! faults are in the modules below.

mod calls;
pub(crate) mod cluster;
pub(crate) mod database;
mod full;
mod keys;
pub(crate) mod locked;
mod paused;
mod restarted;
mod shared;
mod tampered;
pub(crate) mod tcp_proxy;
mod watched;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::Method;
use haft_testkit::{
    Client, CommandOutput, HaftProcess, TestResponse, TestStorage, Upstream, json_reply, run,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::HAFT;

/// Time limit for a change to reach another server. One second is promised; a busy machine gets more.
const ONE_SECOND: Duration = Duration::from_secs(3);

/// Time limit for revoked permissions to end, which is promised in five seconds, and for recovery, in ten.
const FIVE_SECONDS: Duration = Duration::from_secs(10);

/// Held by tests that keep a machine busy, and by tests that this would disturb.
pub(crate) static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Environment variables of the servers and commands of a test.
#[derive(Clone)]
pub(crate) struct Settings(Vec<(&'static str, String)>);

impl Settings {
    pub(crate) fn of(place: &TestStorage) -> Self {
        Self(place.variables()).for_all()
    }

    /// Settings for servers that share a database.
    pub(crate) fn sharing(url: &str) -> Self {
        let key = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        Self(Vec::new()).for_all().with("HAFT_DATABASE_URL", url).with("HAFT_MASTER_KEY", &key)
    }

    fn for_all(self) -> Self {
        self.with("HAFT_ADMIN_TOKEN", crate::TOKEN).with("HAFT_ALLOW_PRIVATE_NETWORKS", "127.0.0.0/8")
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.0.retain(|(known, _)| *known != name);
        self.0.push((name, value.to_owned()));
        self
    }

    pub(crate) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str()).expect("it is set")
    }

    fn pairs(&self) -> Vec<(&str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str())).collect()
    }

    /// Starts a server, and returns it with a client of its admin.
    pub(crate) async fn start(&self) -> (HaftProcess, Client) {
        self.started(HAFT, &["serve"]).await
    }

    /// Starts a server behind a line of shell, which may set limits and redirect the log. `$1` is `argument`.
    pub(crate) async fn start_behind(&self, line: &str, argument: &str) -> (HaftProcess, Client) {
        self.started("/bin/sh", &["-c", &format!("{line}; exec \"$0\" serve"), HAFT, argument]).await
    }

    async fn started(&self, binary: &str, arguments: &[&str]) -> (HaftProcess, Client) {
        let server = HaftProcess::start(binary, arguments, &self.pairs()).await;
        let api = Client::new(&server.url, self.get("HAFT_ADMIN_TOKEN"));
        (server, api)
    }

    /// Builds a command that the caller starts.
    pub(crate) fn command(&self, arguments: &[&str]) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(HAFT);
        command.env_clear().envs(self.pairs()).args(arguments).kill_on_drop(true);
        command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
        command.stderr(std::process::Stdio::null());
        command
    }

    /// Runs a command with `input` on its standard input.
    pub(crate) async fn haft(&self, arguments: &[&str], input: &str) -> CommandOutput {
        run(HAFT, arguments, &self.pairs(), input).await
    }
}

/// Reports why a test is skipped.
pub(crate) fn skipped(reason: &str) {
    println!("skipped: {reason}");
}

/// Runs a script with paths as arguments. Returns `None` and reports a skipped test if Python is missing.
pub(crate) fn python(script: &str, arguments: &[&Path]) -> Option<String> {
    let output = match Command::new("python3").args(["-c", script]).args(arguments).output() {
        Ok(output) => output,
        Err(error) => {
            skipped(&format!("python3 cannot be started: {error}"));
            return None;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("text"))
}

/// Runs a statement on the database of a stopped server. Returns `None` and reports a skipped test if Python
/// is missing.
pub(crate) fn statement(place: &TestStorage, settings: &Settings, file: &str, sql: &str) -> Option<()> {
    if place.is_postgres() {
        database::psql(settings.get("HAFT_DATABASE_URL"), sql);
        return Some(());
    }
    let script =
        format!("import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute({sql:?}); c.commit()");
    python(&script, &[&place.directory.join(file)]).map(drop)
}

/// Waits until `is_so` returns true. Panics after `limit`.
pub(crate) async fn within(limit: Duration, what: &str, is_so: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !is_so().await {
        assert!(start.elapsed() < limit, "{what}: not so within {limit:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A mock tool that returns `data`.
fn mock(name: &str, data: &Value) -> Value {
    json!({"name": name, "description": "d", "type": "mock", "config": {"answers": [{"data": data}]}})
}

async fn call(api: &Client, tool: &str) -> TestResponse {
    api.post(&format!("/api/tools/{tool}/execute"), &json!({})).await
}

/// Tools whose creation was acknowledged, with the last acknowledged version.
type Acknowledged = Arc<Mutex<BTreeMap<String, u64>>>;

const ROUNDS: usize = 5;
const WRITERS: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_writes_survive_a_kill_at_any_moment() {
    // Reports whether a call has the right key: a tool and its key are written together.
    let upstream = Upstream::start(|seen| {
        let name = seen.target.trim_start_matches('/');
        json_reply(200, &json!({"right": seen.header("x-api-key") == Some(key_of(name).as_str())}))
    })
    .await;
    let place = TestStorage::new();
    let settings = Settings::of(&place);
    let acknowledged = Acknowledged::default();
    for round in 0..ROUNDS {
        let (server, api) = settings.start().await;
        let begin = |writer: usize| {
            let prefix = format!("r{round}w{writer}n");
            tokio::spawn(write(api.clone(), upstream.url("/"), prefix, acknowledged.clone()))
        };
        let writers: Vec<_> = (0..WRITERS).map(begin).collect();
        let random = u64::from(Uuid::new_v4().as_bytes()[0]);
        tokio::time::sleep(Duration::from_millis(50 + 2 * random)).await;
        server.kill().await;
        for writer in writers {
            writer.await.expect("every response was a success");
        }
        let (server, api) = settings.start().await;
        check_all(&api, &acknowledged).await;
        server.kill().await;
    }
    let count = acknowledged.lock().expect("not poisoned").len();
    assert!(count > ROUNDS, "only {count} tools were made");
}

fn key_of(tool: &str) -> String {
    format!("the-key-of-{tool}")
}

/// Creates and changes tools until the server is gone.
async fn write(api: Client, url: String, prefix: String, acknowledged: Acknowledged) {
    for number in 0.. {
        let name = format!("{prefix}{number}");
        let mut tool = json!({
            "name": name, "description": "First.", "url": format!("{url}{name}"), "headers": {"X-Api-Key": key_of(&name)},
        });
        let note = |version| acknowledged.lock().expect("not poisoned").insert(name.clone(), version);
        let Some(made) = api.try_send_json(Method::POST, "/api/tools", &tool).await else { return };
        assert_eq!(made.status, 201, "{}", made.body);
        note(1);
        tool["description"] = json!("Second.");
        let path = format!("/api/tools/{name}");
        let Some(changed) = api.try_send_json(Method::PUT, &path, &tool).await else { return };
        assert_eq!(changed.status, 200, "{}", changed.body);
        note(2);
    }
}

/// Asserts that every acknowledged tool exists, and that every existing tool is complete.
async fn check_all(api: &Client, acknowledged: &Acknowledged) {
    let mut there = BTreeMap::new();
    let mut path = "/api/tools?type=http&limit=200".to_owned();
    loop {
        let page = api.get(&path).await;
        assert_eq!(page.status, 200, "{}", page.body);
        for tool in page.data()["items"].as_array().expect("a list") {
            let name = tool["name"].as_str().expect("a name").to_owned();
            there.insert(name, tool["version"].as_u64().expect("a version"));
        }
        let Some(cursor) = page.data()["nextCursor"].as_str() else { break };
        path = format!("/api/tools?type=http&limit=200&cursor={cursor}");
    }
    let acknowledged = acknowledged.lock().expect("not poisoned").clone();
    for (name, version) in acknowledged {
        let stored = there.get(&name).copied().unwrap_or_default();
        // A write that was in progress at the kill may have been stored, too.
        assert!(
            (version..=2).contains(&stored),
            "{name}: version {version} was acknowledged, {stored} is there"
        );
    }
    for (name, version) in there {
        let read = api.get(&format!("/api/tools/{name}")).await;
        let description = if version == 1 { "First." } else { "Second." };
        assert_eq!((read.status, &read.data()["description"]), (200, &json!(description)), "{}", read.body);
        let versions = api.get(&format!("/api/tools/{name}/versions")).await;
        let count = versions.data()["items"].as_array().map(Vec::len);
        assert_eq!(count.map(|count| count as u64), Some(version), "{name}: {}", versions.body);
        let called = call(api, &name).await;
        assert_eq!(
            (called.status, &called.data()["data"]),
            (200, &json!({"right": true})),
            "{}",
            called.body
        );
    }
}

#[tokio::test]
async fn second_server_on_one_directory_is_refused_with_its_path() {
    let place = TestStorage::new();
    if place.is_postgres() {
        return skipped("servers share a PostgreSQL");
    }
    let settings = Settings::of(&place);
    let (server, api) = settings.start().await;
    assert_eq!(api.post("/api/tools", &mock("kept", &json!(1))).await.status, 201);
    let key = std::fs::read(place.directory.join("master.key")).expect("a key");
    for command in [["serve", "--addr", "127.0.0.1:0"].as_slice(), &["admin", "reset"]] {
        let second = settings.haft(command, "").await;
        assert_eq!(second.code, 1, "{}", second.stderr);
        let expected = format!("the data directory {} is in use by another Haft", place.directory.display());
        assert!(second.stderr.contains(&expected), "{}", second.stderr);
    }
    assert_eq!(std::fs::read(place.directory.join("master.key")).expect("a key"), key);
    assert_eq!(call(&api, "kept").await.status, 200, "the first server still works");
    // The lock ends with the process that holds it, also after a kill.
    server.kill().await;
    let (_server, api) = settings.start().await;
    assert_eq!(call(&api, "kept").await.status, 200);
}

#[tokio::test]
async fn newer_schema_is_refused_and_not_changed() {
    let place = TestStorage::new();
    let settings = Settings::of(&place);
    let (server, api) = settings.start().await;
    assert_eq!(api.post("/api/tools", &mock("kept", &json!(1))).await.status, 201);
    server.kill().await;
    let sql = |sql: &str| statement(&place, &settings, "haft.db", sql);
    let Some(()) = sql("INSERT INTO schema_version (version) VALUES (999)") else { return };
    let refused = settings.haft(&["serve", "--addr", "127.0.0.1:0"], "").await;
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    let expected = "the database was made by a newer Haft: its schema has version 999";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    sql("DELETE FROM schema_version WHERE version = 999");
    let (_server, api) = settings.start().await;
    assert_eq!(call(&api, "kept").await.status, 200, "the database is unchanged");
}

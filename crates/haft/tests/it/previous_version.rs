//! Data of the previous version: a data directory and a PostgreSQL database that its binary left when it was
//! killed, with runs in every state. This version opens both and continues.
//!
//! `scripts/fixtures` makes the fixtures (`generator.rs`) in `tests/fixtures`. Each test opens a copy of both. The
//! copy is changed before the server starts: its times move to the present, and the address
//! of the upstream becomes that of the test's upstream.

mod conversations;
mod generator;
mod schema_copy;
mod storage;
mod tasks;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::Response;
use haft_testkit::{
    Client, HaftProcess, ModelReply, ModelServer, RecordedModelRequest, RecordedRequest, Upstream, json_reply,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use self::storage::Storage;
use crate::chat::asking;
use crate::survival::Settings;

/// The commit of the previous version.
const COMMIT: &str = "36a592f";

/// The name of the agent in the fixtures.
const AGENT: &str = "clerk";

/// The key of the call that succeeded.
const IDEMPOTENCY_KEY: &str = "first-purchase";

/// Time since the last change of a run when a test opens a fixture, in microseconds. All leases of the killed process
/// have expired.
const AGE: i64 = 60_000_000;

/// Due time of a run without one, in microseconds.
const NEVER: i64 = 253_000_000_000_000_000;

/// The directory with the fixtures of the previous version.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(COMMIT)
}

/// Microseconds since the epoch.
fn now() -> i64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970");
    i64::try_from(time.as_micros()).expect("it fits")
}

/// A server of this version on a copy of a fixture.
struct Opened {
    /// Dropped first, so that no server uses the database when it is deleted.
    _server: HaftProcess,
    api: Client,
    model: ModelServer,
    upstream: Upstream,
    /// The description that the generator wrote: ids, and contents as the previous version showed them.
    expected: Value,
    _storage: Storage,
}

impl Opened {
    /// Opens a copy of each fixture, one after the other: SQLite, and PostgreSQL if the tests have one.
    async fn each(check: impl AsyncFn(&Self)) {
        for storage in Storage::available() {
            let Some(copy) = Self::open(storage).await else { continue };
            check(&copy).await;
            assert_eq!(copy.model.refused(), Vec::<String>::new());
        }
    }

    /// Returns `None` and reports a skipped test if the programs that the copy needs are missing.
    async fn open(storage: Storage) -> Option<Self> {
        let model = ModelServer::start(move |request| clerk(request, None)).await;
        let upstream = Upstream::start(respond).await;
        let expected = storage.load(&fixtures());
        let shift = now() - AGE - number(&expected["lastChange"]);
        storage.execute(&refresh(shift, text(&expected["upstream"]), &upstream.address.to_string()))?;
        let settings = settings(storage.settings(&expected), &model);
        let (server, api) = settings.start().await;
        Some(Self { _server: server, api, model, upstream, expected, _storage: storage })
    }

    /// Returns a conversation. `name` is its name in the description.
    async fn conversation(&self, name: &str) -> Value {
        let id = text(&self.expected["conversations"][name]["id"]);
        conversation(&self.api, id).await
    }

    /// Returns the id of a task. `name` is its name in the description.
    fn task_id(&self, name: &str) -> &str {
        text(&self.expected["tasks"][name])
    }

    /// Returns the requests to a path of the upstream.
    fn requests(&self, path: &str) -> Vec<RecordedRequest> {
        self.upstream.seen().into_iter().filter(|seen| seen.target == path).collect()
    }
}

async fn conversation(api: &Client, id: &str) -> Value {
    let read = api.get(&format!("/api/conversations/{id}")).await;
    assert_eq!(read.status, 200, "{}", read.body);
    read.data().clone()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Adds the settings that both versions need.
fn settings(settings: Settings, model: &ModelServer) -> Settings {
    asking(settings, model).with("HAFT_TASK_DAYS", "3650").with("HAFT_CALL_LOG_DAYS", "3650")
}

/// Returns statements that move a copy by `shift` microseconds to the present, and replace the address of the
/// upstream.
fn refresh(shift: i64, from: &str, to: &str) -> String {
    let times = [
        ("runs", "due_at"),
        ("runs", "created_at"),
        ("runs", "started_at"),
        ("runs", "ended_at"),
        ("runs", "changed_at"),
        ("run_steps", "n"),
        ("run_steps", "until_at"),
        ("run_steps", "created_at"),
        ("run_steps", "ended_at"),
        ("run_inbox", "sent_at"),
    ];
    let texts = [
        ("tool_versions", "spec"),
        ("runs", "input"),
        ("runs", "begun"),
        ("runs", "output"),
        ("run_steps", "output"),
    ];
    let times = times.map(|(table, column)| {
        format!("UPDATE {table} SET {column} = {column} + {shift} WHERE {column} < {NEVER};\n")
    });
    let texts = texts.map(|(table, column)| {
        format!(
            "UPDATE {table} SET {column} = REPLACE({column}, '{from}', '{to}') WHERE {column} IS NOT NULL;\n"
        )
    });
    times.into_iter().chain(texts).collect()
}

/// The model of the fixtures: calls the tool that the user's message names, and repeats results. `held` holds back
/// the response to the message `Wait`.
async fn clerk(request: RecordedModelRequest, held: Option<Arc<Semaphore>>) -> ModelReply {
    let results: Vec<&str> = request.results().iter().map(|result| result.content.as_str()).collect();
    let message = request.user_text();
    if !results.is_empty() {
        if message == "Slowly" && held.is_some() {
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
        return ModelReply::says(format!("Results: {}", results.join(" & ")));
    }
    match (message.split_once(' '), held) {
        (Some(("Weather", city)), _) => ModelReply::calls([("weather", json!({"city": city}))]),
        (Some(("Both", city)), _) => {
            let calls = [city, "Oslo"].map(|city| ("weather", json!({"city": city})));
            ModelReply::calls(calls)
        }
        (Some(("Order", number)), _) => ModelReply::calls([("order", json!({"n": number}))]),
        (Some(("Pay", amount)), _) => ModelReply::calls([("pay", json!({"n": amount}))]),
        (Some(("Report", number)), _) => ModelReply::calls([("report", json!({"n": number}))]),
        (Some(("Look", thing)), _) => ModelReply::new().text("A moment.").call("look", json!({"of": thing})),
        (None, _) if message == "Slowly" => ModelReply::calls([("weather", json!({"city": "Bern"}))]),
        (None, Some(held)) if message == "Wait" => ModelReply::says("never").hold_until(held),
        (_, _) => ModelReply::says(format!("{message} after {}", request.previous_responses())),
    }
}

/// The upstream of the fixtures, when it responds.
fn respond(request: &RecordedRequest) -> Response<Vec<u8>> {
    match request.target.as_str() {
        "/jobs" => json_reply(202, &json!({"id": "7", "status": "queued"})),
        "/jobs/7" => json_reply(200, &json!({"status": "succeeded", "result": {"answer": 42}})),
        _ => json_reply(200, &json!({"accepted": request.target})),
    }
}

//! A full task queue does not increase the memory of the server.
//!
//! `HAFT_ENDURANCE_TASKS` sets the number of tasks. The queue limit is 100,000; 20,000 are enough to see
//! whether memory grows with them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use haft_core::{RunId, SpaceId};
use haft_runs::{Executor, Journal as _, NewRun, Run};
use haft_store::{Database, Key, MasterKeys, RunJournal, Store};
use haft_testkit::{HaftProcess, TestStorage};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{END_TIMEOUT, ended};
use crate::survival::{ALONE, Settings};
use crate::tasks::{accepted_task, execute, make, mock, task};

/// Number of tasks that are executed during the measurement.
const EXECUTED: usize = 1000;

/// Bytes of text in each task, so that keeping all tasks in memory would be visible.
const TEXT: usize = 4000;

/// Allowed growth in kilobytes over a server with few tasks: less than half of the size of the texts.
const MAX_GROWTH: usize = 32_000;

fn task_count() -> usize {
    let setting = std::env::var("HAFT_ENDURANCE_TASKS").ok();
    setting.map_or(20_000, |text| text.parse().expect("HAFT_ENDURANCE_TASKS is a number"))
}

/// Returns the peak memory of a server in kilobytes.
fn peak(server: &HaftProcess) -> usize {
    let path = format!("/proc/{}/status", server.id().expect("it runs"));
    let status = std::fs::read_to_string(path).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("its memory");
    line.trim_end_matches("kB").trim().parse().expect("a number")
}

/// Queues copies of the task `like`, every other one delayed. Returns the id of the task after whose end
/// enough of them were executed.
async fn queue_copies(database: &Database, space: SpaceId, like: RunId, count: usize) -> String {
    let keys = MasterKeys::new(Key::generate().expect("a key"), Vec::new());
    let store = Store::open(database, keys).await.expect("a store");
    let journal = RunJournal::open(&store, u64::MAX / 2).await.expect("a journal");
    let like = journal.read(space, like).await.expect("readable").expect("it is there");
    let all: Vec<Arc<NewRun>> = (0..count).map(|number| Arc::new(copy(&like, number % 2 == 1))).collect();
    let last = all[2 * (EXECUTED - 1)].id.to_string();
    for some in all.chunks(1000) {
        let started = some.iter().map(|new| journal.start(new.clone(), END_TIMEOUT));
        for started in join_all(started).await {
            started.expect("started");
        }
    }
    drop(journal);
    store.close().await;
    last
}

fn copy(like: &Run, is_delayed: bool) -> NewRun {
    let id = RunId::from(Uuid::now_v7());
    let (mut labels, mut input) = (like.labels.clone(), Value::clone(&like.input));
    labels.call_id = Some(id.to_string());
    input["callId"] = json!(id);
    NewRun {
        id,
        space: like.space,
        user: like.user,
        program: "call",
        labels,
        input: Arc::new(input),
        priority: like.priority,
        delay: if is_delayed { Duration::from_secs(3600) } else { Duration::ZERO },
        max_crashes: like.max_crashes,
        key: None,
        parent: None,
        executor: Executor::AnyWorker,
    }
}

/// Starts a server that executes the first tasks of the queue, lists tasks and accepts a few more. Returns
/// its peak memory in kilobytes.
async fn measure_peak(settings: &Settings, last: &str) -> usize {
    let (server, api) = settings.start().await;
    ended(&api, last).await;
    for path in ["/api/tasks?limit=200", "/api/tasks?status=queued&limit=200", "/metrics"] {
        assert_eq!(api.get(path).await.status, 200, "{path}");
    }
    for _ in 0..100 {
        accepted_task(&execute(&api, "quick", json!({"options": {"delay": 3600}})).await);
    }
    let peak = peak(&server);
    server.kill().await;
    peak
}

#[tokio::test(flavor = "multi_thread")]
async fn full_queue_does_not_increase_memory() {
    let _alone = ALONE.lock().await;
    let place = TestStorage::new();
    let settings = Settings::of(&place).with("HAFT_TASK_QUEUE", "10000000");
    let database = if place.is_postgres() {
        Database::Postgres(settings.get("HAFT_DATABASE_URL").into())
    } else {
        Database::Sqlite(place.directory.clone())
    };
    let (server, api) = settings.start().await;
    make(&api, mock("quick", json!({"effect": "read"}))).await;
    let body = json!({"arguments": {"text": "x".repeat(TEXT)}, "options": {"delay": 3600}});
    let like = task(&api, &accepted_task(&execute(&api, "quick", body).await)).await;
    let id = |field: &str| like[field].as_str().expect("an id").to_owned();
    let (space, like) = (id("spaceId").parse().expect("an id"), id("id").parse().expect("an id"));
    server.kill().await;

    let last = queue_copies(&database, space, like, 2 * EXECUTED).await;
    let few = measure_peak(&settings, &last).await;
    let last = queue_copies(&database, space, like, task_count()).await;
    let many = measure_peak(&settings, &last).await;
    println!("{few} kB with {} tasks, {many} kB with {}", 2 * EXECUTED, task_count());
    assert!(many < few + MAX_GROWTH, "{few} kB with {} tasks, {many} kB with {}", 2 * EXECUTED, task_count());
}

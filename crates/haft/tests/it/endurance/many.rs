//! As many tasks as a queue holds: the server takes no more memory for them.
//!
//! `HAFT_ENDURANCE_TASKS` says how many: 100,000 is what a queue holds, and 20,000 are enough to see whether memory
//! grows with them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use haft_core::{RunId, SpaceId};
use haft_runs::{Journal as _, NewRun, Place as Where, Run};
use haft_store::{Database, Key, MasterKeys, RunJournal, Store};
use haft_testkit::{HaftProcess, Place};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{PATIENCE, ended};
use crate::survival::{ALONE, Settings};
use crate::tasks::{execute, make, mock, taken, task};

/// So many are worked off while we look.
const WORKED_OFF: usize = 1000;

/// Each carries a text of so many bytes, so that it would show if all were held in memory.
const TEXT: usize = 4000;

/// A server may take so many kilobytes more than one with few tasks, which is less than half of what the texts take.
const MORE: usize = 32_000;

fn how_many() -> usize {
    let told = std::env::var("HAFT_ENDURANCE_TASKS").ok();
    told.map_or(20_000, |text| text.parse().expect("HAFT_ENDURANCE_TASKS is a number"))
}

/// The most memory that a server ever had, in kilobytes.
fn peak(server: &HaftProcess) -> usize {
    let path = format!("/proc/{}/status", server.id().expect("it runs"));
    let status = std::fs::read_to_string(path).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("its memory");
    line.trim_end_matches("kB").trim().parse().expect("a number")
}

/// Takes tasks on as a server does it, all like one that is there, and every other for later. Gives the one with
/// which enough were worked off.
async fn take_on(database: &Database, space: SpaceId, like: RunId, count: usize) -> String {
    let keys = MasterKeys::new(Key::generate().expect("a key"), Vec::new());
    let store = Store::open(database, keys).await.expect("a store");
    let journal = RunJournal::open(&store, u64::MAX / 2).await.expect("a journal");
    let like = journal.read(space, like).await.expect("readable").expect("it is there");
    let all: Vec<Arc<NewRun>> = (0..count).map(|number| Arc::new(another(&like, number % 2 == 1))).collect();
    let last = all[2 * (WORKED_OFF - 1)].id.to_string();
    for some in all.chunks(1000) {
        let started = some.iter().map(|new| journal.start(new.clone(), PATIENCE));
        for started in join_all(started).await {
            started.expect("started");
        }
    }
    drop(journal);
    store.close().await;
    last
}

fn another(like: &Run, is_for_later: bool) -> NewRun {
    let id = RunId::from(Uuid::now_v7());
    let (mut about, mut input) = (like.about.clone(), Value::clone(&like.input));
    about.call_id = Some(id.to_string());
    input["callId"] = json!(id);
    NewRun {
        id,
        space: like.space,
        user: like.user,
        program: "call",
        about,
        input: Arc::new(input),
        priority: like.priority,
        delay: if is_for_later { Duration::from_secs(3600) } else { Duration::ZERO },
        most_deaths: like.most_deaths,
        key: None,
        parent: None,
        place: Where::Queue,
    }
}

/// Has a server work off what is first in the queue, look at lists and take on a little more; gives the most memory
/// that took.
async fn used(settings: &Settings, last: &str) -> usize {
    let (server, api) = settings.start().await;
    ended(&api, last).await;
    for path in ["/api/tasks?limit=200", "/api/tasks?status=queued&limit=200", "/metrics"] {
        assert_eq!(api.get(path).await.status, 200, "{path}");
    }
    for _ in 0..100 {
        taken(&execute(&api, "quick", json!({"options": {"delay": 3600}})).await);
    }
    let peak = peak(&server);
    server.kill().await;
    peak
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_takes_no_memory() {
    let _alone = ALONE.lock().await;
    let place = Place::new();
    let settings = Settings::of(&place).with("HAFT_TASK_QUEUE", "10000000");
    let database = if place.is_postgres() {
        Database::Postgres(settings.get("HAFT_DATABASE_URL").into())
    } else {
        Database::Sqlite(place.directory.clone())
    };
    let (server, api) = settings.start().await;
    make(&api, mock("quick", json!({"effect": "read"}))).await;
    let body = json!({"arguments": {"text": "x".repeat(TEXT)}, "options": {"delay": 3600}});
    let like = task(&api, &taken(&execute(&api, "quick", body).await)).await;
    let id = |field: &str| like[field].as_str().expect("an id").to_owned();
    let (space, like) = (id("spaceId").parse().expect("an id"), id("id").parse().expect("an id"));
    server.kill().await;

    let last = take_on(&database, space, like, 2 * WORKED_OFF).await;
    let few = used(&settings, &last).await;
    let last = take_on(&database, space, like, how_many()).await;
    let many = used(&settings, &last).await;
    println!("{few} kB with {} tasks, {many} kB with {}", 2 * WORKED_OFF, how_many());
    assert!(many < few + MORE, "{few} kB with {} tasks, {many} kB with {}", 2 * WORKED_OFF, how_many());
}

//! The call log under clean stops, kills and a blocked database: a kill loses only the most recent entries.

use std::any::Any;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::Method;
use haft_testkit::{Client, TestResponse, TestStorage};
use serde_json::json;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::{ALONE, FIVE_SECONDS, Settings, locked, mock, paused, within};

const ROUNDS: usize = 5;
const MOST_SETS: usize = 5;
const CALLERS: usize = 8;

/// Maximum loss in a crash. 100 ms are promised on a machine that has time to write; a busy one gets more.
const MAX_LOSS: Duration = Duration::from_millis(250);

/// Time limit for writing thousands of delayed log entries.
const A_MINUTE: Duration = Duration::from_secs(60);

/// The ids of successful calls, with the time of the response.
type Successes = Arc<Mutex<Vec<(String, Instant)>>>;

/// Calls a tool repeatedly, each time with another id. Returns the first reply that is no success, or `None`
/// if the server is gone before.
async fn call_repeatedly(api: Client, prefix: String, successes: Successes) -> Option<TestResponse> {
    for number in 0.. {
        let id = format!("{prefix}n{number}");
        let body = json!({"options": {"callId": id}});
        let reply = api.try_send_json(Method::POST, "/api/tools/kept/execute", &body).await?;
        if reply.status != 200 {
            return Some(reply);
        }
        successes.lock().expect("not poisoned").push((id, Instant::now()));
    }
    None
}

fn begin(api: &Client, round: usize, successes: &Successes) -> Vec<JoinHandle<Option<TestResponse>>> {
    let one =
        |caller| tokio::spawn(call_repeatedly(api.clone(), format!("r{round}c{caller}"), successes.clone()));
    (0..CALLERS).map(one).collect()
}

async fn make_tool(api: &Client) {
    let made = api.post("/api/tools", &mock("kept", &json!(1))).await;
    assert_eq!(made.status, 201, "{}", made.body);
}

/// Sleeps for a random time.
async fn pause_randomly() {
    let random = u64::from(Uuid::new_v4().as_bytes()[0]);
    tokio::time::sleep(Duration::from_millis(400 + 2 * random)).await;
}

/// Returns the ids of all logged calls.
async fn logged_ids(api: &Client) -> HashSet<String> {
    let mut ids = HashSet::new();
    let mut path = "/api/tool-calls?limit=200".to_owned();
    loop {
        let page = api.get(&path).await;
        assert_eq!(page.status, 200, "{}", page.body);
        for row in page.data()["items"].as_array().expect("a list") {
            let is_new = ids.insert(row["callId"].as_str().expect("an id").to_owned());
            assert!(is_new, "{row} is logged twice");
        }
        let Some(cursor) = page.data()["nextCursor"].as_str() else { return ids };
        path = format!("/api/tool-calls?limit=200&cursor={cursor}");
    }
}

/// Returns the successful calls that are not logged.
async fn missing(api: &Client, successes: &Successes) -> Vec<(String, Instant)> {
    let there = logged_ids(api).await;
    let successes = successes.lock().expect("not poisoned").clone();
    assert!(successes.len() > CALLERS, "only {} calls were successful", successes.len());
    successes.into_iter().filter(|(id, _)| !there.contains(id)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn clean_stop_under_load_loses_no_log_entry() {
    let place = TestStorage::new();
    let (settings, successes) = (Settings::of(&place), Successes::default());
    for round in 0..ROUNDS {
        let (server, api) = settings.start().await;
        if round == 0 {
            make_tool(&api).await;
        }
        let callers = begin(&api, round, &successes);
        pause_randomly().await;
        server.terminate();
        assert_eq!(server.ended().await, Some(0));
        for caller in callers {
            caller.await.expect("it calls");
        }
    }
    let (_server, api) = settings.start().await;
    let missing = missing(&api, &successes).await;
    assert!(missing.is_empty(), "{} rows are lost: {:?}", missing.len(), missing.first());
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_under_load_loses_log_entries_of_the_last_moment_only() {
    let _alone = ALONE.lock().await;
    let mut lost: Vec<Duration> = Vec::new();
    // Other tests may keep the machine busy during some rounds, but not during every set of rounds.
    let is_seen =
        |lost: &[Duration]| lost.chunks_exact(ROUNDS).any(|set| set.iter().all(|lost| *lost <= MAX_LOSS));
    while !is_seen(&lost) && lost.len() < MOST_SETS * ROUNDS {
        let round = lost.len();
        let place = TestStorage::new();
        let (settings, successes) = (Settings::of(&place), Successes::default());
        let (server, api) = settings.start().await;
        make_tool(&api).await;
        let callers = begin(&api, round, &successes);
        pause_randomly().await;
        let killed = Instant::now();
        server.kill().await;
        for caller in callers {
            caller.await.expect("it calls");
        }
        let (_server, api) = settings.start().await;
        let missing = missing(&api, &successes).await;
        let longest = missing.iter().map(|(_, at)| killed.saturating_duration_since(*at)).max();
        lost.push(longest.unwrap_or_default());
    }
    assert!(is_seen(&lost), "kills lost log entries of too long a time: {lost:?}");
}

/// Blocks writes to the call log until the result is dropped. Returns `None` if the lock cannot be held here.
fn block_log(place: &TestStorage, settings: &Settings) -> Option<Box<dyn Any>> {
    if place.is_postgres() {
        let lock = "LOCK TABLE tool_call_chain IN ACCESS EXCLUSIVE MODE";
        return Some(Box::new(paused::Holder::of(settings.get("HAFT_DATABASE_URL"), lock)));
    }
    let holder = locked::Holder::of(&place.directory.join("calls.db"))?;
    Some(Box::new(holder))
}

#[tokio::test(flavor = "multi_thread")]
async fn log_that_cannot_be_written_refuses_calls_and_catches_up() {
    let place = TestStorage::new();
    let (settings, successes) = (Settings::of(&place), Successes::default());
    let (_server, api) = settings.start().await;
    make_tool(&api).await;
    let Some(holder) = block_log(&place, &settings) else { return };
    // Calls succeed while the queue has slots for their log entries, which are some thousands.
    for caller in begin(&api, 0, &successes) {
        let refused = caller.await.expect("it calls").expect("an answer");
        assert_eq!((refused.status, refused.kind()), (503, "Overloaded"), "{}", refused.body);
        assert!(refused.message().contains("the call log queue is full"), "{}", refused.message());
        assert_eq!(refused.header("retry-after"), Some("1"));
    }
    for path in ["/api/tools", "/api/tools/kept", "/healthz"] {
        assert_eq!(api.get(path).await.status, 200, "{path}");
    }
    let none = call(&api, "never").await;
    assert_eq!(none.kind(), "Overloaded", "a call that cannot be logged is not executed: {}", none.body);

    drop(holder);
    let is_accepted = async || call(&api, "after").await.status == 200;
    within(FIVE_SECONDS, "calls are back without a restart", is_accepted).await;
    // Log entries are written in the order of the calls, so the last one follows all others.
    let is_written = async || api.get("/api/tool-calls/after").await.status == 200;
    within(A_MINUTE, "all rows are written", is_written).await;
    let missing = missing(&api, &successes).await;
    assert!(missing.is_empty(), "{} rows are lost: {:?}", missing.len(), missing.first());
    assert_eq!(api.get("/api/tool-calls/never").await.status, 404);
}

async fn call(api: &Client, id: &str) -> TestResponse {
    api.post("/api/tools/kept/execute", &json!({"options": {"callId": id}})).await
}

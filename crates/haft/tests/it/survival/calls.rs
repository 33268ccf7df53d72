//! The call log through stops, kills and a disk that does not answer: a call that was answered is on record.

use std::any::Any;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::Method;
use haft_testkit::{Client, Place, Reply};
use serde_json::json;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::{ALONE, FIVE_SECONDS, Settings, locked, mock, paused, within};

const ROUNDS: usize = 5;
const MOST_SETS: usize = 5;
const CALLERS: usize = 8;

/// A crash loses no more than 100 ms, it is promised, on a machine that has time to write. Here others take it.
const LOST: Duration = Duration::from_millis(250);

/// Thousands of rows that had to wait are written within this time.
const A_MINUTE: Duration = Duration::from_secs(60);

/// The ids of calls that were answered with success, and when.
type Answered = Arc<Mutex<Vec<(String, Instant)>>>;

/// Calls a tool again and again, each time under another id; gives the first answer that is no success, if one
/// came before the server was gone.
async fn call_on(api: Client, prefix: String, answered: Answered) -> Option<Reply> {
    for number in 0.. {
        let id = format!("{prefix}n{number}");
        let body = json!({"options": {"callId": id}});
        let reply = api.try_send_json(Method::POST, "/api/tools/kept/execute", &body).await?;
        if reply.status != 200 {
            return Some(reply);
        }
        answered.lock().expect("not poisoned").push((id, Instant::now()));
    }
    None
}

fn begin(api: &Client, round: usize, answered: &Answered) -> Vec<JoinHandle<Option<Reply>>> {
    let one = |caller| tokio::spawn(call_on(api.clone(), format!("r{round}c{caller}"), answered.clone()));
    (0..CALLERS).map(one).collect()
}

async fn make_tool(api: &Client) {
    let made = api.post("/api/tools", &mock("kept", &json!(1))).await;
    assert_eq!(made.status, 201, "{}", made.body);
}

/// A while, each time another one.
async fn a_while() {
    let random = u64::from(Uuid::new_v4().as_bytes()[0]);
    tokio::time::sleep(Duration::from_millis(400 + 2 * random)).await;
}

/// The ids of all calls on record.
async fn on_record(api: &Client) -> HashSet<String> {
    let mut ids = HashSet::new();
    let mut path = "/api/tool-calls?limit=200".to_owned();
    loop {
        let page = api.get(&path).await;
        assert_eq!(page.status, 200, "{}", page.body);
        for row in page.data()["items"].as_array().expect("a list") {
            let is_new = ids.insert(row["callId"].as_str().expect("an id").to_owned());
            assert!(is_new, "{row} is there twice");
        }
        let Some(cursor) = page.data()["nextCursor"].as_str() else { return ids };
        path = format!("/api/tool-calls?limit=200&cursor={cursor}");
    }
}

/// Those that are not on record.
async fn missing(api: &Client, answered: &Answered) -> Vec<(String, Instant)> {
    let there = on_record(api).await;
    let answered = answered.lock().expect("not poisoned").clone();
    assert!(answered.len() > CALLERS, "only {} calls were answered", answered.len());
    answered.into_iter().filter(|(id, _)| !there.contains(id)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_stop_under_load_loses_no_row() {
    let place = Place::new();
    let (settings, answered) = (Settings::of(&place), Answered::default());
    for round in 0..ROUNDS {
        let (server, api) = settings.start().await;
        if round == 0 {
            make_tool(&api).await;
        }
        let callers = begin(&api, round, &answered);
        a_while().await;
        server.terminate();
        assert_eq!(server.ended().await, Some(0));
        for caller in callers {
            caller.await.expect("it calls");
        }
    }
    let (_server, api) = settings.start().await;
    let missing = missing(&api, &answered).await;
    assert!(missing.is_empty(), "{} rows are lost: {:?}", missing.len(), missing.first());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_under_load_loses_the_last_moment_and_no_more() {
    let _alone = ALONE.lock().await;
    let mut lost: Vec<Duration> = Vec::new();
    // A round may meet a machine that is busy with other tests, but not one of each set of rounds does.
    let is_seen =
        |lost: &[Duration]| lost.chunks_exact(ROUNDS).any(|set| set.iter().all(|lost| *lost <= LOST));
    while !is_seen(&lost) && lost.len() < MOST_SETS * ROUNDS {
        let round = lost.len();
        let place = Place::new();
        let (settings, answered) = (Settings::of(&place), Answered::default());
        let (server, api) = settings.start().await;
        make_tool(&api).await;
        let callers = begin(&api, round, &answered);
        a_while().await;
        let killed = Instant::now();
        server.kill().await;
        for caller in callers {
            caller.await.expect("it calls");
        }
        let (_server, api) = settings.start().await;
        let missing = missing(&api, &answered).await;
        let longest = missing.iter().map(|(_, at)| killed.saturating_duration_since(*at)).max();
        lost.push(longest.unwrap_or_default());
    }
    assert!(is_seen(&lost), "before a kill, rows of so long were lost: {lost:?}");
}

/// Keeps everybody from writing to the log until it is dropped; none where nobody can, which is said.
fn hold(place: &Place, settings: &Settings) -> Option<Box<dyn Any>> {
    if place.is_postgres() {
        let lock = "LOCK TABLE tool_call_chain IN ACCESS EXCLUSIVE MODE";
        return Some(Box::new(paused::Holder::of(settings.get("HAFT_DATABASE_URL"), lock)));
    }
    let holder = locked::Holder::of(&place.directory.join("calls.db"))?;
    Some(Box::new(holder))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_cannot_be_written_refuses_calls_and_catches_up() {
    let place = Place::new();
    let (settings, answered) = (Settings::of(&place), Answered::default());
    let (_server, api) = settings.start().await;
    make_tool(&api).await;
    let Some(holder) = hold(&place, &settings) else { return };
    // Calls go on for as long as there is room for their records, which is for some thousands.
    for caller in begin(&api, 0, &answered) {
        let refused = caller.await.expect("it calls").expect("an answer");
        assert_eq!((refused.status, refused.kind()), (503, "Overloaded"), "{}", refused.body);
        assert!(refused.message().contains("the call log cannot keep up"), "{}", refused.message());
        assert_eq!(refused.header("retry-after"), Some("1"));
    }
    for path in ["/api/tools", "/api/tools/kept", "/healthz"] {
        assert_eq!(api.get(path).await.status, 200, "{path}");
    }
    let none = call(&api, "never").await;
    assert_eq!(none.kind(), "Overloaded", "what cannot be recorded is not done: {}", none.body);

    drop(holder);
    let is_answered = async || call(&api, "after").await.status == 200;
    within(FIVE_SECONDS, "calls are back without a restart", is_answered).await;
    // Rows are written in the order of their calls, so the last one comes after all others.
    let is_written = async || api.get("/api/tool-calls/after").await.status == 200;
    within(A_MINUTE, "all rows are written", is_written).await;
    let missing = missing(&api, &answered).await;
    assert!(missing.is_empty(), "{} rows are lost: {:?}", missing.len(), missing.first());
    assert_eq!(api.get("/api/tool-calls/never").await.status, 404);
}

async fn call(api: &Client, id: &str) -> Reply {
    api.post("/api/tools/kept/execute", &json!({"options": {"callId": id}})).await
}

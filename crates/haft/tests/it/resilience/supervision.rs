//! Background tasks: one that panics is restarted, and the server says so meanwhile.

use futures_util::future::join_all;
use haft_testkit::{Place, eventually, run};
use serde_json::json;

use super::{call_often, metric, task_in_background};
use crate::HAFT;
use crate::survival::Settings;

/// All tasks of a server on a data directory.
const TASKS: [&str; 12] = [
    "alerts",
    "call log retention",
    "call log rollup",
    "call log writer",
    "change feed",
    "cleanup",
    "http server",
    "process log writer",
    "run journal writer",
    "run worker",
    "signals",
    "trace exporter",
];

/// The task that is added on an embedded database.
const EMBEDDED: [&str; 1] = ["database check"];

/// And those that are added on a shared database.
const SHARED: [&str; 3] = ["change listener", "run listener", "upgrade watch"];

fn settings(place: &Place) -> Settings {
    let collector = "http://127.0.0.1:9";
    Settings::of(place).with("HAFT_ALERT_INTERVAL", "100").with("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
}

fn tasks(place: &Place) -> Vec<&'static str> {
    let mut tasks = TASKS.to_vec();
    if place.is_postgres() {
        tasks.extend(SHARED);
    } else {
        tasks.extend(EMBEDDED);
    }
    tasks.sort_unstable();
    tasks
}

/// One task panics; the server goes on, calls and tasks work, and it says that it is ready again.
async fn assert_survives(task: &str) {
    let place = Place::new();
    let (server, api) = settings(&place).with("HAFT_TASK_PANIC", task).start().await;
    if task == "signals" {
        // It panics when it is told to stop, and stops all the same.
        server.terminate();
        assert_eq!(server.ended().await, Some(0), "{task}");
        return;
    }
    call_often(&api, 3).await;
    task_in_background(&api).await;
    let name = format!("haft_background_task_panics_total{{task=\"{task}\"}}");
    eventually("the task panicked", async || metric(&api, &name).await == Some(1)).await;
    eventually("the server is ready again", async || api.get("/readyz").await.status == 200).await;
    call_often(&api, 3).await;
    task_in_background(&api).await;
    let kept = async || {
        let page = api.get("/api/tool-calls").await;
        page.data()["items"].as_array().is_some_and(|items| items.len() == 8)
    };
    eventually("every call is on record, once", kept).await;
    assert_eq!(metric(&api, &name).await, Some(1), "{task}");
    server.terminate();
    assert_eq!(server.ended().await, Some(0), "{task}");
}

#[tokio::test]
async fn server_survives_the_panic_of_each_background_task() {
    for some in tasks(&Place::new()).chunks(4) {
        join_all(some.iter().map(|task| assert_survives(task))).await;
    }
}

#[tokio::test]
async fn every_background_task_is_supervised() {
    let place = Place::new();
    let (_server, api) = settings(&place).start().await;
    call_often(&api, 1).await;
    let (_, _, page) = api.download("/metrics").await;
    let page = String::from_utf8(page).expect("text");
    let named = page
        .lines()
        .filter_map(|line| line.strip_prefix("haft_background_task_running{task=\"")?.strip_suffix("\"} 1"));
    assert_eq!(named.collect::<Vec<_>>(), tasks(&place));
}

#[tokio::test]
async fn server_is_not_ready_while_a_task_keeps_panicking() {
    let place = Place::new();
    let settings = settings(&place).with("HAFT_TASK_PANIC", "alerts:1000");
    let (server, api) = settings.start().await;
    eventually("the task is missed", async || api.get("/readyz").await.status == 503).await;
    let reply = api.get("/readyz").await;
    assert_eq!(reply.body, json!({"status": "background tasks are not running", "tasks": ["alerts"]}));
    assert_eq!(api.get("/healthz").await.status, 200);
    call_often(&api, 3).await;
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
}

#[tokio::test]
async fn panic_on_purpose_is_refused_where_it_is_malformed() {
    let place = Place::new();
    let ended = run(
        HAFT,
        &["serve"],
        &[("HAFT_DATA_DIR", place.directory.to_str().expect("a path")), ("HAFT_TASK_PANIC", "feed:x")],
        "",
    )
    .await;
    assert_eq!(ended.code, 1);
    assert!(ended.stderr.contains("HAFT_TASK_PANIC=feed:x is for tests of debug builds"), "{}", ended.stderr);
}

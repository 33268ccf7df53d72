//! Background tasks: a task that panics is restarted, and the server reports it until then.

use futures_util::future::join_all;
use haft_testkit::{TestStorage, eventually, run};
use serde_json::json;

use super::{call_often, metric, task_in_background};
use crate::HAFT;
use crate::survival::Settings;

/// Background tasks of every server.
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

/// Additional tasks on an embedded database.
const EMBEDDED: [&str; 1] = ["database check"];

/// Additional tasks on a shared database.
const SHARED: [&str; 3] = ["change listener", "run listener", "upgrade watch"];

fn settings(place: &TestStorage) -> Settings {
    let collector = "http://127.0.0.1:9";
    Settings::of(place).with("HAFT_ALERT_INTERVAL", "100").with("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
}

fn tasks(place: &TestStorage) -> Vec<&'static str> {
    let mut tasks = TASKS.to_vec();
    if place.is_postgres() {
        tasks.extend(SHARED);
    } else {
        tasks.extend(EMBEDDED);
    }
    tasks.sort_unstable();
    tasks
}

/// Asserts that a server survives the panic of one task: calls and tasks work, and the server becomes ready
/// again.
async fn assert_survives(task: &str) {
    let place = TestStorage::new();
    let (server, api) = settings(&place).with("HAFT_TASK_PANIC", task).start().await;
    if task == "signals" {
        // This task panics when the server is stopped, and the server stops anyway.
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
    let is_logged = async || {
        let page = api.get("/api/tool-calls").await;
        page.data()["items"].as_array().is_some_and(|items| items.len() == 8)
    };
    eventually("every call is logged once", is_logged).await;
    assert_eq!(metric(&api, &name).await, Some(1), "{task}");
    server.terminate();
    assert_eq!(server.ended().await, Some(0), "{task}");
}

#[tokio::test]
async fn server_survives_the_panic_of_each_background_task() {
    for some in tasks(&TestStorage::new()).chunks(4) {
        join_all(some.iter().map(|task| assert_survives(task))).await;
    }
}

#[tokio::test]
async fn every_background_task_is_supervised() {
    let place = TestStorage::new();
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
async fn server_is_not_ready_while_a_task_panics_repeatedly() {
    let place = TestStorage::new();
    let settings = settings(&place).with("HAFT_TASK_PANIC", "alerts:1000");
    let (server, api) = settings.start().await;
    eventually("the task is reported as not running", async || api.get("/readyz").await.status == 503).await;
    let reply = api.get("/readyz").await;
    assert_eq!(reply.body, json!({"status": "background tasks are not running", "tasks": ["alerts"]}));
    assert_eq!(api.get("/healthz").await.status, 200);
    call_often(&api, 3).await;
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
}

#[tokio::test]
async fn malformed_task_panic_setting_is_refused() {
    let place = TestStorage::new();
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

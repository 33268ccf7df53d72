//! An older server beside a newer one on one PostgreSQL: the newer one waits until the older one executes nothing, and
//! the older one then stops and logs the reason.

use std::sync::Arc;
use std::time::Duration;

use haft_testkit::{Upstream, json_reply};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::survival::database::{Database, psql};
use crate::survival::{Settings, skipped};
use crate::tasks::{accepted_task, execute, make, wait_for_status};

#[tokio::test]
async fn older_server_stops_when_a_newer_one_upgraded_the_database() {
    let Some(database) = Database::new() else { return };
    let url = database.url();
    let settings = Settings::sharing(&url);
    let log = std::env::temp_dir().join(format!("haft-older-{}.log", std::process::id()));
    let upstream = Upstream::start(|_| json_reply(200, &json!({}))).await;
    let log_path = log.to_str().expect("a path");
    let (mut server, api) = settings.start_behind("exec 2>\"$1\"", log_path).await;
    make(&api, json!({"name": "late", "description": "d", "url": upstream.url("/"), "method": "POST"})).await;
    let id = accepted_task(&execute(&api, "late", json!({"options": {"delay": 2}})).await);
    // The only part of an upgrade that this version can recognize.
    psql(&url, "INSERT INTO schema_version (version) VALUES (1000)");
    assert!(server.ends_within(Duration::from_secs(30)).await, "it stops by itself");
    assert_ne!(server.ended().await, Some(0));
    let log_text = std::fs::read_to_string(&log).expect("a log");
    let _ = std::fs::remove_file(log);
    assert!(log_text.contains("A newer Haft upgraded the database to schema version 1000"), "{log_text}");
    assert!(upstream.seen().is_empty(), "the task was left to the newer server");
    let worker = settings.haft(&["worker"], "").await;
    assert!(worker.code != 0 && worker.stderr.contains("made by a newer Haft"), "{}", worker.stderr);
    psql(&url, "DELETE FROM schema_version WHERE version = 1000");
    let (_server, api) = settings.start().await;
    wait_for_status(&api, &id, "succeeded").await;
    assert_eq!(upstream.seen().len(), 1);
}

#[tokio::test]
async fn previous_version_ends_its_tasks_before_this_version_upgrades_and_stops_after() {
    let Ok(previous) = std::env::var("HAFT_PREVIOUS_BINARY") else {
        return skipped("HAFT_PREVIOUS_BINARY is not set; scripts/previous builds it");
    };
    let Some(database) = Database::new() else { return };
    let settings = Settings::sharing(&database.url());
    let (upstream, permits) = gated_upstream().await;
    let (mut older, older_api) = settings.start_behind("exec \"$1\" serve", &previous).await;
    make(&older_api, json!({"name": "note", "description": "d", "url": upstream.url("/"), "method": "POST"}))
        .await;
    let options = json!({"options": {"mode": "async"}});
    let executed = accepted_task(&execute(&older_api, "note", options.clone()).await);
    wait_for_status(&older_api, &executed, "running").await;
    let refused = settings.haft(&["worker"], "").await;
    let message = "An older Haft is executing 1 tasks";
    assert!(refused.code != 0 && refused.stderr.contains(message), "{}", refused.stderr);
    let later = accepted_task(&execute(&older_api, "note", json!({"options": {"delay": 5}})).await);
    permits.add_permits(2);
    wait_for_status(&older_api, &executed, "succeeded").await;
    let (_server, api) = settings.start().await;
    wait_for_status(&api, &later, "succeeded").await;
    wait_for_status(&api, &executed, "succeeded").await;
    assert_eq!(upstream.seen().len(), 2, "each task was executed once");
    assert!(older.ends_within(Duration::from_secs(30)).await, "the older version stops by itself");
}

/// An upstream that answers one request for each permit.
async fn gated_upstream() -> (Upstream, Arc<Semaphore>) {
    let permits = Arc::new(Semaphore::new(0));
    let gate = permits.clone();
    let upstream = Upstream::start_async(move |_| {
        let gate = gate.clone();
        async move {
            gate.acquire().await.expect("open").forget();
            json_reply(200, &json!({}))
        }
    });
    (upstream.await, permits)
}

//! An older server beside a newer one on one PostgreSQL: the older one claims no more runs. Servers of this
//! version or later log the reason and stop.

use std::time::Duration;

use haft_testkit::{Upstream, json_reply};
use serde_json::json;

use crate::survival::database::{Database, ask, psql};
use crate::survival::{Settings, skipped};
use crate::tasks::{accepted_task, execute, make, wait_for_status};

/// Number of tasks in the test with the release candidate.
const TASKS: usize = 8;

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
async fn release_candidate_claims_nothing_beside_this_version() {
    let Ok(previous) = std::env::var("HAFT_PREVIOUS_BINARY") else {
        return skipped("HAFT_PREVIOUS_BINARY is not set; scripts/previous builds it");
    };
    let Some(database) = Database::new() else { return };
    let url = database.url();
    let upstream = Upstream::start_async(|_| async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        json_reply(200, &json!({}))
    })
    .await;
    // One task at a time, so that others are in the queue while the candidate polls it every second.
    let settings = Settings::sharing(&url).with("HAFT_TASK_PLACES", "1");
    // A call that the candidate executes would fail.
    let older = settings.clone().with("HAFT_ALLOW_PRIVATE_NETWORKS", "10.0.0.0/8");
    let (_older, older_api) = older.start_behind("exec \"$1\" serve", &previous).await;
    let (_server, api) = settings.start().await;
    make(&api, json!({"name": "note", "description": "d", "url": upstream.url("/"), "method": "POST"})).await;
    let mut ids = Vec::new();
    for _ in 0..TASKS {
        ids.push(accepted_task(&execute(&api, "note", json!({"options": {"mode": "async"}})).await));
    }
    for id in ids {
        wait_for_status(&api, &id, "succeeded").await;
    }
    assert_eq!(upstream.seen().len(), TASKS, "each task was executed once");
    assert_eq!(ask(&url, "SELECT COUNT(*) FROM runs WHERE worker IS NOT NULL OR deaths > 0"), "0");
    let answer = execute(&older_api, "calculator", json!({"arguments": {"expression": "1+1"}})).await;
    assert_eq!(answer.status, 200, "the candidate keeps answering: {}", answer.body);
}

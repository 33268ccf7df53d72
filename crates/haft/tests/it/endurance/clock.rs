//! Clock jumps of a day, forwards and back, while tasks are queued, running, delayed and waiting.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use haft_testkit::{Client, TestStorage, Upstream, eventually, json_reply};
use serde_json::json;
use tokio::sync::watch;

use super::{ended, writes};
use crate::survival::{Settings, skipped};
use crate::tasks::{accepted_task, execute, make, mock, task, wait_for_status};

const DAY: i64 = 24 * 3600;

/// Tolerance in seconds: longer than any reply takes, and far less than a day.
const CLOSE: i64 = 600;

/// The wall clock of a server, which a test can shift. The monotonic clock is not changed.
struct Wall {
    library: PathBuf,
    file: PathBuf,
}

impl Wall {
    /// Returns `None` and reports the test as skipped if libfaketime is missing.
    fn new(place: &TestStorage) -> Option<Self> {
        let Some(library) = library() else {
            skipped("libfaketime is not installed; scripts/faketime installs it");
            return None;
        };
        let wall = Self { library, file: place.directory.with_extension("clock") };
        wall.set_offset(0);
        Some(wall)
    }

    /// Sets the clock to `seconds` ahead of the real time.
    fn set_offset(&self, seconds: i64) {
        let next = self.file.with_extension("next");
        std::fs::write(&next, format!("{seconds:+}\n")).expect("written");
        std::fs::rename(next, &self.file).expect("renamed");
    }

    /// Adds the environment variables that make a server use this clock.
    fn apply_to(&self, settings: Settings) -> Settings {
        let path = |path: &Path| path.to_str().expect("a path").to_owned();
        settings
            .with("LD_PRELOAD", &path(&self.library))
            .with("FAKETIME_TIMESTAMP_FILE", &path(&self.file))
            .with("FAKETIME_NO_CACHE", "1")
            .with("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .with("NO_FAKE_STAT", "1")
    }
}

impl Drop for Wall {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

/// Finds libfaketime where Debian installs it, for any architecture.
fn library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok);
    let inside = |folder: std::fs::DirEntry| folder.path().join("faketime/libfaketime.so.1");
    folders.map(inside).find(|path| path.exists())
}

/// Returns the seconds by which the server's clock is ahead of the real time.
async fn offset(api: &Client) -> i64 {
    let reported = execute(api, "datetime", json!({"arguments": {"operation": "now"}})).await;
    let reported = reported.data()["data"]["timestamp"].as_i64().expect("milliseconds");
    let ours = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    reported / 1000 - i64::try_from(ours).expect("seconds")
}

#[tokio::test(flavor = "multi_thread")]
async fn clock_jumps_do_not_affect_tasks() {
    let place = TestStorage::new();
    let Some(wall) = Wall::new(&place) else { return };
    // Short leases: if a clock jump expires a lease, the test sees it.
    let settings = wall.apply_to(Settings::of(&place)).with("HAFT_TASK_LEASE_MS", "600");
    let (gate, opened) = watch::channel(false);
    let upstream = Upstream::start_async(move |_| {
        let mut opened = opened.clone();
        async move {
            let _ = opened.wait_for(|is_open| *is_open).await;
            json_reply(200, &json!({"ok": true}))
        }
    })
    .await;
    let (_server, api) = settings.start().await;
    let url = upstream.url("/");
    make(
        &api,
        json!({"name": "writes", "description": "d", "url": url, "method": "POST", "maxConcurrency": 2}),
    )
    .await;
    make(&api, mock("quick", json!({"effect": "read"}))).await;
    make(&api, mock("asks", json!({"policy": "ask"}))).await;
    let at_once = || json!({"options": {"mode": "async"}});
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(accepted_task(&execute(&api, "writes", at_once()).await));
    }
    eventually("two run, and two are queued", async || upstream.seen().len() == 2).await;
    let asked = accepted_task(&execute(&api, "asks", json!({})).await);
    wait_for_status(&api, &asked, "waiting").await;
    let in_an_hour = accepted_task(&execute(&api, "quick", json!({"options": {"delay": 3600}})).await);
    let keyed = api.with("idempotency-key", "once");
    let first = execute(&keyed, "quick", json!({})).await;

    for off_by in [DAY, 0, -DAY] {
        let soon = accepted_task(&execute(&api, "quick", json!({"options": {"delay": 1.5}})).await);
        wall.set_offset(off_by);
        eventually("the clock has jumped", async || (offset(&api).await - off_by).abs() < CLOSE).await;
        let now = accepted_task(&execute(&api, "quick", at_once()).await);
        for id in [&now, &soon] {
            let done = ended(&api, id).await;
            assert_eq!((&done["status"], &done["claims"]), (&json!("succeeded"), &json!(1)), "{done}");
            let on_record = format!("/api/tool-calls/{id}");
            eventually("the call is logged", async || api.get(&on_record).await.status == 200).await;
        }
        assert_eq!(
            execute(&keyed, "quick", json!({})).await.data(),
            first.data(),
            "the idempotency key still returns the first result"
        );
        assert_eq!(upstream.seen().len(), 2, "no running task is claimed again");
    }
    assert_eq!(task(&api, &in_an_hour).await["status"], "queued");
    assert_eq!(task(&api, &asked).await["status"], "waiting");
    let approved = api.post(&format!("/api/approvals/{asked}"), &json!({"decision": "approve"})).await;
    assert_eq!(approved.status, 200, "{}", approved.body);
    wait_for_status(&api, &asked, "succeeded").await;
    gate.send(true).expect("the upstream waits");
    for id in &held {
        let done = ended(&api, id).await;
        assert_eq!((&done["status"], &done["claims"]), (&json!("succeeded"), &json!(1)), "{done}");
    }
    assert!(writes(&upstream).values().all(|times| *times == 1), "{:?}", writes(&upstream));
    assert_eq!(upstream.seen().len(), held.len());
}

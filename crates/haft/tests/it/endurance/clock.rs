//! A clock that jumps by a day, forwards and back, under tasks that are queued, running, delayed and waiting.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use haft_testkit::{Client, Place, Upstream, eventually, json_reply};
use serde_json::json;
use tokio::sync::watch;

use super::{ended, writes};
use crate::survival::{Settings, skipped};
use crate::tasks::{execute, make, mock, standing, taken, task};

const DAY: i64 = 24 * 3600;

/// Longer than any machine takes to answer, and far from a day.
const CLOSE: i64 = 600;

/// The clock of a server, which goes wrong by as much as a test wants. The monotonic one goes on.
struct Wall {
    library: PathBuf,
    file: PathBuf,
}

impl Wall {
    /// Or says why there is none.
    fn new(place: &Place) -> Option<Self> {
        let Some(library) = library() else {
            skipped("there is no libfaketime, and no clock was changed; scripts/faketime installs it");
            return None;
        };
        let wall = Self { library, file: place.directory.with_extension("clock") };
        wall.be_off_by(0);
        Some(wall)
    }

    /// From now on it is so many seconds ahead.
    fn be_off_by(&self, seconds: i64) {
        let next = self.file.with_extension("next");
        std::fs::write(&next, format!("{seconds:+}\n")).expect("written");
        std::fs::rename(next, &self.file).expect("renamed");
    }

    /// What a server is told of it.
    fn shown_to(&self, settings: Settings) -> Settings {
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

/// Where Debian has it, whatever the machine.
fn library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok);
    let inside = |folder: std::fs::DirEntry| folder.path().join("faketime/libfaketime.so.1");
    folders.map(inside).find(|path| path.exists())
}

/// By how many seconds the server's clock is ahead of ours.
async fn is_off_by(api: &Client) -> i64 {
    let told = execute(api, "datetime", json!({"arguments": {"operation": "now"}})).await;
    let told = told.data()["data"]["timestamp"].as_i64().expect("milliseconds");
    let ours = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    told / 1000 - i64::try_from(ours).expect("seconds")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_changes_nothing() {
    let place = Place::new();
    let Some(wall) = Wall::new(&place) else { return };
    // Short leases, so that one that is lost by the clock is lost before this test is over.
    let settings = wall.shown_to(Settings::of(&place)).with("HAFT_TASK_LEASE_MS", "600");
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
        held.push(taken(&execute(&api, "writes", at_once()).await));
    }
    eventually("two run, and two are queued", async || upstream.seen().len() == 2).await;
    let asked = taken(&execute(&api, "asks", json!({})).await);
    standing(&api, &asked, "waiting").await;
    let in_an_hour = taken(&execute(&api, "quick", json!({"options": {"delay": 3600}})).await);
    let keyed = api.with("idempotency-key", "once");
    let first = execute(&keyed, "quick", json!({})).await;

    for off_by in [DAY, 0, -DAY] {
        let soon = taken(&execute(&api, "quick", json!({"options": {"delay": 1.5}})).await);
        wall.be_off_by(off_by);
        eventually("the clock has jumped", async || (is_off_by(&api).await - off_by).abs() < CLOSE).await;
        let now = taken(&execute(&api, "quick", at_once()).await);
        for id in [&now, &soon] {
            let done = ended(&api, id).await;
            assert_eq!((&done["status"], &done["claims"]), (&json!("succeeded"), &json!(1)), "{done}");
            let on_record = format!("/api/tool-calls/{id}");
            eventually("it is on record", async || api.get(&on_record).await.status == 200).await;
        }
        assert_eq!(
            execute(&keyed, "quick", json!({})).await.data(),
            first.data(),
            "the key is as good as before"
        );
        assert_eq!(upstream.seen().len(), 2, "nothing that runs was taken for dead");
    }
    assert_eq!(task(&api, &in_an_hour).await["status"], "queued");
    assert_eq!(task(&api, &asked).await["status"], "waiting");
    let approved = api.post(&format!("/api/approvals/{asked}"), &json!({"decision": "approve"})).await;
    assert_eq!(approved.status, 200, "{}", approved.body);
    standing(&api, &asked, "succeeded").await;
    gate.send(true).expect("somebody waits");
    for id in &held {
        let done = ended(&api, id).await;
        assert_eq!((&done["status"], &done["claims"]), (&json!("succeeded"), &json!(1)), "{done}");
    }
    assert!(writes(&upstream).values().all(|times| *times == 1), "{:?}", writes(&upstream));
    assert_eq!(upstream.seen().len(), held.len());
}

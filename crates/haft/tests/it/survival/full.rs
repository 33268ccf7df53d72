//! A full disk: writes are refused in words, reads and calls go on, and nothing acknowledged is lost.

use std::process::Command;

use haft_testkit::{Client, Place};
use serde_json::{Value, json};

use super::{FIVE_SECONDS, Settings, call, mock, skipped, within};

/// No file may have more blocks of 512 bytes: more than a new database has, and less than one that is used.
const BLOCKS: u32 = 2400;

/// What the disk is filled with.
fn large(name: &str) -> Value {
    mock(name, &json!("x".repeat(20_000)))
}

#[tokio::test]
async fn a_full_disk_refuses_writes_and_loses_nothing() {
    let place = Place::new();
    if place.is_postgres() {
        return skipped("the disk of PostgreSQL is not ours to fill");
    }
    let settings = Settings::of(&place);
    // The database is made before anything is scarce.
    let (server, _) = settings.start().await;
    server.kill().await;
    let process = place.directory.join("process");
    // A file at its limit fails to grow, as one on a full disk does; the signal that comes with it is ignored.
    let line = format!("trap '' XFSZ; ulimit -S -f {BLOCKS}; echo $$ >\"$1\"");
    let (server, api) = settings.start_behind(&line, process.to_str().expect("a path")).await;
    let mut kept = Vec::new();
    let refused = loop {
        let name = format!("t{}", kept.len());
        let reply = api.post("/api/tools", &large(&name)).await;
        if reply.status != 201 {
            break reply;
        }
        kept.push(name);
        assert!(kept.len() < 500, "the disk is never full");
    };
    assert!(kept.len() > 2, "only {} tools fit: {}", kept.len(), refused.body);
    for refused in [
        refused,
        api.put("/api/tools/t0", &large("t0_renamed")).await,
        api.post("/api/agents", &json!({"name": "a", "systemPrompt": "x".repeat(200_000)})).await,
        api.post("/api/tools", &large("again")).await,
    ] {
        assert_eq!((refused.status, refused.kind()), (503, "Unavailable"), "{}", refused.body);
        assert!(refused.message().contains("cannot be read or written"), "{}", refused.message());
        assert_eq!(refused.header("retry-after"), Some("1"));
    }
    for path in
        ["/api/tools", "/api/tools/t0", "/api/tools/t0/versions", "/api/agents", "/api/secrets", "/readyz"]
    {
        assert_eq!(api.get(path).await.status, 200, "{path} can be read");
    }
    are_there(&api, &kept).await;
    assert_eq!(api.get("/api/tools/again").await.status, 404, "nothing of what was refused");

    let process = std::fs::read_to_string(&process).expect("a process");
    match Command::new("prlimit").args(["--pid", process.trim(), "--fsize=unlimited"]).status() {
        Ok(lifted) => {
            assert!(lifted.success(), "{lifted}");
            let is_made = async || api.post("/api/tools", &large("after")).await.status == 201;
            within(FIVE_SECONDS, "a write without a restart", is_made).await;
            kept.push("after".to_owned());
        }
        Err(error) => skipped(&format!("recovery without a restart, for there is no prlimit: {error}")),
    }
    server.kill().await;
    let (_server, api) = settings.start().await;
    are_there(&api, &kept).await;
    assert_eq!(api.post("/api/tools", &large("again")).await.status, 201);
}

async fn are_there(api: &Client, names: &[String]) {
    for name in names {
        assert_eq!(api.get(&format!("/api/tools/{name}")).await.data()["version"], 1, "{name}");
        let called = call(api, name).await;
        assert_eq!(
            (called.status, &called.data()["success"]),
            (200, &json!(true)),
            "{name}: {}",
            called.body
        );
    }
}

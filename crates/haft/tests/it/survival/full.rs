//! A full disk: writes are refused with an error, reads and calls work, and no acknowledged write is lost.

use std::process::Command;

use haft_testkit::{Client, TestStorage};
use serde_json::{Value, json};

use super::{FIVE_SECONDS, Settings, call, mock, skipped, within};

/// Maximum file size in blocks of 512 bytes: more than a new database has, and less than one in use.
const BLOCKS: u32 = 2400;

/// A tool with much data, which fills the disk.
fn large_tool(name: &str) -> Value {
    mock(name, &json!("x".repeat(20_000)))
}

#[tokio::test]
async fn a_full_disk_refuses_writes_and_loses_nothing() {
    let place = TestStorage::new();
    if place.is_postgres() {
        return skipped("the test cannot fill the disk of PostgreSQL");
    }
    let settings = Settings::of(&place);
    // The database is created before the limit applies.
    let (server, _) = settings.start().await;
    server.kill().await;
    let process = place.directory.join("process");
    // A file at its limit cannot grow, like on a full disk. The signal that reports this is ignored.
    let line = format!("trap '' XFSZ; ulimit -S -f {BLOCKS}; echo $$ >\"$1\"");
    let (server, api) = settings.start_behind(&line, process.to_str().expect("a path")).await;
    let mut stored = Vec::new();
    let refused = loop {
        let name = format!("t{}", stored.len());
        let reply = api.post("/api/tools", &large_tool(&name)).await;
        if reply.status != 201 {
            break reply;
        }
        stored.push(name);
        assert!(stored.len() < 500, "the disk is never full");
    };
    assert!(stored.len() > 2, "only {} tools fit: {}", stored.len(), refused.body);
    for refused in [
        refused,
        api.put("/api/tools/t0", &large_tool("t0_renamed")).await,
        api.post("/api/agents", &json!({"name": "a", "systemPrompt": "x".repeat(200_000)})).await,
        api.post("/api/tools", &large_tool("again")).await,
    ] {
        assert_eq!((refused.status, refused.kind()), (503, "Unavailable"), "{}", refused.body);
        assert!(refused.message().contains("currently unavailable"), "{}", refused.message());
        assert_eq!(refused.header("retry-after"), Some("1"));
    }
    for path in
        ["/api/tools", "/api/tools/t0", "/api/tools/t0/versions", "/api/agents", "/api/secrets", "/readyz"]
    {
        assert_eq!(api.get(path).await.status, 200, "{path} can be read");
    }
    assert_present(&api, &stored).await;
    assert_eq!(api.get("/api/tools/again").await.status, 404, "a refused tool does not exist");

    let process = std::fs::read_to_string(&process).expect("a process");
    match Command::new("prlimit").args(["--pid", process.trim(), "--fsize=unlimited"]).status() {
        Ok(lifted) => {
            assert!(lifted.success(), "{lifted}");
            let is_made = async || api.post("/api/tools", &large_tool("after")).await.status == 201;
            within(FIVE_SECONDS, "a write without a restart", is_made).await;
            stored.push("after".to_owned());
        }
        Err(error) => {
            skipped(&format!("recovery without a restart was not tested, because prlimit failed: {error}"))
        }
    }
    server.kill().await;
    let (_server, api) = settings.start().await;
    assert_present(&api, &stored).await;
    assert_eq!(api.post("/api/tools", &large_tool("again")).await.status, 201);
}

async fn assert_present(api: &Client, names: &[String]) {
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

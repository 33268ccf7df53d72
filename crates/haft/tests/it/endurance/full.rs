//! A full disk: new tasks are refused, and accepted tasks end when there is space again, without a restart.

use std::process::Command;

use haft_testkit::{TestStorage, Upstream, eventually, json_reply};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{check, ended, writes};
use crate::survival::{Settings, skipped};
use crate::tasks::{accepted_task, execute, make, task};

/// Maximum file size in blocks of 512 bytes: more than a new database has, and less than one in use.
const BLOCKS: u32 = 2400;

#[tokio::test]
async fn accepted_tasks_end_when_the_disk_has_space_again() {
    let place = TestStorage::new();
    if place.is_postgres() {
        return skipped("the test cannot fill the disk of PostgreSQL");
    }
    let (gate, opened) = watch::channel(false);
    let upstream = Upstream::start_async(move |_| {
        let mut opened = opened.clone();
        async move {
            let _ = opened.wait_for(|is_open| *is_open).await;
            json_reply(200, &json!({"ok": true}))
        }
    })
    .await;
    let settings = Settings::of(&place);
    // The database is created before the limit applies.
    let (server, api) = settings.start().await;
    let tool = json!({"name": "writes", "description": "d", "url": upstream.url("/"), "method": "POST",
                      "params": {"text": "{{text}}"}, "maxConcurrency": 2});
    make(&api, tool).await;
    server.kill().await;
    let line = format!("trap '' XFSZ; ulimit -S -f {BLOCKS}");
    let (server, api) = settings.start_behind(&line, "").await;
    let body = json!({"arguments": {"text": "x".repeat(5_000)}, "options": {"mode": "async"}});
    let mut accepted = Vec::new();
    let refused = loop {
        let reply = execute(&api, "writes", body.clone()).await;
        if reply.status != 202 {
            break reply;
        }
        accepted.push(accepted_task(&reply));
        assert!(accepted.len() < 1000, "the disk is never full");
    };
    assert_eq!((refused.status, refused.kind()), (503, "Unavailable"), "{}", refused.body);
    assert!(refused.message().contains("currently unavailable"), "{}", refused.message());
    assert_eq!(refused.header("retry-after"), Some("1"));
    let sent = upstream.seen().len();
    assert!(sent > 0 && accepted.len() > 2, "{sent} of {} were sent", accepted.len());

    // Responses arrive and cannot be persisted.
    gate.send(true).expect("the upstream waits");
    assert_eq!(execute(&api, "writes", body.clone()).await.status, 503);
    let last = accepted.last().expect("some were accepted");
    assert_eq!(task(&api, last).await["endedAt"], Value::Null, "the result could be stored");
    let process = server.id().expect("it runs").to_string();
    match Command::new("prlimit").args(["--pid", &process, "--fsize=unlimited"]).status() {
        Ok(lifted) => assert!(lifted.success(), "{lifted}"),
        Err(error) => return skipped(&format!("recovery was not tested, because prlimit failed: {error}")),
    }
    let mut tasks = Vec::new();
    for id in &accepted {
        tasks.push(ended(&api, id).await);
    }
    let writes = writes(&upstream);
    tasks.iter().for_each(|task| check(task, &writes));
    assert_eq!(writes.len(), accepted.len(), "a refused write was sent");
    assert!(tasks.iter().all(|task| task["status"] == "succeeded"), "a task failed: {tasks:?}");
    for id in &accepted {
        let on_record = format!("/api/tool-calls/{id}");
        eventually("the call is logged", async || api.get(&on_record).await.status == 200).await;
    }
    accepted_task(&execute(&api, "writes", body).await);
}

//! A full disk under tasks: no more are accepted, and those that were end when there is room again, without a
//! restart.

use std::process::Command;

use haft_testkit::{Place, Upstream, eventually, json_reply};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{check, ended, writes};
use crate::survival::{Settings, skipped};
use crate::tasks::{execute, make, taken, task};

/// No file may have more blocks of 512 bytes: more than a new database has, and less than one that is used.
const BLOCKS: u32 = 2400;

#[tokio::test]
async fn what_was_accepted_ends_when_there_is_room_again() {
    let place = Place::new();
    if place.is_postgres() {
        return skipped("the disk of PostgreSQL is not ours to fill");
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
    // The database is made before anything is scarce.
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
        accepted.push(taken(&reply));
        assert!(accepted.len() < 1000, "the disk is never full");
    };
    assert_eq!((refused.status, refused.kind()), (503, "Unavailable"), "{}", refused.body);
    assert!(refused.message().contains("cannot be read or written"), "{}", refused.message());
    assert_eq!(refused.header("retry-after"), Some("1"));
    let sent = upstream.seen().len();
    assert!(sent > 0 && accepted.len() > 2, "{sent} of {} were sent", accepted.len());

    // Answers come, and cannot be kept.
    gate.send(true).expect("somebody waits");
    assert_eq!(execute(&api, "writes", body.clone()).await.status, 503);
    let last = accepted.last().expect("some were accepted");
    assert_eq!(task(&api, last).await["endedAt"], Value::Null, "there is room for it");
    let process = server.id().expect("it runs").to_string();
    match Command::new("prlimit").args(["--pid", &process, "--fsize=unlimited"]).status() {
        Ok(lifted) => assert!(lifted.success(), "{lifted}"),
        Err(error) => return skipped(&format!("recovery, for there is no prlimit: {error}")),
    }
    let mut tasks = Vec::new();
    for id in &accepted {
        tasks.push(ended(&api, id).await);
    }
    let writes = writes(&upstream);
    tasks.iter().for_each(|task| check(task, &writes));
    assert_eq!(writes.len(), accepted.len(), "what was refused was sent");
    assert!(tasks.iter().all(|task| task["status"] == "succeeded"), "nobody died of it: {tasks:?}");
    for id in &accepted {
        let on_record = format!("/api/tool-calls/{id}");
        eventually("it is on record", async || api.get(&on_record).await.status == 200).await;
    }
    taken(&execute(&api, "writes", body).await);
}

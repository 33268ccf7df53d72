//! PostgreSQL restarted while tasks are accepted and executed: no task is lost, and Haft is not restarted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haft_testkit::{Client, Upstream, eventually, json_reply};
use serde_json::json;

use super::{TOOLS, check, ended, make_tools, writes};
use crate::survival::Settings;
use crate::survival::cluster::{Cluster, Stop};
use crate::tasks::{accepted_task, execute};

/// Requests tasks one after the other until `is_over` is set, and returns the ids of the accepted ones.
async fn request_tasks(api: Client, is_over: Arc<AtomicBool>) -> Vec<String> {
    let mut accepted = Vec::new();
    for number in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let (tool, _) = TOOLS[number % TOOLS.len()];
        let reply = execute(&api, tool, json!({"options": {"mode": "async"}})).await;
        match reply.status {
            503 => {
                assert_eq!(reply.kind(), "Unavailable", "{}", reply.body);
                assert!(reply.header("retry-after").is_some(), "{:?}", reply.headers);
            }
            _ => accepted.push(accepted_task(&reply)),
        }
        // Limits the load: this test does not measure throughput.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    accepted
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_continue_after_a_database_restart() {
    let Some(cluster) = Cluster::new() else { return };
    let upstream = Upstream::start_async(async |_| {
        tokio::time::sleep(Duration::from_millis(30)).await;
        json_reply(200, &json!({"ok": true}))
    })
    .await;
    let settings = Settings::sharing(&cluster.url()).with("HAFT_TASK_LEASE_MS", "2000");
    let (_first, here) = settings.start().await;
    let (_second, there) = settings.start().await;
    make_tools(&here, &upstream).await;
    eventually("both servers have the tools", async || there.get("/api/tools/writes").await.status == 200)
        .await;
    let is_over = Arc::new(AtomicBool::new(false));
    let asking: Vec<_> = [&here, &there, &here, &there]
        .map(|api| tokio::spawn(request_tasks(api.clone(), is_over.clone())))
        .into();
    for how in [Stop::Immediate, Stop::Fast] {
        let before = upstream.seen().len();
        eventually("tasks are executed", async || upstream.seen().len() > before + 20).await;
        cluster.stop(how);
        cluster.start();
    }
    let before = upstream.seen().len();
    eventually("tasks are executed again", async || upstream.seen().len() > before + 20).await;
    is_over.store(true, Ordering::Relaxed);
    let mut accepted = Vec::new();
    for asking in asking {
        accepted.extend(asking.await.expect("nothing but 202 and 503"));
    }
    let mut tasks = Vec::new();
    for id in &accepted {
        tasks.push(ended(&here, id).await);
    }
    let writes = writes(&upstream);
    tasks.iter().for_each(|task| check(task, &writes));
    assert!(writes.values().all(|times| *times == 1), "writes were sent twice: {writes:?}");
}

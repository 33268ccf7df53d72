//! `haft tasks`, `haft approvals`, `haft call` with asynchronous tools, and `haft worker`.

use std::time::Duration;

use haft_testkit::{HaftProcess, TestStorage, Upstream, eventually, run};
use serde_json::{Value, json};

use crate::HAFT;
use crate::http_tools::start;
use crate::survival::{Settings, skipped};
use crate::tasks::{accepted_task, execute, make, mock, task, wait_for_status};

async fn haft(server: &HaftProcess, arguments: &[&str]) -> (i32, String, String) {
    let environment = [("HAFT_URL", server.url.as_str()), ("HAFT_TOKEN", crate::TOKEN)];
    let ended = run(HAFT, arguments, &environment, "").await;
    (ended.code, ended.stdout, ended.stderr)
}

#[tokio::test]
async fn tasks_are_listed_watched_and_resolved() {
    let (server, api) = start(&[]).await;
    make(&api, mock("later", json!({"async": true}))).await;
    let (code, out, errors) = haft(&server, &["call", "later"]).await;
    assert_eq!((code, serde_json::from_str::<Value>(&out).expect("JSON")), (0, json!({"n": 1})), "{errors}");
    assert!(
        errors.starts_with("The call is now task ") && errors.contains(": haft tasks watch "),
        "{errors}"
    );
    let id = accepted_task(&execute(&api, "later", json!({"options": {"delay": 600}})).await);
    let (_, out, _) = haft(&server, &["tasks"]).await;
    assert!(out.contains(&id) && out.contains("succeeded") && out.contains("queued"), "{out}");
    let (_, out, _) = haft(&server, &["tasks", "--status", "succeeded"]).await;
    assert!(!out.contains(&id), "{out}");
    let (code, _, errors) = haft(&server, &["tasks", "cancel", &id]).await;
    assert_eq!((code, errors.trim()), (0, "cancelled the task of later"));
    let (code, _, errors) = haft(&server, &["tasks", "watch", &id]).await;
    assert!(code != 0 && errors.starts_with("Cancelled: "), "{code} {errors}");
    let (code, _, errors) = haft(&server, &["tasks", "resolve", &id, "succeeded"]).await;
    assert!(code != 0 && errors.contains("only a task whose outcome is unknown"), "{errors}");
    assert_eq!(haft(&server, &["tasks", "retry", &id]).await.0, 0);
    let (code, out, _) = haft(&server, &["tasks", "watch", &id, "--json"]).await;
    let result: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &result["data"]), (0, &json!({"n": 1})));
    let (_, out, _) = haft(&server, &["tasks", "show", &id]).await;
    assert!(out.contains("claims"), "{out}");
    let (code, _, errors) = haft(&server, &["tasks", "show", "nope"]).await;
    assert!(code != 0 && errors.contains("there is no task nope"), "{errors}");
}

#[tokio::test]
async fn approvals_are_approved_and_denied() {
    let (server, api) = start(&[]).await;
    make(&api, mock("pay", json!({"policy": "ask"}))).await;
    let ask = async || {
        let id = accepted_task(&execute(&api, "pay", json!({})).await);
        wait_for_status(&api, &id, "waiting").await;
        id
    };
    let id = ask().await;
    let (_, out, _) = haft(&server, &["approvals"]).await;
    assert!(out.contains("pay") && out.contains(&id), "{out}");
    let (code, _, errors) = haft(&server, &["approvals", "approve", &id, "--args", "{"]).await;
    assert!(code != 0 && errors.contains("--args is not JSON"), "{errors}");
    let (code, _, errors) = haft(&server, &["approvals", "approve", &id, "--note", "fine"]).await;
    assert!(code == 0 && errors.contains("approved the call of "), "{errors}");
    wait_for_status(&api, &id, "succeeded").await;
    let id = ask().await;
    assert_eq!(haft(&server, &["approvals", "deny", &id]).await.0, 0);
    let denied = wait_for_status(&api, &id, "failed").await;
    assert_eq!(denied["result"]["error"]["kind"], "Denied");
    let (code, _, errors) = haft(&server, &["approvals", "deny", &id]).await;
    assert!(code != 0 && errors.contains("decided already"), "{errors}");
}

#[tokio::test]
async fn worker_executes_tasks_of_a_server() {
    let place = TestStorage::new();
    let settings = Settings::of(&place).with("HAFT_TASK_LEASE_MS", "500");
    if !place.is_postgres() {
        let refused = settings.haft(&["worker"], "").await;
        assert!(refused.code != 0 && refused.stderr.contains("HAFT_DATABASE_URL"), "{}", refused.stderr);
        return skipped("workers are for shared databases");
    }
    let (server, api) = settings.start().await;
    make(&api, mock("later", json!({}))).await;
    server.kill().await;
    // This server exits when it claims a task.
    let dying = settings.clone().with("HAFT_FAILPOINT", "claimed");
    let (mut server, api) = dying.start().await;
    let id = accepted_task(&execute(&api, "later", json!({"options": {"delay": 1}})).await);
    assert!(server.ends_within(Duration::from_secs(20)).await);
    let mut worker = settings.command(&["worker"]);
    let mut worker = worker.spawn().expect("a worker");
    tokio::time::sleep(Duration::from_secs(4)).await;
    worker.kill().await.expect("it runs");
    let (_server, api) = dying.start().await;
    let done = task(&api, &id).await;
    assert_eq!(
        (&done["status"], &done["claims"], &done["deaths"]),
        (&json!("succeeded"), &json!(2), &json!(1))
    );
}

#[tokio::test]
async fn task_is_cancelled_from_another_server() {
    let place = TestStorage::new();
    if !place.is_postgres() {
        return skipped("SQLite allows one server only");
    }
    let settings = Settings::of(&place);
    let (_one, api) = settings.start().await;
    let upstream = Upstream::start_async(async |_| std::future::pending().await).await;
    let url = format!("http://{}/", upstream.address);
    make(&api, json!({"name": "slow", "description": "d", "url": url})).await;
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(accepted_task(&execute(&api, "slow", json!({"options": {"mode": "async"}})).await));
    }
    eventually("the first server executes all tasks", async || upstream.seen().len() == 6).await;
    // Another server cancels the tasks.
    let (_other, api) = settings.start().await;
    for id in &ids {
        let cancelled = api.post(&format!("/api/tasks/{id}/cancel"), &json!({})).await;
        assert_eq!(cancelled.status, 200, "{}", cancelled.body);
    }
    for id in &ids {
        wait_for_status(&api, id, "cancelled").await;
    }
}

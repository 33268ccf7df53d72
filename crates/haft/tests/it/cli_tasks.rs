//! `haft tasks`, `haft approvals`, `haft call` of a task, and `haft worker`.

use std::time::Duration;

use haft_testkit::{HaftProcess, Place, Upstream, eventually, run};
use serde_json::{Value, json};

use crate::HAFT;
use crate::http_tools::start;
use crate::survival::{Settings, skipped};
use crate::tasks::{execute, make, mock, standing, taken, task};

async fn haft(server: &HaftProcess, arguments: &[&str]) -> (i32, String, String) {
    let environment = [("HAFT_URL", server.url.as_str()), ("HAFT_TOKEN", crate::TOKEN)];
    let ended = run(HAFT, arguments, &environment, "").await;
    (ended.code, ended.stdout, ended.stderr)
}

#[tokio::test]
async fn tasks_are_listed_followed_and_settled() {
    let (server, api) = start(&[]).await;
    make(&api, mock("later", json!({"async": true}))).await;
    let (code, out, said) = haft(&server, &["call", "later"]).await;
    assert_eq!((code, serde_json::from_str::<Value>(&out).expect("JSON")), (0, json!({"n": 1})), "{said}");
    assert!(said.starts_with("The call is now task ") && said.contains(": haft tasks watch "), "{said}");
    let id = taken(&execute(&api, "later", json!({"options": {"delay": 600}})).await);
    let (_, out, _) = haft(&server, &["tasks"]).await;
    assert!(out.contains(&id) && out.contains("succeeded") && out.contains("queued"), "{out}");
    let (_, out, _) = haft(&server, &["tasks", "--status", "succeeded"]).await;
    assert!(!out.contains(&id), "{out}");
    let (code, _, said) = haft(&server, &["tasks", "cancel", &id]).await;
    assert_eq!((code, said.trim()), (0, "cancelled the task of later"));
    let (code, _, said) = haft(&server, &["tasks", "watch", &id]).await;
    assert!(code != 0 && said.starts_with("Cancelled: "), "{code} {said}");
    let (code, _, said) = haft(&server, &["tasks", "resolve", &id, "succeeded"]).await;
    assert!(code != 0 && said.contains("only a task whose outcome is not known"), "{said}");
    assert_eq!(haft(&server, &["tasks", "retry", &id]).await.0, 0);
    let (code, out, _) = haft(&server, &["tasks", "watch", &id, "--json"]).await;
    let result: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &result["data"]), (0, &json!({"n": 1})));
    let (_, out, _) = haft(&server, &["tasks", "show", &id]).await;
    assert!(out.contains("claims"), "{out}");
    let (code, _, said) = haft(&server, &["tasks", "show", "nope"]).await;
    assert!(code != 0 && said.contains("there is no task nope"), "{said}");
}

#[tokio::test]
async fn approvals_are_decided() {
    let (server, api) = start(&[]).await;
    make(&api, mock("pay", json!({"policy": "ask"}))).await;
    let ask = async || {
        let id = taken(&execute(&api, "pay", json!({})).await);
        standing(&api, &id, "waiting").await;
        id
    };
    let id = ask().await;
    let (_, out, _) = haft(&server, &["approvals"]).await;
    assert!(out.contains("pay") && out.contains(&id), "{out}");
    let (code, _, said) = haft(&server, &["approvals", "approve", &id, "--args", "{"]).await;
    assert!(code != 0 && said.contains("--args is not JSON"), "{said}");
    let (code, _, said) = haft(&server, &["approvals", "approve", &id, "--note", "fine"]).await;
    assert!(code == 0 && said.contains("approved the call of "), "{said}");
    standing(&api, &id, "succeeded").await;
    let id = ask().await;
    assert_eq!(haft(&server, &["approvals", "deny", &id]).await.0, 0);
    let denied = standing(&api, &id, "failed").await;
    assert_eq!(denied["result"]["error"]["kind"], "Denied");
    let (code, _, said) = haft(&server, &["approvals", "deny", &id]).await;
    assert!(code != 0 && said.contains("decided already"), "{said}");
}

#[tokio::test]
async fn a_worker_carries_out_what_a_server_took_on() {
    let place = Place::new();
    let settings = Settings::of(&place).with("HAFT_TASK_LEASE_MS", "500");
    if !place.is_postgres() {
        let refused = settings.haft(&["worker"], "").await;
        assert!(refused.code != 0 && refused.stderr.contains("HAFT_DATABASE_URL"), "{}", refused.stderr);
        return skipped("workers are for shared databases");
    }
    let (server, api) = settings.start().await;
    make(&api, mock("later", json!({}))).await;
    server.kill().await;
    // Whatever this one claims is the end of it.
    let dying = settings.clone().with("HAFT_FAILPOINT", "claimed");
    let (mut server, api) = dying.start().await;
    let id = taken(&execute(&api, "later", json!({"options": {"delay": 1}})).await);
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
async fn a_task_ends_wherever_it_is_carried_on() {
    let place = Place::new();
    if !place.is_postgres() {
        return skipped("one server has the data to itself");
    }
    let settings = Settings::of(&place);
    let (_one, api) = settings.start().await;
    let upstream = Upstream::start_async(async |_| std::future::pending().await).await;
    let url = format!("http://{}/", upstream.address);
    make(&api, json!({"name": "slow", "description": "d", "url": url})).await;
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(taken(&execute(&api, "slow", json!({"options": {"mode": "async"}})).await));
    }
    eventually("one carries them on", async || upstream.seen().len() == 6).await;
    // Whoever cancels them is another.
    let (_other, api) = settings.start().await;
    for id in &ids {
        let asked = api.post(&format!("/api/tasks/{id}/cancel"), &json!({})).await;
        assert_eq!(asked.status, 200, "{}", asked.body);
    }
    for id in &ids {
        standing(&api, id, "cancelled").await;
    }
}

//! Tasks that the previous version left: each one continues from its state.

use haft_testkit::eventually;
use serde_json::{Value, json};

use super::{IDEMPOTENCY_KEY, Opened, number, text};
use crate::tasks::{execute, task, wait_for_status};

/// Asserts that the call log has one row of a call.
async fn check_logged_once(copy: &Opened, tool: &str, task: &Value) {
    let call = text(&task["callId"]);
    eventually("the call is logged", async || {
        let rows = copy.api.get(&format!("/api/tool-calls?tool={tool}&limit=200")).await;
        let rows = rows.data()["items"].as_array().expect("a list").clone();
        rows.iter().filter(|row| row["callId"] == call).count() == 1
    })
    .await;
}

#[tokio::test]
async fn queued_tasks_finish_and_the_scheduled_task_stays_scheduled() {
    Opened::each(async |copy| {
        let queued = copy.expected["tasks"]["queued"].as_array().expect("a list");
        for (id, argument) in queued.iter().zip(["one", "two", "three"]) {
            let done = wait_for_status(&copy.api, text(id), "succeeded").await;
            assert_eq!(done["result"]["data"], json!({"n": argument}), "{done}");
            check_logged_once(copy, "note", &done).await;
        }
        let scheduled = task(&copy.api, copy.task_id("scheduled")).await;
        assert_eq!(scheduled["status"], "queued", "{scheduled}");
        assert!(scheduled["dueAt"].is_string() && scheduled["startedAt"].is_null(), "{scheduled}");
        let listed = copy.api.get("/api/tasks?status=queued").await;
        let items = listed.data()["items"].as_array().expect("a list");
        assert_eq!(items.len(), 1, "{}", listed.body);
    })
    .await;
}

#[tokio::test]
async fn reserved_write_of_a_task_is_unknown_and_not_repeated() {
    Opened::each(async |copy| {
        let ended = wait_for_status(&copy.api, copy.task_id("reserved"), "unknown").await;
        assert_eq!(ended["result"]["error"]["kind"], "Unknown", "{ended}");
        check_logged_once(copy, "order", &ended).await;
        assert!(copy.requests("/order").is_empty());
    })
    .await;
}

#[tokio::test]
async fn pending_approval_is_decided_and_the_call_runs_once() {
    Opened::each(async |copy| {
        // A decision that the previous version stored needs no other.
        let approved = copy.task_id("approved");
        let done = wait_for_status(&copy.api, approved, "succeeded").await;
        assert_eq!(done["result"]["data"], json!({"accepted": "/pay"}), "{done}");
        let waiting = copy.task_id("approval");
        let path = format!("/api/approvals/{waiting}");
        let shown = copy.api.get(&path).await;
        assert_eq!(
            (&shown.data()["status"], &shown.data()["arguments"]),
            (&json!("waiting"), &json!({"n": "1"}))
        );
        assert_eq!(copy.requests("/pay").len(), 1);
        let decided = copy.api.post(&path, &json!({"decision": "approve"})).await;
        assert_eq!(decided.status, 200, "{}", decided.body);
        wait_for_status(&copy.api, waiting, "succeeded").await;
        let sent: Vec<Value> = copy.requests("/pay").iter().map(|seen| seen.json()["n"].clone()).collect();
        assert_eq!(sent, ["2", "1"]);
        for id in [approved, waiting] {
            assert_eq!(
                copy.api.post(&format!("/api/approvals/{id}"), &json!({"decision": "deny"})).await.status,
                409
            );
        }
    })
    .await;
}

#[tokio::test]
async fn deferred_tasks_continue() {
    Opened::each(async |copy| {
        let limited = wait_for_status(&copy.api, copy.task_id("retry"), "succeeded").await;
        assert_eq!(limited["result"]["data"], json!({"n": 1}), "{limited}");
        let polled = wait_for_status(&copy.api, copy.task_id("poll"), "succeeded").await;
        assert_eq!(polled["result"]["data"], json!({"answer": 42}), "{polled}");
        assert!(copy.requests("/jobs").is_empty(), "no second job is started");
        assert_eq!(copy.requests("/jobs/7").len(), 1);
        // The callback has not arrived.
        let waiting = task(&copy.api, copy.task_id("callback")).await;
        assert_eq!((&waiting["status"], &waiting["waitingFor"]), (&json!("waiting"), &json!("callback")));
        assert!(copy.requests("/calls").is_empty());
    })
    .await;
}

#[tokio::test]
async fn ended_tasks_read_back_and_the_idempotency_key_returns_the_first_result() {
    Opened::each(async |copy| {
        let keyed = copy.api.with("idempotency-key", IDEMPOTENCY_KEY);
        let first = execute(&keyed, "purchase", json!({"arguments": {"n": "1"}})).await;
        assert_eq!((first.status, first.data()), (200, &copy.expected["idempotent"]), "{}", first.body);
        let other = execute(&keyed, "purchase", json!({"arguments": {"n": "2"}})).await;
        assert_eq!(other.status, 409, "{}", other.body);
        assert!(copy.requests("/purchase").is_empty());
        let (failed, expected) = (task(&copy.api, copy.task_id("failed")).await, &copy.expected["failed"]);
        for field in ["status", "deadLetter", "result", "arguments", "claims", "deaths"] {
            assert_eq!(failed[field], expected[field], "{field}: {failed}");
        }
        assert_eq!(number(&failed["claims"]), 1);
    })
    .await;
}

//! A connection to PostgreSQL that breaks inside COMMIT, before or after the commit: the outcome is unknown,
//! and nothing is executed twice.

use std::collections::BTreeSet;
use std::time::Duration;

use haft_testkit::{Client, TestResponse, Upstream, json_reply};
use serde_json::{Value, json};

use super::{TOOLS, check, ended, make_tools, writes};
use crate::survival::Settings;
use crate::survival::database::Database;
use crate::survival::tcp_proxy::TcpProxy;
use crate::tasks::{accepted_task, execute, make, mock, wait_for_status};

const CLIENTS: usize = 8;
const EACH: usize = 6;

/// One in this many commits breaks off.
const ONE_OF: usize = 4;

/// Returns the id of the accepted task, which is also the id of its call.
fn id(reply: &TestResponse) -> String {
    reply.data()["callId"].as_str().expect("an id").to_owned()
}

/// Sends a request with one idempotency key until it is accepted, and returns the id of the task. Requests
/// with an even number run in the background, the others wait for the result.
async fn ask(api: &Client, number: usize) -> String {
    let (tool, _) = TOOLS[number % TOOLS.len()];
    let keyed = api.with("idempotency-key", &format!("key-{number}"));
    let options = if number.is_multiple_of(2) { json!({"mode": "async"}) } else { json!({}) };
    for _ in 0..300 {
        let reply = execute(&keyed, tool, json!({"options": options})).await;
        match reply.status {
            200 | 202 => return id(&reply),
            // The server could not renew the lease in time and lost it.
            409 if reply.data()["error"]["kind"] == "Unknown" => return id(&reply),
            503 => assert_eq!(reply.kind(), "Unavailable", "{}", reply.body),
            other => panic!("{other}: {}", reply.body),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{tool} {number} was never accepted");
}

async fn ask_in_turn(api: Client, client: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for number in client * EACH..(client + 1) * EACH {
        let id = ask(&api, number).await;
        assert_eq!(ask(&api, number).await, id, "the same key is the same task");
        ids.push(id);
    }
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_commit_creates_no_second_task() {
    let Some(database) = Database::new() else { return };
    let proxy = TcpProxy::to(database.address()).await;
    let upstream = Upstream::start(|_| json_reply(200, &json!({"ok": true}))).await;
    let settings = Settings::sharing(&database.url_by(proxy.port)).with("HAFT_TASK_LEASE_MS", "1000");
    let (_server, api) = settings.start().await;
    make_tools(&api, &upstream).await;
    proxy.break_commits(ONE_OF);
    let asking: Vec<_> = (0..CLIENTS).map(|client| tokio::spawn(ask_in_turn(api.clone(), client))).collect();
    let mut ids = BTreeSet::new();
    for asking in asking {
        ids.extend(asking.await.expect("each was accepted"));
    }
    let broken = proxy.break_commits(0);
    assert!(broken > CLIENTS, "only {broken} commits broke off");
    assert_eq!(ids.len(), CLIENTS * EACH);
    let mut tasks = Vec::new();
    for id in &ids {
        tasks.push(ended(&api, id).await);
    }
    let writes = writes(&upstream);
    tasks.iter().for_each(|task| check(task, &writes));
    assert!(writes.values().all(|times| *times == 1), "writes were sent twice: {writes:?}");
    let listed = api.get("/api/tasks?limit=200").await;
    let listed_tasks: Vec<&Value> = listed.data()["items"].as_array().expect("a list").iter().collect();
    assert_eq!(listed_tasks.len(), ids.len(), "a key has one task");
}

#[tokio::test(flavor = "multi_thread")]
async fn claim_with_a_lost_commit_is_not_counted_as_a_crash() {
    let Some(database) = Database::new() else { return };
    let proxy = TcpProxy::to(database.address()).await;
    let settings = Settings::sharing(&database.url_by(proxy.port)).with("HAFT_TASK_LEASE_MS", "2000");
    let (_server, api) = settings.start().await;
    make(&api, mock("quick", json!({"effect": "read"}))).await;
    let id = accepted_task(&execute(&api, "quick", json!({"options": {"delay": 1}})).await);
    proxy.break_commits(1);
    wait_for_status(&api, &id, "running").await;
    proxy.break_commits(0);
    let done = ended(&api, &id).await;
    assert_eq!((&done["status"], &done["deaths"]), (&json!("succeeded"), &json!(0)), "{done}");
    assert!(done["claims"].as_u64() > Some(1), "the first claim was lost: {done}");
}

//! Approvals: calls wait for a decision, survive a restart, and are executed, edited or denied.

use std::time::Duration;

use haft_testkit::{Client, TestResponse, TestStorage, Upstream, eventually, json_reply};
use serde_json::{Value, json};

use crate::http_tools::start;
use crate::survival::Settings;
use crate::tasks::{accepted_task, execute, make, task, wait_for_status};

fn pay(url: &str, more: Value) -> Value {
    let mut tool = json!({
        "name": "pay", "description": "Pays.", "url": url, "method": "POST", "params": {"amount": "{{amount}}"},
        "policy": "ask", "askWhen": "amount > 100",
        "inputSchema": {"type": "object", "required": ["amount"], "properties": {"amount": {"type": "number"}}},
    });
    for (field, value) in more.as_object().expect("an object") {
        tool[field] = value.clone();
    }
    tool
}

async fn upstream() -> (Upstream, String) {
    let upstream = Upstream::start(|_| json_reply(200, &json!({"paid": true}))).await;
    let url = format!("http://{}/", upstream.address);
    (upstream, url)
}

/// Starts a call that needs an approval. Returns the task id.
async fn start_waiting_call(api: &Client, amount: u32) -> String {
    let id = accepted_task(&execute(api, "pay", json!({"arguments": {"amount": amount}})).await);
    wait_for_status(api, &id, "waiting").await;
    id
}

async fn decide(api: &Client, id: &str, decision: Value) -> TestResponse {
    api.post(&format!("/api/approvals/{id}"), &decision).await
}

#[tokio::test]
async fn call_is_approved_edited_or_denied() {
    let (_server, api) = start(&[]).await;
    let (upstream, url) = upstream().await;
    make(&api, pay(&url, json!({}))).await;
    let small = execute(&api, "pay", json!({"arguments": {"amount": 100}})).await;
    assert_eq!(small.status, 200, "a small amount needs no approval: {}", small.body);
    let dry = execute(&api, "pay", json!({"arguments": {"amount": 500}, "options": {"dryRun": true}})).await;
    assert_eq!(
        (dry.status, &dry.data()["data"]["method"]),
        (200, &json!("POST")),
        "a dry run needs no approval: {}",
        dry.body
    );
    let id = start_waiting_call(&api, 500).await;
    let waits = task(&api, &id).await;
    assert_eq!(waits["waitingFor"], "approval");
    let listed = api.get("/api/approvals").await;
    let items = listed.data()["items"].as_array().expect("a list").clone();
    assert_eq!(items.len(), 1, "{items:?}");
    assert_eq!(
        (&items[0]["arguments"], &items[0]["because"]),
        (&json!({"amount": 500}), &json!("amount > 100"))
    );
    assert_eq!((&items[0]["toolName"], &items[0]["status"]), (&json!("pay"), &json!("waiting")));
    // Invalid decisions are rejected, and the call still waits.
    let bad = decide(&api, &id, json!({"decision": "approve", "arguments": {"amount": "much"}})).await;
    assert_eq!(bad.status, 400, "{}", bad.body);
    assert_eq!(decide(&api, &id, json!({"decision": "perhaps"})).await.status, 400);
    assert_eq!(upstream.seen().len(), 1);
    let decision = json!({"decision": "approve", "arguments": {"amount": 300}, "note": "less will do"});
    let approved = decide(&api, &id, decision).await;
    assert_eq!(approved.status, 200, "{}", approved.body);
    let done = wait_for_status(&api, &id, "succeeded").await;
    assert_eq!(done["result"]["data"], json!({"paid": true}));
    assert_eq!(upstream.seen().last().expect("sent").json(), json!({"amount": 300}));
    assert_eq!(decide(&api, &id, json!({"decision": "approve"})).await.status, 409, "once");
    let shown = api.get(&format!("/api/approvals/{id}")).await;
    assert_eq!(
        (&shown.data()["status"], &shown.data()["decision"]["note"]),
        (&json!("approved"), &json!("less will do"))
    );
    // The caller receives the denial as the result.
    let id = start_waiting_call(&api, 900).await;
    assert_eq!(decide(&api, &id, json!({"decision": "deny", "note": "too much"})).await.status, 200);
    let denied = wait_for_status(&api, &id, "failed").await;
    assert_eq!(denied["result"]["error"]["kind"], "Denied");
    assert_eq!(denied["result"]["error"]["message"], "pay was not approved: too much");
    assert_eq!(denied["deadLetter"], false);
    assert_eq!(upstream.seen().len(), 2, "nothing was sent");
    let changes = api.get("/api/changes?what=approval").await;
    assert_eq!(changes.data()["items"].as_array().expect("a list").len(), 2);
    eventually("the denied call is logged", async || {
        let rows = api.get("/api/tool-calls?kind=Denied").await;
        rows.data()["items"].as_array().expect("a list").len() == 1
    })
    .await;
}

#[tokio::test]
async fn approval_expires_or_is_awaited_by_the_caller() {
    let (_server, api) = start(&[]).await;
    let (upstream, url) = upstream().await;
    make(&api, pay(&url, json!({}))).await;
    let options = json!({"approvalTimeout": 1});
    let id =
        accepted_task(&execute(&api, "pay", json!({"arguments": {"amount": 500}, "options": options})).await);
    let expired = wait_for_status(&api, &id, "failed").await;
    assert_eq!(expired["result"]["error"]["kind"], "Denied");
    assert!(
        expired["result"]["error"]["message"]
            .as_str()
            .expect("a text")
            .starts_with("pay was not approved within")
    );
    assert_eq!(decide(&api, &id, json!({"decision": "approve"})).await.status, 409);
    // The caller waits for the duration of `asyncAfter`.
    let waiting = async {
        let options = json!({"asyncAfter": 20});
        execute(&api, "pay", json!({"arguments": {"amount": 700}, "options": options})).await
    };
    let approving = async {
        let mut id = None;
        eventually("an approval is listed", async || {
            let listed = api.get("/api/approvals").await;
            id = listed.data()["items"][0]["id"].as_str().map(str::to_owned);
            id.is_some()
        })
        .await;
        decide(&api, &id.expect("an id"), json!({"decision": "approve"})).await
    };
    let (reply, approved) = tokio::join!(waiting, approving);
    assert_eq!(approved.status, 200, "{}", approved.body);
    assert_eq!((reply.status, &reply.data()["data"]), (200, &json!({"paid": true})), "{}", reply.body);
    assert_eq!(upstream.seen().len(), 1);
    // An approval is bound to the tool's version: a new version needs a new approval.
    let id = start_waiting_call(&api, 800).await;
    let changed = api
        .send_json(axum::http::Method::PATCH, "/api/tools/pay", &json!({"description": "Pays more."}))
        .await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    assert_eq!(decide(&api, &id, json!({"decision": "approve"})).await.status, 200);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(task(&api, &id).await["status"], "waiting");
    assert_eq!(upstream.seen().len(), 1);
    for (condition, policy, field) in [
        ("amount >", "ask", "askWhen"),
        ("amount > 1", "allow", "askWhen"),
        ("amount > 1", "block", "askWhen"),
    ] {
        let bad = api
            .post("/api/tools", &pay(&url, json!({"name": "bad", "askWhen": condition, "policy": policy})))
            .await;
        assert_eq!(bad.status, 400, "{}", bad.body);
        assert!(bad.body.to_string().contains(field), "{}", bad.body);
    }
}

#[tokio::test]
async fn accepted_call_is_waiting_and_its_approval_listed_at_once() {
    let (_server, api) = start(&[]).await;
    let (_upstream, url) = upstream().await;
    make(&api, pay(&url, json!({}))).await;
    // On a busy machine, the status of an accepted call may be `queued`, and its approval is listed later.
    let mut statuses = Vec::new();
    for amount in 500..520 {
        let accepted = execute(&api, "pay", json!({"arguments": {"amount": amount}})).await;
        let (id, status) = (accepted_task(&accepted), accepted.data()["status"].clone());
        if status == "waiting" {
            let listed = api.get("/api/approvals").await;
            let items = listed.data()["items"].as_array().expect("a list");
            assert!(items.iter().any(|item| item["id"] == id.as_str()), "{id}: {items:?}");
            return;
        }
        statuses.push(status);
    }
    panic!("no call was waiting: {statuses:?}");
}

#[tokio::test]
async fn approval_survives_a_crash() {
    let place = TestStorage::new();
    let settings = Settings::of(&place);
    let (upstream, url) = upstream().await;
    let (server, api) = settings.start().await;
    make(&api, pay(&url, json!({}))).await;
    let id = start_waiting_call(&api, 500).await;
    server.kill().await;
    let (server, api) = settings.start().await;
    assert_eq!(task(&api, &id).await["status"], "waiting");
    let approved = decide(&api, &id, json!({"decision": "approve", "arguments": {"amount": 200}})).await;
    assert_eq!(approved.status, 200, "{}", approved.body);
    wait_for_status(&api, &id, "succeeded").await;
    assert_eq!(upstream.seen().len(), 1);
    assert_eq!(upstream.seen()[0].json(), json!({"amount": 200}));
    drop(server);
}

#[tokio::test]
async fn link_allows_one_decision_without_login() {
    let (server, api) = start(&[]).await;
    let (upstream, url) = upstream().await;
    make(&api, pay(&url, json!({}))).await;
    let id = start_waiting_call(&api, 500).await;
    let created = api.post(&format!("/api/approvals/{id}/link"), &json!({})).await;
    assert_eq!(created.status, 200, "{}", created.body);
    let link = created.data()["url"].as_str().expect("an address").to_owned();
    let signature =
        link.strip_prefix(&format!("{}/approve/{id}?sig=", server.url)).expect("a link of this server");
    assert_eq!(created.data()["expiresAt"], {
        let until = api.get(&format!("/api/approvals/{id}")).await.data()["expiresAt"].clone();
        let second = until.as_str().expect("an instant").split('.').next().expect("seconds").to_owned();
        json!(format!("{second}.000Z"))
    });
    let anyone = Client::anonymous(&server.url);
    let path = format!("/api/approvals/{id}?sig={signature}");
    let shown = anyone.get(&path).await;
    assert_eq!(
        (shown.status, &shown.data()["arguments"], &shown.data()["status"]),
        (200, &json!({"amount": 500}), &json!("waiting")),
        "{}",
        shown.body
    );
    // The link gives access to this approval only, and the approval is inaccessible without it.
    let other = start_waiting_call(&api, 654_321).await;
    for (client, path) in [
        (&anyone, format!("/api/approvals/{other}?sig={signature}")),
        (&anyone, format!("/api/approvals/{id}?sig=A{signature}")),
        (&anyone, format!("/api/approvals/{id}?sig=")),
        (&anyone, format!("/api/approvals/{id}")),
        (&anyone, format!("/api/approvals?sig={signature}")),
        (&anyone, format!("/api/tasks/{id}?sig={signature}")),
        (&anyone, format!("/api/artifacts/{id}?sig={signature}")),
    ] {
        let refused = client.get(&path).await;
        assert!(matches!(refused.status, 400 | 401 | 404), "{path}: {}", refused.body);
        assert!(!refused.body.to_string().contains("654321"), "{path}");
    }
    assert_eq!(
        anyone
            .post(&format!("/api/approvals/{other}?sig={signature}"), &json!({"decision": "approve"}))
            .await
            .status,
        401
    );
    let bad = anyone.post(&path, &json!({"decision": "approve", "arguments": {"amount": "much"}})).await;
    assert_eq!(bad.status, 400, "{}", bad.body);
    let decision = json!({"decision": "approve", "arguments": {"amount": 50}, "note": "by mail"});
    let approved = anyone.post(&path, &decision).await;
    assert_eq!(approved.status, 200, "{}", approved.body);
    wait_for_status(&api, &id, "succeeded").await;
    assert_eq!(upstream.seen().last().expect("sent").json(), json!({"amount": 50}));
    assert_eq!(anyone.post(&path, &json!({"decision": "deny"})).await.status, 409, "once");
    let shown = api.get(&format!("/api/approvals/{id}")).await;
    assert_eq!(shown.data()["decision"]["byLink"], true, "{}", shown.body);
    assert!(shown.data()["decision"]["userId"].is_string(), "the user who created the link");
    assert_eq!(api.post(&format!("/api/approvals/{id}/link"), &json!({})).await.status, 409);
    let changes = api.get("/api/changes?limit=50").await.body.to_string();
    assert!(changes.contains("\"byLink\":true"), "{changes}");
}

#[tokio::test]
async fn changed_tool_and_retried_task_need_a_new_approval() {
    let (server, api) = start(&[]).await;
    let (upstream, url) = upstream().await;
    make(&api, pay(&url, json!({}))).await;
    let id = start_waiting_call(&api, 500).await;
    assert_eq!(api.post(&format!("/api/tasks/{id}/cancel"), &json!({})).await.status, 200);
    wait_for_status(&api, &id, "cancelled").await;
    assert_eq!(api.post(&format!("/api/tasks/{id}/retry"), &json!({})).await.status, 200);
    wait_for_status(&api, &id, "waiting").await;
    let created = api.post(&format!("/api/approvals/{id}/link"), &json!({})).await;
    let link = created.data()["url"].as_str().expect("an address").to_owned();
    let path = format!("/api/approvals/{id}?sig={}", link.split("sig=").nth(1).expect("a signature"));
    assert_eq!(api.put("/api/tools/pay", &pay(&url, json!({"description": "Pays more."}))).await.status, 200);
    // Version 1 was approved, but version 2 is current: it needs an approval, and the old link and version
    // are rejected.
    assert_eq!(decide(&api, &id, json!({"decision": "approve", "version": 1})).await.status, 200);
    eventually("an approval of the new version waits", async || {
        api.get(&format!("/api/approvals/{id}")).await.data()["version"] == 2
    })
    .await;
    let anyone = Client::anonymous(&server.url);
    assert_eq!(anyone.get(&path).await.status, 401);
    assert_eq!(anyone.post(&path, &json!({"decision": "approve"})).await.status, 401);
    assert_eq!(decide(&api, &id, json!({"decision": "approve", "version": 1})).await.status, 409);
    assert!(upstream.seen().is_empty());
    let decision = json!({"decision": "approve", "version": 2, "arguments": {"amount": 7}});
    assert_eq!(decide(&api, &id, decision).await.status, 200);
    wait_for_status(&api, &id, "succeeded").await;
    assert_eq!(upstream.seen().len(), 1);
    let changes = api.get("/api/changes?limit=50").await.body.to_string();
    assert!(changes.contains("\"edited\":true"), "{changes}");
}

#[tokio::test]
async fn link_is_invalid_when_its_creator_loses_the_rights() {
    let (server, api) = start(&[]).await;
    let (_upstream, url) = upstream().await;
    let mut people = Vec::new();
    for name in ["ada", "bob"] {
        let person = json!({"name": name, "password": "a long password 1"});
        assert_eq!(api.post("/api/users", &person).await.status, 201);
        let login = Client::anonymous(&server.url).post("/api/login", &person).await;
        let cookie = login.header("set-cookie").and_then(|set| set.split(';').next()).expect("a session");
        people.push(Client::anonymous(&server.url).with("cookie", cookie).with("origin", &server.url));
    }
    let team = people[0].post("/api/spaces", &json!({"name": "team"})).await;
    let space = team.data()["id"].as_str().expect("an id").to_owned();
    let member = format!("/api/spaces/{space}/members/bob");
    crate::invitations::join(&people[0], &people[1], &space, "bob", "editor").await;
    let [ada, bob] = [0, 1].map(|person: usize| people[person].with("haft-space", &space));
    make(&ada, pay(&url, json!({}))).await;
    let id = start_waiting_call(&ada, 500).await;
    let created = bob.post(&format!("/api/approvals/{id}/link"), &json!({})).await;
    assert_eq!(created.status, 200, "{}", created.body);
    let link = created.data()["url"].as_str().expect("an address").to_owned();
    let signature = link.split("sig=").nth(1).expect("a signature");
    let path = format!("/api/approvals/{id}?sig={signature}");
    let anyone = Client::anonymous(&server.url);
    assert_eq!(anyone.get(&path).await.status, 200);
    assert!(ada.put(&member, &json!({"role": "caller"})).await.status < 300);
    assert_eq!(anyone.get(&path).await.status, 401);
    assert_eq!(anyone.post(&path, &json!({"decision": "approve"})).await.status, 401);
    assert_eq!(task(&ada, &id).await["status"], "waiting");
}

#[tokio::test]
async fn approval_shows_secrets_masked_and_restores_them_on_execution() {
    let (_server, api) = start(&[]).await;
    let (upstream, url) = upstream().await;
    assert!(api.put("/api/secrets/key", &json!({"value": "s3cr3t-value"})).await.status < 300);
    let tool = json!({"name": "keyed", "description": "d", "url": url, "method": "POST", "policy": "ask",
                      "headers": {"X-Key": "secret://key"}, "config": {"redact": ["email"]},
                      "inputSchema": {"type": "object"}});
    make(&api, tool).await;
    let arguments = json!({"text": "it is s3cr3t-value", "n": 1, "email": "a@b.c"});
    let id = accepted_task(&execute(&api, "keyed", json!({"arguments": arguments})).await);
    let waits = wait_for_status(&api, &id, "waiting").await;
    assert_eq!(waits["arguments"], json!({"text": "it is ***", "n": 1, "email": "[redacted]"}));
    let shown = api.get(&format!("/api/approvals/{id}")).await;
    assert_eq!(shown.data()["arguments"], json!({"text": "it is ***", "n": 1, "email": "a@b.c"}));
    let edited = json!({"text": "it is ***", "n": 2, "email": "a@b.c"});
    let approved = decide(&api, &id, json!({"decision": "approve", "arguments": edited})).await;
    assert_eq!(approved.status, 200, "{}", approved.body);
    let done = wait_for_status(&api, &id, "succeeded").await;
    assert!(!done.to_string().contains("s3cr3t"), "{done}");
    let sent = upstream.seen().last().expect("sent").json();
    assert_eq!(sent, json!({"text": "it is s3cr3t-value", "n": 2, "email": "a@b.c"}));
    let shown = api.get(&format!("/api/approvals/{id}")).await;
    assert_eq!(shown.data()["decision"]["arguments"], edited, "{}", shown.body);
}

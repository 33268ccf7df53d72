//! Calls that a person is asked about: they wait, survive a restart, and go ahead as the person said.

use std::time::Duration;

use haft_testkit::{Client, Place, Reply, Upstream, eventually, json_reply};
use serde_json::{Value, json};

use crate::http_tools::start;
use crate::survival::Settings;
use crate::tasks::{execute, make, standing, taken, task};

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

async fn asked(api: &Client, amount: u32) -> String {
    let id = taken(&execute(api, "pay", json!({"arguments": {"amount": amount}})).await);
    standing(api, &id, "waiting").await;
    id
}

async fn decide(api: &Client, id: &str, said: Value) -> Reply {
    api.post(&format!("/api/approvals/{id}"), &said).await
}

#[tokio::test]
async fn a_person_approves_edits_or_denies() {
    let (_server, api) = start(&[]).await;
    let (upstream, url) = upstream().await;
    make(&api, pay(&url, json!({}))).await;
    let small = execute(&api, "pay", json!({"arguments": {"amount": 100}})).await;
    assert_eq!(small.status, 200, "nobody is asked about little: {}", small.body);
    let dry = execute(&api, "pay", json!({"arguments": {"amount": 500}, "options": {"dryRun": true}})).await;
    assert_eq!(
        (dry.status, &dry.data()["data"]["method"]),
        (200, &json!("POST")),
        "nor about nothing: {}",
        dry.body
    );
    let id = asked(&api, 500).await;
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
    // What does not fit is refused, and it still waits.
    let bad = decide(&api, &id, json!({"decision": "approve", "arguments": {"amount": "much"}})).await;
    assert_eq!(bad.status, 400, "{}", bad.body);
    assert_eq!(decide(&api, &id, json!({"decision": "perhaps"})).await.status, 400);
    assert_eq!(upstream.seen().len(), 1);
    let said = json!({"decision": "approve", "arguments": {"amount": 300}, "note": "less will do"});
    let approved = decide(&api, &id, said).await;
    assert_eq!(approved.status, 200, "{}", approved.body);
    let done = standing(&api, &id, "succeeded").await;
    assert_eq!(done["result"]["data"], json!({"paid": true}));
    assert_eq!(upstream.seen().last().expect("sent").json(), json!({"amount": 300}));
    assert_eq!(decide(&api, &id, json!({"decision": "approve"})).await.status, 409, "once");
    let shown = api.get(&format!("/api/approvals/{id}")).await;
    assert_eq!(
        (&shown.data()["status"], &shown.data()["decision"]["note"]),
        (&json!("approved"), &json!("less will do"))
    );
    // Denied: an answer that the caller sees.
    let id = asked(&api, 900).await;
    assert_eq!(decide(&api, &id, json!({"decision": "deny", "note": "too much"})).await.status, 200);
    let denied = standing(&api, &id, "failed").await;
    assert_eq!(denied["result"]["error"]["kind"], "Denied");
    assert_eq!(denied["result"]["error"]["message"], "pay was not approved: too much");
    assert_eq!(denied["deadLetter"], false);
    assert_eq!(upstream.seen().len(), 2, "nothing was sent");
    let changes = api.get("/api/changes?what=approval").await;
    assert_eq!(changes.data()["items"].as_array().expect("a list").len(), 2);
    eventually("the denied call is on record", async || {
        let rows = api.get("/api/tool-calls?kind=Denied").await;
        rows.data()["items"].as_array().expect("a list").len() == 1
    })
    .await;
}

#[tokio::test]
async fn a_caller_may_wait_and_nobody_may_answer() {
    let (_server, api) = start(&[]).await;
    let (upstream, url) = upstream().await;
    make(&api, pay(&url, json!({}))).await;
    let options = json!({"approvalTimeout": 1});
    let id = taken(&execute(&api, "pay", json!({"arguments": {"amount": 500}, "options": options})).await);
    let expired = standing(&api, &id, "failed").await;
    assert_eq!(expired["result"]["error"]["kind"], "Denied");
    assert!(
        expired["result"]["error"]["message"].as_str().expect("words").starts_with("nobody approved pay")
    );
    assert_eq!(decide(&api, &id, json!({"decision": "approve"})).await.status, 409);
    // The caller waits as long as it says.
    let waiting = async {
        let options = json!({"asyncAfter": 20});
        execute(&api, "pay", json!({"arguments": {"amount": 700}, "options": options})).await
    };
    let approving = async {
        let mut id = None;
        eventually("somebody is asked", async || {
            let listed = api.get("/api/approvals").await;
            id = listed.data()["items"][0]["id"].as_str().map(str::to_owned);
            id.is_some()
        })
        .await;
        decide(&api, &id.expect("an id"), json!({"decision": "approve"})).await
    };
    let (answered, approved) = tokio::join!(waiting, approving);
    assert_eq!(approved.status, 200, "{}", approved.body);
    assert_eq!(
        (answered.status, &answered.data()["data"]),
        (200, &json!({"paid": true})),
        "{}",
        answered.body
    );
    assert_eq!(upstream.seen().len(), 1);
    // Another version is another question.
    let id = asked(&api, 800).await;
    let changed = api
        .send_json(axum::http::Method::PATCH, "/api/tools/pay", &json!({"description": "Pays more."}))
        .await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    assert_eq!(decide(&api, &id, json!({"decision": "approve"})).await.status, 200);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(task(&api, &id).await["status"], "waiting");
    assert_eq!(upstream.seen().len(), 1);
    for (condition, policy, said) in [
        ("amount >", "ask", "askWhen"),
        ("amount > 1", "allow", "askWhen"),
        ("amount > 1", "block", "askWhen"),
    ] {
        let bad = api
            .post("/api/tools", &pay(&url, json!({"name": "bad", "askWhen": condition, "policy": policy})))
            .await;
        assert_eq!(bad.status, 400, "{}", bad.body);
        assert!(bad.body.to_string().contains(said), "{}", bad.body);
    }
}

#[tokio::test]
async fn accepted_call_says_waiting_and_its_approval_is_listed_at_once() {
    let (_server, api) = start(&[]).await;
    let (_upstream, url) = upstream().await;
    make(&api, pay(&url, json!({}))).await;
    // On a busy machine an accepted call may say `queued`, and its approval follows.
    let mut statuses = Vec::new();
    for amount in 500..520 {
        let accepted = execute(&api, "pay", json!({"arguments": {"amount": amount}})).await;
        let (id, status) = (taken(&accepted), accepted.data()["status"].clone());
        if status == "waiting" {
            let listed = api.get("/api/approvals").await;
            let items = listed.data()["items"].as_array().expect("a list");
            assert!(items.iter().any(|item| item["id"] == id.as_str()), "{id}: {items:?}");
            return;
        }
        statuses.push(status);
    }
    panic!("no call said that it waits: {statuses:?}");
}

#[tokio::test]
async fn an_approval_outlives_the_server() {
    let place = Place::new();
    let settings = Settings::of(&place);
    let (upstream, url) = upstream().await;
    let (server, api) = settings.start().await;
    make(&api, pay(&url, json!({}))).await;
    let id = asked(&api, 500).await;
    server.kill().await;
    let (server, api) = settings.start().await;
    assert_eq!(task(&api, &id).await["status"], "waiting");
    let approved = decide(&api, &id, json!({"decision": "approve", "arguments": {"amount": 200}})).await;
    assert_eq!(approved.status, 200, "{}", approved.body);
    standing(&api, &id, "succeeded").await;
    assert_eq!(upstream.seen().len(), 1);
    assert_eq!(upstream.seen()[0].json(), json!({"amount": 200}));
    drop(server);
}

#[tokio::test]
async fn a_link_lets_anyone_decide_once_who_holds_it() {
    let (server, api) = start(&[]).await;
    let (upstream, url) = upstream().await;
    make(&api, pay(&url, json!({}))).await;
    let id = asked(&api, 500).await;
    let made = api.post(&format!("/api/approvals/{id}/link"), &json!({})).await;
    assert_eq!(made.status, 200, "{}", made.body);
    let link = made.data()["url"].as_str().expect("an address").to_owned();
    let signature = link.strip_prefix(&format!("{}/approve/{id}?sig=", server.url)).expect("our own");
    assert_eq!(made.data()["expiresAt"], {
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
    // Nothing else is open by it, and without it nothing is.
    let other = asked(&api, 654_321).await;
    for (who, path) in [
        (&anyone, format!("/api/approvals/{other}?sig={signature}")),
        (&anyone, format!("/api/approvals/{id}?sig=A{signature}")),
        (&anyone, format!("/api/approvals/{id}?sig=")),
        (&anyone, format!("/api/approvals/{id}")),
        (&anyone, format!("/api/approvals?sig={signature}")),
        (&anyone, format!("/api/tasks/{id}?sig={signature}")),
        (&anyone, format!("/api/artifacts/{id}?sig={signature}")),
    ] {
        let refused = who.get(&path).await;
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
    let said = json!({"decision": "approve", "arguments": {"amount": 50}, "note": "by mail"});
    let approved = anyone.post(&path, &said).await;
    assert_eq!(approved.status, 200, "{}", approved.body);
    standing(&api, &id, "succeeded").await;
    assert_eq!(upstream.seen().last().expect("sent").json(), json!({"amount": 50}));
    assert_eq!(anyone.post(&path, &json!({"decision": "deny"})).await.status, 409, "once");
    let shown = api.get(&format!("/api/approvals/{id}")).await;
    assert_eq!(shown.data()["decision"]["byLink"], true, "{}", shown.body);
    assert!(shown.data()["decision"]["userId"].is_string(), "in the place of whoever made the link");
    assert_eq!(api.post(&format!("/api/approvals/{id}/link"), &json!({})).await.status, 409);
    let noted = api.get("/api/changes?limit=50").await.body.to_string();
    assert!(noted.contains("\"byLink\":true"), "{noted}");
}

#[tokio::test]
async fn a_changed_tool_is_another_question_and_one_that_was_cancelled_is_asked_again() {
    let (server, api) = start(&[]).await;
    let (upstream, url) = upstream().await;
    make(&api, pay(&url, json!({}))).await;
    let id = asked(&api, 500).await;
    assert_eq!(api.post(&format!("/api/tasks/{id}/cancel"), &json!({})).await.status, 200);
    standing(&api, &id, "cancelled").await;
    assert_eq!(api.post(&format!("/api/tasks/{id}/retry"), &json!({})).await.status, 200);
    standing(&api, &id, "waiting").await;
    let made = api.post(&format!("/api/approvals/{id}/link"), &json!({})).await;
    let link = made.data()["url"].as_str().expect("an address").to_owned();
    let path = format!("/api/approvals/{id}?sig={}", link.split("sig=").nth(1).expect("a signature"));
    assert_eq!(api.put("/api/tools/pay", &pay(&url, json!({"description": "Pays more."}))).await.status, 200);
    // What was approved was another version: it is asked again, and neither the old link nor an old page answers.
    assert_eq!(decide(&api, &id, json!({"decision": "approve", "version": 1})).await.status, 200);
    eventually("the new version is asked about", async || {
        api.get(&format!("/api/approvals/{id}")).await.data()["version"] == 2
    })
    .await;
    let anyone = Client::anonymous(&server.url);
    assert_eq!(anyone.get(&path).await.status, 401);
    assert_eq!(anyone.post(&path, &json!({"decision": "approve"})).await.status, 401);
    assert_eq!(decide(&api, &id, json!({"decision": "approve", "version": 1})).await.status, 409);
    assert!(upstream.seen().is_empty());
    let said = json!({"decision": "approve", "version": 2, "arguments": {"amount": 7}});
    assert_eq!(decide(&api, &id, said).await.status, 200);
    standing(&api, &id, "succeeded").await;
    assert_eq!(upstream.seen().len(), 1);
    let noted = api.get("/api/changes?limit=50").await.body.to_string();
    assert!(noted.contains("\"edited\":true"), "{noted}");
}

#[tokio::test]
async fn a_link_ends_with_the_rights_of_whoever_made_it() {
    let (server, api) = start(&[]).await;
    let (_upstream, url) = upstream().await;
    let mut people = Vec::new();
    for name in ["ada", "bob"] {
        let person = json!({"name": name, "password": "a long password 1"});
        assert_eq!(api.post("/api/users", &person).await.status, 201);
        let entered = Client::anonymous(&server.url).post("/api/login", &person).await;
        let cookie = entered.header("set-cookie").and_then(|set| set.split(';').next()).expect("a session");
        people.push(Client::anonymous(&server.url).with("cookie", cookie).with("origin", &server.url));
    }
    let team = people[0].post("/api/spaces", &json!({"name": "team"})).await;
    let space = team.data()["id"].as_str().expect("an id").to_owned();
    let member = format!("/api/spaces/{space}/members/bob");
    crate::invitations::join(&people[0], &people[1], &space, "bob", "editor").await;
    let [ada, bob] = [0, 1].map(|person: usize| people[person].with("haft-space", &space));
    make(&ada, pay(&url, json!({}))).await;
    let id = asked(&ada, 500).await;
    let made = bob.post(&format!("/api/approvals/{id}/link"), &json!({})).await;
    assert_eq!(made.status, 200, "{}", made.body);
    let link = made.data()["url"].as_str().expect("an address").to_owned();
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
async fn what_a_person_is_shown_holds_no_secret_and_stays_what_it_is() {
    let (_server, api) = start(&[]).await;
    let (upstream, url) = upstream().await;
    assert!(api.put("/api/secrets/key", &json!({"value": "s3cr3t-value"})).await.status < 300);
    let tool = json!({"name": "keyed", "description": "d", "url": url, "method": "POST", "policy": "ask",
                      "headers": {"X-Key": "secret://key"}, "config": {"redact": ["email"]},
                      "inputSchema": {"type": "object"}});
    make(&api, tool).await;
    let arguments = json!({"text": "it is s3cr3t-value", "n": 1, "email": "a@b.c"});
    let id = taken(&execute(&api, "keyed", json!({"arguments": arguments})).await);
    let waits = standing(&api, &id, "waiting").await;
    assert_eq!(waits["arguments"], json!({"text": "it is ***", "n": 1, "email": "[redacted]"}));
    let shown = api.get(&format!("/api/approvals/{id}")).await;
    assert_eq!(shown.data()["arguments"], json!({"text": "it is ***", "n": 1, "email": "a@b.c"}));
    let edited = json!({"text": "it is ***", "n": 2, "email": "a@b.c"});
    let said = decide(&api, &id, json!({"decision": "approve", "arguments": edited})).await;
    assert_eq!(said.status, 200, "{}", said.body);
    let done = standing(&api, &id, "succeeded").await;
    assert!(!done.to_string().contains("s3cr3t"), "{done}");
    let sent = upstream.seen().last().expect("sent").json();
    assert_eq!(sent, json!({"text": "it is s3cr3t-value", "n": 2, "email": "a@b.c"}));
    let shown = api.get(&format!("/api/approvals/{id}")).await;
    assert_eq!(shown.data()["decision"]["arguments"], edited, "{}", shown.body);
}

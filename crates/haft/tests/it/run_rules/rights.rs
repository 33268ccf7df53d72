//! Permissions and secrets of a task: those of the user it runs for, while that user has them.

use std::sync::Arc;

use axum::http::Method;
use haft_testkit::{
    Client, FakeDialect, HaftProcess, ModelReply, ModelServer, RecordedModelRequest, TestStorage, Upstream,
    eventually, json_reply,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{decide, items, payment_tool};
use crate::http_tools::start;
use crate::invitations::join;
use crate::survival::Settings;
use crate::tasks::{accepted_task, execute, make, task, wait_for_status};

/// A space that Ada administers and Bob is an editor of.
struct Team {
    _server: HaftProcess,
    anyone: Client,
    operator: Client,
    space: String,
    ada: Client,
    bob: Client,
    /// Bob in no space, who can accept an invitation.
    invited: Client,
}

impl Team {
    async fn new() -> Self {
        let (server, operator) = start(&[]).await;
        Self::on(server, operator).await
    }

    async fn on(server: HaftProcess, operator: Client) -> Self {
        let mut people = Vec::new();
        for name in ["ada", "bob"] {
            let person = json!({"name": name, "password": "a long password 1"});
            assert_eq!(operator.post("/api/users", &person).await.status, 201);
            let entered = Client::anonymous(&server.url).post("/api/login", &person).await;
            let cookie =
                entered.header("set-cookie").and_then(|set| set.split(';').next()).expect("a session");
            people.push(Client::anonymous(&server.url).with("cookie", cookie).with("origin", &server.url));
        }
        let made = people[0].post("/api/spaces", &json!({"name": "team"})).await;
        let space = made.data()["id"].as_str().expect("an id").to_owned();
        let [ada, bob] = [0, 1].map(|person: usize| people[person].with("haft-space", &space));
        let anyone = Client::anonymous(&server.url);
        let invited = people[1].clone();
        let team = Self { _server: server, anyone, operator, space, ada, bob, invited };
        team.set_role("editor").await;
        team
    }

    /// Sets Bob's role, and makes him a member if he is none.
    async fn set_role(&self, role: &str) {
        join(&self.ada, &self.invited, &self.space, "bob", role).await;
    }

    async fn set_active(&self, is_active: bool) {
        let users = items(&self.operator.get("/api/users").await);
        let bob = users.iter().find(|user| user["name"] == "bob").expect("bob")["id"].clone();
        let path = format!("/api/users/{}", bob.as_str().expect("an id"));
        let changed = self.operator.send_json(Method::PATCH, &path, &json!({"isActive": is_active})).await;
        assert_eq!(changed.status, 200, "{}", changed.body);
    }

    /// Makes a call of Bob's that waits for an approval.
    async fn bobs_payment(&self) -> String {
        let id = accepted_task(&execute(&self.bob, "pay", json!({"arguments": {"amount": 7}})).await);
        wait_for_status(&self.ada, &id, "waiting").await;
        id
    }
}

#[tokio::test]
async fn approval_link_of_a_deactivated_user_decides_nothing() {
    let team = Team::new().await;
    let (upstream, tool) = payment_tool().await;
    make(&team.ada, tool).await;
    let id = team.bobs_payment().await;
    let made = team.bob.post(&format!("/api/approvals/{id}/link"), &json!({})).await;
    assert_eq!(made.status, 200, "{}", made.body);
    let link = made.data()["url"].as_str().expect("an address").to_owned();
    let path = format!("/api/approvals/{id}?sig={}", link.split("sig=").nth(1).expect("a signature"));
    assert_eq!(team.anyone.get(&path).await.status, 200);
    team.set_active(false).await;
    for refused in [
        team.anyone.get(&path).await,
        team.anyone.post(&path, &json!({"decision": "approve"})).await,
        team.anyone.post(&path, &json!({"decision": "deny"})).await,
    ] {
        assert_eq!(refused.status, 401, "{}", refused.body);
    }
    assert_eq!(task(&team.ada, &id).await["status"], "waiting");
    assert!(upstream.seen().is_empty());
    // A deactivated member is still listed, and can be removed.
    let removed = team.ada.delete(&format!("/api/spaces/{}/members/bob", team.space)).await;
    assert!(removed.status < 300, "{}", removed.body);
}

#[tokio::test]
async fn nothing_is_sent_for_a_user_who_lost_the_permission_to_call() {
    let team = Team::new().await;
    let (upstream, pay) = payment_tool().await;
    make(&team.ada, pay).await;
    let own = json!({"name": "own", "description": "d", "url": upstream.url("/"), "method": "POST",
                     "headers": {"X-Own": "secret://me/key"}});
    make(&team.ada, own).await;
    let kept = team.bob.put("/api/secrets/key?owner=me", &json!({"value": "key-of-bob"})).await;
    assert_eq!(kept.status, 200, "{}", kept.body);
    for lost in ["active", "role", "membership"] {
        let approved = team.bobs_payment().await;
        let delayed = accepted_task(&execute(&team.bob, "own", json!({"options": {"delay": 3}})).await);
        let retried = accepted_task(&execute(&team.bob, "pay", json!({"options": {"delay": 600}})).await);
        match lost {
            "active" => team.set_active(false).await,
            "role" => team.set_role("viewer").await,
            _ => {
                let removed = team.ada.delete(&format!("/api/spaces/{}/members/bob", team.space)).await;
                assert!(removed.status < 300, "{}", removed.body);
            }
        }
        assert_eq!(decide(&team.ada, &approved, json!({"decision": "approve"})).await.status, 200);
        for act in ["cancel", "retry"] {
            let path = format!("/api/tasks/{retried}/{act}");
            let done = team.ada.post(&path, &json!({})).await;
            assert_eq!(done.status, 200, "{}", done.body);
        }
        for id in [&approved, &delayed, &retried] {
            let ended = wait_for_status(&team.ada, id, "failed").await;
            let error = &ended["result"]["error"];
            assert_eq!((&error["kind"], &ended["deadLetter"]), (&json!("Denied"), &json!(false)), "{ended}");
            let message = error["message"].as_str().expect("a text");
            assert!(message.starts_with("The user who started this may no longer call tools"), "{message}");
        }
        let call = task(&team.ada, &delayed).await["callId"].as_str().expect("an id").to_owned();
        eventually("the denial is logged", async || {
            team.ada.get(&format!("/api/tool-calls/{call}")).await.data()["error"]["kind"] == "Denied"
        })
        .await;
        team.set_active(true).await;
        team.set_role("editor").await;
    }
    assert!(upstream.seen().is_empty(), "{:?}", upstream.seen());
    // With his role back, Bob can approve a call.
    let id = accepted_task(&execute(&team.ada, "pay", json!({})).await);
    wait_for_status(&team.ada, &id, "waiting").await;
    assert_eq!(decide(&team.bob, &id, json!({"decision": "approve"})).await.status, 200);
    wait_for_status(&team.ada, &id, "succeeded").await;
}

#[tokio::test]
async fn turn_of_a_deactivated_user_requests_no_model_when_a_task_wakes_it() {
    let place = TestStorage::new();
    let log = std::env::temp_dir().join(format!("haft-rights-{}.log", std::process::id()));
    let settings = Settings::of(&place);
    let (server, operator) = settings.start_behind("exec 2>\"$1\"", log.to_str().expect("a path")).await;
    let team = Team::on(server, operator).await;
    let model = ModelServer::start(async |asked: RecordedModelRequest| match asked.results().is_empty() {
        true => ModelReply::calls([("report", json!({}))]),
        false => ModelReply::says("It is on its way."),
    })
    .await;
    let may_answer = Arc::new(Semaphore::new(0));
    let gate = may_answer.clone();
    let upstream = Upstream::start_async(move |_| {
        let gate = gate.clone();
        async move {
            gate.acquire().await.expect("open").forget();
            json_reply(200, &json!({"temperature": 4}))
        }
    })
    .await;
    make(&team.ada, json!({"name": "report", "description": "d", "url": upstream.url("/"), "async": true}))
        .await;
    let provider = json!({"name": "models", "kind": "openai", "baseUrl": model.base(FakeDialect::Openai), "apiKey": "k"});
    assert_eq!(team.ada.post("/api/providers", &provider).await.status, 201);
    let agent = json!({"name": "clerk", "systemPrompt": "Be brief.", "toolIds": ["report"],
                       "config": {"provider": "models", "model": "test-model"}});
    let made = team.ada.post("/api/agents", &agent).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let body = json!({"agentId": "clerk", "messages": [{"role": "user", "content": "A report, please."}]});
    let reply = team.bob.post("/api/chat", &body).await;
    assert_eq!(reply.data()["message"]["content"], "It is on its way.", "{}", reply.body);
    let asked = model.seen().len();
    team.set_active(false).await;
    may_answer.add_permits(1);
    let refused = "The user who started this may no longer call tools";
    eventually("the turn has failed", async || {
        std::fs::read_to_string(&log).expect("a log").contains(refused)
    })
    .await;
    assert_eq!(model.seen().len(), asked, "no request reached a model");
    team.set_active(true).await;
    let id = reply.data()["conversationId"].as_str().expect("an id");
    let read = team.bob.get(&format!("/api/conversations/{id}")).await;
    let last = read.data()["turns"].as_array().and_then(|turns| turns.last()).expect("a turn").clone();
    assert_eq!(
        (&last["finishReason"], &last["error"]["kind"]),
        (&json!("error"), &json!("Denied")),
        "{last}"
    );
    let _ = std::fs::remove_file(log);
    // With his permissions back, Bob can continue the conversation.
    let again = json!({"conversationId": id, "messages": [{"role": "user", "content": "And now?"}]});
    let reply = team.bob.post("/api/chat", &again).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
}

#[tokio::test]
async fn only_the_user_of_a_task_can_retry_it_with_personal_secrets() {
    let team = Team::new().await;
    let upstream = Upstream::start(|_| json_reply(400, &json!({}))).await;
    let mut own = json!({"name": "pay", "description": "d", "url": upstream.url("/"), "method": "POST",
                         "headers": {"X-Own": "secret://me/key"}});
    make(&team.ada, own.clone()).await;
    for (client, value) in [(&team.ada, "key-of-ada"), (&team.bob, "key-of-bob")] {
        let kept = client.put("/api/secrets/key?owner=me", &json!({"value": value})).await;
        assert_eq!(kept.status, 200, "{}", kept.body);
    }
    let id = accepted_task(&execute(&team.bob, "pay", json!({"options": {"mode": "async"}})).await);
    wait_for_status(&team.ada, &id, "failed").await;
    let retry =
        async |client: &Client, id: &str| client.post(&format!("/api/tasks/{id}/retry"), &json!({})).await;
    let refused = retry(&team.ada, &id).await;
    assert_eq!((refused.status, refused.kind()), (403, "Permission"), "{}", refused.body);
    let expected = "pay uses secrets of the user who started the task, so only that user can retry it";
    assert!(refused.message().starts_with(expected), "{}", refused.message());
    assert_eq!(upstream.seen().len(), 1);
    assert_eq!(task(&team.ada, &id).await["status"], "failed", "the task is unchanged");
    assert_eq!(retry(&team.bob, &id).await.status, 200);
    eventually("Bob's retry is sent", async || upstream.seen().len() == 2).await;
    wait_for_status(&team.ada, &id, "failed").await;
    let keys: Vec<_> = upstream.seen().iter().map(|seen| seen.header("x-own").map(str::to_owned)).collect();
    assert_eq!(keys, [Some("key-of-bob".to_owned()), Some("key-of-bob".to_owned())]);

    // Others can retry a task whose tool uses no personal secrets. The task is denied if the tool uses them
    // later.
    let (_, plain) = payment_tool().await;
    for field in ["policy", "inputSchema"] {
        own[field] = plain[field].clone();
    }
    assert_eq!(team.ada.put("/api/tools/pay", &plain).await.status, 200);
    let id = team.bobs_payment().await;
    assert_eq!(team.ada.post(&format!("/api/tasks/{id}/cancel"), &json!({})).await.status, 200);
    wait_for_status(&team.ada, &id, "cancelled").await;
    let again = retry(&team.ada, &id).await;
    assert_eq!(again.status, 200, "{}", again.body);
    wait_for_status(&team.ada, &id, "waiting").await;
    assert_eq!(team.ada.put("/api/tools/pay", &own).await.status, 200);
    assert_eq!(decide(&team.ada, &id, json!({"decision": "approve"})).await.status, 200);
    let ended = wait_for_status(&team.ada, &id, "failed").await;
    let error: &Value = &ended["result"]["error"];
    assert_eq!(error["kind"], "Denied", "{ended}");
    assert!(error["message"].as_str().expect("a text").starts_with(expected), "{ended}");
    assert_eq!(upstream.seen().len(), 2);
}

//! Two servers share one PostgreSQL database: both can read, continue and cancel each other's conversations.

use std::sync::Arc;
use std::time::Duration;

use haft_testkit::{Client, HaftProcess, ModelReply, ModelServer, RecordedModelRequest, eventually};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{asking, user};
use crate::survival::Settings;
use crate::survival::database::Database;

/// Two servers, their model server, and the permits for its responses.
struct ServerPair {
    /// The servers, dropped before the database that they use.
    _servers: [HaftProcess; 2],
    first_api: Client,
    second_api: Client,
    model: ModelServer,
    permits: Arc<Semaphore>,
    _database: Database,
}

impl ServerPair {
    async fn new() -> Option<Self> {
        let database = Database::new()?;
        let permits = Arc::new(Semaphore::new(0));
        let held = permits.clone();
        let model = ModelServer::start(move |request: RecordedModelRequest| {
            let held = held.clone();
            async move { ModelReply::says(format!("Of {}.", request.user_text())).hold_until(held) }
        })
        .await;
        let settings = asking(Settings::sharing(&database.url()), &model);
        let ((first, first_api), (second, second_api)) = (settings.start().await, settings.start().await);
        let agent = json!({"name": "clerk", "config": {"provider": "openai", "model": "test-model"}});
        assert_eq!(first_api.post("/api/agents", &agent).await.status, 201);
        Some(Self { _servers: [first, second], first_api, second_api, model, permits, _database: database })
    }

    /// Starts a conversation on the first server and waits until the model receives its request.
    async fn start_conversation(&self) -> String {
        let body = json!({"agentId": "clerk", "messages": [user("one")], "detach": true});
        let started = self.first_api.post("/api/chat", &body).await;
        assert_eq!(started.status, 202, "{}", started.body);
        eventually("the model receives the request", async || self.model.under_way() == 1).await;
        started.data()["conversationId"].as_str().expect("an id").to_owned()
    }
}

async fn turns(api: &Client, id: &str) -> Vec<Value> {
    let read = api.get(&format!("/api/conversations/{id}")).await;
    assert_eq!(read.status, 200, "{}", read.body);
    read.data()["turns"].as_array().expect("turns").clone()
}

#[tokio::test]
async fn message_to_the_other_server_gets_a_response() {
    let Some(pair) = ServerPair::new().await else { return };
    let id = pair.start_conversation().await;
    let read = pair.second_api.get(&format!("/api/conversations/{id}")).await;
    assert_eq!(read.data()["status"], "running", "{}", read.body);
    let body = json!({"conversationId": id, "messages": [user("two")]});
    let answer = async { pair.second_api.post("/api/chat", &body).await };
    let release = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        pair.permits.add_permits(100_000);
    };
    let (reply, ()) = tokio::join!(answer, release);
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!((&reply.data()["turn"], &reply.data()["message"]["content"]), (&json!(2), &json!("Of two.")));
    for api in [&pair.first_api, &pair.second_api] {
        let turns = turns(api, &id).await;
        let texts: Vec<&Value> = turns.iter().map(|turn| &turn["message"]["content"]).collect();
        assert_eq!(texts, ["Of one.", "Of two."]);
    }
    assert_eq!(pair.model.refused(), Vec::<String>::new());
}

#[tokio::test]
async fn turn_is_cancelled_from_the_other_server() {
    let Some(pair) = ServerPair::new().await else { return };
    let id = pair.start_conversation().await;
    let stopped = pair.second_api.post(&format!("/api/conversations/{id}/cancel"), &json!({})).await;
    assert_eq!(stopped.status, 200, "{}", stopped.body);
    for api in [&pair.first_api, &pair.second_api] {
        eventually("the turn is over", async || {
            turns(api, &id).await.first().is_some_and(|turn| turn["finishReason"] == "cancelled")
        })
        .await;
    }
    eventually("no model request is running", async || pair.model.under_way() == 0).await;
}

#[tokio::test]
async fn agent_change_reaches_the_other_server() {
    let Some(pair) = ServerPair::new().await else { return };
    pair.permits.add_permits(100_000);
    let ask = async |api: &Client| {
        let reply = api.post("/api/chat", &json!({"agentId": "clerk", "messages": [user("x")]})).await;
        (reply.status, reply.kind().to_owned())
    };
    assert_eq!((ask(&pair.first_api).await.0, ask(&pair.second_api).await.0), (200, 200));
    let off = crate::agents::patch(&pair.first_api, "/api/agents/clerk", &json!({"isActive": false})).await;
    assert_eq!(off.status, 200, "{}", off.body);
    assert_eq!(ask(&pair.first_api).await.1, "ToolDisabled", "at once on the first server");
    eventually("later on the other server", async || ask(&pair.second_api).await.1 == "ToolDisabled").await;
}

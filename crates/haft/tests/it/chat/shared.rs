//! Two servers on one PostgreSQL: a conversation is the same at both, whoever carries its turn on.

use std::sync::Arc;
use std::time::Duration;

use haft_testkit::{AskedModel, Client, HaftProcess, ModelReply, ModelServer, eventually};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{asking, user};
use crate::survival::Settings;
use crate::survival::database::Database;

/// Two servers, the model that both ask, and what lets it answer.
struct Pair {
    /// Dropped first, so that nobody uses the database when it goes.
    _servers: [HaftProcess; 2],
    here: Client,
    there: Client,
    model: ModelServer,
    permits: Arc<Semaphore>,
    _database: Database,
}

impl Pair {
    async fn new() -> Option<Self> {
        let database = Database::new()?;
        let permits = Arc::new(Semaphore::new(0));
        let held = permits.clone();
        let model = ModelServer::start(move |asked: AskedModel| {
            let held = held.clone();
            async move { ModelReply::says(format!("Of {}.", asked.user_text())).hold(held) }
        })
        .await;
        let settings = asking(Settings::sharing(&database.url()), &model);
        let ((first, here), (second, there)) = (settings.start().await, settings.start().await);
        let agent = json!({"name": "clerk", "config": {"provider": "openai", "model": "test-model"}});
        assert_eq!(here.post("/api/agents", &agent).await.status, 201);
        Some(Self { _servers: [first, second], here, there, model, permits, _database: database })
    }

    /// A conversation whose first turn is under way at the first of them.
    async fn begun(&self) -> String {
        let body = json!({"agentId": "clerk", "messages": [user("one")], "detach": true});
        let begun = self.here.post("/api/chat", &body).await;
        assert_eq!(begun.status, 202, "{}", begun.body);
        eventually("the model is asked", async || self.model.under_way() == 1).await;
        begun.data()["conversationId"].as_str().expect("an id").to_owned()
    }
}

async fn turns(api: &Client, id: &str) -> Vec<Value> {
    let read = api.get(&format!("/api/conversations/{id}")).await;
    assert_eq!(read.status, 200, "{}", read.body);
    read.data()["turns"].as_array().expect("turns").clone()
}

#[tokio::test]
async fn what_is_said_at_one_is_answered_wherever_the_conversation_is() {
    let Some(pair) = Pair::new().await else { return };
    let id = pair.begun().await;
    let read = pair.there.get(&format!("/api/conversations/{id}")).await;
    assert_eq!(read.data()["status"], "running", "{}", read.body);
    let body = json!({"conversationId": id, "messages": [user("two")]});
    let asked = async { pair.there.post("/api/chat", &body).await };
    let let_go = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        pair.permits.add_permits(100_000);
    };
    let (answered, ()) = tokio::join!(asked, let_go);
    assert_eq!(answered.status, 200, "{}", answered.body);
    assert_eq!(
        (&answered.data()["turn"], &answered.data()["message"]["content"]),
        (&json!(2), &json!("Of two."))
    );
    for api in [&pair.here, &pair.there] {
        let turns = turns(api, &id).await;
        let said: Vec<&Value> = turns.iter().map(|turn| &turn["message"]["content"]).collect();
        assert_eq!(said, ["Of one.", "Of two."]);
    }
    assert_eq!(pair.model.refused(), Vec::<String>::new());
}

#[tokio::test]
async fn a_turn_is_stopped_from_wherever_somebody_says_so() {
    let Some(pair) = Pair::new().await else { return };
    let id = pair.begun().await;
    let stopped = pair.there.post(&format!("/api/conversations/{id}/cancel"), &json!({})).await;
    assert_eq!(stopped.status, 200, "{}", stopped.body);
    for api in [&pair.here, &pair.there] {
        eventually("the turn is over", async || {
            turns(api, &id).await.first().is_some_and(|turn| turn["finishReason"] == "cancelled")
        })
        .await;
    }
    eventually("nobody asks the model any more", async || pair.model.under_way() == 0).await;
}

#[tokio::test]
async fn an_agent_that_is_changed_at_one_is_so_at_the_other() {
    let Some(pair) = Pair::new().await else { return };
    pair.permits.add_permits(100_000);
    let ask = async |api: &Client| {
        let reply = api.post("/api/chat", &json!({"agentId": "clerk", "messages": [user("x")]})).await;
        (reply.status, reply.kind().to_owned())
    };
    assert_eq!((ask(&pair.here).await.0, ask(&pair.there).await.0), (200, 200));
    let off = crate::agents::patch(&pair.here, "/api/agents/clerk", &json!({"isActive": false})).await;
    assert_eq!(off.status, 200, "{}", off.body);
    assert_eq!(ask(&pair.here).await.1, "ToolDisabled", "at once where it was said");
    eventually("so at the other", async || ask(&pair.there).await.1 == "ToolDisabled").await;
}

//! The provider of `web_search`: set by an agent's binding, neither shown to models nor taken from them.

use haft_testkit::{AskedModel, Dialect, ModelReply};
use serde_json::json;

use crate::chat::{Desk, said};

#[tokio::test]
async fn a_model_is_neither_shown_the_provider_of_a_search_nor_may_it_choose_one() {
    let desk = Desk::new(async |asked: AskedModel| match (asked.results().first(), asked.user_text()) {
        (Some(result), _) => ModelReply::says(&result.content),
        (None, "choose") => {
            ModelReply::calls([("web_search", json!({"query": "haft", "provider": "brave"}))])
        }
        (None, _) => ModelReply::calls([("web_search", json!({"query": "haft"}))]),
    })
    .await;
    for dialect in Dialect::ALL {
        let agent = desk.agent(dialect, &["web_search"], json!({})).await;
        let reply = desk.ask(&agent, "choose").await;
        assert!(said(&reply).contains("provider") && said(&reply).contains("binding only"), "{}", reply.body);
        let asked = desk.model.seen().pop().expect("a question");
        let schema = &asked.tools[0].schema;
        assert!(schema["properties"]["query"].is_object(), "{dialect:?}: {schema}");
        assert!(!schema.to_string().contains("provider"), "{dialect:?}: {schema}");
        let shown = desk.api.get(&format!("/api/agents/{agent}/tools?effective=true")).await.body.to_string();
        assert!(shown.contains("maxResults") && !shown.contains("searxng"), "{shown}");
        // The binding's provider is asked: it is not configured, and says so.
        let tools = json!({"toolId": "web_search", "toolConfig": {"$fixed": {"provider": "searxng"}}});
        let bound = desk.api.post(&format!("/api/agents/{agent}/tools"), &tools).await;
        assert!(bound.status < 300, "{}", bound.body);
        let reply = desk.ask(&agent, "search").await;
        assert!(said(&reply).contains("SearXNG not configured"), "{}", reply.body);
    }
    desk.check();
}

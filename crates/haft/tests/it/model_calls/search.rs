//! The provider of `web_search` is set by an agent's binding; models neither see it nor choose it.

use haft_testkit::{FakeDialect, ModelReply, RecordedModelRequest};
use serde_json::json;

use crate::chat::{Desk, final_text};

#[tokio::test]
async fn model_neither_sees_nor_chooses_the_search_provider() {
    let desk =
        Desk::new(async |asked: RecordedModelRequest| match (asked.results().first(), asked.user_text()) {
            (Some(result), _) => ModelReply::says(&result.content),
            (None, "choose") => {
                ModelReply::calls([("web_search", json!({"query": "haft", "provider": "brave"}))])
            }
            (None, _) => ModelReply::calls([("web_search", json!({"query": "haft"}))]),
        })
        .await;
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &["web_search"], json!({})).await;
        let reply = desk.ask(&agent, "choose").await;
        assert!(
            final_text(&reply).contains("provider") && final_text(&reply).contains("binding only"),
            "{}",
            reply.body
        );
        let asked = desk.model.seen().pop().expect("a question");
        let schema = &asked.tools[0].schema;
        assert!(schema["properties"]["query"].is_object(), "{dialect:?}: {schema}");
        assert!(!schema.to_string().contains("provider"), "{dialect:?}: {schema}");
        let shown = desk.api.get(&format!("/api/agents/{agent}/tools?effective=true")).await.body.to_string();
        assert!(shown.contains("maxResults") && !shown.contains("searxng"), "{shown}");
        // The provider of the binding is used. It is not configured, so the call fails.
        let tools = json!({"toolId": "web_search", "toolConfig": {"$fixed": {"provider": "searxng"}}});
        let bound = desk.api.post(&format!("/api/agents/{agent}/tools"), &tools).await;
        assert!(bound.status < 300, "{}", bound.body);
        let reply = desk.ask(&agent, "search").await;
        assert!(final_text(&reply).contains("SearXNG not configured"), "{}", reply.body);
    }
    desk.check();
}

//! Conversations whose tools and model echo their input.

use serde_json::{Value, json};

use super::Scene;

impl Scene {
    /// Runs a conversation that calls every tool, with and without streaming; one with a provider that is no
    /// model server; and several with the echo model.
    pub(super) async fn run_conversations(&mut self) {
        let calls: Vec<Value> =
            self.tools.iter().map(|tool| json!({"name": tool, "arguments": {}})).collect();
        let script =
            json!([{"toolCalls": calls}, {"text": "Well."}, {"toolCalls": calls}, {"text": "Well."}]);
        let provider = json!({"name": "script", "kind": "scripted", "script": script});
        assert_eq!(self.post("/api/providers", &provider).await.status, 201);
        let agent = json!({"name": "caller", "toolIds": self.tools, "config": {"provider": "script"}});
        assert_eq!(self.post("/api/agents", &agent).await.status, 201);
        let messages = json!([{"role": "user", "content": "All of them."}]);
        let reply = self.post("/api/chat", &json!({"agentId": "caller", "messages": messages})).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert!(reply.body.to_string().contains("***"), "the tools echo: {}", reply.body);
        self.conversation = reply.data()["conversationId"].as_str().expect("an id").to_owned();
        let again = json!({"conversationId": self.conversation, "messages": messages, "stream": true});
        let events = self.api.post_for_events("/api/chat", &again).await.remaining_text().await;
        assert!(events.contains("event: done"), "{events}");
        self.watch.search("the events of a turn", &events);
        let echoed = self.post("/api/chat", &json!({"provider": "openai", "messages": messages})).await;
        assert!(echoed.status >= 400, "an echo is no valid response: {}", echoed.body);
        let body = json!({"model": "openai/m", "messages": messages});
        let echoed = self.post("/v1/chat/completions", &body).await;
        assert!(echoed.status >= 400, "an echo is no valid response: {}", echoed.body);
        self.run_echo_model().await;
    }
}

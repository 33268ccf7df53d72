//! A conversation whose tools and whose model echo all that they were given.

use serde_json::{Value, json};

use super::Scene;

impl Scene {
    /// A conversation in which every tool is called, answered whole and as it comes; one with what
    /// is no model; and some with one that says all that it was sent.
    pub(super) async fn talk(&mut self) {
        let calls: Vec<Value> =
            self.tools.iter().map(|tool| json!({"name": tool, "arguments": {}})).collect();
        let script =
            json!([{"toolCalls": calls}, {"text": "Well."}, {"toolCalls": calls}, {"text": "Well."}]);
        let provider = json!({"name": "teller", "kind": "scripted", "script": script});
        assert_eq!(self.post("/api/providers", &provider).await.status, 201);
        let agent = json!({"name": "talker", "toolIds": self.tools, "config": {"provider": "teller"}});
        assert_eq!(self.post("/api/agents", &agent).await.status, 201);
        let said = json!([{"role": "user", "content": "All of them."}]);
        let reply = self.post("/api/chat", &json!({"agentId": "talker", "messages": said})).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert!(reply.body.to_string().contains("***"), "the tools echo: {}", reply.body);
        self.conversation = reply.data()["conversationId"].as_str().expect("an id").to_owned();
        let again = json!({"conversationId": self.conversation, "messages": said, "stream": true});
        let events = self.api.post_for_events("/api/chat", &again).await.rest().await;
        assert!(events.contains("event: done"), "{events}");
        self.watch.look("the events of a turn", &events);
        let echoed = self.post("/api/chat", &json!({"provider": "openai", "messages": said})).await;
        assert!(echoed.status >= 400, "an echo is no model: {}", echoed.body);
        let question = json!({"model": "openai/m", "messages": said});
        let echoed = self.post("/v1/chat/completions", &question).await;
        assert!(echoed.status >= 400, "an echo is no model: {}", echoed.body);
        self.talk_to_a_mirror().await;
    }
}

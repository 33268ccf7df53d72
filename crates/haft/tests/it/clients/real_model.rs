//! A test with a small real model. Its responses are arbitrary and slow, so it runs only with
//! `make real-model`.

use serde_json::{Value, json};

use super::programs::{ModelProgram, install, python};
use super::{AGENT, haft};
use crate::survival::skipped;

#[tokio::test]
async fn real_model_holds_a_conversation() {
    if std::env::var_os("HAFT_REAL_MODEL").is_none() {
        skipped("HAFT_REAL_MODEL is not set");
        return;
    }
    let model = ModelProgram::start_with("real_model.py", &python(&install("real-model"))).await;
    let (_server, api) = haft(&format!("{}/v1", model.url)).await;
    let mut tokens = 0;
    for question in ["My name is Ada. Name the capital of France.", "Do you know my name?"] {
        let body = json!({
            "model": AGENT, "messages": [{"role": "user", "content": question}],
            "metadata": {"conversation_id": "0b54ad0c-6d3b-4d5e-8b5f-0d0a3f1c9f6e"},
        });
        let reply = api.post("/v1/chat/completions", &body).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let text = reply.body["choices"][0]["message"]["content"].as_str().unwrap_or_default();
        assert!(!text.is_empty(), "{}", reply.body);
        println!("{question}\n  {text}");
        let prompt_tokens = reply.body["usage"]["prompt_tokens"].as_u64().unwrap_or_default();
        assert!(prompt_tokens > tokens, "the prompt contains the history: {}", reply.body);
        tokens = prompt_tokens;
    }
    let body = json!({"agentId": AGENT, "messages": [{"role": "user", "content": "Hello."}]});
    let reply = api.post("/api/chat", &body).await;
    let content: &Value = &reply.data()["message"]["content"];
    assert!(reply.status == 200 && content.as_str().is_some_and(|text| !text.is_empty()), "{}", reply.body);
}

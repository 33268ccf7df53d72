//! A real model, small and slow: it may say anything, and is asked only where somebody wants it (`make real-model`).

use serde_json::{Value, json};

use super::programs::{Beside, home, python};
use super::{AGENT, haft};
use crate::survival::skipped;

#[tokio::test]
async fn a_real_model_holds_a_conversation() {
    if std::env::var_os("HAFT_REAL_MODEL").is_none() {
        skipped("HAFT_REAL_MODEL is not set");
        return;
    }
    let model = Beside::start_with("real_model.py", &python(&home("real-model"))).await;
    let (_server, api) = haft(&format!("{}/v1", model.url)).await;
    let mut tokens = 0;
    for question in ["My name is Ada. What is the capital of France?", "What is my name?"] {
        let body = json!({
            "model": AGENT, "messages": [{"role": "user", "content": question}],
            "metadata": {"conversation_id": "0b54ad0c-6d3b-4d5e-8b5f-0d0a3f1c9f6e"},
        });
        let reply = api.post("/v1/chat/completions", &body).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let said = reply.body["choices"][0]["message"]["content"].as_str().unwrap_or_default();
        assert!(!said.is_empty(), "{}", reply.body);
        println!("{question}\n  {said}");
        let read = reply.body["usage"]["prompt_tokens"].as_u64().unwrap_or_default();
        assert!(read > tokens, "it reads what was said before, too: {}", reply.body);
        tokens = read;
    }
    let asked = json!({"agentId": AGENT, "messages": [{"role": "user", "content": "Hello."}]});
    let reply = api.post("/api/chat", &asked).await;
    let said: &Value = &reply.data()["message"]["content"];
    assert!(reply.status == 200 && said.as_str().is_some_and(|text| !text.is_empty()), "{}", reply.body);
}

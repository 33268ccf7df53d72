//! The date in instructions, and thoughts and errors in the format of a dialect.

use haft_testkit::{FakeDialect, ModelReply, RecordedModelRequest};
use serde_json::{Value, json};

use crate::chat::{Desk, final_text, user};

#[tokio::test]
async fn today_in_instructions_is_the_date_of_the_turn() {
    let desk =
        Desk::new(async |asked: RecordedModelRequest| ModelReply::says(asked.system.unwrap_or_default()))
            .await;
    let agent = json!({
        "name": "dated", "systemPrompt": "Today: {{today}}, {{ today }}; {{yesterday}} {{ {{today",
        "config": {"provider": "openai", "model": "test-model"},
    });
    let made = desk.api.post("/api/agents", &agent).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let text = final_text(&desk.ask("dated", "Hi.").await).to_owned();
    let today = text.get(7..17).expect("a date");
    let is_date =
        today.char_indices().all(|(at, c)| if at == 4 || at == 7 { c == '-' } else { c.is_ascii_digit() });
    assert!(is_date, "{text}");
    assert_eq!(text, format!("Today: {today}, {today}; {{{{yesterday}}}} {{{{ {{{{today"));
    // Messages of a client are not templates.
    let plain = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let messages = json!([{"role": "system", "content": "{{today}}"}, user("Hi.")]);
    let reply = desk.api.post("/v1/chat/completions", &json!({"model": plain, "messages": messages})).await;
    assert!(reply.body.to_string().contains("{{today}}"), "{}", reply.body);
}

#[tokio::test]
async fn gemini_gets_an_error_object_and_ollama_its_thoughts() {
    let desk = Desk::new(async |asked: RecordedModelRequest| match asked.results().first() {
        None => ModelReply::new().reasoning("I look.").call("weather", json!({})),
        Some(result) => ModelReply::says(&result.content),
    })
    .await;
    for dialect in [FakeDialect::Gemini, FakeDialect::Ollama] {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        assert_eq!(desk.ask(&agent, "Rome?").await.status, 200);
        let asked = desk.model.seen().pop().expect("a question");
        if dialect == FakeDialect::Ollama {
            let messages = asked.body["messages"].as_array().expect("a list").clone();
            let thoughts: Vec<&Value> =
                messages.iter().filter_map(|message| message.get("thinking")).collect();
            assert_eq!(thoughts, [&json!("I look.")], "{messages:?}");
        } else {
            let contents = asked.body["contents"].as_array().expect("a list");
            let parts = contents.last().expect("results")["parts"].as_array().expect("a list");
            let response = &parts[0]["functionResponse"]["response"];
            assert_eq!(response["error"]["kind"], "Validation", "{response}");
        }
    }
    desk.check();
}

//! Response formats: the last response of a turn is checked, repaired once, and otherwise refused.

use std::sync::atomic::{AtomicUsize, Ordering};

use haft_testkit::{FakeDialect, ModelReply, RecordedModelRequest};
use serde_json::{Value, json};

use crate::chat::{Desk, user};
use crate::v1::{COMPLETIONS, RESPONSES, body, choice, complete, streamed_text};

fn form() -> Value {
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "degrees": {"type": "integer", "minimum": 0}},
        "required": ["city", "degrees"],
        "additionalProperties": false,
    });
    json!({"response_format": {"type": "json_schema", "json_schema": {"name": "weather", "schema": schema}}})
}

/// Calls a tool first. Its first response violates the format if the user says "carelessly", and every
/// response does if the user says "never".
async fn clerk(asked: RecordedModelRequest) -> ModelReply {
    let has_text = |word: &str| asked.messages.iter().any(|message| message.text.contains(word));
    if !asked.messages.iter().any(|message| !message.results.is_empty()) && !asked.tools.is_empty() {
        return ModelReply::says("I look.").call("weather", json!({"city": "Rome"})).usage(10, 1);
    }
    let is_repair = has_text("does not have the requested format");
    if has_text("never") || (has_text("carelessly") && !is_repair) {
        return ModelReply::says(r#"{"city": "Rome", "degrees": -4}"#).usage(10, 1);
    }
    if has_text("cut") {
        return ModelReply::says(r#"{"city": "Ro"#).length();
    }
    ModelReply::says("Here it is:\n```json\n{\"city\": \"Rome\", \"degrees\": 4}\n```").usage(10, 1)
}

const RECORD: &str = r#"{"city": "Rome", "degrees": 4}"#;

#[tokio::test]
async fn last_response_has_the_format_in_every_dialect_and_interface() {
    let desk = Desk::new(clerk).await;
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        for text in ["weather?", "weather, carelessly?"] {
            let case = format!("{dialect:?} {text}");
            let messages = json!([user(text)]);
            let reply = complete(&desk.api, &agent, &messages, &form()).await;
            let message = &choice(&reply)["message"];
            assert_eq!((&message["content"], &message["refusal"]), (&json!(RECORD), &Value::Null), "{case}");
            assert_eq!(reply.body.get("warnings"), None, "{case}");
            let answers = if text.contains("carelessly") { 3 } else { 2 };
            assert_eq!(reply.body["usage"]["completion_tokens"], answers, "{case}");
            // A stream has the checked response only: neither text beside a call nor the response before its
            // repair.
            let mut streamed = form();
            streamed["stream"] = json!(true);
            let events = desk.api.post_for_events(COMPLETIONS, &body(&agent, &messages, &streamed)).await;
            assert_eq!(streamed_text(&events.all().await), RECORD, "{case}");
            let schema = form()["response_format"]["json_schema"].clone();
            let text_of =
                json!({"format": {"type": "json_schema", "name": "weather", "schema": schema["schema"]}});
            for is_stored in [true, false] {
                let asked = json!({"model": agent, "input": text, "text": text_of, "store": is_stored});
                let reply = desk.api.post(RESPONSES, &asked).await;
                let items = reply.body["output"].as_array().expect("items");
                assert_eq!(items.len(), 1, "{case}: {}", reply.body);
                assert_eq!(items[0]["content"][0]["text"], RECORD, "{case}");
                assert_eq!(reply.body["text"], text_of, "{case}");
            }
        }
    }
    desk.check();
}

#[tokio::test]
async fn stream_of_a_chat_has_the_checked_response_alone() {
    let desk = Desk::new(clerk).await;
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        let messages = [user("weather, carelessly?")];
        let asked = json!({"agentId": agent, "messages": messages, "options": form(), "stream": true});
        let events = desk.api.post_for_events("/api/chat", &asked).await.all().await;
        let named = |name: &str| events.iter().filter(move |event| event.name == name).collect::<Vec<_>>();
        let deltas: String =
            named("message.delta").iter().filter_map(|event| event.data["text"].as_str()).collect();
        assert_eq!(deltas, RECORD, "{dialect:?}");
        assert_eq!(named("message.done")[0].data["message"]["content"], RECORD, "{dialect:?}");
        assert_eq!((named("tool.call").len(), named("warning").len()), (1, 0), "{dialect:?}");
    }
    desk.check();
}

#[tokio::test]
async fn response_that_stays_invalid_is_refused_and_one_that_is_cut_has_finish_reason_length() {
    let desk = Desk::new(clerk).await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
    let requests_before = desk.model.seen().len();
    let reply = complete(&desk.api, &agent, &json!([user("never")]), &form()).await;
    let (message, finish) = (&choice(&reply)["message"], &choice(&reply)["finish_reason"]);
    assert_eq!((&message["content"], finish), (&Value::Null, &json!("stop")));
    let refusal = message["refusal"].as_str().expect("a refusal");
    assert!(refusal.contains("degrees"), "the refusal names the violation: {refusal}");
    assert_eq!(desk.model.seen().len() - requests_before, 3, "a call, a response and one repair");
    let mut streamed = form();
    streamed["stream"] = json!(true);
    let events =
        desk.api.post_for_events(COMPLETIONS, &body(&agent, &json!([user("never")]), &streamed)).await;
    let events = events.all().await;
    assert_eq!(streamed_text(&events), "");
    let deltas = events.iter().filter_map(|event| event.data["choices"][0]["delta"]["refusal"].as_str());
    assert_eq!(deltas.collect::<String>(), refusal);
    let reply = complete(&desk.api, &agent, &json!([user("cut")]), &form()).await;
    let choice = choice(&reply);
    assert_eq!(choice["finish_reason"], "length", "the caller must raise the limit; a repair would not help");
    assert_eq!(choice["message"]["content"], r#"{"city": "Ro"#);
    desk.check();
}

#[tokio::test]
async fn agent_and_conversation_can_set_a_response_format() {
    let desk = Desk::new(clerk).await;
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &["weather"], json!({"options": form()})).await;
        let reply = desk.ask(&agent, "weather, carelessly?").await;
        assert_eq!(reply.data()["message"]["content"], RECORD, "{dialect:?}: {}", reply.body);
        // A request that wants plain text gets it.
        let plain = json!({"response_format": {"type": "text"}});
        let reply = complete(&desk.api, &agent, &json!([user("weather?")]), &plain).await;
        let text = choice(&reply)["message"]["content"].as_str().expect("a text");
        assert!(text.contains("Here it is"), "{dialect:?}: {text}");
    }
    // A conversation may set a format, too.
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
    let body = json!({"agentId": agent, "messages": [user("weather?")], "options": form()});
    let reply = desk.api.post("/api/chat", &body).await;
    assert_eq!(reply.data()["message"]["content"], RECORD, "{}", reply.body);
    let body = json!({"agentId": agent, "messages": [user("weather?")], "options": {"seed": "x"}});
    let reply = desk.api.post("/api/chat", &body).await;
    assert!(reply.status == 400 && reply.body.to_string().contains("options.seed"), "{}", reply.body);
    let reply =
        desk.ask(&desk.agent(FakeDialect::Openai, &[], json!({"options": form()})).await, "never").await;
    let warnings = reply.data()["warnings"].to_string();
    assert!(warnings.contains("degrees"), "{}", reply.body);
    desk.check();
}

#[tokio::test]
async fn invalid_response_format_is_refused_by_name() {
    let desk = Desk::new(clerk).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let with_schema =
        |schema: Value| json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}});
    for (format, param) in [
        (json!({"type": "xml"}), "response_format"),
        (json!("json"), "response_format"),
        (json!({"type": "json_schema"}), "response_format"),
        (with_schema(json!({"type": "objekt"})), "response_format.json_schema.schema"),
        (with_schema(json!({"$ref": "https://example.com/schema"})), "response_format.json_schema.schema"),
    ] {
        let more = json!({"response_format": format});
        let reply = complete(&desk.api, &agent, &json!([user("hi")]), &more).await;
        let found = reply.body["error"]["param"].as_str().unwrap_or_default();
        assert_eq!((reply.status, found.starts_with(param)), (400, true), "{format}: {}", reply.body);
    }
    let bad = json!({"model": agent, "input": "hi", "text": {"format": {"type": "xml"}}});
    let reply = desk.api.post(RESPONSES, &bad).await;
    assert_eq!((reply.status, &reply.body["error"]["param"]), (400, &json!("text.format")));
    assert!(desk.model.seen().is_empty());
}

const SCORES: &str = r#"{"scores": {"ada": 3, "bob": 4}}"#;

/// Returns scores by name. A provider that enforces a schema returns only fields that the schema allows.
async fn scorer(asked: RecordedModelRequest) -> ModelReply {
    let enforced = asked.format.as_ref().filter(|format| format.is_object());
    let scores = enforced.map(|schema| &schema["properties"]["scores"]);
    let takes_names = scores.is_none_or(|scores| scores["additionalProperties"]["type"] == "integer");
    ModelReply::says(if takes_names { SCORES } else { r#"{"scores": {}}"# })
}

#[tokio::test]
async fn values_of_a_map_arrive_from_every_dialect() {
    let desk = Desk::new(scorer).await;
    let scores = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let schema = json!({"type": "object", "properties": {"scores": scores}, "required": ["scores"]});
    let format = json!({"type": "json_schema", "json_schema": {"name": "scores", "schema": schema}});
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &[], json!({})).await;
        let more = json!({"response_format": format});
        let reply = complete(&desk.api, &agent, &json!([user("Scores?")]), &more).await;
        assert_eq!(choice(&reply)["message"]["content"], SCORES, "{dialect:?}: {}", reply.body);
    }
    desk.check();
}

#[tokio::test]
async fn response_format_that_a_provider_refused_is_not_sent_again_in_the_turn() {
    let requests = AtomicUsize::new(0);
    let desk = Desk::new(move |asked| {
        // The first request of each step fails, and is retried.
        let fails = [0, 2].contains(&requests.fetch_add(1, Ordering::SeqCst));
        async move { if fails { ModelReply::status(500, Some(0)) } else { clerk(asked).await } }
    })
    .await;
    let agent = desk.agent(FakeDialect::Anthropic, &["weather"], json!({"model": "claude-3-haiku"})).await;
    let messages = json!([user("weather, carelessly?")]);
    let reply = complete(&desk.api, &agent, &messages, &form()).await;
    assert_eq!(choice(&reply)["message"]["content"], RECORD, "{}", reply.body);
    assert_eq!(reply.body.get("warnings"), None, "the instructions have the response format");
    assert_eq!(desk.model.seen().len(), 5, "two steps, two retries and a repair");
    assert_eq!(desk.model.refused().len(), 1, "in the first request alone: {:?}", desk.model.refused());
}

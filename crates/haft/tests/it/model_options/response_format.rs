//! Response formats: the repair request, the tools that are offered beside a format, and warnings.

use haft_testkit::{FakeDialect, MessageRole, ModelReply, RecordedModelRequest};
use serde_json::{Value, json};

use crate::chat::{Desk, final_text, user};
use crate::v1::{COMPLETIONS, RESPONSES, body, choice, complete, streamed_text};

const RECORD: &str = r#"{"city":"Rome"}"#;

/// JSON that does not fit the schema.
const UNFIT: &str = r#"{"town":"Rome"}"#;

fn format() -> Value {
    let schema = json!({
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
        "additionalProperties": false,
    });
    json!({"response_format": {"type": "json_schema", "json_schema": {"name": "place", "schema": schema}}})
}

fn is_repair(asked: &RecordedModelRequest) -> bool {
    asked.user_text().contains("does not have the requested format")
}

/// Calls a tool whenever it is offered one, except right after a result: `tool_choice: none` has no effect on it.
async fn calling(asked: RecordedModelRequest) -> ModelReply {
    match (asked.results().is_empty(), asked.tools.is_empty()) {
        (false, _) => ModelReply::says(UNFIT),
        (true, false) => ModelReply::calls([("weather", json!({"city": "Rome"}))]),
        (true, true) if is_repair(&asked) => ModelReply::says(RECORD),
        (true, true) => ModelReply::says(UNFIT),
    }
}

#[tokio::test]
async fn model_that_ignores_tool_choice_none_repairs_its_response() {
    let desk = Desk::new(calling).await;
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        let reply = complete(&desk.api, &agent, &json!([user("Rome?")]), &format()).await;
        let message = &choice(&reply)["message"];
        assert_eq!((&message["content"], &message["refusal"]), (&json!(RECORD), &Value::Null), "{dialect:?}");
        let repair = desk.model.seen().pop().expect("a repair request");
        assert_eq!(repair.tool_names(), Vec::<&str>::new(), "{dialect:?}");
        let has_result = repair.messages.iter().any(|message| message.text.contains("[Result of weather"));
        assert!(has_result, "{dialect:?}: {:?}", repair.messages);
    }
    desk.check();
}

#[tokio::test]
async fn empty_response_is_left_out_of_the_repair_request() {
    let desk = Desk::new(async |asked: RecordedModelRequest| match is_repair(&asked) {
        true => ModelReply::says(RECORD),
        false => ModelReply::new(),
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let reply = complete(&desk.api, &agent, &json!([user("Rome?")]), &format()).await;
    assert_eq!(choice(&reply)["message"]["content"], RECORD);
    let repair = desk.model.seen().pop().expect("a repair request");
    let has_response = repair.messages.iter().any(|message| message.role == MessageRole::Assistant);
    assert!(!has_response, "{:?}", repair.messages);
    desk.check();
}

#[tokio::test]
async fn turn_whose_repair_request_fails_ends_with_a_refusal() {
    let desk = Desk::new(async |asked: RecordedModelRequest| {
        let has_said = |word: &str| asked.messages.iter().any(|message| message.text.contains(word));
        match (is_repair(&asked), has_said("limit")) {
            (false, _) => ModelReply::says(UNFIT),
            (true, true) => ModelReply::status(429, Some(0)),
            (true, false) => ModelReply::status(400, None),
        }
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    for text in ["limit", "bad request"] {
        let reply = complete(&desk.api, &agent, &json!([user(text)]), &format()).await;
        let (message, finish) = (&choice(&reply)["message"], &choice(&reply)["finish_reason"]);
        assert_eq!((&message["content"], finish), (&Value::Null, &json!("stop")), "{text}");
        let refusal = message["refusal"].as_str().expect("a refusal");
        assert!(refusal.contains("town") && refusal.contains("corrected one failed"), "{text}: {refusal}");
        let body = json!({"agentId": agent, "messages": [user(text)], "options": format()});
        let reply = desk.api.post("/api/chat", &body).await;
        assert_eq!((final_text(&reply), &reply.data()["finishReason"]), ("", &json!("stop")), "{text}");
        assert!(
            reply.data()["warnings"].to_string().contains("corrected one failed"),
            "{text}: {}",
            reply.body
        );
    }
    desk.check();
}

/// JSON that a content filter cut.
const FILTERED: &str = r#"{"city":"Ro"#;

/// Refuses, or is cut by a content filter.
async fn refusing(asked: RecordedModelRequest) -> ModelReply {
    match asked.user_text() {
        "refuse" => ModelReply::says("I will not.").refusing(),
        _ => ModelReply::says(FILTERED).filtered(),
    }
}

#[tokio::test]
async fn refusal_and_content_filter_differ_in_completions_and_responses() {
    let desk = Desk::new(refusing).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    for (text, content, refusal, finish, reason) in [
        ("refuse", Value::Null, json!("I will not."), "stop", Value::Null),
        ("filter", json!(FILTERED), Value::Null, "content_filter", json!("content_filter")),
    ] {
        let messages = json!([user(text)]);
        let reply = complete(&desk.api, &agent, &messages, &format()).await;
        let message = &choice(&reply)["message"];
        let found = (&message["content"], &message["refusal"], &choice(&reply)["finish_reason"]);
        assert_eq!(found, (&content, &refusal, &json!(finish)), "{text}");
        let mut streamed = format();
        streamed["stream"] = json!(true);
        let events = desk.api.post_for_events(COMPLETIONS, &body(&agent, &messages, &streamed)).await;
        let events = events.all().await;
        let choices = || events.iter().map(|event| &event.data["choices"][0]);
        let ends = choices().filter_map(|choice| choice["finish_reason"].as_str());
        assert_eq!(ends.collect::<Vec<_>>(), [finish], "{text}");
        let refusals = choices().filter_map(|choice| choice["delta"]["refusal"].as_str());
        assert_eq!(refusals.collect::<String>(), refusal.as_str().unwrap_or_default(), "{text}");
        assert_eq!(streamed_text(&events), content.as_str().unwrap_or_default(), "{text}");
        let schema = format()["response_format"]["json_schema"]["schema"].clone();
        let text_of = json!({"format": {"type": "json_schema", "name": "place", "schema": schema}});
        for is_stored in [true, false] {
            let asked = json!({"model": agent, "input": text, "text": text_of, "store": is_stored});
            let response = desk.api.post(RESPONSES, &asked).await.body;
            let part = &response["output"][0]["content"][0];
            let status = if reason.is_null() { "completed" } else { "incomplete" };
            let found = (&response["status"], &response["incomplete_details"]["reason"], &part["refusal"]);
            assert_eq!(found, (&json!(status), &reason, &refusal), "{text}: {response}");
            assert_eq!(part["text"], content, "{text}: {response}");
        }
    }
    desk.check();
}

#[tokio::test]
async fn chat_returns_a_refusal_as_warning_and_a_filtered_text_as_content() {
    let desk = Desk::new(refusing).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({"options": format()})).await;
    for (text, content, warning) in
        [("refuse", "", "I will not."), ("filter", FILTERED, "content filter stopped it")]
    {
        let reply = desk.ask(&agent, text).await;
        assert_eq!(final_text(&reply), content, "{text}");
        let warnings = reply.data()["warnings"].as_array().expect("warnings");
        let has_warning =
            |warnings: &[Value]| matches!(warnings, [only] if only.to_string().contains(warning));
        assert!(has_warning(warnings), "{text}: {}", reply.body);
        let asked = json!({"agentId": agent, "messages": [user(text)], "stream": true});
        let events = desk.api.post_for_events("/api/chat", &asked).await.all().await;
        let named = |name: &str| -> Vec<Value> {
            let named = events.iter().filter(|event| event.name == name);
            named.map(|event| event.data["message"].clone()).collect()
        };
        assert!(has_warning(&named("warning")), "{text}: {events:?}");
        assert_eq!(named("message.done")[0]["content"], content, "{text}");
    }
    desk.check();
}

#[tokio::test]
async fn stop_response_is_not_offered_beside_a_response_format() {
    let desk =
        Desk::new(async |asked: RecordedModelRequest| match asked.tool_names().contains(&"stop_response") {
            true => ModelReply::calls([("stop_response", json!({"message": "Enough."}))]),
            false => ModelReply::says(RECORD),
        })
        .await;
    let tools = ["stop_response", "weather"];
    let plain = desk.agent(FakeDialect::Openai, &tools, json!({})).await;
    let strict = desk.agent(FakeDialect::Openai, &tools, json!({"options": format()})).await;
    let text = json!({"response_format": {"type": "text"}});
    for (agent, more, expected) in [
        (&plain, json!({}), "Enough."),
        (&plain, format(), RECORD),
        (&strict, json!({}), RECORD),
        (&strict, text, "Enough."),
    ] {
        let reply = complete(&desk.api, agent, &json!([user("Rome?")]), &more).await;
        assert_eq!(choice(&reply)["message"]["content"], expected, "{more}");
    }
    assert_eq!(desk.model.seen()[1].tool_names(), ["weather"]);
    desk.check();
}

#[tokio::test]
async fn warning_is_given_once_when_a_response_is_repaired() {
    let desk = Desk::new(async |asked: RecordedModelRequest| {
        match (is_repair(&asked), asked.results().is_empty()) {
            (true, _) => ModelReply::says(RECORD),
            (false, true) => ModelReply::calls([("weather", json!({"city": "Rome"}))]),
            (false, false) => ModelReply::says(UNFIT),
        }
    })
    .await;
    // Anthropic does not take the name of this property, so the tool is left out.
    let schema = json!({"type": "object", "properties": {"the city": {"type": "string"}}});
    desk.tool("spaced", json!({"inputSchema": schema})).await;
    let agent =
        desk.agent(FakeDialect::Anthropic, &["spaced", "weather"], json!({"options": format()})).await;
    let reply = desk.ask(&agent, "Rome?").await;
    assert_eq!(final_text(&reply), RECORD);
    assert_eq!(reply.data()["warnings"].as_array().map(Vec::len), Some(1), "{}", reply.body);
    desk.check();
}

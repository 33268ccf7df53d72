//! Time and token budgets of a turn, and budgets shared with nested agents.

use std::sync::Arc;
use std::time::Duration;

use haft_testkit::{FakeDialect, ModelReply, ModelServer, RecordedModelRequest, Upstream, json_reply};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::nesting::agent_tool;
use super::{DIALECTS, Desk, final_text, user};

fn has_warning(data: &Value, text: &str) -> bool {
    data["warnings"].as_array().is_some_and(|all| {
        all.iter().any(|warning| warning.as_str().is_some_and(|warning| warning.contains(text)))
    })
}

#[tokio::test]
async fn call_is_cancelled_at_the_deadline_of_its_turn() {
    let model = ModelServer::start(async |request: RecordedModelRequest| match request.results().first() {
        None => ModelReply::calls([("weather", json!({"city": "Rome"}))]),
        Some(result) => ModelReply::says(result.content.clone()),
    });
    // Longer than the turn may take.
    let slow = Upstream::start_async(async |_| {
        tokio::time::sleep(Duration::from_secs(300)).await;
        json_reply(200, &json!({}))
    });
    let desk = Desk::with(model.await, slow.await).await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({"maxSeconds": 1})).await;
    let reply = desk.ask(&agent, "Rome?").await;
    let data = reply.data();
    assert!(
        final_text(&reply).contains("BudgetExceeded") && final_text(&reply).contains("1 seconds"),
        "{data}"
    );
    assert_eq!(data["finishReason"], "max_steps");
    assert!(has_warning(data, "1 seconds"), "{data}");
    desk.check();
}

#[tokio::test]
async fn response_is_cut_at_the_deadline_of_the_turn() {
    let desk = Desk::new(async |request: RecordedModelRequest| match request.user_text() {
        "next" => ModelReply::says(format!("after {}", request.previous_responses())),
        // The last fragments are never sent.
        _ => ModelReply::says("It is so.").in_fragments_of(1).hold_until(Arc::new(Semaphore::new(4))),
    })
    .await;
    for dialect in DIALECTS {
        let agent = desk.agent(dialect, &[], json!({"maxSeconds": 1})).await;
        let reply = desk.ask(&agent, "Well?").await;
        let data = reply.data();
        assert!(
            !final_text(&reply).is_empty() && "It is so.".starts_with(final_text(&reply)),
            "{dialect:?}: {data}"
        );
        assert_eq!(data["finishReason"], "max_steps", "{dialect:?}");
        assert!(has_warning(data, "1 seconds"), "{data}");
        // The model receives the partial text as its own message.
        let more = json!({"conversationId": data["conversationId"], "messages": [user("next")]});
        assert_eq!(final_text(&desk.api.post("/api/chat", &more).await), "after 1", "{dialect:?}");
        let response = desk.api.post("/v1/responses", &json!({"model": agent, "input": "Well?"})).await;
        let text = response.body["output"][0]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(!text.is_empty() && "It is so.".starts_with(text), "{}", response.body);
        assert_eq!(response.body["incomplete_details"]["reason"], "max_output_tokens", "{dialect:?}");
    }
    desk.check();
}

#[tokio::test]
async fn tokens_are_estimated_if_the_provider_reports_no_usage() {
    let desk = Desk::new(async |request: RecordedModelRequest| match request.tool_choice.as_deref() {
        Some("none") => ModelReply::says("Enough."),
        Some(_) | None => ModelReply::calls([("weather", json!({"city": "Rome"}))]).without_usage(),
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({"maxTotalTokens": 200})).await;
    let reply = desk.ask(&agent, &"words ".repeat(300)).await;
    assert_eq!((final_text(&reply), &reply.data()["finishReason"]), ("Enough.", &json!("max_steps")));
    assert_eq!(desk.model.seen().len(), 2, "one call, and the final text");
    assert!(has_warning(reply.data(), "200 tokens"), "{}", reply.body);
}

#[tokio::test]
async fn nested_agents_share_the_call_budget_of_the_outermost() {
    let desk = Desk::new(async |request: RecordedModelRequest| {
        let has = |name: &str| request.tool_names().contains(&name);
        let refused =
            request.results().iter().filter(|result| result.content.contains("BudgetExceeded")).count();
        match request.results().len() {
            0 if has("colleague") => {
                ModelReply::calls((0..2).map(|n| ("colleague", json!({"message": format!("Ask {n}.")}))))
            }
            0 if has("weather") => {
                ModelReply::calls((0..4).map(|n| ("weather", json!({"city": format!("c{n}")}))))
            }
            _ if has("colleague") => ModelReply::says("Done."),
            _ => ModelReply::says(format!("{refused} refused")),
        }
    })
    .await;
    let inner = desk.agent(FakeDialect::Openai, &["weather"], json!({"maxCalls": 4})).await;
    agent_tool(&desk, "colleague", &inner).await;
    // The outer agent's two calls leave three for both colleagues, which request eight.
    let outer = desk.agent(FakeDialect::Openai, &["colleague"], json!({"maxCalls": 5})).await;
    let reply = desk.ask(&outer, "Well?").await;
    assert_eq!(final_text(&reply), "Done.", "{}", reply.body);
    assert_eq!(desk.weather.seen().len(), 3, "the shared budget");
    let calls = reply.data()["toolCalls"].as_array().expect("calls").clone();
    let refused: u64 = calls
        .iter()
        .map(|call| {
            let text = call["result"]["data"]["answer"].as_str().expect("a text");
            text.split(' ').next().and_then(|count| count.parse::<u64>().ok()).expect("a count")
        })
        .sum();
    assert_eq!(refused, 5);
    assert!(calls.iter().all(|call| call["result"]["data"]["tokens"].as_u64() > Some(0)), "{calls:?}");
    // The nested calls are logged with the conversation of the outermost agent.
    let conversation = reply.data()["conversationId"].as_str().expect("an id");
    haft_testkit::eventually("the calls are logged", async || {
        let rows = desk.api.get("/api/tool-calls?tool=weather").await;
        let items = rows.data()["items"].as_array().cloned().unwrap_or_default();
        items.len() == 3 && items.iter().all(|row| row["conversationId"] == conversation)
    })
    .await;
    desk.check();
}

#[tokio::test]
async fn tokens_of_nested_agents_count_for_the_outermost() {
    let desk = Desk::new(async |request: RecordedModelRequest| {
        let has = |name: &str| request.tool_names().contains(&name);
        match (request.tool_choice.as_deref(), request.results().len()) {
            (Some("none"), _) => ModelReply::says("Enough."),
            (_, _) if has("colleague") => ModelReply::calls([("colleague", json!({"message": "Look."}))]),
            (_, 0) => ModelReply::calls([("weather", json!({"city": "Rome"}))]).usage(400, 100),
            (_, _) => ModelReply::says("Dry.").usage(400, 100),
        }
    })
    .await;
    let inner = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
    agent_tool(&desk, "colleague", &inner).await;
    let outer = desk.agent(FakeDialect::Openai, &["colleague"], json!({"maxTotalTokens": 900})).await;
    let reply = desk.ask(&outer, "Well?").await;
    assert_eq!(
        (final_text(&reply), &reply.data()["finishReason"]),
        ("Enough.", &json!("max_steps")),
        "{}",
        reply.body
    );
    assert_eq!(reply.data()["toolCalls"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn text_beside_a_call_in_the_last_step_stays_and_the_call_is_not_executed() {
    // This model calls tools even if the request forbids it.
    let desk = Desk::new(async |request: RecordedModelRequest| {
        let reply = ModelReply::says(format!("Answer {}.", request.previous_responses() + 1));
        reply.call("weather", json!({"city": "Rome"}))
    })
    .await;
    for dialect in DIALECTS {
        let agent = desk.agent(dialect, &["weather"], json!({"maxSteps": 1})).await;
        let before = desk.weather.seen().len();
        let reply = desk.ask(&agent, "Rome?").await;
        let data = reply.data();
        let text = "Answer 2.\n\nAnswer 3.";
        assert_eq!((final_text(&reply), &data["finishReason"]), (text, &json!("max_steps")), "{data}");
        assert!(has_warning(data, "the call was not executed"), "{data}");
        assert_eq!(desk.weather.seen().len() - before, 1, "{dialect:?}");
        assert_eq!(data["toolCalls"].as_array().map(Vec::len), Some(1), "{data}");
    }
    desk.check();
}

#[tokio::test]
async fn ambiguous_arguments_are_reported_to_the_model() {
    for written in [
        r#"{"city": "Rome", "city": "Oslo"}"#,
        r#"{"city": "a\u0000b"}"#,
        r#"{"city": "Rome", "n": 123456789012345678901}"#,
    ] {
        let desk = Desk::new(move |request: RecordedModelRequest| async move {
            match request.results().first() {
                None => ModelReply::new().raw_call("weather", written),
                Some(result) => ModelReply::says(result.content.clone()),
            }
        })
        .await;
        let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
        let reply = desk.ask(&agent, "Rome?").await;
        assert!(final_text(&reply).contains("Validation"), "{written}: {}", reply.body);
        assert!(desk.weather.seen().is_empty(), "{written}");
        desk.check();
    }
}

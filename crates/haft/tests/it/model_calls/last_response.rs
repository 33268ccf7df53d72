//! The last response of a turn that has used all its steps: a text, also from a model that still calls tools.

use std::sync::Arc;

use haft_testkit::{FakeDialect, ModelReply, RecordedModelRequest, eventually};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::chat::{DIALECTS, Desk, final_text, user};
use crate::v1::{COMPLETIONS, body, choice, complete, streamed_text};

/// Calls a tool if the request has tools, or if its messages contain a call to imitate.
async fn stubborn(asked: RecordedModelRequest) -> ModelReply {
    let has_called = asked.messages.iter().any(|message| !message.calls.is_empty());
    if has_called || !asked.tools.is_empty() {
        return ModelReply::calls([("weather", json!({"city": "Rome"}))]).usage(10, 5);
    }
    let knows = asked.messages.iter().any(|message| message.text.contains("\"temperature\":4"));
    ModelReply::says(if knows { "It is 4." } else { "I know nothing." }).usage(10, 5)
}

#[tokio::test]
async fn model_that_calls_beyond_its_steps_gets_one_more_request_with_the_results_as_text() {
    let desk = Desk::new(stubborn).await;
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &["weather"], json!({"maxSteps": 1})).await;
        let before = desk.weather.seen().len();
        let asked = desk.model.seen().len();
        let reply = desk.ask(&agent, "Rome?").await;
        let data = reply.data();
        assert_eq!(
            (final_text(&reply), &data["finishReason"]),
            ("It is 4.", &json!("max_steps")),
            "{dialect:?}"
        );
        assert_eq!(desk.weather.seen().len(), before + 1, "{dialect:?}");
        assert_eq!(desk.model.seen().len(), asked + 3, "{dialect:?}: one more request, and no other");
        assert_eq!(data["usage"]["input"], json!(30), "{dialect:?}: {data}");
    }
    desk.check();
}

/// Writes a sentence beside each call, and calls like `stubborn`.
async fn talkative(asked: RecordedModelRequest) -> ModelReply {
    let has_called = asked.messages.iter().any(|message| !message.calls.is_empty());
    match has_called || !asked.tools.is_empty() {
        true => ModelReply::says("I will look.").call("weather", json!({"city": "Rome"})),
        false => ModelReply::says(r#"{"degrees":4}"#),
    }
}

#[tokio::test]
async fn call_beside_text_in_the_last_step_leads_to_a_request_without_tools() {
    let desk = Desk::new(talkative).await;
    let messages = json!([user("Rome, as JSON?")]);
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &["weather"], json!({"maxSteps": 1})).await;
        let (expected, asked) = ("I will look.\n\n{\"degrees\":4}", desk.model.seen().len());
        let reply = desk.ask(&agent, "Rome, as JSON?").await;
        assert_eq!(final_text(&reply), expected, "{dialect:?}");
        assert_eq!(desk.model.seen().len(), asked + 3, "{dialect:?}");
        let reply = complete(&desk.api, &agent, &messages, &json!({})).await;
        assert_eq!(choice(&reply)["message"]["content"], expected, "{dialect:?}");
        // A stream has the text of the first step, too.
        let streamed = body(&agent, &messages, &json!({"stream": true}));
        let events = desk.api.post_for_events(COMPLETIONS, &streamed).await.all().await;
        assert_eq!(streamed_text(&events), format!("I will look.\n\n{expected}"), "{dialect:?}");
        let format = json!({"response_format": {"type": "json_object"}});
        let reply = complete(&desk.api, &agent, &messages, &format).await;
        assert_eq!(choice(&reply)["message"]["content"], r#"{"degrees":4}"#, "{dialect:?}");
    }
    desk.check();
}

#[tokio::test]
async fn calls_of_a_model_that_ignores_tool_choice_none_are_not_executed() {
    let desk = Desk::new(async |asked: RecordedModelRequest| match asked.tools.is_empty() {
        true => ModelReply::says("Hello."),
        false => ModelReply::calls([("weather", json!({"city": "Rome"}))]),
    })
    .await;
    for dialect in DIALECTS {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        let messages = json!([user("Rome?")]);
        let reply = complete(&desk.api, &agent, &messages, &json!({"tool_choice": "none"})).await;
        assert_eq!(choice(&reply)["message"]["content"], "Hello.", "{dialect:?}");
        assert_eq!(choice(&reply)["finish_reason"], "stop", "{dialect:?}");
        let agent = desk.agent(dialect, &["weather"], json!({"toolChoice": "none"})).await;
        assert_eq!(final_text(&desk.ask(&agent, "Rome?").await), "Hello.", "{dialect:?}");
    }
    assert_eq!((desk.weather.seen().len(), desk.model.seen().len()), (0, 4 * DIALECTS.len()));
    desk.check();
}

#[tokio::test]
async fn model_without_text_gets_a_limited_number_of_requests() {
    let desk = Desk::new(async |asked: RecordedModelRequest| match asked.tools.is_empty() {
        true => ModelReply::new(),
        false => ModelReply::calls([("weather", json!({"city": "Rome"}))]),
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({"maxSteps": 1})).await;
    let reply = desk.ask(&agent, "Rome?").await;
    assert_eq!((final_text(&reply), desk.model.seen().len()), ("", 3), "{}", reply.body);
    assert!(reply.data()["warnings"].to_string().contains("empty response"), "{}", reply.body);
}

#[tokio::test]
async fn turn_that_is_stopped_during_its_repeated_last_request_is_cancelled() {
    let desk = Desk::new(async |asked: RecordedModelRequest| {
        let is_with_results_as_text = asked.tools.is_empty();
        let reply = stubborn(asked).await;
        // No fragment of the last response is ever sent.
        if is_with_results_as_text { reply.hold_until(Arc::new(Semaphore::new(0))) } else { reply }
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({"maxSteps": 1})).await;
    let body = json!({"agentId": agent, "messages": [user("Rome?")], "detach": true});
    let begun = desk.api.post("/api/chat", &body).await;
    let id = begun.data()["conversationId"].as_str().expect("an id").to_owned();
    let mut stream = desk.api.events(&format!("/api/conversations/{id}/events")).await;
    eventually("the last response is requested again", async || desk.model.seen().len() == 3).await;
    let stopped = desk.api.post(&format!("/api/conversations/{id}/cancel"), &json!({})).await;
    assert_eq!(stopped.status, 200, "{}", stopped.body);
    let done = stream.until("done").await.pop().map(|event| event.data["finishReason"].clone());
    assert_eq!(done, Some(json!("cancelled")));
    desk.check();
}

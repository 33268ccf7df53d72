//! A response with thousands of calls is read up to its 128th call; a history with as many is refused.

use std::sync::Arc;

use haft_testkit::{FakeDialect, ModelReply, ModelServer, RecordedModelRequest, TestStorage, Upstream};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::chat::{Desk, asking, final_text, user, weather};
use crate::survival::Settings;
use crate::v1::{COMPLETIONS, RESPONSES, body, choice, complete};

const CALLS: usize = 3_000;

async fn flood(asked: RecordedModelRequest) -> ModelReply {
    if asked.results().is_empty() {
        return ModelReply::calls((0..CALLS).map(|number| ("weather", json!({"city": number.to_string()}))));
    }
    let refused = asked.results().iter().filter(|result| result.content.contains("BudgetExceeded")).count();
    ModelReply::says(format!("{} results, {refused} refused", asked.results().len()))
}

#[tokio::test]
async fn response_is_read_up_to_its_128th_call() {
    // The model sends its last response only after the server has handled another request during the flood.
    let (flooding, healthy) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let desk = Desk::new({
        let (flooding, healthy) = (flooding.clone(), healthy.clone());
        move |asked: RecordedModelRequest| {
            let (flooding, healthy) = (flooding.clone(), healthy.clone());
            async move {
                match asked.results().is_empty() {
                    true => flooding.notify_one(),
                    false => healthy.notified().await,
                }
                flood(asked).await
            }
        }
    })
    .await;
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        let before = desk.weather.seen().len();
        let during = async {
            flooding.notified().await;
            assert_eq!(desk.api.get("/healthz").await.status, 200);
            healthy.notify_one();
        };
        let (reply, ()) = tokio::join!(desk.ask(&agent, "All of them."), during);
        assert_eq!(final_text(&reply), "128 results, 96 refused", "{dialect:?}");
        assert_eq!(reply.data()["toolCalls"].as_array().map(Vec::len), Some(128), "{dialect:?}");
        assert_eq!(desk.weather.seen().len(), before + 32, "{dialect:?}");
    }
    desk.check();
}

#[tokio::test]
async fn response_that_is_not_streamed_is_read_up_to_its_128th_call() {
    let model =
        ModelServer::start(|asked: RecordedModelRequest| async move { flood(asked).await.not_streamed() })
            .await;
    let place = TestStorage::new();
    let settings = asking(Settings::of(&place), &model);
    let (server, api) = settings.start().await;
    let desk = Desk { server, api, model, weather: Upstream::start(weather).await, settings, place };
    desk.tool("weather", json!({})).await;
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        assert_eq!(final_text(&desk.ask(&agent, "All.").await), "128 results, 96 refused", "{dialect:?}");
    }
    desk.check();
}

/// Messages with `count` calls in one message, and a result for each.
fn history(count: usize) -> Value {
    let id = |number: usize| format!("call_{number}");
    let function = json!({"name": "look", "arguments": "{}"});
    let calls = (0..count).map(|number| json!({"id": id(number), "type": "function", "function": function}));
    let mut messages = vec![
        user("Look."),
        json!({"role": "assistant", "content": null, "tool_calls": calls.collect::<Vec<_>>()}),
    ];
    let result =
        |number| json!({"role": "tool", "tool_call_id": id(number), "content": format!("r{number}")});
    messages.extend((0..count).map(result));
    json!(messages)
}

#[tokio::test]
async fn a_history_with_too_many_calls_in_one_message_is_refused() {
    let desk = Desk::new(async |asked: RecordedModelRequest| {
        let results: usize = asked.messages.iter().map(|message| message.results.len()).sum();
        ModelReply::says(results.to_string())
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let reply = complete(&desk.api, &agent, &history(128), &json!({})).await;
    assert_eq!(choice(&reply)["message"]["content"], "128");
    let asked = desk.model.seen().len();
    for count in [129, 20_000] {
        let reply = complete(&desk.api, &agent, &history(count), &json!({})).await;
        assert_eq!(reply.status, 400, "{}", reply.body);
        let error = &reply.body["error"];
        assert_eq!(error["param"], "messages.1.tool_calls", "{error}");
        let message = error["message"].as_str().expect("a text");
        assert!(message.contains(&count.to_string()) && message.contains("128"), "{message}");
    }
    let mut input: Vec<Value> = vec![user("Look.")];
    input.extend((0..129).map(|number| {
        json!({"type": "function_call", "call_id": format!("c{number}"), "name": "look", "arguments": "{}"})
    }));
    let reply = desk.api.post(RESPONSES, &json!({"model": agent, "input": input})).await;
    assert_eq!(reply.status, 400, "{}", reply.body);
    assert_eq!(desk.model.seen().len(), asked, "no request reaches the model");
    // Many messages with few calls each are accepted, although their ids are equal.
    let mut messages = Vec::new();
    for _ in 0..2_000 {
        messages.extend(history(1).as_array().expect("a list").clone());
    }
    messages.push(user("So?"));
    let reply = desk.api.post(COMPLETIONS, &body(&agent, &json!(messages), &json!({}))).await;
    assert_eq!(choice(&reply)["message"]["content"], "2000");
    desk.check();
}

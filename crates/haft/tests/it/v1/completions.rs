//! Completions: whole and streamed, with the agent's tools on the server, and the options of a request.

use std::sync::Arc;

use haft_testkit::{FakeDialect, ModelReply, Upstream, eventually, json_reply};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{COMPLETIONS, body, choice, complete, streamed_text};
use crate::chat::{DIALECTS, Desk, user};

/// Calls the weather tool once, and then writes its result.
async fn clerk(asked: haft_testkit::RecordedModelRequest) -> ModelReply {
    match asked.results().first() {
        None => ModelReply::calls([("weather", json!({"city": "Paris"}))]).usage(20, 4),
        Some(result) => ModelReply::says(format!("It is {}.", result.content)).usage(30, 6),
    }
}

#[tokio::test]
async fn tools_of_the_agent_run_on_the_server_and_the_client_gets_a_response() {
    let desk = Desk::new(clerk).await;
    for dialect in DIALECTS {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        let reply = complete(&desk.api, &agent, &json!([user("weather?")]), &json!({})).await;
        let choice = choice(&reply);
        let text = choice["message"]["content"].as_str().expect("a text");
        assert!(text.contains("\"temperature\":5"), "{dialect:?}: {text}");
        assert_eq!(choice["finish_reason"], "stop");
        assert_eq!(choice["message"]["role"], "assistant");
        assert!(
            choice["message"].get("tool_calls").is_none(),
            "calls on the server are not sent to the client"
        );
        let usage = &reply.body["usage"];
        let numbers = ["prompt_tokens", "completion_tokens", "total_tokens"].map(|name| usage[name].clone());
        assert_eq!(numbers, [json!(50), json!(10), json!(60)], "{dialect:?}");
        assert_eq!(reply.body["model"], agent.as_str());
        assert_eq!(reply.header("haft-conversation"), None);
    }
    assert_eq!(desk.api.get("/api/conversations").await.data()["items"], json!([]), "nothing is stored");
    desk.check();
}

#[tokio::test]
async fn stream_has_a_role_a_text_an_end_and_the_requested_usage() {
    let desk = Desk::new(clerk).await;
    for dialect in DIALECTS {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        for has_usage in [true, false] {
            let more = json!({"stream": true, "stream_options": {"include_usage": has_usage}});
            let body = body(&agent, &json!([user("weather?")]), &more);
            let events = desk.api.post_for_events(COMPLETIONS, &body).await.all().await;
            let first = &events[0].data;
            assert_eq!(first["object"], "chat.completion.chunk");
            assert_eq!(first["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
            assert!(streamed_text(&events).contains("\"temperature\":5"), "{}", streamed_text(&events));
            assert_eq!(events.last().expect("an end").data, "[DONE]");
            let usage: Vec<&Value> =
                events.iter().map(|event| &event.data["usage"]).filter(|usage| usage.is_object()).collect();
            assert_eq!(usage.len(), usize::from(has_usage));
            let finish = &events[events.len() - if has_usage { 3 } else { 2 }].data["choices"][0];
            assert_eq!((&finish["delta"], &finish["finish_reason"]), (&json!({}), &json!("stop")));
            for event in &events[..events.len() - 1] {
                assert_eq!(event.data["id"], first["id"]);
                assert!(event.data["choices"].is_array());
            }
        }
    }
    desk.check();
}

#[tokio::test]
async fn text_is_streamed_while_the_model_writes_and_reasoning_is_separate() {
    let permits = Arc::new(Semaphore::new(0));
    let held = permits.clone();
    let desk =
        Desk::new(move |_| {
            let held = held.clone();
            async move {
                ModelReply::new().reasoning("Hm.").text("Hello there").in_fragments_of(5).hold_until(held)
            }
        })
        .await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let body = body(&agent, &json!([user("hi")]), &json!({"stream": true}));
    permits.add_permits(2);
    let mut events = desk.api.post_for_events(COMPLETIONS, &body).await;
    let mut seen = Vec::new();
    while streamed_text(&seen).is_empty() {
        seen.push(events.event().await);
    }
    assert_eq!(streamed_text(&seen), "Hello");
    let thought =
        seen.iter().find_map(|event| event.data["choices"][0]["delta"]["reasoning_content"].as_str());
    assert_eq!(thought, Some("Hm."));
    permits.add_permits(10);
    seen.extend(events.all().await);
    assert_eq!(streamed_text(&seen), "Hello there");
}

#[tokio::test]
async fn messages_and_options_of_a_request_reach_the_model() {
    let desk = Desk::new(async |_| ModelReply::says("ok")).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let picture = "data:image/png;base64,iVBORw0KGgo=";
    let messages = json!([
        {"role": "system", "content": "Be short."},
        {"role": "developer", "content": "In French."},
        user("hi"),
        {"role": "assistant", "content": "salut", "refusal": null, "audio": null},
        {"role": "user", "content": [
            {"type": "text", "text": "describe this"},
            {"type": "image_url", "image_url": {"url": picture, "detail": "low"}},
        ]},
    ]);
    let more = json!({
        "temperature": 0.5, "max_completion_tokens": 77, "seed": 1, "user": "u", "top_p": 0.9, "store": true,
        "service_tier": "auto",
    });
    choice(&complete(&desk.api, &agent, &messages, &more).await);
    let asked = desk.model.seen().pop().expect("a question");
    assert_eq!(asked.system.as_deref(), Some("You are a clerk.\n\nBe short.\n\nIn French."));
    assert_eq!((asked.temperature, asked.max_tokens), (Some(0.5), Some(77)));
    assert_eq!((asked.messages.len(), asked.messages[2].images), (3, 1));
    desk.check();
}

#[tokio::test]
async fn model_can_be_used_without_an_agent_and_all_models_are_listed() {
    let desk = Desk::new(async |asked| ModelReply::says(asked.model)).await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
    for (name, expected) in
        [("openai/test-small", "test-small"), ("test-large", "test-large"), ("gemini/x/y", "x/y")]
    {
        let reply = complete(&desk.api, name, &json!([user("hi")]), &json!({})).await;
        assert_eq!(choice(&reply)["message"]["content"], expected);
        assert_eq!(reply.body["model"], name);
    }
    assert!(desk.model.seen().iter().all(|asked| asked.tools.is_empty() && asked.system.is_none()));
    let list = desk.api.get("/v1/models").await;
    let ids: Vec<&str> = list.body["data"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|model| model["id"].as_str())
        .collect();
    for id in [agent.as_str(), "openai/test-small", "anthropic/test-large"] {
        assert!(ids.contains(&id), "{ids:?}");
    }
    for id in [agent.as_str(), "openai%2Ftest-small", "test-large"] {
        let model = desk.api.get(&format!("/v1/models/{id}")).await;
        assert_eq!((model.status, &model.body["object"]), (200, &json!("model")), "{}", model.body);
    }
    let none = desk.api.get("/v1/models/nobody").await;
    assert_eq!((none.status, &none.body["error"]["code"]), (404, &json!("model_not_found")));
}

#[tokio::test]
async fn response_that_is_cut_or_filtered_has_its_finish_reason() {
    let desk = Desk::new(async |asked| match asked.user_text() {
        "long" => ModelReply::says("and so on").length(),
        _ => ModelReply::says("no").filtered(),
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    for (text, expected) in [("long", "length"), ("bad", "content_filter")] {
        let reply = complete(&desk.api, &agent, &json!([user(text)]), &json!({})).await;
        assert_eq!(choice(&reply)["finish_reason"], expected);
        let body = body(&agent, &json!([user(text)]), &json!({"stream": true}));
        let events = desk.api.post_for_events(COMPLETIONS, &body).await.all().await;
        assert_eq!(events[events.len() - 2].data["choices"][0]["finish_reason"], expected);
    }
}

#[tokio::test]
async fn client_that_disconnects_cancels_the_running_call() {
    let model = haft_testkit::ModelServer::start(clerk).await;
    let slow = Upstream::start_async(|_| async {
        std::future::pending::<()>().await;
        json_reply(200, &json!({}))
    })
    .await;
    let desk = Desk::with(model, slow).await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
    for (before, is_streamed) in [true, false].into_iter().enumerate() {
        let body = body(&agent, &json!([user("weather?")]), &json!({"stream": is_streamed}));
        let (api, asked) = (desk.api.clone(), body.clone());
        let asking = tokio::spawn(async move { api.post_for_events(COMPLETIONS, &asked).await.all().await });
        eventually("the tool is called", async || desk.weather.seen().len() > before).await;
        asking.abort();
        eventually("the call is cancelled", async || {
            let calls = desk.api.get("/api/tool-calls").await;
            let calls = calls.data()["items"].as_array().expect("a list").clone();
            calls.iter().filter(|call| call["error"]["kind"] == "Cancelled").count() == before + 1
        })
        .await;
    }
}

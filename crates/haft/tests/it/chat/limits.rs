//! Limits of a turn: steps, calls, tokens, context window, turns per user. Also `stop_response` and
//! disconnects.

use std::time::Duration;

use haft_testkit::{FakeDialect, ModelReply, RecordedModelRequest, eventually};
use serde_json::{Value, json};

use super::{DIALECTS, Desk, final_text, user};

#[tokio::test]
async fn final_response_without_tools_is_requested_after_the_last_step() {
    let desk = Desk::new(async |request: RecordedModelRequest| match request.tool_choice.as_deref() {
        Some("none") => ModelReply::says("That is all I know."),
        Some(_) | None => {
            ModelReply::calls([("weather", json!({"city": format!("c{}", request.previous_responses())}))])
        }
    })
    .await;
    for dialect in DIALECTS {
        let agent = desk.agent(dialect, &["weather"], json!({"maxSteps": 3})).await;
        let reply = desk.ask(&agent, "Continue.").await;
        assert_eq!(final_text(&reply), "That is all I know.", "{dialect:?}");
        let data = reply.data();
        assert_eq!((&data["finishReason"], &data["steps"]), (&json!("max_steps"), &json!(4)));
        assert_eq!(data["toolCalls"].as_array().map(Vec::len), Some(3));
        assert!(data["warnings"][0].as_str().is_some_and(|text| text.contains('3')), "{data}");
    }
    desk.check();
}

#[tokio::test]
async fn calls_over_budget_are_rejected_and_reported_to_the_model() {
    let many = |count: usize| (0..count).map(|n| ("weather", json!({"city": format!("c{n}")})));
    let desk = Desk::new(move |request: RecordedModelRequest| async move {
        match (request.previous_responses(), request.user_text()) {
            (0, "many") => ModelReply::calls(many(40)),
            (0, "few") => ModelReply::calls(many(4)),
            (_, _) => ModelReply::says(
                request
                    .results()
                    .iter()
                    .filter(|result| result.content.contains("BudgetExceeded"))
                    .count()
                    .to_string(),
            ),
        }
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
    assert_eq!(final_text(&desk.ask(&agent, "many").await), "8", "a response may make 32 calls");
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({"maxCalls": 3})).await;
    assert_eq!(final_text(&desk.ask(&agent, "few").await), "1");
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({"maxTotalTokens": 1})).await;
    let reply = desk.ask(&agent, "few").await;
    assert_eq!(reply.data()["finishReason"], "max_steps", "{}", reply.body);
    desk.check();
}

#[tokio::test]
async fn stop_response_ends_the_turn_with_its_message() {
    let desk = Desk::new(async |_: RecordedModelRequest| {
        ModelReply::new().text("Wait.").call("stop_response", json!({"message": "Enough."}))
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &["stop_response", "weather"], json!({})).await;
    let reply = desk.ask(&agent, "Stop.").await;
    assert_eq!(final_text(&reply), "Enough.");
    assert_eq!((&reply.data()["finishReason"], &reply.data()["steps"]), (&json!("tool_stop"), &json!(1)));
    desk.check();
}

#[tokio::test]
async fn large_result_is_truncated_and_read_by_its_handle() {
    let upstream = haft_testkit::Upstream::start(|_| {
        let rows: Vec<Value> = (0..3000).map(|n| json!({"n": n, "word": format!("row-{n}-end")})).collect();
        haft_testkit::json_reply(200, &json!({"rows": rows}))
    });
    let model = haft_testkit::ModelServer::start(async |request: RecordedModelRequest| {
        let result: Value = request
            .results()
            .first()
            .map_or(Value::Null, |result| serde_json::from_str(&result.content).unwrap_or_default());
        match (result.get("handle"), result.get("text")) {
            (None, None) => ModelReply::calls([("weather", json!({"city": "Rome"}))]),
            (Some(handle), _) => {
                ModelReply::calls([("read_result", json!({"handle": handle, "find": "row-2999-end"}))])
            }
            (None, Some(text)) => {
                ModelReply::says(text.as_str().unwrap_or_default().get(..12).unwrap_or_default())
            }
        }
    });
    let desk = Desk::with(model.await, upstream.await).await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
    let reply = desk.ask(&agent, "All of it?").await;
    assert_eq!(final_text(&reply), "row-2999-end", "{}", reply.body);
    let cut = &reply.data()["toolCalls"][0]["result"]["data"];
    assert_eq!(cut["shape"]["rows"]["list"], 3000);
    let seen = desk.model.seen();
    assert!(seen.iter().all(|request| request.results().iter().all(|result| result.content.len() < 33_000)));
    assert!(seen[1].tool_names().contains(&"read_result") && !seen[0].tool_names().contains(&"read_result"));
    desk.check();
    // Deleting a conversation deletes its files only.
    let files = async || desk.api.get("/api/artifacts").await.data()["items"].as_array().map(Vec::len);
    assert_eq!(files().await, Some(1));
    let other = desk.ask(&agent, "Once more?").await;
    assert_eq!((final_text(&other), files().await), ("row-2999-end", Some(2)));
    let id = reply.data()["conversationId"].as_str().expect("an id");
    assert_eq!(desk.api.delete(&format!("/api/conversations/{id}")).await.status, 200);
    assert_eq!(files().await, Some(1));
}

#[tokio::test]
async fn agent_with_many_tools_searches_for_them() {
    let desk = Desk::new(async |request: RecordedModelRequest| {
        let names = request.tool_names();
        match (names.contains(&"special_forecast"), request.results().first()) {
            (false, None) => ModelReply::calls([("find_tools", json!({"query": "special forecast"}))]),
            (true, Some(found)) if found.content.contains("special_forecast") => {
                ModelReply::calls([("special_forecast", json!({"city": "Rome"}))])
            }
            (_, Some(result)) => ModelReply::says(result.content.clone()),
            (true, None) => ModelReply::says("it was offered from the beginning"),
        }
    })
    .await;
    let mut names: Vec<String> = (0..70).map(|n| format!("tool_{n}")).collect();
    names.push("special_forecast".to_owned());
    for name in &names {
        desk.tool(name, json!({"description": format!("The {name}.")})).await;
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let agent = desk.agent(FakeDialect::Openai, &names, json!({})).await;
    let reply = desk.ask(&agent, "A special forecast?").await;
    assert!(final_text(&reply).contains("\"temperature\":4"), "{}", reply.body);
    let seen = desk.model.seen();
    assert_eq!(seen[0].tool_names(), ["find_tools"]);
    assert!(seen[1].tool_names().len() <= 9);
    desk.check();
}

#[tokio::test]
async fn long_conversation_is_trimmed_to_the_context_window() {
    let desk = Desk::new(async |request: RecordedModelRequest| {
        let length: usize = request.body.to_string().len();
        if length > 40_000 {
            return ModelReply::refused(400, "This model's maximum context length is 8192 tokens", None);
        }
        ModelReply::says("x".repeat(9_000))
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let first = desk.ask(&agent, "one").await;
    let id = first.data()["conversationId"].clone();
    for n in 0..6 {
        let body = json!({"conversationId": id, "messages": [user(&format!("more {n}"))]});
        let reply = desk.api.post("/api/chat", &body).await;
        // The context length in the model's error message is used.
        assert_eq!(reply.status, 200, "{n}: {}", reply.body);
    }
}

#[tokio::test]
async fn disconnect_cancels_the_turn_and_its_running_call() {
    let upstream = haft_testkit::Upstream::start_async(async |_| std::future::pending().await);
    let model = haft_testkit::ModelServer::start(async |_: RecordedModelRequest| {
        ModelReply::calls([("weather", json!({"city": "Rome"}))])
    });
    let desk = Desk::with(model.await, upstream.await).await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
    let asking = desk.ask(&agent, "Rome?");
    assert!(
        tokio::time::timeout(Duration::from_millis(1500), asking).await.is_err(),
        "it does not end by itself"
    );
    assert_eq!(desk.weather.seen().len(), 1);
    let listed = desk.api.get("/api/conversations").await;
    let id = listed.data()["items"][0]["id"].as_str().expect("an id").to_owned();
    eventually("the turn is cancelled", async || {
        let read = desk.api.get(&format!("/api/conversations/{id}")).await;
        read.data()["turns"][0]["finishReason"] == "cancelled"
    })
    .await;
    let read = desk.api.get(&format!("/api/conversations/{id}")).await;
    assert_eq!(read.data()["turns"][0]["steps"][0]["calls"][0]["result"]["error"]["kind"], "Cancelled");
}

#[tokio::test]
async fn missing_provider_error_names_the_variable_to_set() {
    let (_server, api) = crate::http_tools::start(&[]).await;
    let reply = api.post("/api/chat", &json!({"messages": [user("Hello?")]})).await;
    assert_eq!(reply.status, 422, "{}", reply.body);
    assert!(reply.message().contains("OPENAI_API_KEY"), "{}", reply.body);
    assert_eq!(api.get("/api/conversations").await.data()["items"], json!([]), "no conversation is created");
}

#[tokio::test]
async fn turn_limits_of_a_user_and_of_the_process_are_settings() {
    let permits = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let held = permits.clone();
    let model = haft_testkit::ModelServer::start(move |_: RecordedModelRequest| {
        let held = held.clone();
        async move { ModelReply::says("Yes.").hold_until(held) }
    });
    let weather = haft_testkit::Upstream::start(super::weather);
    let limits = [("HAFT_MAX_TURNS", "5"), ("HAFT_MAX_TURNS_PER_USER", "3")];
    let desk = Desk::with_settings(model.await, weather.await, &limits).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let body = json!({"agentId": agent, "messages": [user("x")], "detach": true});
    for _ in 0..3 {
        assert_eq!(desk.api.post("/api/chat", &body).await.status, 202);
    }
    eventually("all turns are running", async || desk.model.under_way() == 3).await;
    let refused = desk.api.post("/api/chat", &body).await;
    assert_eq!((refused.status, refused.kind()), (429, "RateLimit"), "{}", refused.body);
    assert_eq!(refused.header("retry-after"), Some("2"));
    let plain = json!({"model": agent, "messages": [user("x")]});
    let refused = desk.api.post("/v1/chat/completions", &plain).await;
    assert_eq!(refused.status, 429, "ephemeral turns count, too: {}", refused.body);
    let other = crate::agents::stranger(&desk.server, &desk.api).await;
    let body_of_other = json!({"messages": [user("x")], "detach": true});
    for _ in 0..2 {
        let accepted = other.post("/api/chat", &body_of_other).await;
        assert_eq!(accepted.status, 202, "another user has free turns: {}", accepted.body);
    }
    eventually("the process runs 5 turns", async || desk.model.under_way() == 5).await;
    let refused = other.post("/api/chat", &body_of_other).await;
    assert_eq!(refused.status, 429, "the process has no free turn: {}", refused.body);
    assert!(refused.message().contains("process"), "{}", refused.body);
    assert_eq!(refused.header("retry-after"), Some("2"));
    permits.add_permits(100_000);
    eventually("turns are free again", async || desk.api.post("/api/chat", &body).await.status == 202).await;
}

#[tokio::test]
async fn large_and_small_results_are_stored_without_deadlock() {
    // Large results are stored as files while other results are journaled: neither may wait for the other.
    let upstream = haft_testkit::Upstream::start(|seen| match seen.target.contains("large") {
        true => haft_testkit::json_reply(200, &json!("x".repeat(40_000))),
        false => super::weather(seen),
    });
    let model = haft_testkit::ModelServer::start(async |request: RecordedModelRequest| {
        match request.results().len() {
            0 => ModelReply::calls((0..32).map(|n| {
                let size = if n % 2 == 0 { "large" } else { "small" };
                ("weather", json!({"city": format!("{size}{n}")}))
            })),
            many => ModelReply::says(many.to_string()),
        }
    });
    let desk = Desk::with(model.await, upstream.await).await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
    for _ in 0..4 {
        let reply = tokio::time::timeout(Duration::from_secs(20), desk.ask(&agent, "All?")).await;
        assert_eq!(final_text(&reply.expect("the turn ends")), "32");
    }
    let saved = desk.api.put("/api/secrets/any", &json!({"value": "x"})).await;
    assert_eq!(saved.status, 200, "other writes work: {}", saved.body);
    desk.check();
}

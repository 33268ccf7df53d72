//! What a turn may not exceed: steps, calls, tokens, the model's window; and how a turn is ended on purpose.

use std::time::Duration;

use haft_testkit::{AskedModel, Dialect, ModelReply, eventually};
use serde_json::{Value, json};

use super::{DIALECTS, Desk, said, user};

#[tokio::test]
async fn after_the_last_step_one_answer_without_tools_is_asked_for() {
    let desk = Desk::new(async |asked: AskedModel| match asked.tool_choice.as_deref() {
        Some("none") => ModelReply::says("That is all I know."),
        Some(_) | None => {
            ModelReply::calls([("weather", json!({"city": format!("c{}", asked.answers_before())}))])
        }
    })
    .await;
    for dialect in DIALECTS {
        let agent = desk.agent(dialect, &["weather"], json!({"maxSteps": 3})).await;
        let reply = desk.ask(&agent, "Go on.").await;
        assert_eq!(said(&reply), "That is all I know.", "{dialect:?}");
        let data = reply.data();
        assert_eq!((&data["finishReason"], &data["steps"]), (&json!("max_steps"), &json!(4)));
        assert_eq!(data["toolCalls"].as_array().map(Vec::len), Some(3));
        assert!(data["warnings"][0].as_str().is_some_and(|words| words.contains('3')), "{data}");
    }
    desk.check();
}

#[tokio::test]
async fn calls_beyond_the_budget_are_refused_and_the_model_is_told() {
    let many = |count: usize| (0..count).map(|n| ("weather", json!({"city": format!("c{n}")})));
    let desk = Desk::new(move |asked: AskedModel| async move {
        match (asked.answers_before(), asked.user_text()) {
            (0, "many") => ModelReply::calls(many(40)),
            (0, "few") => ModelReply::calls(many(4)),
            (_, _) => ModelReply::says(
                asked
                    .results()
                    .iter()
                    .filter(|result| result.content.contains("BudgetExceeded"))
                    .count()
                    .to_string(),
            ),
        }
    })
    .await;
    let agent = desk.agent(Dialect::Openai, &["weather"], json!({})).await;
    assert_eq!(said(&desk.ask(&agent, "many").await), "8", "an answer may make 32 calls");
    let agent = desk.agent(Dialect::Openai, &["weather"], json!({"maxCalls": 3})).await;
    assert_eq!(said(&desk.ask(&agent, "few").await), "1");
    let agent = desk.agent(Dialect::Openai, &["weather"], json!({"maxTotalTokens": 1})).await;
    let reply = desk.ask(&agent, "few").await;
    assert_eq!(reply.data()["finishReason"], "max_steps", "{}", reply.body);
    desk.check();
}

#[tokio::test]
async fn stop_response_ends_the_turn_with_its_words() {
    let desk = Desk::new(async |_: AskedModel| {
        ModelReply::new().text("Wait.").call("stop_response", json!({"message": "Enough."}))
    })
    .await;
    let agent = desk.agent(Dialect::Openai, &["stop_response", "weather"], json!({})).await;
    let reply = desk.ask(&agent, "Stop.").await;
    assert_eq!(said(&reply), "Enough.");
    assert_eq!((&reply.data()["finishReason"], &reply.data()["steps"]), (&json!("tool_stop"), &json!(1)));
    desk.check();
}

#[tokio::test]
async fn a_large_result_is_cut_and_read_on_by_its_handle() {
    let upstream = haft_testkit::Upstream::start(|_| {
        let rows: Vec<Value> = (0..3000).map(|n| json!({"n": n, "word": format!("row-{n}-end")})).collect();
        haft_testkit::json_reply(200, &json!({"rows": rows}))
    });
    let model = haft_testkit::ModelServer::start(async |asked: AskedModel| {
        let result: Value = asked
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
    let agent = desk.agent(Dialect::Openai, &["weather"], json!({})).await;
    let reply = desk.ask(&agent, "All of it?").await;
    assert_eq!(said(&reply), "row-2999-end", "{}", reply.body);
    let cut = &reply.data()["toolCalls"][0]["result"]["data"];
    assert_eq!(cut["shape"]["rows"]["list"], 3000);
    let seen = desk.model.seen();
    assert!(seen.iter().all(|asked| asked.results().iter().all(|result| result.content.len() < 33_000)));
    assert!(seen[1].tool_names().contains(&"read_result") && !seen[0].tool_names().contains(&"read_result"));
    desk.check();
    // What was kept for a conversation goes with it, and nothing else.
    let files = async || desk.api.get("/api/artifacts").await.data()["items"].as_array().map(Vec::len);
    assert_eq!(files().await, Some(1));
    let other = desk.ask(&agent, "Once more?").await;
    assert_eq!((said(&other), files().await), ("row-2999-end", Some(2)));
    let id = reply.data()["conversationId"].as_str().expect("an id");
    assert_eq!(desk.api.delete(&format!("/api/conversations/{id}")).await.status, 200);
    assert_eq!(files().await, Some(1));
}

#[tokio::test]
async fn an_agent_with_very_many_tools_finds_them() {
    let desk = Desk::new(async |asked: AskedModel| {
        let names = asked.tool_names();
        match (names.contains(&"special_forecast"), asked.results().first()) {
            (false, None) => ModelReply::calls([("find_tools", json!({"query": "special forecast"}))]),
            (true, Some(found)) if found.content.contains("special_forecast") => {
                ModelReply::calls([("special_forecast", json!({"city": "Rome"}))])
            }
            (_, Some(result)) => ModelReply::says(result.content.clone()),
            (true, None) => ModelReply::says("it was there from the beginning"),
        }
    })
    .await;
    let mut names: Vec<String> = (0..70).map(|n| format!("tool_{n}")).collect();
    names.push("special_forecast".to_owned());
    for name in &names {
        desk.tool(name, json!({"description": format!("The {name}.")})).await;
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let agent = desk.agent(Dialect::Openai, &names, json!({})).await;
    let reply = desk.ask(&agent, "A special forecast?").await;
    assert!(said(&reply).contains("\"temperature\":4"), "{}", reply.body);
    let seen = desk.model.seen();
    assert_eq!(seen[0].tool_names(), ["find_tools"]);
    assert!(seen[1].tool_names().len() <= 9);
    desk.check();
}

#[tokio::test]
async fn a_long_conversation_is_kept_within_the_window() {
    let desk = Desk::new(async |asked: AskedModel| {
        let length: usize = asked.body.to_string().len();
        if length > 40_000 {
            return ModelReply::refused(400, "This model's maximum context length is 8192 tokens", None);
        }
        ModelReply::says("x".repeat(9_000))
    })
    .await;
    let agent = desk.agent(Dialect::Openai, &[], json!({})).await;
    let first = desk.ask(&agent, "one").await;
    let id = first.data()["conversationId"].clone();
    for n in 0..6 {
        let body = json!({"conversationId": id, "messages": [user(&format!("more {n}"))]});
        let reply = desk.api.post("/api/chat", &body).await;
        // A model that says so itself is believed.
        assert_eq!(reply.status, 200, "{n}: {}", reply.body);
    }
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_turn_and_the_call_under_way() {
    let upstream = haft_testkit::Upstream::start_async(async |_| std::future::pending().await);
    let model = haft_testkit::ModelServer::start(async |_: AskedModel| {
        ModelReply::calls([("weather", json!({"city": "Rome"}))])
    });
    let desk = Desk::with(model.await, upstream.await).await;
    let agent = desk.agent(Dialect::Openai, &["weather"], json!({})).await;
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
async fn without_a_provider_one_is_told_what_to_set() {
    let (_server, api) = crate::http_tools::start(&[]).await;
    let reply = api.post("/api/chat", &json!({"messages": [user("Hello?")]})).await;
    assert_eq!(reply.status, 422, "{}", reply.body);
    assert!(reply.message().contains("OPENAI_API_KEY"), "{}", reply.body);
    assert_eq!(api.get("/api/conversations").await.data()["items"], json!([]), "nothing is begun");
}

#[tokio::test]
async fn one_users_turns_leave_room_for_those_of_others() {
    let permits = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let held = permits.clone();
    let desk = Desk::new(move |_: AskedModel| {
        let held = held.clone();
        async move { ModelReply::says("Yes.").hold(held) }
    })
    .await;
    let agent = desk.agent(Dialect::Openai, &[], json!({})).await;
    let body = json!({"agentId": agent, "messages": [user("x")], "detach": true});
    for _ in 0..64 {
        assert_eq!(desk.api.post("/api/chat", &body).await.status, 202);
    }
    eventually("all are under way", async || desk.model.under_way() == 64).await;
    let refused = desk.api.post("/api/chat", &body).await;
    assert_eq!((refused.status, refused.kind()), (429, "RateLimit"), "{}", refused.body);
    assert_eq!(refused.header("retry-after"), Some("2"));
    let plain = json!({"model": agent, "messages": [user("x")]});
    let refused = desk.api.post("/v1/chat/completions", &plain).await;
    assert_eq!(refused.status, 429, "whether it is kept or not: {}", refused.body);
    let other = crate::agents::stranger(&desk.server, &desk.api).await;
    let theirs = other.post("/api/chat", &json!({"messages": [user("x")], "detach": true})).await;
    assert_eq!(theirs.status, 202, "somebody else has room: {}", theirs.body);
    permits.add_permits(100_000);
    eventually("there is room again", async || desk.api.post("/api/chat", &body).await.status == 202).await;
}

#[tokio::test]
async fn large_results_beside_others_hold_up_nobody() {
    // Each is kept as a file while what the others came to is noted: neither may wait for the other.
    let upstream = haft_testkit::Upstream::start(|seen| match seen.target.contains("large") {
        true => haft_testkit::json_reply(200, &json!("x".repeat(40_000))),
        false => super::weather(seen),
    });
    let model = haft_testkit::ModelServer::start(async |asked: AskedModel| match asked.results().len() {
        0 => ModelReply::calls((0..32).map(|n| {
            let size = if n % 2 == 0 { "large" } else { "small" };
            ("weather", json!({"city": format!("{size}{n}")}))
        })),
        many => ModelReply::says(many.to_string()),
    });
    let desk = Desk::with(model.await, upstream.await).await;
    let agent = desk.agent(Dialect::Openai, &["weather"], json!({})).await;
    for _ in 0..4 {
        let asked = tokio::time::timeout(Duration::from_secs(20), desk.ask(&agent, "All?")).await;
        assert_eq!(said(&asked.expect("the turn comes to its end")), "32");
    }
    let kept = desk.api.put("/api/secrets/any", &json!({"value": "x"})).await;
    assert_eq!(kept.status, 200, "others can write meanwhile: {}", kept.body);
    desk.check();
}

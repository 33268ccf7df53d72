//! Servers that are killed between two calls of one turn: what was done is not done again, what was under way is made
//! again or told as unknown, and the turn comes to its end by itself.

use std::sync::Arc;

use haft_testkit::{
    AskedModel, AskedResult, Client, Dialect, ModelReply, ModelServer, Seen, Upstream, eventually,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{Desk, user, weather};

/// Both calls in one answer.
const TOGETHER: &str = "Rome and Oslo?";

/// The second in the next answer, when the first is known.
const CHAIN: &str = "Rome, then Oslo?";

/// Calls for Rome at once, and for Oslo with whatever takes its time; then says all it was told, in its order.
async fn teller(asked: AskedModel) -> ModelReply {
    let slow = asked.tool_names().into_iter().find(|name| *name != "weather").unwrap_or_default().to_owned();
    let (rome, oslo) = (("weather".to_owned(), json!({"city": "Rome"})), (slow, json!({"city": "Oslo"})));
    let told: Vec<&AskedResult> = asked.messages.iter().flat_map(|message| &message.results).collect();
    match (told.len(), asked.user_text()) {
        (0, TOGETHER) => ModelReply::calls([rome, oslo]),
        (0, _) => ModelReply::calls([rome]),
        (1, _) => ModelReply::calls([oslo]),
        (_, _) => {
            let told: Vec<&str> = told.iter().map(|result| result.content.as_str()).collect();
            ModelReply::says(told.join(" | "))
        }
    }
}

/// The weather of Rome is known at once; any other needs a permit.
async fn upstream(permits: Arc<Semaphore>) -> Upstream {
    Upstream::start_async(move |seen| {
        let permits = permits.clone();
        async move {
            if !seen.target.ends_with("city=Rome") {
                permits.acquire().await.expect("open").forget();
            }
            weather(&seen)
        }
    })
    .await
}

/// How often the upstream was asked for a city.
fn seen(weather: &Upstream, city: &str) -> usize {
    let asked_for = |seen: &&Seen| seen.target.ends_with(&format!("city={city}"));
    weather.seen().iter().filter(asked_for).count()
}

async fn turns(api: &Client, id: &str) -> Vec<Value> {
    let read = api.get(&format!("/api/conversations/{id}")).await;
    assert_eq!(read.status, 200, "{}", read.body);
    read.data()["turns"].as_array().expect("turns").clone()
}

/// All calls of a turn, in their order.
fn calls(turn: &Value) -> Vec<Value> {
    let steps = turn["steps"].as_array().expect("steps").iter();
    steps.flat_map(|step| step["calls"].as_array().expect("calls").clone()).collect()
}

/// A server is killed when Rome is done and Oslo is under way; another goes on.
async fn killed_halfway(dialect: Dialect, question: &str, is_write: bool) {
    let case = format!("{dialect:?}, {question}, is_write: {is_write}");
    let permits = Arc::new(Semaphore::new(0));
    let desk = Desk::with(ModelServer::start(teller).await, upstream(permits.clone()).await).await;
    let slow = if is_write { json!({"method": "POST", "effect": "write"}) } else { json!({}) };
    desk.tool("slow", slow).await;
    let agent = desk.agent(dialect, &["weather", "slow"], json!({})).await;
    let body = json!({"agentId": agent, "messages": [user(question)], "detach": true});
    let begun = desk.api.post("/api/chat", &body).await;
    assert_eq!(begun.status, 202, "{}", begun.body);
    let id = begun.data()["conversationId"].as_str().expect("an id").to_owned();
    eventually("one is done, the other under way, and both are noted", async || {
        let turns = turns(&desk.api, &id).await;
        let states: Vec<Value> =
            turns.first().map(calls).into_iter().flatten().map(|call| call["status"].clone()).collect();
        states == ["done", "running"] && seen(&desk.weather, "Oslo") == 1
    })
    .await;
    let known = calls(&turns(&desk.api, &id).await[0]);
    let asked = desk.model.seen().len();
    // What is on its way to the log a moment after a call is not what this is about.
    let path = |call: &Value| format!("/api/tool-calls/{}", call["callId"].as_str().expect("an id"));
    eventually("it is on record", async || desk.api.get(&path(&known[0])).await.status == 200).await;
    desk.server.kill().await;
    permits.add_permits(1000);

    let (_server, api) = desk.settings.start().await;
    eventually("the turn ends by itself", async || turns(&api, &id).await[0]["finishReason"] == "stop").await;
    let turns = turns(&api, &id).await;
    assert_eq!(turns.len(), 1, "{case}: {turns:?}");
    assert_eq!(seen(&desk.weather, "Rome"), 1, "{case}: what was done was seen once");
    assert_eq!(seen(&desk.weather, "Oslo"), if is_write { 1 } else { 2 }, "{case}");
    assert_eq!(desk.model.seen().len(), asked + 1, "{case}: no answer that was there is asked for again");

    // The same calls, the first with the result it had.
    let calls = calls(&turns[0]);
    let ids = |calls: &[Value]| -> Vec<Value> { calls.iter().map(|call| call["callId"].clone()).collect() };
    assert_eq!(ids(&calls), ids(&known), "{case}");
    assert_eq!(calls[0]["result"], known[0]["result"], "{case}");
    let told = turns[0]["message"]["content"].as_str().expect("words");
    let (first, second) = told.split_once(" | ").expect("two results");
    assert!(first.contains("Rome"), "{case}: {told}");
    match is_write {
        true => {
            assert!(second.contains("Unknown") && !second.contains("temperature"), "{case}: {told}");
            assert_eq!(calls[1]["result"]["error"]["kind"], "Unknown", "{case}: {calls:?}");
        }
        false => assert!(second.contains("Oslo") && second.contains("temperature"), "{case}: {told}"),
    }
    // Each is on record, under the id that the conversation shows.
    for call in &calls {
        eventually("it is on record", async || api.get(&path(call)).await.status == 200).await;
    }
    assert_eq!(desk.model.refused(), Vec::<String>::new(), "{case}");
}

#[tokio::test]
async fn of_two_calls_of_one_answer_the_finished_one_is_not_made_again() {
    for (dialect, is_write) in [
        (Dialect::Openai, false),
        (Dialect::Anthropic, true),
        (Dialect::Gemini, false),
        (Dialect::Openai, true),
    ] {
        killed_halfway(dialect, TOGETHER, is_write).await;
    }
}

#[tokio::test]
async fn in_a_chain_of_calls_the_first_is_not_made_again() {
    for (dialect, is_write) in [
        (Dialect::Gemini, true),
        (Dialect::Openai, false),
        (Dialect::Anthropic, false),
        (Dialect::Openai, true),
    ] {
        killed_halfway(dialect, CHAIN, is_write).await;
    }
}

//! A server is killed during a turn: the next server continues it, and finished calls are not repeated.

use std::sync::Arc;

use haft_testkit::{
    Client, FakeDialect, ModelReply, ModelServer, RecordedModelRequest, Upstream, eventually,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{Desk, user, weather};

async fn turn(api: &Client, id: &str) -> Value {
    let read = api.get(&format!("/api/conversations/{id}")).await;
    assert_eq!(read.status, 200, "{}", read.body);
    read.data()["turns"][0].clone()
}

async fn detached(desk: &Desk, agent: &str) -> String {
    let body = json!({"agentId": agent, "messages": [user("Rome?")], "detach": true});
    let reply = desk.api.post("/api/chat", &body).await;
    assert_eq!(reply.status, 202, "{}", reply.body);
    reply.data()["conversationId"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn crash_during_a_response_repeats_the_model_request_but_not_the_finished_call() {
    let permits = Arc::new(Semaphore::new(4));
    let held = permits.clone();
    let desk = Desk::new(move |request: RecordedModelRequest| {
        let held = held.clone();
        async move {
            match request.results().len() {
                0 => ModelReply::calls([("weather", json!({"city": "Rome"}))]),
                _ => ModelReply::says("It is four degrees in Rome.").hold_until(held),
            }
        }
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
    let id = detached(&desk, &agent).await;
    let mut stream = desk.api.events(&format!("/api/conversations/{id}/events")).await;
    let events = stream.until("message.delta").await;
    let last = events.last().and_then(|event| event.place.clone()).expect("an id");
    eventually("the call is journaled", async || {
        turn(&desk.api, &id).await["steps"][0]["calls"][0]["status"] == "done"
    })
    .await;
    desk.server.kill().await;
    permits.add_permits(1000);
    let (_server, api) = desk.settings.start().await;
    // A follower that reconnects receives the turn from its start.
    let again = api.with("last-event-id", &last);
    let mut stream = again.events(&format!("/api/conversations/{id}/events")).await;
    let events = stream.until("done").await;
    assert_eq!(events[0].name, "turn.reset", "{events:?}");
    assert_eq!(events.last().map(|event| event.data["finishReason"].clone()), Some(json!("stop")));
    let turn = turn(&api, &id).await;
    assert_eq!(turn["message"]["content"], "It is four degrees in Rome.");
    assert_eq!(desk.weather.seen().len(), 1, "the finished call was sent once");
    assert_eq!(desk.model.seen().len(), 3);
}

#[tokio::test]
async fn crash_in_a_later_turn_continues_that_turn_only() {
    let permits = Arc::new(Semaphore::new(0));
    let held = permits.clone();
    let desk = Desk::new(move |request: RecordedModelRequest| {
        let held = held.clone();
        async move {
            match (request.user_text(), request.results().len()) {
                ("Rome?", _) => ModelReply::says("Four degrees."),
                (_, 0) => ModelReply::calls([("weather", json!({"city": "Oslo"}))]),
                (_, _) => ModelReply::says("Colder.").hold_until(held),
            }
        }
    })
    .await;
    let agent = desk.agent(FakeDialect::Anthropic, &["weather"], json!({})).await;
    let first = desk.ask(&agent, "Rome?").await;
    let id = first.data()["conversationId"].as_str().expect("an id").to_owned();
    let body = json!({"conversationId": id, "messages": [user("And Oslo?")], "detach": true});
    assert_eq!(desk.api.post("/api/chat", &body).await.status, 202, "persisted before the response");
    let read =
        async |api: &Client| api.get(&format!("/api/conversations/{id}")).await.data()["turns"].clone();
    eventually("the call is journaled", async || {
        read(&desk.api).await[1]["steps"][0]["calls"][0]["status"] == "done"
    })
    .await;
    desk.server.kill().await;
    permits.add_permits(1000);
    let (_server, api) = desk.settings.start().await;
    eventually("the turn is over", async || read(&api).await[1]["finishReason"] == "stop").await;
    let turns = read(&api).await;
    assert_eq!(
        (&turns[0]["message"]["content"], &turns[1]["message"]["content"]),
        (&json!("Four degrees."), &json!("Colder."))
    );
    assert_eq!(turns.as_array().map(Vec::len), Some(2));
    assert_eq!(desk.weather.seen().len(), 1, "the finished call was sent once");
    // A new turn on the server that had to load the conversation from the database.
    let body = json!({"conversationId": id, "messages": [user("Rome?")]});
    assert_eq!(super::final_text(&api.post("/api/chat", &body).await), "Four degrees.");
}

#[tokio::test]
async fn crash_during_a_read_repeats_it() {
    let permits = Arc::new(Semaphore::new(0));
    let desk = desk_with_slow_tool(permits.clone()).await;
    let agent = desk.agent(FakeDialect::Anthropic, &["weather"], json!({})).await;
    let id = detached(&desk, &agent).await;
    eventually("the tool is called", async || desk.weather.seen().len() == 1).await;
    desk.server.kill().await;
    permits.add_permits(1000);
    let (_server, api) = desk.settings.start().await;
    eventually("the turn ends", async || turn(&api, &id).await["finishReason"] == "stop").await;
    assert!(turn(&api, &id).await["message"]["content"].as_str().is_some_and(|text| text.contains('4')));
    assert_eq!(desk.weather.seen().len(), 2);
}

#[tokio::test]
async fn crash_during_a_write_reports_it_as_unknown_to_the_model() {
    let permits = Arc::new(Semaphore::new(0));
    let desk = desk_with_slow_tool(permits.clone()).await;
    desk.tool("order", json!({"method": "POST", "effect": "write"})).await;
    let agent = desk.agent(FakeDialect::Openai, &["order", "weather"], json!({})).await;
    let id = detached(&desk, &agent).await;
    eventually("the tool is called", async || !desk.weather.seen().is_empty()).await;
    desk.server.kill().await;
    permits.add_permits(1000);
    let (_server, api) = desk.settings.start().await;
    eventually("the turn ends", async || turn(&api, &id).await["finishReason"] == "stop").await;
    let turn = turn(&api, &id).await;
    assert!(turn["message"]["content"].as_str().is_some_and(|text| text.contains("Unknown")), "{turn}");
    assert_eq!(desk.weather.seen().len(), 1, "a write is never sent twice");
    let call = turn["steps"][0]["calls"][0]["callId"].as_str().expect("an id").to_owned();
    eventually("the call is logged", async || {
        api.get(&format!("/api/tool-calls/{call}")).await.status == 200
    })
    .await;
}

#[tokio::test]
async fn interrupted_write_is_not_repeated_after_the_tool_changed() {
    for changed in [json!({"effect": "read"}), json!({"policy": "ask"}), json!({"async": true})] {
        let permits = Arc::new(Semaphore::new(0));
        let desk = desk_with_slow_tool(permits.clone()).await;
        desk.tool("order", json!({"method": "POST", "effect": "write"})).await;
        let agent = desk.agent(FakeDialect::Openai, &["order"], json!({})).await;
        let id = detached(&desk, &agent).await;
        eventually("the tool is called", async || !desk.weather.seen().is_empty()).await;
        let patched = desk.api.send_json(axum::http::Method::PATCH, "/api/tools/order", &changed).await;
        assert_eq!(patched.status, 200, "{}", patched.body);
        desk.server.kill().await;
        permits.add_permits(1000);
        let (_server, api) = desk.settings.start().await;
        eventually("the turn ends", async || turn(&api, &id).await["finishReason"] == "stop").await;
        let turn = turn(&api, &id).await;
        assert!(turn["message"]["content"].as_str().is_some_and(|text| text.contains("Unknown")), "{turn}");
        assert_eq!(desk.weather.seen().len(), 1, "{changed}");
    }
}

#[tokio::test]
async fn interrupted_write_is_unknown_if_the_turn_cannot_continue() {
    let permits = Arc::new(Semaphore::new(0));
    let desk = desk_with_slow_tool(permits.clone()).await;
    desk.tool("order", json!({"method": "POST", "effect": "write"})).await;
    let agent = desk.agent(FakeDialect::Openai, &["order"], json!({})).await;
    let id = detached(&desk, &agent).await;
    eventually("the tool is called", async || !desk.weather.seen().is_empty()).await;
    // The agent is disabled during the call, so the turn cannot continue.
    let off = json!({"isActive": false});
    let off = desk.api.send_json(axum::http::Method::PATCH, &format!("/api/agents/{agent}"), &off).await;
    assert_eq!(off.status, 200, "{}", off.body);
    desk.server.kill().await;
    let (server, api) = desk.settings.start().await;
    eventually("the turn ends", async || turn(&api, &id).await["finishReason"].is_string()).await;
    let call = turn(&api, &id).await["steps"][0]["calls"][0].clone();
    assert_eq!(call["result"]["error"]["kind"], "Unknown", "{call}");
    assert_eq!(turn(&api, &id).await["finishReason"], "error", "the model was not requested");
    assert_eq!(desk.weather.seen().len(), 1);
    drop(server);
}

async fn desk_with_slow_tool(permits: Arc<Semaphore>) -> Desk {
    let upstream = Upstream::start_async(move |seen| {
        let permits = permits.clone();
        async move {
            permits.acquire().await.expect("open").forget();
            weather(&seen)
        }
    });
    let model = ModelServer::start(async |request: RecordedModelRequest| match request.results().first() {
        None => {
            let name = if request.tool_names().contains(&"order") { "order" } else { "weather" };
            ModelReply::calls([(name, json!({"city": "Rome"}))])
        }
        Some(result) => ModelReply::says(result.content.clone()),
    });
    Desk::with(model.await, upstream.await).await
}

#[tokio::test]
async fn late_cancel_does_not_stop_the_next_turn() {
    let desk = Desk::new(async |_: RecordedModelRequest| ModelReply::says("Yes.")).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let reply = desk.ask(&agent, "Rome?").await;
    let id = reply.data()["conversationId"].as_str().expect("an id").to_owned();
    let Desk { server, settings, model, place, .. } = desk;
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    // The state after a cancel that arrived while the finished turn was being persisted.
    let sql = format!("UPDATE runs SET status = 'queued', cancel_requested = 1 WHERE id = '{id}'");
    let Some(()) = crate::survival::statement(&place, &settings, "haft.db", &sql) else { return };
    let (_server, api) = settings.start().await;
    eventually("the conversation is idle", async || {
        let mut idle_reads = 0;
        for _ in 0..5 {
            let read = api.get(&format!("/api/conversations/{id}")).await;
            idle_reads += u32::from(read.data()["status"] == "idle");
        }
        idle_reads == 5
    })
    .await;
    let body = json!({"conversationId": id, "messages": [user("And now?")]});
    let again = api.post("/api/chat", &body).await;
    assert_eq!((again.status, &again.data()["finishReason"]), (200, &json!("stop")), "{}", again.body);
    assert_eq!(model.refused(), Vec::<String>::new());
}

//! Servers that are killed in the middle of a turn: it goes on, and nothing that was finished is done again.

use std::sync::Arc;

use haft_testkit::{AskedModel, Client, Dialect, ModelReply, ModelServer, Upstream, eventually};
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
async fn killed_in_the_middle_of_an_answer_it_is_asked_again_and_the_call_before_is_not_made_again() {
    let permits = Arc::new(Semaphore::new(4));
    let held = permits.clone();
    let desk = Desk::new(move |asked: AskedModel| {
        let held = held.clone();
        async move {
            match asked.results().len() {
                0 => ModelReply::calls([("weather", json!({"city": "Rome"}))]),
                _ => ModelReply::says("It is four degrees in Rome.").hold(held),
            }
        }
    })
    .await;
    let agent = desk.agent(Dialect::Openai, &["weather"], json!({})).await;
    let id = detached(&desk, &agent).await;
    let mut stream = desk.api.events(&format!("/api/conversations/{id}/events")).await;
    let events = stream.until("message.delta").await;
    let last = events.last().and_then(|event| event.place.clone()).expect("an id");
    eventually("the call is noted", async || {
        turn(&desk.api, &id).await["steps"][0]["calls"][0]["status"] == "done"
    })
    .await;
    desk.server.kill().await;
    permits.add_permits(1000);
    let (_server, api) = desk.settings.start().await;
    // Whoever followed it comes back, and is told the turn anew.
    let again = api.with("last-event-id", &last);
    let mut stream = again.events(&format!("/api/conversations/{id}/events")).await;
    let events = stream.until("done").await;
    assert_eq!(events[0].name, "turn.reset", "{events:?}");
    assert_eq!(events.last().map(|event| event.data["finishReason"].clone()), Some(json!("stop")));
    let turn = turn(&api, &id).await;
    assert_eq!(turn["message"]["content"], "It is four degrees in Rome.");
    assert_eq!(desk.weather.seen().len(), 1, "the finished call was seen once");
    assert_eq!(desk.model.seen().len(), 3);
}

#[tokio::test]
async fn killed_in_a_later_turn_it_goes_on_with_what_was_said_and_not_with_anything_else() {
    let permits = Arc::new(Semaphore::new(0));
    let held = permits.clone();
    let desk = Desk::new(move |asked: AskedModel| {
        let held = held.clone();
        async move {
            match (asked.user_text(), asked.results().len()) {
                ("Rome?", _) => ModelReply::says("Four degrees."),
                (_, 0) => ModelReply::calls([("weather", json!({"city": "Oslo"}))]),
                (_, _) => ModelReply::says("Colder.").hold(held),
            }
        }
    })
    .await;
    let agent = desk.agent(Dialect::Anthropic, &["weather"], json!({})).await;
    let first = desk.ask(&agent, "Rome?").await;
    let id = first.data()["conversationId"].as_str().expect("an id").to_owned();
    let body = json!({"conversationId": id, "messages": [user("And Oslo?")], "detach": true});
    assert_eq!(desk.api.post("/api/chat", &body).await.status, 202, "it is kept before it is answered");
    let read =
        async |api: &Client| api.get(&format!("/api/conversations/{id}")).await.data()["turns"].clone();
    eventually("the call is noted", async || {
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
    assert_eq!(desk.weather.seen().len(), 1, "the finished call was seen once");
    // And once more, by a server that has to read all of it.
    let body = json!({"conversationId": id, "messages": [user("Rome?")]});
    assert_eq!(super::said(&api.post("/api/chat", &body).await), "Four degrees.");
}

#[tokio::test]
async fn killed_in_the_middle_of_a_read_it_is_made_again() {
    let permits = Arc::new(Semaphore::new(0));
    let desk = desk_with_slow_tool(permits.clone()).await;
    let agent = desk.agent(Dialect::Anthropic, &["weather"], json!({})).await;
    let id = detached(&desk, &agent).await;
    eventually("the tool is called", async || desk.weather.seen().len() == 1).await;
    desk.server.kill().await;
    permits.add_permits(1000);
    let (_server, api) = desk.settings.start().await;
    eventually("the turn ends", async || turn(&api, &id).await["finishReason"] == "stop").await;
    assert!(turn(&api, &id).await["message"]["content"].as_str().is_some_and(|words| words.contains('4')));
    assert_eq!(desk.weather.seen().len(), 2);
}

#[tokio::test]
async fn killed_in_the_middle_of_a_write_it_is_not_made_again_and_the_model_is_told() {
    let permits = Arc::new(Semaphore::new(0));
    let desk = desk_with_slow_tool(permits.clone()).await;
    desk.tool("order", json!({"method": "POST", "effect": "write"})).await;
    let agent = desk.agent(Dialect::Openai, &["order", "weather"], json!({})).await;
    let id = detached(&desk, &agent).await;
    eventually("the tool is called", async || !desk.weather.seen().is_empty()).await;
    desk.server.kill().await;
    permits.add_permits(1000);
    let (_server, api) = desk.settings.start().await;
    eventually("the turn ends", async || turn(&api, &id).await["finishReason"] == "stop").await;
    let turn = turn(&api, &id).await;
    assert!(turn["message"]["content"].as_str().is_some_and(|words| words.contains("Unknown")), "{turn}");
    assert_eq!(desk.weather.seen().len(), 1, "a write is never sent twice");
    let call = turn["steps"][0]["calls"][0]["callId"].as_str().expect("an id").to_owned();
    eventually("it is on record", async || api.get(&format!("/api/tool-calls/{call}")).await.status == 200)
        .await;
}

#[tokio::test]
async fn a_write_that_was_under_way_is_not_made_again_whatever_its_tool_became() {
    for changed in [json!({"effect": "read"}), json!({"policy": "ask"}), json!({"async": true})] {
        let permits = Arc::new(Semaphore::new(0));
        let desk = desk_with_slow_tool(permits.clone()).await;
        desk.tool("order", json!({"method": "POST", "effect": "write"})).await;
        let agent = desk.agent(Dialect::Openai, &["order"], json!({})).await;
        let id = detached(&desk, &agent).await;
        eventually("the tool is called", async || !desk.weather.seen().is_empty()).await;
        let patched = desk.api.send_json(axum::http::Method::PATCH, "/api/tools/order", &changed).await;
        assert_eq!(patched.status, 200, "{}", patched.body);
        desk.server.kill().await;
        permits.add_permits(1000);
        let (_server, api) = desk.settings.start().await;
        eventually("the turn ends", async || turn(&api, &id).await["finishReason"] == "stop").await;
        let turn = turn(&api, &id).await;
        assert!(turn["message"]["content"].as_str().is_some_and(|words| words.contains("Unknown")), "{turn}");
        assert_eq!(desk.weather.seen().len(), 1, "{changed}");
    }
}

#[tokio::test]
async fn a_write_that_was_under_way_is_not_called_undone_when_nobody_wants_the_turn_any_more() {
    let permits = Arc::new(Semaphore::new(0));
    let desk = desk_with_slow_tool(permits.clone()).await;
    desk.tool("order", json!({"method": "POST", "effect": "write"})).await;
    let agent = desk.agent(Dialect::Openai, &["order"], json!({})).await;
    let id = detached(&desk, &agent).await;
    eventually("the tool is called", async || !desk.weather.seen().is_empty()).await;
    // The agent is switched off meanwhile, so that the turn cannot go on.
    let off = json!({"isActive": false});
    let off = desk.api.send_json(axum::http::Method::PATCH, &format!("/api/agents/{agent}"), &off).await;
    assert_eq!(off.status, 200, "{}", off.body);
    desk.server.kill().await;
    let (server, api) = desk.settings.start().await;
    eventually("the turn ends", async || turn(&api, &id).await["finishReason"].is_string()).await;
    let call = turn(&api, &id).await["steps"][0]["calls"][0].clone();
    assert_eq!(call["result"]["error"]["kind"], "Unknown", "{call}");
    assert_eq!(turn(&api, &id).await["finishReason"], "error", "nobody could be asked");
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
    let model = ModelServer::start(async |asked: AskedModel| match asked.results().first() {
        None => {
            let name = if asked.tool_names().contains(&"order") { "order" } else { "weather" };
            ModelReply::calls([(name, json!({"city": "Rome"}))])
        }
        Some(result) => ModelReply::says(result.content.clone()),
    });
    Desk::with(model.await, upstream.await).await
}

#[tokio::test]
async fn a_stop_that_came_too_late_stops_nothing_that_is_said_afterwards() {
    let desk = Desk::new(async |_: AskedModel| ModelReply::says("Yes.")).await;
    let agent = desk.agent(Dialect::Openai, &[], json!({})).await;
    let reply = desk.ask(&agent, "Rome?").await;
    let id = reply.data()["conversationId"].as_str().expect("an id").to_owned();
    let Desk { server, settings, model, place, .. } = desk;
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    // As it stands when somebody says stop while the turn, which is over, is being kept.
    let sql = format!("UPDATE runs SET status = 'queued', cancel_asked = 1 WHERE id = '{id}'");
    let Some(()) = crate::survival::statement(&place, &settings, "haft.db", &sql) else { return };
    let (_server, api) = settings.start().await;
    eventually("it is at rest", async || {
        let mut rests = 0;
        for _ in 0..5 {
            let read = api.get(&format!("/api/conversations/{id}")).await;
            rests += u32::from(read.data()["status"] == "idle");
        }
        rests == 5
    })
    .await;
    let body = json!({"conversationId": id, "messages": [user("And now?")]});
    let again = api.post("/api/chat", &body).await;
    assert_eq!((again.status, &again.data()["finishReason"]), (200, &json!("stop")), "{}", again.body);
    assert_eq!(model.refused(), Vec::<String>::new());
}

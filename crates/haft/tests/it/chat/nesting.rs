//! Agents that ask agents: one level deep and two, at once and as it comes, and no deeper than is allowed.

use haft_testkit::{AskedModel, Dialect, Event, ModelReply, eventually};
use serde_json::{Value, json};

use super::{Desk, said, user};

pub(super) async fn agent_tool(desk: &Desk, name: &str, agent: &str) {
    let tool = json!({
        "name": name, "description": "Asks a colleague.", "type": "agent", "config": {"agent": agent},
        "timeout": 60_000, "totalTimeout": 60_000,
    });
    let made = desk.api.post("/api/tools", &tool).await;
    assert_eq!(made.status, 201, "{}", made.body);
}

#[tokio::test]
async fn an_agent_is_a_tool_of_another() {
    let desk = Desk::new(async |asked: AskedModel| {
        let has = |name: &str| asked.tool_names().contains(&name);
        match asked.results().first() {
            None if has("colleague") => {
                ModelReply::calls([("colleague", json!({"message": "Ask for Rome."}))])
            }
            None if has("weather") => ModelReply::calls([("weather", json!({"city": "Rome"}))]),
            None => ModelReply::says("?"),
            Some(result) => {
                let data: Value = serde_json::from_str(&result.content).unwrap_or_default();
                match data["answer"].as_str() {
                    Some(answer) => ModelReply::says(format!("My colleague says: {answer}")),
                    None => ModelReply::says(format!("{} degrees", data["temperature"])),
                }
            }
        }
    })
    .await;
    let inner = desk.agent(Dialect::Anthropic, &["weather"], json!({})).await;
    agent_tool(&desk, "colleague", &inner).await;
    let outer = desk.agent(Dialect::Openai, &["colleague"], json!({})).await;
    let reply = desk.ask(&outer, "Rome?").await;
    assert_eq!(said(&reply), "My colleague says: 4 degrees");
    let result = &reply.data()["toolCalls"][0]["result"]["data"];
    assert_eq!((&result["steps"], &result["calls"]), (&json!(2), &json!(1)));
    let read = desk.api.get("/api/conversations").await;
    assert_eq!(read.data()["items"].as_array().map(Vec::len), Some(1), "the inner turn is not kept");
    // The same through any other door.
    let called =
        crate::tasks::execute(&desk.api, "colleague", json!({"arguments": {"message": "Rome?"}})).await;
    assert_eq!(called.data()["data"]["answer"], "4 degrees", "{}", called.body);
    let wrong = json!({"name": "x", "description": "d", "type": "agent", "config": {}});
    assert_eq!(desk.api.post("/api/tools", &wrong).await.status, 400);
    desk.check();
}

#[tokio::test]
async fn agents_that_ask_each_other_come_to_an_end() {
    let desk = Desk::new(async |asked: AskedModel| match asked.results().first() {
        None => ModelReply::calls([("again", json!({"message": "And you?"}))]),
        Some(result) => ModelReply::says(result.content.clone()),
    })
    .await;
    agent_tool(&desk, "again", "round").await;
    let ids = super::tools_of(&desk.api, &["again"]).await;
    let agent =
        json!({"name": "round", "toolIds": ids, "config": {"provider": "openai", "model": "test-model"}});
    assert_eq!(desk.api.post("/api/agents", &agent).await.status, 201);
    let reply = desk.ask("round", "Well?").await;
    assert!(said(&reply).contains("8 levels deep"), "{}", reply.body);
    assert!(desk.model.seen().len() <= 20, "{} questions", desk.model.seen().len());
}

/// Whoever has a colleague asks them; whoever has the weather looks; each says whom they have it from.
async fn clerk(asked: AskedModel) -> ModelReply {
    let Some(tool) = asked.tool_names().first().map(|name| (*name).to_owned()) else {
        return ModelReply::says("I have nobody.");
    };
    let Some(result) = asked.results().first() else {
        let arguments = match tool.as_str() {
            "weather" => json!({"city": asked.user_text()}),
            _ => json!({"message": asked.user_text()}),
        };
        return ModelReply::calls([(tool, arguments)]);
    };
    let data: Value = serde_json::from_str(&result.content).unwrap_or_default();
    match data["answer"].as_str() {
        Some(answer) => ModelReply::says(format!("{tool} says: {answer}")),
        None => ModelReply::says(format!("{} degrees", data["temperature"])),
    }
}

#[tokio::test]
async fn the_weather_comes_through_two_levels_as_it_is_told() {
    let desk = Desk::new(clerk).await;
    // Each speaks another dialect.
    let looks = desk.agent(Dialect::Gemini, &["weather"], json!({})).await;
    agent_tool(&desk, "observer", &looks).await;
    let passes_on = desk.agent(Dialect::Anthropic, &["observer"], json!({})).await;
    agent_tool(&desk, "office", &passes_on).await;
    let asks = desk.agent(Dialect::Openai, &["office"], json!({})).await;
    let body = json!({"agentId": asks, "messages": [user("Lisbon")], "stream": true});
    let events = desk.api.post_for_events("/api/chat", &body).await.all().await;

    // Of the inner turns nothing is told but what they came to.
    let of = |name: &str| -> Vec<&Event> { events.iter().filter(|event| event.name == name).collect() };
    let told: String = of("message.delta").iter().filter_map(|event| event.data["text"].as_str()).collect();
    assert_eq!(told, "office says: observer says: 6 degrees");
    assert!(of("message.delta").len() > 3, "it comes in pieces");
    let calls: Vec<&Value> = of("tool.call").iter().map(|event| &event.data["name"]).collect();
    assert_eq!(calls, ["office"]);
    let result = &of("tool.result")[0].data;
    let tokens = result["data"]["tokens"].clone();
    assert_eq!(
        result["data"],
        json!({"answer": "observer says: 6 degrees", "finishReason": "stop", "steps": 2, "calls": 2, "tokens": tokens})
    );
    assert_eq!(of("done")[0].data["finishReason"], "stop");
    let asked: Vec<Dialect> = desk.model.seen().iter().map(|asked| asked.dialect).collect();
    let [outer, middle, inner] = [Dialect::Openai, Dialect::Anthropic, Dialect::Gemini];
    assert_eq!(asked, [outer, middle, inner, inner, middle, outer]);
    assert_eq!(desk.weather.seen().len(), 1);

    // The calls of all levels are on record, each with the agent that made it.
    let rows = async || desk.api.get("/api/tool-calls").await.data()["items"].as_array().cloned();
    eventually("all are on record", async || rows().await.is_some_and(|rows| rows.len() == 3)).await;
    let rows = rows().await.expect("a list");
    for (tool, agent) in [("office", &asks), ("observer", &passes_on), ("weather", &looks)] {
        let row = rows.iter().find(|row| row["toolName"] == tool).expect("a row");
        let agent = desk.api.get(&format!("/api/agents/{agent}")).await.data()["id"].clone();
        assert_eq!((&row["agentId"], &row["status"]), (&agent, &json!("success")), "{row}");
        assert_eq!(row["conversationId"], of("turn.start")[0].data["conversationId"], "{row}");
    }
    let outermost = rows.iter().find(|row| row["toolName"] == "office").expect("a row");
    assert_eq!(outermost["callId"], result["callId"]);
    desk.check();
}

//! Agents as tools of agents: one and two levels deep, streamed and not, and the maximum depth.

use haft_testkit::{FakeDialect, ModelReply, RecordedModelRequest, SseEvent, eventually};
use serde_json::{Value, json};

use super::{Desk, final_text, user};

pub(super) async fn agent_tool(desk: &Desk, name: &str, agent: &str) {
    let tool = json!({
        "name": name, "description": "Asks a colleague.", "type": "agent", "config": {"agent": agent},
        "timeout": 60_000, "totalTimeout": 60_000,
    });
    let created = desk.api.post("/api/tools", &tool).await;
    assert_eq!(created.status, 201, "{}", created.body);
}

#[tokio::test]
async fn agent_is_a_tool_of_another_agent() {
    let desk = Desk::new(async |request: RecordedModelRequest| {
        let has = |name: &str| request.tool_names().contains(&name);
        match request.results().first() {
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
    let inner = desk.agent(FakeDialect::Anthropic, &["weather"], json!({})).await;
    agent_tool(&desk, "colleague", &inner).await;
    let outer = desk.agent(FakeDialect::Openai, &["colleague"], json!({})).await;
    let reply = desk.ask(&outer, "Rome?").await;
    assert_eq!(final_text(&reply), "My colleague says: 4 degrees");
    let result = &reply.data()["toolCalls"][0]["result"]["data"];
    assert_eq!((&result["steps"], &result["calls"]), (&json!(2), &json!(1)));
    let read = desk.api.get("/api/conversations").await;
    assert_eq!(read.data()["items"].as_array().map(Vec::len), Some(1), "the inner turn is ephemeral");
    // A direct call of the tool over REST.
    let called =
        crate::tasks::execute(&desk.api, "colleague", json!({"arguments": {"message": "Rome?"}})).await;
    assert_eq!(called.data()["data"]["answer"], "4 degrees", "{}", called.body);
    let wrong = json!({"name": "x", "description": "d", "type": "agent", "config": {}});
    assert_eq!(desk.api.post("/api/tools", &wrong).await.status, 400);
    desk.check();
}

#[tokio::test]
async fn recursion_of_agents_ends_at_the_maximum_depth() {
    let desk = Desk::new(async |request: RecordedModelRequest| match request.results().first() {
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
    assert!(final_text(&reply).contains("8 levels deep"), "{}", reply.body);
    assert!(desk.model.seen().len() <= 20, "{} questions", desk.model.seen().len());
}

/// Calls the agent's only tool with the user's text, and names the tool in the response.
async fn clerk(request: RecordedModelRequest) -> ModelReply {
    let Some(tool) = request.tool_names().first().map(|name| (*name).to_owned()) else {
        return ModelReply::says("I have no tool.");
    };
    let Some(result) = request.results().first() else {
        let arguments = match tool.as_str() {
            "weather" => json!({"city": request.user_text()}),
            _ => json!({"message": request.user_text()}),
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
async fn result_passes_two_levels_of_agents_in_a_stream() {
    let desk = Desk::new(clerk).await;
    // Each agent uses another dialect.
    let looks = desk.agent(FakeDialect::Gemini, &["weather"], json!({})).await;
    agent_tool(&desk, "observer", &looks).await;
    let passes_on = desk.agent(FakeDialect::Anthropic, &["observer"], json!({})).await;
    agent_tool(&desk, "office", &passes_on).await;
    let asks = desk.agent(FakeDialect::Openai, &["office"], json!({})).await;
    let body = json!({"agentId": asks, "messages": [user("Lisbon")], "stream": true});
    let events = desk.api.post_for_events("/api/chat", &body).await.all().await;

    // The stream contains the results of the inner turns, but not their events.
    let of = |name: &str| -> Vec<&SseEvent> { events.iter().filter(|event| event.name == name).collect() };
    let text: String = of("message.delta").iter().filter_map(|event| event.data["text"].as_str()).collect();
    assert_eq!(text, "office says: observer says: 6 degrees");
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
    let dialects: Vec<FakeDialect> = desk.model.seen().iter().map(|request| request.dialect).collect();
    let [outer, middle, inner] = [FakeDialect::Openai, FakeDialect::Anthropic, FakeDialect::Gemini];
    assert_eq!(dialects, [outer, middle, inner, inner, middle, outer]);
    assert_eq!(desk.weather.seen().len(), 1);

    // The calls of all levels are logged, each with its agent.
    let rows = async || desk.api.get("/api/tool-calls").await.data()["items"].as_array().cloned();
    eventually("all calls are logged", async || rows().await.is_some_and(|rows| rows.len() == 3)).await;
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

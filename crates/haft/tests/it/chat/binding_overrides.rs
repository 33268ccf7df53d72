//! A binding's pinned version and overrides apply to every call of the agent: in chat, over REST and as a
//! task.

use haft_testkit::{FakeDialect, ModelReply, RecordedModelRequest, eventually};
use serde_json::{Value, json};

use super::{Desk, final_text, tools_of};
use crate::agents::patch;

/// Calls the only tool and repeats its result.
async fn call_and_repeat(request: RecordedModelRequest) -> ModelReply {
    match request.results().first() {
        None => ModelReply::calls([(request.tool_names()[0], json!({"city": "Rome"}))]),
        Some(result) => ModelReply::says(&result.content),
    }
}

/// Returns the paths of all requests to the upstream.
fn paths(desk: &Desk) -> Vec<String> {
    let seen = desk.weather.seen();
    seen.iter().map(|seen| seen.target.split('?').next().unwrap_or_default().to_owned()).collect()
}

/// Saves version 2 of the tool, with another URL and description.
async fn save_second_version(desk: &Desk, id: &Value, more: Value) {
    let path = format!("/api/tools/{}", id.as_str().expect("an id"));
    let mut changes = json!({
        "description": "The weather, version 2.",
        "config": {"url": format!("http://{}/v2?city={{{{city}}}}", desk.weather.address)},
    });
    for (field, value) in more.as_object().expect("an object") {
        changes[field] = value.clone();
    }
    let changed = patch(&desk.api, &path, &changes).await;
    assert_eq!((changed.status, &changed.data()["version"]), (200, &json!(2)), "{}", changed.body);
}

#[tokio::test]
async fn pinned_version_is_called() {
    let desk = Desk::new(call_and_repeat).await;
    let id = tools_of(&desk.api, &["weather"]).await[0].clone();
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
    let binding = format!("/api/agents/{agent}/tools/weather");
    assert_eq!(patch(&desk.api, &binding, &json!({"pinnedVersion": 1})).await.status, 200);
    save_second_version(&desk, &id, json!({"name": "forecast"})).await;

    // The agent finds the tool by its current name, but offers and calls version 1.
    let reply = desk.ask(&agent, "Rome?").await;
    assert!(final_text(&reply).contains("Rome"), "{}", reply.body);
    assert_eq!(paths(&desk), ["/weather"]);
    let offered = desk.model.seen()[0].tools[0].clone();
    assert_eq!((offered.name.as_str(), offered.description.as_str()), ("forecast", "The weather of a city."));
    let context = reply.data()["conversationId"].as_str().expect("an id").to_owned();
    let context = desk.api.get(&format!("/api/conversations/{context}/tool-context")).await;
    assert_eq!(context.data()["toolDefinitions"][0]["description"], "The weather of a city.");

    // Over REST, synchronously and as a task.
    let agent_id = desk.api.get(&format!("/api/agents/{agent}")).await.data()["id"].clone();
    let execute = async |options: Value| {
        let mut options = options;
        options["agentId"] = agent_id.clone();
        let body = json!({"arguments": {"city": "Oslo"}, "options": options});
        desk.api.post("/api/tools/forecast/execute", &body).await
    };
    assert_eq!(execute(json!({})).await.status, 200);
    assert_eq!(execute(json!({"mode": "async"})).await.status, 202);
    let versions = async || -> Vec<Value> {
        let calls = desk.api.get("/api/tool-calls").await.data()["items"].clone();
        calls.as_array().expect("calls").iter().map(|call| call["toolVersion"].clone()).collect()
    };
    eventually("all calls are logged", async || versions().await.len() == 3).await;
    assert_eq!(versions().await, [json!(1), json!(1), json!(1)]);
    assert_eq!(paths(&desk), ["/weather"; 3]);
    let without = desk.api.post("/api/tools/forecast/execute", &json!({"arguments": {"city": "Oslo"}})).await;
    assert_eq!((without.status, paths(&desk).last().map(String::as_str)), (200, Some("/v2")));

    // The tool's current policy applies to all versions.
    let path = format!("/api/tools/{}", id.as_str().expect("an id"));
    assert_eq!(patch(&desk.api, &path, &json!({"policy": "block"})).await.status, 200);
    assert_eq!(execute(json!({})).await.kind(), "Denied");
    assert_eq!(patch(&desk.api, &path, &json!({"policy": "allow"})).await.status, 200);

    // A disabled tool is not called in any version.
    assert_eq!(patch(&desk.api, &path, &json!({"isActive": false})).await.status, 200);
    assert_eq!(execute(json!({})).await.status, 409, "disabled");
    assert_eq!(paths(&desk).len(), 4);
    desk.check();
}

#[tokio::test]
async fn results_are_cached_for_the_ttl_of_the_binding() {
    let desk = Desk::new(call_and_repeat).await;
    desk.tool("cached", json!({"cacheTtl": 50})).await;
    let agent = desk.agent(FakeDialect::Openai, &["cached"], json!({})).await;
    let binding = format!("/api/agents/{agent}/tools/cached");
    for (ttl, expected) in [(json!(60), 1), (json!(0), 3), (Value::Null, 4)] {
        let overrides = json!({"overrides": {"cacheTtl": ttl}});
        assert_eq!(patch(&desk.api, &binding, &overrides).await.status, 200);
        for _ in 0..2 {
            assert!(final_text(&desk.ask(&agent, "Rome?").await).contains("Rome"));
        }
        assert_eq!(paths(&desk).len(), expected, "cached for {ttl} seconds");
    }
    desk.check();
}

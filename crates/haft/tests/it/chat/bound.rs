//! What a binding says of a tool holds whenever the agent calls it: in a chat, through REST and as a task.

use haft_testkit::{AskedModel, Dialect, ModelReply, eventually};
use serde_json::{Value, json};

use super::{Desk, said, tools_of};
use crate::agents::patch;

/// Calls the one tool there is, and says what it said.
async fn teller(asked: AskedModel) -> ModelReply {
    match asked.results().first() {
        None => ModelReply::calls([(asked.tool_names()[0], json!({"city": "Rome"}))]),
        Some(result) => ModelReply::says(&result.content),
    }
}

/// What was asked of the API, without what follows the path.
fn paths(desk: &Desk) -> Vec<String> {
    let seen = desk.weather.seen();
    seen.iter().map(|seen| seen.target.split('?').next().unwrap_or_default().to_owned()).collect()
}

/// Puts a second version of the tool in the place of the first, which asks elsewhere and is told of otherwise.
async fn change(desk: &Desk, id: &Value, more: Value) {
    let path = format!("/api/tools/{}", id.as_str().expect("an id"));
    let mut changes = json!({
        "description": "The weather, anew.",
        "config": {"url": format!("http://{}/anew?city={{{{city}}}}", desk.weather.address)},
    });
    for (field, value) in more.as_object().expect("an object") {
        changes[field] = value.clone();
    }
    let changed = patch(&desk.api, &path, &changes).await;
    assert_eq!((changed.status, &changed.data()["version"]), (200, &json!(2)), "{}", changed.body);
}

#[tokio::test]
async fn a_pinned_version_is_the_one_that_is_called() {
    let desk = Desk::new(teller).await;
    let id = tools_of(&desk.api, &["weather"]).await[0].clone();
    let agent = desk.agent(Dialect::Openai, &["weather"], json!({})).await;
    let binding = format!("/api/agents/{agent}/tools/weather");
    assert_eq!(patch(&desk.api, &binding, &json!({"pinnedVersion": 1})).await.status, 200);
    change(&desk, &id, json!({"name": "forecast"})).await;

    // Found by the name that the tool has now, told of and called as it was.
    let reply = desk.ask(&agent, "Rome?").await;
    assert!(said(&reply).contains("Rome"), "{}", reply.body);
    assert_eq!(paths(&desk), ["/weather"]);
    let told = desk.model.seen()[0].tools[0].clone();
    assert_eq!((told.name.as_str(), told.description.as_str()), ("forecast", "The weather of a city."));
    let context = reply.data()["conversationId"].as_str().expect("an id").to_owned();
    let context = desk.api.get(&format!("/api/conversations/{context}/tool-context")).await;
    assert_eq!(context.data()["toolDefinitions"][0]["description"], "The weather of a city.");

    // Through REST, at once and as a task.
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
    eventually("all are on record", async || versions().await.len() == 3).await;
    assert_eq!(versions().await, [json!(1), json!(1), json!(1)]);
    assert_eq!(paths(&desk), ["/weather"; 3]);
    let without = desk.api.post("/api/tools/forecast/execute", &json!({"arguments": {"city": "Oslo"}})).await;
    assert_eq!((without.status, paths(&desk).last().map(String::as_str)), (200, Some("/anew")));

    // What the tool's policy is by now holds for all versions.
    let path = format!("/api/tools/{}", id.as_str().expect("an id"));
    assert_eq!(patch(&desk.api, &path, &json!({"policy": "block"})).await.status, 200);
    assert_eq!(execute(json!({})).await.kind(), "Denied");
    assert_eq!(patch(&desk.api, &path, &json!({"policy": "allow"})).await.status, 200);

    // Switched off it is not called in any version.
    assert_eq!(patch(&desk.api, &path, &json!({"isActive": false})).await.status, 200);
    assert_eq!(execute(json!({})).await.status, 409, "switched off");
    assert_eq!(paths(&desk).len(), 4);
    desk.check();
}

#[tokio::test]
async fn answers_are_kept_for_as_long_as_the_binding_says() {
    let desk = Desk::new(teller).await;
    desk.tool("kept", json!({"cacheTtl": 50})).await;
    let agent = desk.agent(Dialect::Openai, &["kept"], json!({})).await;
    let binding = format!("/api/agents/{agent}/tools/kept");
    for (ttl, asked) in [(json!(60), 1), (json!(0), 3), (Value::Null, 4)] {
        let overrides = json!({"overrides": {"cacheTtl": ttl}});
        assert_eq!(patch(&desk.api, &binding, &overrides).await.status, 200);
        for _ in 0..2 {
            assert!(said(&desk.ask(&agent, "Rome?").await).contains("Rome"));
        }
        assert_eq!(paths(&desk).len(), asked, "kept for {ttl} seconds");
    }
    desk.check();
}

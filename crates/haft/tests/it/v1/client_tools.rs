//! Tools of the client: the turn waits for them, and continues when their results arrive.

use haft_testkit::{FakeDialect, ModelReply, RecordedModelRequest, TestResponse};
use serde_json::{Value, json};

use super::{COMPLETIONS, RESPONSES, body, choice, complete, function};
use crate::chat::{DIALECTS, Desk, user};

/// Calls the client's tool, and the agent's tool if it has one. Then writes all results.
async fn both(asked: RecordedModelRequest) -> ModelReply {
    if !asked.results().is_empty() {
        let came: Vec<&str> = asked.results().iter().map(|result| result.content.as_str()).collect();
        return ModelReply::says(came.join(" & "));
    }
    match asked.tool_names().contains(&"weather") {
        true => ModelReply::new()
            .text("A moment.")
            .call("look", json!({"of": "a"}))
            .call("weather", json!({"city": "Rome"}))
            .call("look", json!({"of": "b"})),
        false => ModelReply::calls([("look", json!({"of": "a"})), ("look", json!({"of": "b"}))]),
    }
}

/// Returns the history with the message of a reply, and a result for each of its calls.
fn with_results(asked: &Value, reply: &TestResponse) -> Value {
    let message = &choice(reply)["message"];
    let mut messages = asked.as_array().expect("a list").clone();
    messages.push(message.clone());
    for call in message["tool_calls"].as_array().expect("calls") {
        let arguments: Value =
            serde_json::from_str(call["function"]["arguments"].as_str().expect("text")).expect("JSON");
        let content = format!("seen {}", arguments["of"].as_str().expect("text"));
        messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": content}));
    }
    json!(messages)
}

fn with_tools() -> Value {
    json!({"tools": [function("look")]})
}

#[tokio::test]
async fn client_gets_its_calls_and_the_turn_continues_with_their_results() {
    let desk = Desk::new(both).await;
    for dialect in DIALECTS {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        let before = desk.weather.seen().len();
        let asked = json!([user("look!")]);
        let reply = complete(&desk.api, &agent, &asked, &with_tools()).await;
        let first = choice(&reply);
        assert_eq!(first["finish_reason"], "tool_calls", "{}", reply.body);
        assert_eq!(first["message"]["content"], "A moment.");
        let calls = first["message"]["tool_calls"].as_array().expect("calls");
        assert_eq!(calls.len(), 2, "calls of the agent's tools are not sent to the client: {calls:?}");
        for call in calls {
            assert_eq!((&call["type"], &call["function"]["name"]), (&json!("function"), &json!("look")));
            assert!(call["id"].as_str().is_some_and(|id| id.starts_with("call_") && id.len() <= 40));
        }
        assert_ne!(calls[0]["id"], calls[1]["id"]);
        let again = complete(&desk.api, &agent, &with_results(&asked, &reply), &with_tools()).await;
        let second = choice(&again);
        assert_eq!(second["finish_reason"], "stop");
        let expected = r#"seen a & {"city":"Rome","temperature":4} & seen b"#;
        assert_eq!(second["message"]["content"], expected, "{dialect:?}");
        assert_eq!(desk.weather.seen().len() - before, 1, "calls of the suspended step are not repeated");
    }
    assert_eq!(desk.api.get("/api/conversations").await.data()["items"], json!([]), "nothing is stored");
    desk.check();
}

#[tokio::test]
async fn suspended_step_continues_after_the_server_was_killed() {
    let desk = Desk::new(both).await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
    let asked = json!([user("look!")]);
    let reply = complete(&desk.api, &agent, &asked, &with_tools()).await;
    assert_eq!(choice(&reply)["finish_reason"], "tool_calls");
    desk.server.kill().await;
    let (_server, api) = desk.settings.start().await;
    let again = complete(&api, &agent, &with_results(&asked, &reply), &with_tools()).await;
    assert_eq!(choice(&again)["message"]["content"], r#"seen a & {"city":"Rome","temperature":4} & seen b"#);
    assert_eq!(desk.weather.seen().len(), 1);
    assert_eq!(desk.model.refused(), Vec::<String>::new());
}

#[tokio::test]
async fn unsupported_options_beside_results_are_refused_and_the_turn_still_waits() {
    let desk = Desk::new(both).await;
    for (dialect, name, value) in [
        (FakeDialect::Openai, "n", json!(2)),
        (FakeDialect::Openai, "audio", json!({"voice": "ash"})),
        (FakeDialect::Anthropic, "seed", json!(7)),
    ] {
        let agent = desk.agent(dialect, &[], json!({})).await;
        let asked = json!([user("look!")]);
        let reply = complete(&desk.api, &agent, &asked, &with_tools()).await;
        let (back, before) = (with_results(&asked, &reply), desk.model.seen().len());
        let mut more = with_tools();
        more[name] = value;
        let refused = complete(&desk.api, &agent, &back, &more).await;
        assert_eq!(
            (refused.status, &refused.body["error"]["param"]),
            (400, &json!(name)),
            "{}",
            refused.body
        );
        let answered = complete(&desk.api, &agent, &back, &with_tools()).await;
        assert_eq!(choice(&answered)["message"]["content"], "seen a & seen b", "{name}");
        assert_eq!(desk.model.seen().len(), before + 1, "{name}");
    }
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let mut look = function("look")["function"].clone();
    look["type"] = json!("function");
    let asked = json!({"model": agent, "input": "look!", "tools": [look]});
    let first = desk.api.post(RESPONSES, &asked).await.body;
    let calls = first["output"].as_array().expect("items").iter().filter_map(|item| item["call_id"].as_str());
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "seen"});
    let outputs: Vec<Value> = calls.map(output).collect();
    let back =
        json!({"model": agent, "previous_response_id": first["id"], "input": outputs, "tools": [look]});
    let mut background = back.clone();
    background["background"] = json!(true);
    let refused = desk.api.post(RESPONSES, &background).await;
    assert_eq!((refused.status, &refused.body["error"]["param"]), (400, &json!("background")));
    let answered = desk.api.post(RESPONSES, &back).await;
    assert_eq!(answered.body["output"][0]["content"][0]["text"], "seen & seen", "{}", answered.body);
    desk.check();
}

#[tokio::test]
async fn results_of_unknown_calls_are_read_from_the_history() {
    let desk = Desk::new(both).await;
    for dialect in DIALECTS {
        let agent = desk.agent(dialect, &[], json!({})).await;
        let call = |id: &str, of: &str| {
            let function = json!({"name": "look", "arguments": json!({"of": of}).to_string()});
            json!({"id": id, "type": "function", "function": function})
        };
        let messages = json!([
            user("look!"),
            {"role": "assistant", "content": null, "tool_calls": [call("c.1", "a"), call("c.2", "b")]},
            {"role": "tool", "tool_call_id": "c.1", "content": "seen a"},
            {"role": "tool", "tool_call_id": "c.2", "content": "seen b"},
            {"role": "tool", "tool_call_id": "nobody", "content": "seen nothing"},
        ]);
        for more in [with_tools(), json!({})] {
            let reply = complete(&desk.api, &agent, &messages, &more).await;
            assert_eq!(choice(&reply)["message"]["content"], "seen a & seen b", "{dialect:?}");
        }
    }
    desk.check();
}

#[tokio::test]
async fn results_can_be_sent_twice() {
    let desk = Desk::new(both).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let asked = json!([user("look!")]);
    let reply = complete(&desk.api, &agent, &asked, &with_tools()).await;
    let back = with_results(&asked, &reply);
    for _ in 0..2 {
        let again = complete(&desk.api, &agent, &back, &with_tools()).await;
        assert_eq!(choice(&again)["message"]["content"], "seen a & seen b");
    }
    // Another user cannot continue this turn.
    let stranger = crate::agents::stranger(&desk.server, &desk.api).await;
    let reply = complete(&desk.api, &agent, &asked, &with_tools()).await;
    let theirs = complete(&stranger, "openai/test-small", &with_results(&asked, &reply), &with_tools()).await;
    assert_eq!(choice(&theirs)["message"]["content"], "seen a & seen b", "from the history");
    let ours = complete(&desk.api, &agent, &with_results(&asked, &reply), &with_tools()).await;
    assert_eq!(
        choice(&ours)["message"]["content"],
        "seen a & seen b",
        "the turn still waits for its results"
    );
    desk.check();
}

#[tokio::test]
async fn tool_choice_applies_to_its_request_only() {
    let desk = Desk::new(both).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let asked = json!([user("look!")]);
    let must = json!({"tools": [function("look")], "tool_choice": "required", "parallel_tool_calls": false});
    let reply = complete(&desk.api, &agent, &asked, &must).await;
    let may =
        json!({"tools": [function("look"), function("other")], "tool_choice": "auto", "temperature": 0.1});
    choice(&complete(&desk.api, &agent, &with_results(&asked, &reply), &may).await);
    let seen = desk.model.seen();
    assert_eq!(seen[0].tool_choice.as_deref(), Some("required"));
    assert_eq!(seen[0].body["parallel_tool_calls"], false);
    assert_ne!(seen[1].tool_choice.as_deref(), Some("required"), "a model that must call never ends");
    assert_eq!((seen[1].tool_names(), seen[1].temperature), (vec!["look", "other"], Some(0.1)));
    desk.check();
}

#[tokio::test]
async fn stream_has_calls_in_pieces() {
    let desk = Desk::new(both).await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
    let more = json!({"tools": [function("look")], "stream": true});
    let events = desk.api.post_for_events(COMPLETIONS, &body(&agent, &json!([user("look!")]), &more)).await;
    let events = events.all().await;
    let pieces: Vec<&Value> = events
        .iter()
        .map(|event| &event.data["choices"][0]["delta"]["tool_calls"][0])
        .filter(|piece| piece.is_object())
        .collect();
    assert_eq!(pieces.len(), 4);
    for (pair, of) in pieces.chunks(2).zip(["a", "b"]) {
        assert_eq!(pair[0]["index"], pair[1]["index"]);
        assert_eq!((&pair[0]["type"], &pair[0]["function"]["arguments"]), (&json!("function"), &json!("")));
        assert_eq!(pair[0]["function"]["name"], "look");
        assert!(pair[1].get("id").is_none() && pair[1]["function"].get("name").is_none());
        let arguments = pair[1]["function"]["arguments"].as_str().expect("text");
        assert_eq!(serde_json::from_str::<Value>(arguments).expect("JSON"), json!({"of": of}));
    }
    assert_eq!(events[events.len() - 2].data["choices"][0]["finish_reason"], "tool_calls");
}

#[tokio::test]
async fn function_with_a_reserved_name_is_refused() {
    let desk = Desk::new(async |_| ModelReply::says("never")).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    for name in haft_core::name::RESERVED_NAMES {
        let tools = json!({"tools": [function("look"), function(name)]});
        let in_chat = complete(&desk.api, &agent, &json!([user("hi")]), &tools).await;
        let tool = json!({"type": "function", "name": name, "parameters": {"type": "object"}});
        let asked = json!({"model": agent, "input": "hi", "tools": [tool]});
        let in_response = desk.api.post(RESPONSES, &asked).await;
        for (reply, param) in [(in_chat, "tools.1.function.name"), (in_response, "tools.0.name")] {
            let error = &reply.body["error"];
            assert_eq!((reply.status, &error["param"]), (400, &json!(param)), "{}", reply.body);
            assert!(error["message"].as_str().is_some_and(|text| text.contains(name)), "{}", reply.body);
        }
    }
    assert!(desk.model.seen().is_empty());
}

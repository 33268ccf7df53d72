//! Tool calls in a model's text: prose, unless the provider is marked as having no native calls.

use haft_testkit::{FakeDialect, ModelReply, RecordedModelRequest, RecordedRequest, eventually};
use serde_json::{Value, json};

use super::provider;
use crate::chat::{Desk, final_text, user};
use crate::v1::{RESPONSES, choice, complete};

/// A response that shows an example of a call.
fn example(name: &str) -> ModelReply {
    ModelReply::new().text("This is how it would look:\n").fenced_call(name, &json!({"city": "Rome"}))
}

fn sent(desk: &Desk, path: &str) -> usize {
    desk.weather.seen().iter().filter(|seen: &&RecordedRequest| seen.target.starts_with(path)).count()
}

#[tokio::test]
async fn prose_that_ends_with_a_call_calls_nothing() {
    let desk = Desk::new(async |_: RecordedModelRequest| example("order")).await;
    desk.tool("order", json!({"method": "POST"})).await;
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &["order", "weather"], json!({})).await;
        let reply = desk.ask(&agent, "Do not call it, show me an example.").await;
        let text = final_text(&reply);
        assert!(
            text.starts_with("This is how") && text.contains("\"name\":\"order\""),
            "{dialect:?}: {text}"
        );
        assert_eq!(
            (&reply.data()["toolCalls"], &reply.data()["steps"]),
            (&json!([]), &json!(1)),
            "{dialect:?}"
        );
        let body = json!({"agentId": agent, "messages": [user("An example.")], "stream": true});
        let events = desk.api.post_for_events("/api/chat", &body).await.all().await;
        let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
        assert!(!names.iter().any(|name| name.starts_with("tool.") || *name == "message.reset"), "{names:?}");
        let reply = complete(&desk.api, &agent, &json!([user("An example.")]), &json!({})).await;
        assert_eq!(choice(&reply)["finish_reason"], "stop", "{dialect:?}");
    }
    assert_eq!(sent(&desk, "/"), 0, "nothing was sent");
    desk.check();
}

#[tokio::test]
async fn text_is_a_call_if_the_provider_has_no_native_calls() {
    let desk = Desk::new(async |asked: RecordedModelRequest| match asked.results().first() {
        None => ModelReply::new().fenced_call("weather", &json!({"city": "Rome"})),
        Some(result) => ModelReply::says(&result.content),
    })
    .await;
    for dialect in FakeDialect::ALL {
        let marked = provider(&desk.api, &desk.model, dialect, json!({"textToolCalls": true})).await;
        let shown = desk.api.get(&format!("/api/providers/{marked}")).await;
        assert_eq!(shown.data()["textToolCalls"], true, "{}", shown.body);
        let agent = desk.agent(dialect, &["weather"], json!({"provider": marked})).await;
        let reply = desk.ask(&agent, "Rome?").await;
        assert!(final_text(&reply).contains("\"temperature\":4"), "{dialect:?}: {}", reply.body);
        // The second turn follows a call from text, which is not a native call.
        let next =
            json!({"conversationId": reply.data()["conversationId"], "messages": [user("Once more?")]});
        let reply = desk.api.post("/api/chat", &next).await;
        assert!(final_text(&reply).contains("\"temperature\":4"), "{dialect:?}: {}", reply.body);
    }
    let bad = json!({"name": "odd", "kind": "openai", "textToolCalls": "yes"});
    let refused = desk.api.post("/api/providers", &bad).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(refused.message().contains("textToolCalls"), "{}", refused.body);
    desk.check();
}

#[tokio::test]
async fn response_in_a_response_format_calls_nothing() {
    let call = json!({"name": "weather", "arguments": {"city": "Rome"}});
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "arguments": {
                "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
                "additionalProperties": false,
            },
        },
        "required": ["name", "arguments"],
        "additionalProperties": false,
    });
    let desk = Desk::new(async |_: RecordedModelRequest| {
        ModelReply::new().fenced_call("weather", &json!({"city": "Rome"}))
    })
    .await;
    let read = |text: &Value| serde_json::from_str::<Value>(text.as_str().expect("a text")).expect("JSON");
    for dialect in FakeDialect::ALL {
        let marked = provider(&desk.api, &desk.model, dialect, json!({"textToolCalls": true})).await;
        for own in [json!({"provider": marked}), json!({})] {
            let case = format!("{dialect:?} {own}");
            let agent = desk.agent(dialect, &["weather"], own).await;
            let asked = desk.model.seen().len();
            let format = json!({"type": "json_schema", "json_schema": {"name": "call", "schema": schema}});
            let more = json!({"response_format": format});
            let reply =
                complete(&desk.api, &agent, &json!([user("Which call would you make?")]), &more).await;
            let (message, finish) = (&choice(&reply)["message"], &choice(&reply)["finish_reason"]);
            assert_eq!((read(&message["content"]), finish), (call.clone(), &json!("stop")), "{case}");
            assert_eq!(message.get("tool_calls"), None, "{case}");
            let format = json!({"type": "json_schema", "name": "call", "schema": schema});
            let body =
                json!({"model": agent, "input": "Which call would you make?", "text": {"format": format}});
            let reply = desk.api.post(RESPONSES, &body).await;
            assert_eq!(reply.status, 200, "{case}: {}", reply.body);
            let items = reply.body["output"].as_array().expect("items");
            assert_eq!(items.len(), 1, "{case}: {}", reply.body);
            assert_eq!(read(&items[0]["content"][0]["text"]), call, "{case}");
            assert_eq!(desk.model.seen().len() - asked, 2, "{case}: each response is the last one");
        }
    }
    assert_eq!(sent(&desk, "/"), 0, "nothing was sent");
    desk.check();
}

#[tokio::test]
async fn text_after_a_native_call_is_prose() {
    let desk = Desk::new(async |asked: RecordedModelRequest| match asked.previous_responses() {
        0 => ModelReply::calls([("weather", json!({"city": "Oslo"}))]),
        _ => example("weather"),
    })
    .await;
    for dialect in FakeDialect::ALL {
        let marked = provider(&desk.api, &desk.model, dialect, json!({"textToolCalls": true})).await;
        let agent = desk.agent(dialect, &["weather"], json!({"provider": marked})).await;
        let before = sent(&desk, "/weather");
        let reply = desk.ask(&agent, "Oslo?").await;
        assert!(final_text(&reply).contains("\"name\":\"weather\""), "{dialect:?}: {}", reply.body);
        let next = json!({"conversationId": reply.data()["conversationId"], "messages": [user("Example?")]});
        assert!(
            final_text(&desk.api.post("/api/chat", &next).await).contains("\"name\":\"weather\""),
            "{dialect:?}"
        );
        assert_eq!(sent(&desk, "/weather"), before + 1, "{dialect:?}");
    }
    desk.check();
}

#[tokio::test]
async fn write_called_from_text_waits_for_an_approval() {
    let desk = Desk::new(async |asked: RecordedModelRequest| match asked.results().first() {
        None => ModelReply::new().fenced_call("order", &json!({"city": "Rome"})),
        Some(result) => ModelReply::says(&result.content),
    })
    .await;
    desk.tool("order", json!({"method": "POST"})).await;
    for (dialect, decision) in FakeDialect::ALL.into_iter().zip(["approve", "deny", "approve", "deny"]) {
        let marked = provider(&desk.api, &desk.model, dialect, json!({"textToolCalls": true})).await;
        let agent = desk.agent(dialect, &["order"], json!({"provider": marked})).await;
        let before = sent(&desk, "/order");
        let body = json!({"agentId": agent, "messages": [user("Order it.")], "stream": true});
        let mut stream = desk.api.post_for_events("/api/chat", &body).await;
        let events = stream.until("tool.pending").await;
        let pending = events.last().expect("it waits").data.clone();
        assert_eq!((&pending["reason"], sent(&desk, "/order")), (&json!("approval"), before), "{dialect:?}");
        let task = pending["taskId"].as_str().expect("an id");
        eventually("it waits", async || {
            desk.api.get(&format!("/api/approvals/{task}")).await.data()["status"] == "waiting"
        })
        .await;
        let decided = desk.api.post(&format!("/api/approvals/{task}"), &json!({"decision": decision})).await;
        assert_eq!(decided.status, 200, "{}", decided.body);
        stream.until("done").await;
        let expected = if decision == "approve" { before + 1 } else { before };
        assert_eq!(sent(&desk, "/order"), expected, "{dialect:?} {decision}");
    }
    desk.check();
}

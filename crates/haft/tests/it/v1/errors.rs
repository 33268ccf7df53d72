//! Failures: a status and OpenAI's error format before the first byte, an error event after it.

use std::sync::Arc;

use axum::http::Method;
use haft_testkit::{Client, FakeDialect, ModelReply, RecordedModelRequest};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{COMPLETIONS, RESPONSES, body, complete, function};
use crate::chat::{Desk, user};

/// Returns the status, the type and the code of a refusal, after asserting the format of all errors.
#[track_caller]
fn refused(reply: &haft_testkit::TestResponse) -> (u16, &str, &Value) {
    let error = &reply.body["error"];
    assert!(error["message"].as_str().is_some_and(|words| !words.is_empty()), "{}", reply.body);
    let names: Vec<&String> = error.as_object().expect("an error").keys().collect();
    assert_eq!(names, ["message", "type", "param", "code"]);
    (reply.status, error["type"].as_str().expect("a type"), &error["code"])
}

#[tokio::test]
async fn middleware_and_routes_refuse_in_the_same_format() {
    let desk = Desk::new(async |_| ModelReply::says("never")).await;
    let anyone = Client::anonymous(&desk.server.url);
    let wrong = "invalid_request_error";
    for path in ["/v1/models", "/v1/nothing", "/v1", COMPLETIONS] {
        let reply = anyone.get(path).await;
        assert_eq!(refused(&reply), (401, wrong, &json!("invalid_api_key")), "{path}");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
    }
    assert_eq!(refused(&desk.api.get("/v1/nothing").await).0, 404);
    assert_eq!(refused(&desk.api.get(COMPLETIONS).await).0, 405);
    let bytes = desk.api.send(Method::POST, COMPLETIONS, b"{}".to_vec()).await;
    assert_eq!(refused(&bytes).0, 415);
    let broken = desk.api.with("content-type", "application/json");
    assert_eq!(refused(&broken.send(Method::POST, COMPLETIONS, b"{".to_vec()).await).0, 400);
    for path in [COMPLETIONS, RESPONSES] {
        let mut unknown = json!({"model": "nobody", "stream": true});
        match path {
            COMPLETIONS => unknown["messages"] = json!([user("hi")]),
            _ => unknown["input"] = json!("hi"),
        }
        let reply = desk.api.post(path, &unknown).await;
        assert_eq!(refused(&reply), (404, wrong, &json!("model_not_found")));
        assert_eq!(reply.body["error"]["param"], "model");
    }
    assert!(desk.model.seen().is_empty());
}

#[tokio::test]
async fn unsupported_value_is_refused_by_name() {
    let desk = Desk::new(async |_| ModelReply::says("never")).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    for (field, value) in [
        ("n", json!(2)),
        ("stop", json!(7)),
        ("response_format", json!({"type": "xml"})),
        ("temperature", json!("hot")),
        ("messages", json!([])),
        ("stream", json!("yes")),
        ("metadata.conversation_id", json!("nobody")),
    ] {
        let more = match field {
            "metadata.conversation_id" => json!({"metadata": {"conversation_id": value}}),
            _ => json!({field: value}),
        };
        let reply = complete(&desk.api, &agent, &json!([user("hi")]), &more).await;
        let expected = if field.starts_with("metadata") { 404 } else { 400 };
        assert_eq!(
            (reply.status, &reply.body["error"]["param"]),
            (expected, &json!(field)),
            "{}",
            reply.body
        );
    }
    let search = json!({"model": agent, "input": "hi", "tools": [{"type": "web_search"}]});
    let reply = desk.api.post(RESPONSES, &search).await;
    assert_eq!(refused(&reply).0, 400);
    assert!(reply.body["error"]["message"].as_str().expect("a text").contains("web_search"));
    let file = json!([{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}]);
    let reply = complete(&desk.api, &agent, &file, &json!({})).await;
    assert!(reply.body["error"]["message"].as_str().expect("a text").contains("files"), "{}", reply.body);
    assert!(desk.model.seen().is_empty());
}

#[tokio::test]
async fn model_failure_is_a_status_before_the_first_byte() {
    let desk = Desk::new(async |asked| match asked.user_text() {
        "limit" => ModelReply::status(429, Some(1)),
        "key" => ModelReply::status(401, None),
        "bad" => ModelReply::status(400, None),
        "long" => ModelReply::refused(400, "prompt is too long", None),
        _ => ModelReply::status(404, None),
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    for (text, status, kind) in [
        ("key", 502, "server_error"),
        ("bad", 400, "invalid_request_error"),
        ("none", 404, "invalid_request_error"),
    ] {
        for more in [json!({}), json!({"stream": true}), json!({"tools": [function("look")]})] {
            let reply = complete(&desk.api, &agent, &json!([user(text)]), &more).await;
            let (was, form, _) = refused(&reply);
            assert_eq!((was, form), (status, kind), "{text} {more}: {}", reply.body);
        }
    }
    for more in [json!({}), json!({"stream": true}), json!({"tools": [function("look")]})] {
        let reply = complete(&desk.api, &agent, &json!([user("long")]), &more).await;
        let expected = (400, "invalid_request_error", &json!("context_length_exceeded"));
        assert_eq!(refused(&reply), expected, "clients look for this code: {}", reply.body);
    }
    let limited = complete(&desk.api, &agent, &json!([user("limit")]), &json!({"stream": true})).await;
    assert_eq!(refused(&limited), (429, "rate_limit_error", &json!("rate_limit_exceeded")));
    assert_eq!((limited.header("retry-after"), limited.header("x-should-retry")), (Some("1"), None));
    let metadata = json!({"metadata": {"conversation_id": "new"}});
    let begun = complete(&desk.api, &agent, &json!([user("key")]), &metadata).await;
    let id = begun.header("haft-conversation").expect("an id");
    let metadata = json!({"metadata": {"conversation_id": id}});
    let again = complete(&desk.api, &agent, &json!([user("key")]), &metadata).await;
    assert_eq!(
        (again.status, again.header("x-should-retry")),
        (502, Some("false")),
        "a retry would repeat the message"
    );
}

#[tokio::test]
async fn model_failure_during_a_response_is_an_error_in_the_stream() {
    // A failure before the first fragment is a status, so the model fails after some fragments.
    let gates = [Arc::new(Semaphore::new(2)), Arc::new(Semaphore::new(2))];
    let held = gates.clone();
    let desk = Desk::new(move |asked: RecordedModelRequest| {
        let gate = held[usize::from(asked.user_text() == "ho")].clone();
        async move {
            ModelReply::says("It is so that ").in_fragments_of(4).hold_until(gate).error_in_stream("broken")
        }
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let asked = body(&agent, &json!([user("hi")]), &json!({"stream": true}));
    let events = desk.api.post_for_events(COMPLETIONS, &asked).await;
    gates[0].add_permits(100);
    let events = events.all().await;
    assert_eq!(super::streamed_text(&events), "It is so that ");
    let error = &events[events.len() - 2].data["error"];
    assert_eq!((&error["type"], &error["code"]), (&json!("server_error"), &json!("server_error")), "{error}");
    let asked = json!({"model": agent, "input": "ho", "stream": true, "store": false});
    let events = desk.api.post_for_events(RESPONSES, &asked).await;
    gates[1].add_permits(100);
    let events = events.all().await;
    let last = events.last().expect("an end");
    assert_eq!((last.name.as_str(), &last.data["response"]["status"]), ("response.failed", &json!("failed")));
    assert_eq!(last.data["response"]["id"], events[0].data["response"]["id"]);
}

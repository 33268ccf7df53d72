//! Requests that a provider rejects: options dropped from the retry, reports, and the retry limit.

use haft_core::{ErrorKind, ModelOptions};
use haft_llm::{Dialect, Model, ModelRequest, ModelStream, ModelTurn, dropped_before};
use haft_testkit::{ModelReply, ModelServer, RecordedRequest, Upstream, http_response, json_reply};
use serde_json::{Value, json};

use crate::support::{limits, wire, wire_at};

fn request(model: &str, given: Value) -> ModelRequest {
    let Value::Object(fields) = given else { panic!("{given}") };
    let options = ModelOptions::read(fields).expect("good options");
    let response_format = options.response_format();
    ModelRequest {
        response_format,
        options,
        ..ModelRequest::new(model, vec![ModelTurn::user("Say it as JSON.")])
    }
}

/// Options with a response format and an effort.
fn effort_and_format() -> Value {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    json!({
        "response_format": {"type": "json_schema", "json_schema": {"name": "w", "schema": schema}},
        "reasoning_effort": "low",
        "drop_params": true,
    })
}

/// An error in Anthropic's format.
fn refused_by_anthropic(message: &str) -> http::Response<Vec<u8>> {
    let error = json!({"type": "invalid_request_error", "message": message});
    json_reply(400, &json!({"type": "error", "error": error}))
}

#[tokio::test]
async fn a_rejected_effort_is_dropped_and_the_response_format_stays() {
    let server =
        Upstream::start(|seen: &RecordedRequest| match seen.json()["output_config"]["effort"].is_string() {
            true => refused_by_anthropic("This model does not support the effort parameter."),
            false => http_response(200, &[], ""),
        })
        .await;
    let asked = request("claude-opus-4", effort_and_format());
    let answer = wire(Dialect::Anthropic, &server).ask(&asked, limits()).await;
    let ModelStream { dropped, .. } = answer.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(dropped, ["reasoning_effort"]);
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[1].json()["output_config"]["format"]["type"], "json_schema");
}

#[tokio::test]
async fn a_rejected_response_format_is_reported_and_not_sent_again() {
    let server = ModelServer::start(async |_| ModelReply::says("{}")).await;
    let model = wire_at(haft_testkit::FakeDialect::Anthropic, &server);
    let mut asked = request("claude-3-haiku", effort_and_format());
    let answer = model.ask(&asked, limits()).await;
    let ModelStream { dropped, .. } = answer.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(dropped, ["response_format"]);
    for name in &dropped {
        asked.leave_out(name);
    }
    let again = model.ask(&asked, limits()).await;
    let ModelStream { dropped, .. } = again.unwrap_or_else(|error| panic!("{error}"));
    assert!(dropped.is_empty(), "{dropped:?}");
    assert_eq!(server.refused().len(), 1, "{:?}", server.refused());
    let seen = server.seen().pop().expect("a request");
    assert!(seen.system.is_some_and(|system| system.contains("\"city\"")));
}

#[tokio::test]
async fn an_error_after_a_refusal_lists_the_dropped_options() {
    let server =
        Upstream::start(|seen: &RecordedRequest| match seen.json()["output_config"]["format"].is_object() {
            true => refused_by_anthropic("output_config.format: Extra inputs are not permitted"),
            false => http_response(529, &[], ""),
        })
        .await;
    let asked = request("claude-opus-4", effort_and_format());
    let error = wire(Dialect::Anthropic, &server).ask(&asked, limits()).await.err().expect("an error");
    assert!(error.is_retryable(), "{error}");
    assert_eq!(dropped_before(&error), ["response_format"]);
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn repeated_refusals_are_limited() {
    let server = Upstream::start(|seen: &RecordedRequest| {
        let body = seen.json();
        let name = body.as_object().expect("an object").keys().find(|name| name.starts_with("own_"));
        json_reply(
            400,
            &json!({"error": {"message": format!("Unknown parameter: '{}'.", name.expect("one"))}}),
        )
    })
    .await;
    let mut given = json!({"drop_params": true});
    for number in 0..20 {
        given[format!("own_{number}")] = json!(1);
    }
    let asked = request("m", given);
    let error = wire(Dialect::OpenAi, &server).ask(&asked, limits()).await.err().expect("an error");
    assert_eq!(error.kind(), ErrorKind::Validation);
    assert_eq!((server.seen().len(), dropped_before(&error).len()), (5, 4));
}

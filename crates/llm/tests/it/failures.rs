//! Failures of providers: kind and message of the error, and that it never contains the key.

use std::time::Duration;

use haft_core::{CallError, ErrorKind, Locale, SpaceId};
use haft_egress::{Hosts, ToolPolicy};
use haft_llm::{Dialect, Reach, Wire};
use haft_testkit::{Upstream, http_response};
use serde_json::{Value, json};

use crate::support::{DIALECTS, KEY, ask, conversation, limits, wire};

/// The complete visible content of an error.
fn visible_text(error: &CallError) -> String {
    format!("{error} {error:?} {} {}", error.to_json(Locale::En), error.to_json(Locale::Zh))
}

/// The error for a response with this status and body, which also contains the key.
async fn failure(dialect: Dialect, status: u16, body: &Value) -> CallError {
    let body = body.to_string();
    let server = Upstream::start(move |_| {
        let headers = [("retry-after", "7"), ("content-type", "application/json")];
        http_response(status, &headers, body.clone())
    })
    .await;
    ask(&wire(dialect, &server), &conversation()).await.expect_err("a failure")
}

#[tokio::test]
async fn a_failure_status_is_an_error_of_its_kind() {
    let openai =
        |code: Value| json!({"error": {"message": format!("because, {KEY}"), "type": "t", "code": code}});
    let anthropic =
        |kind: &str| json!({"type": "error", "error": {"type": kind, "message": format!("because, {KEY}")}});
    let gemini = |code: u16, status: &str| json!([{"error": {"code": code, "message": format!("because, {KEY}"), "status": status}}]);
    let ollama = json!({"error": format!("because, {KEY}")});
    for (dialect, status, body, kind, id) in [
        (
            Dialect::OpenAi,
            401,
            openai(json!("invalid_api_key")),
            ErrorKind::Authentication,
            "llm.authentication",
        ),
        (Dialect::OpenAi, 404, openai(json!("model_not_found")), ErrorKind::NotFound, "llm.noModel"),
        (Dialect::OpenAi, 429, openai(json!("rate_limit_exceeded")), ErrorKind::RateLimit, "llm.rateLimit"),
        (
            Dialect::OpenAi,
            400,
            openai(json!("context_length_exceeded")),
            ErrorKind::Validation,
            "llm.contextTooLong",
        ),
        (Dialect::OpenAi, 400, openai(json!(null)), ErrorKind::Validation, "llm.refused"),
        (Dialect::OpenAi, 403, openai(json!(null)), ErrorKind::Permission, "llm.refused"),
        (Dialect::OpenAi, 500, openai(json!(null)), ErrorKind::Server, "llm.failed"),
        (
            Dialect::Anthropic,
            401,
            anthropic("authentication_error"),
            ErrorKind::Authentication,
            "llm.authentication",
        ),
        (Dialect::Anthropic, 404, anthropic("not_found_error"), ErrorKind::NotFound, "llm.noModel"),
        (
            Dialect::Anthropic,
            413,
            anthropic("request_too_large"),
            ErrorKind::Validation,
            "llm.contextTooLong",
        ),
        (Dialect::Anthropic, 429, anthropic("rate_limit_error"), ErrorKind::RateLimit, "llm.rateLimit"),
        (Dialect::Anthropic, 529, anthropic("overloaded_error"), ErrorKind::Server, "llm.failed"),
        (Dialect::Gemini, 429, gemini(429, "RESOURCE_EXHAUSTED"), ErrorKind::RateLimit, "llm.rateLimit"),
        (Dialect::Gemini, 503, gemini(503, "UNAVAILABLE"), ErrorKind::Server, "llm.failed"),
        (Dialect::Ollama, 404, ollama.clone(), ErrorKind::NotFound, "llm.noModel"),
        (Dialect::Ollama, 400, ollama, ErrorKind::Validation, "llm.refused"),
    ] {
        let error = failure(dialect, status, &body).await;
        assert_eq!((error.kind(), error.message().id()), (kind, id), "{dialect:?}, {status}: {error}");
        assert!(error.to_string().contains("because, ***"), "{dialect:?}, {status}: {error}");
        assert!(!visible_text(&error).contains(KEY), "{dialect:?}, {status}");
        let pause = kind.is_transient().then_some(Duration::from_secs(7));
        assert_eq!(error.requested_pause(), pause, "{dialect:?}, {status}");
    }
}

#[tokio::test]
async fn a_too_long_conversation_is_recognized_for_every_provider() {
    for (dialect, words) in [
        (
            Dialect::OpenAi,
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000",
        ),
        (Dialect::Anthropic, "prompt is too long: 210000 tokens > 200000 maximum"),
        (Dialect::Anthropic, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
        (
            Dialect::Gemini,
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        ),
        (Dialect::Ollama, "the input length exceeds the context length"),
    ] {
        let error =
            failure(dialect, 400, &json!({"error": {"message": words, "type": "invalid_request_error"}}))
                .await;
        assert_eq!(error.message().id(), "llm.contextTooLong", "{words}");
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Validation, false), "{words}");
    }
}

#[tokio::test]
async fn an_exhausted_quota_is_not_retried() {
    let body = json!({"error": {"message": "m", "type": "insufficient_quota", "code": "insufficient_quota"}});
    let error = failure(Dialect::OpenAi, 429, &body).await;
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::RateLimit, false));
    let event = format!("data: {body}\n\n");
    let server = Upstream::start(move |_| http_response(200, &[], event.clone())).await;
    let error = ask(&wire(Dialect::OpenAi, &server), &conversation()).await.expect_err("a failure");
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::RateLimit, false), "in a stream, too");
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_stream_ends_it() {
    for (dialect, event, kind) in [
        (Dialect::OpenAi, json!({"error": {"message": KEY, "type": "server_error"}}), ErrorKind::Server),
        (
            Dialect::Anthropic,
            json!({"type": "error", "error": {"type": "overloaded_error", "message": KEY}}),
            ErrorKind::Server,
        ),
        (
            Dialect::Gemini,
            json!({"error": {"code": 429, "message": KEY, "status": "RESOURCE_EXHAUSTED"}}),
            ErrorKind::RateLimit,
        ),
        (Dialect::Ollama, json!({"error": KEY}), ErrorKind::Server),
    ] {
        let body = if dialect == Dialect::Ollama {
            format!("{}\n{event}\n", json!({"message": {"content": "x"}, "done": false}))
        } else {
            format!("data: {{}}\n\ndata: {event}\n\ndata: {{}}\n\n")
        };
        let server = Upstream::start(move |_| http_response(200, &[], body.clone())).await;
        let error = ask(&wire(dialect, &server), &conversation()).await.expect_err("a failure");
        assert_eq!(error.kind(), kind, "{dialect:?}: {error}");
        assert!(!visible_text(&error).contains(KEY), "{dialect:?}");
    }
}

#[tokio::test]
async fn an_html_page_is_an_error() {
    for dialect in DIALECTS {
        for (status, kind) in [(200, ErrorKind::Server), (404, ErrorKind::NotFound), (502, ErrorKind::Server)]
        {
            let server = Upstream::start(move |_| http_response(status, &[], "<html>hello</html>")).await;
            let error = ask(&wire(dialect, &server), &conversation()).await.expect_err("a failure");
            assert_eq!(error.kind(), kind, "{dialect:?}, {status}");
            assert!(!error.to_string().contains("html"), "{dialect:?}, {status}: {error}");
        }
        let server = Upstream::start(|_| http_response(200, &[], "{}")).await;
        let error = wire(dialect, &server).models(limits()).await.expect_err("no list");
        assert_eq!(error.message().id(), "llm.notUnderstood", "{dialect:?}");
    }
}

#[tokio::test]
async fn an_invalid_key_is_not_exposed() {
    let server = Upstream::start(|_| http_response(200, &[], "")).await;
    for dialect in DIALECTS {
        let model = Wire { key: Some("sk-secret\n-of-two-lines".into()), ..wire(dialect, &server) };
        let error = ask(&model, &conversation()).await.expect_err("a failure");
        assert_eq!(error.message().id(), "llm.badKey", "{dialect:?}");
        assert!(!visible_text(&error).contains("sk-secret"), "{dialect:?}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_users_provider_cannot_use_a_private_address() {
    let server = Upstream::start(|_| http_response(200, &[], "")).await;
    for dialect in DIALECTS {
        let model = wire(dialect, &server);
        let policy = ToolPolicy::new(&model.base, Hosts::of_url(&model.base));
        let space: SpaceId = "00000000-0000-7000-8000-000000000001".parse().expect("an id");
        let model = Wire { reach: Reach::Space(space, policy), ..model };
        let error = ask(&model, &conversation()).await.expect_err("a failure");
        assert_eq!(error.kind(), ErrorKind::Permission, "{dialect:?}: {error}");
    }
    assert_eq!(server.connections(), 0);
}

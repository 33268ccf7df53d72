//! Failures of `web_search`: no provider, failure statuses, invalid responses, echoed keys.

use haft_engine::{ErrorKind, Locale};
use haft_testkit::{RecordedRequest, Upstream, http_response, json_reply};
use haft_web::{SearchProviders, Tavily};
use http::Response;
use secrecy::SecretString;
use serde_json::json;

use crate::search::{BRAVE_KEY, TAVILY_KEY, all, search_by, searxng, tavily};
use crate::support::{call, serving, tools};

const NO_TAVILY: &str =
    "Tavily API key not configured. Please add TAVILY_API_KEY to your environment variables.";

#[tokio::test]
async fn without_a_provider_the_message_names_the_variable() {
    let server = serving(200, &[], "").await;
    let none = SearchProviders::default();
    let only_searxng = SearchProviders { searxng: Some(searxng(&server)), ..SearchProviders::default() };
    let only_tavily = SearchProviders { tavily: Some(tavily(&server)), ..SearchProviders::default() };
    for (configured, provider, words) in [
        (none.clone(), None, NO_TAVILY),
        (none, Some("tavily"), NO_TAVILY),
        (only_searxng, Some("tavily"), NO_TAVILY),
        (
            only_tavily.clone(),
            Some("searxng"),
            "SearXNG not configured. Please add SEARXNG_URL to your environment variables.",
        ),
        (
            only_tavily,
            Some("brave"),
            "Brave API key not configured. Please add BRAVE_API_KEY to your environment variables.",
        ),
    ] {
        let tools = tools(configured);
        for locale in [Locale::En, Locale::Zh] {
            let arguments = json!({"query": "x"});
            let made = match provider {
                Some(provider) => search_by(provider, &tools, arguments, locale).await,
                None => call(&tools, "web_search", arguments, locale).await,
            };
            assert_eq!(made.failed(words), (ErrorKind::Execution, words.to_owned()));
        }
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_failure_status_is_an_error_of_its_kind() {
    for (status, kind, words) in [
        (400, ErrorKind::Validation, "400 Bad Request"),
        (401, ErrorKind::Authentication, "401 Unauthorized"),
        (403, ErrorKind::Permission, "403 Forbidden"),
        (429, ErrorKind::RateLimit, "429 Too Many Requests"),
        (432, ErrorKind::Execution, "432"),
        (500, ErrorKind::Server, "500 Internal Server Error"),
        (503, ErrorKind::Server, "503 Service Unavailable"),
    ] {
        let headers = [("content-type", "application/json"), ("retry-after", "2")];
        let server = serving(status, &headers, r#"{"detail": "no"}"#).await;
        for locale in [Locale::En, Locale::Zh] {
            // A separate engine for each language: its circuit breaker opens after five failures.
            let tools = tools(all(&server));
            for (provider, prefix) in
                [("tavily", "Tavily API error"), ("searxng", "SearXNG error"), ("brave", "Brave API error")]
            {
                let made = search_by(provider, &tools, json!({"query": "x"}), locale).await;
                assert_eq!(made.failed(provider), (kind, format!("{prefix}: {words}")));
                let details = made.details(provider);
                assert_eq!(details["status"], status, "{provider} {words}");
                assert_eq!(details["body"], r#"{"detail": "no"}"#, "{provider} {words}");
                let waits = matches!(status, 429 | 500 | 503);
                assert_eq!(details.get("retryAfterMs"), waits.then_some(&json!(2000)), "{provider} {words}");
            }
        }
    }
}

#[tokio::test]
async fn an_invalid_list_of_results_is_an_error() {
    let deep = "[".repeat(100_000);
    for body in [
        "",
        "<html>",
        "{",
        "[]",
        "{}",
        "null",
        r#"{"results": 7}"#,
        r#"{"results": {"a": 1}}"#,
        r#"{"web": []}"#,
        r#"{"web": {"results": "x"}}"#,
        r#"{"type": "error"}"#,
        deep.as_str(),
    ] {
        let case: String = body.chars().take(50).collect();
        let server = serving(200, &[("content-type", "application/json")], body).await;
        let tools = tools(all(&server));
        for (provider, name) in [("tavily", "Tavily"), ("searxng", "SearXNG"), ("brave", "Brave")] {
            let arguments = json!({"query": "x"});
            let english = search_by(provider, &tools, arguments.clone(), Locale::En).await.failed(&case);
            let words = format!("The response of {name} is not a list of results");
            assert_eq!(english, (ErrorKind::Execution, words), "{case}");
            let chinese = search_by(provider, &tools, arguments, Locale::Zh).await.failed(&case);
            assert_eq!(chinese.1, format!("{name} 返回的内容不是结果列表"), "{case}");
        }
    }
}

#[tokio::test]
async fn the_size_of_a_response_is_limited() {
    let server = serving(200, &[], vec![b' '; (2 << 20) + 1]).await;
    let failed =
        call(&tools(all(&server)), "web_search", json!({"query": "x"}), Locale::En).await.failed("large");
    assert_eq!(failed.0, ErrorKind::ResponseTooLarge);
}

/// Echoes every field of the request, with the status given in the query.
fn echo(seen: &RecordedRequest) -> Response<Vec<u8>> {
    let headers: Vec<String> =
        seen.headers.values().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
    let all = format!("{} {} {TAVILY_KEY} {BRAVE_KEY}", headers.join(" "), seen.target);
    let result = json!({"title": all, "url": format!("https://example.com/?key={TAVILY_KEY}&k={BRAVE_KEY}"), "content": all, "description": all});
    let status = if seen.target.contains("fail") || seen.text().contains("fail") { 401 } else { 200 };
    json_reply(status, &json!({"results": [result], "web": {"results": [result]}, TAVILY_KEY: all}))
}

#[tokio::test]
async fn keys_are_never_exposed() {
    let server = Upstream::start(echo).await;
    let tools = tools(all(&server));
    for provider in ["tavily", "searxng", "brave"] {
        for query in ["x", "fail"] {
            let shown = search_by(provider, &tools, json!({"query": query}), Locale::En).await.visible_text();
            assert!(!shown.contains(TAVILY_KEY) && !shown.contains(BRAVE_KEY), "{provider} {query}: {shown}");
            assert!(shown.contains("***"), "{provider} {query}: nothing was masked in {shown}");
        }
    }
    let bad = Tavily { key: SecretString::from("line\nbreak"), ..tavily(&server) };
    let only = SearchProviders { tavily: Some(bad), ..SearchProviders::default() };
    let made = call(&crate::support::tools(only), "web_search", json!({"query": "x"}), Locale::En).await;
    let words = "The key of Tavily contains characters that cannot be sent; check TAVILY_API_KEY";
    assert_eq!(made.failed("a bad key"), (ErrorKind::Execution, words.to_owned()));
}

#[tokio::test]
async fn redirects_of_a_provider_are_not_followed() {
    let server =
        Upstream::start(|_| http_response(302, &[("location", "http://127.0.0.2:9/search")], "")).await;
    let failed =
        call(&tools(all(&server)), "web_search", json!({"query": "x"}), Locale::En).await.failed("away");
    assert_eq!(failed.0, ErrorKind::Permission, "{}", failed.1);
}

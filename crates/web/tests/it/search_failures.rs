//! How `web_search` fails: nobody configured, providers that refuse or answer nonsense, keys that are echoed.

use haft_engine::{ErrorKind, Locale};
use haft_testkit::{Seen, Upstream, json_reply, reply};
use haft_web::{SearchProviders, Tavily};
use http::Response;
use secrecy::SecretString;
use serde_json::json;

use crate::search::{BRAVE_KEY, TAVILY_KEY, all, search_by, searxng, tavily};
use crate::support::{call, serving, tools};

const NO_TAVILY: &str =
    "Tavily API key not configured. Please add TAVILY_API_KEY to your environment variables.";

#[tokio::test]
async fn without_a_provider_it_says_what_to_configure() {
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
async fn a_status_is_an_error_of_its_kind() {
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
            // An engine for each language: its circuit opens after five failures.
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
async fn what_is_no_list_of_results_is_said_to_be_none() {
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
            let words = format!("{name} answered something that is not a list of results");
            assert_eq!(english, (ErrorKind::Execution, words), "{case}");
            let chinese = search_by(provider, &tools, arguments, Locale::Zh).await.failed(&case);
            assert_eq!(chinese.1, format!("{name} 返回的内容不是结果列表"), "{case}");
        }
    }
}

#[tokio::test]
async fn an_answer_has_an_end() {
    let server = serving(200, &[], vec![b' '; (2 << 20) + 1]).await;
    let failed =
        call(&tools(all(&server)), "web_search", json!({"query": "x"}), Locale::En).await.failed("large");
    assert_eq!(failed.0, ErrorKind::ResponseTooLarge);
}

/// Whatever was sent, in every field, with the status that the query asks for.
fn echo(seen: &Seen) -> Response<Vec<u8>> {
    let headers: Vec<String> =
        seen.headers.values().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
    let all = format!("{} {} {TAVILY_KEY} {BRAVE_KEY}", headers.join(" "), seen.target);
    let result = json!({"title": all, "url": format!("https://example.com/?key={TAVILY_KEY}&k={BRAVE_KEY}"), "content": all, "description": all});
    let status = if seen.target.contains("fail") || seen.text().contains("fail") { 401 } else { 200 };
    json_reply(status, &json!({"results": [result], "web": {"results": [result]}, TAVILY_KEY: all}))
}

#[tokio::test]
async fn keys_are_never_shown() {
    let server = Upstream::start(echo).await;
    let tools = tools(all(&server));
    for provider in ["tavily", "searxng", "brave"] {
        for query in ["x", "fail"] {
            let shown = search_by(provider, &tools, json!({"query": query}), Locale::En).await.shown();
            assert!(!shown.contains(TAVILY_KEY) && !shown.contains(BRAVE_KEY), "{provider} {query}: {shown}");
            assert!(shown.contains("***"), "{provider} {query}: nothing was masked in {shown}");
        }
    }
    let bad = Tavily { key: SecretString::from("line\nbreak"), ..tavily(&server) };
    let only = SearchProviders { tavily: Some(bad), ..SearchProviders::default() };
    let made = call(&crate::support::tools(only), "web_search", json!({"query": "x"}), Locale::En).await;
    let words = "The key of Tavily holds characters that cannot be sent; check TAVILY_API_KEY";
    assert_eq!(made.failed("a bad key"), (ErrorKind::Execution, words.to_owned()));
}

#[tokio::test]
async fn a_provider_sends_nobody_elsewhere() {
    let server = Upstream::start(|_| reply(302, &[("location", "http://127.0.0.2:9/search")], "")).await;
    let failed =
        call(&tools(all(&server)), "web_search", json!({"query": "x"}), Locale::En).await.failed("away");
    assert_eq!(failed.0, ErrorKind::Permission, "{}", failed.1);
}

//! `web_search` against fake providers: requests and results.

use haft_engine::{ErrorKind, Locale, ToolService};
use haft_testkit::{RecordedRequest, Upstream, json_reply};
use haft_web::{Brave, SearXng, SearchProviders, Tavily};
use http::Response;
use secrecy::SecretString;
use serde_json::{Value, json};
use url::Url;

use crate::support::{CallOutcome, bound, call, call_with, tools};

pub(crate) const TAVILY_KEY: &str = "tvly-a1b2c3d4e5f6";
pub(crate) const BRAVE_KEY: &str = "BSA-z9y8x7w6v5u4";

pub(crate) fn tavily(server: &Upstream) -> Tavily {
    Tavily { key: SecretString::from(TAVILY_KEY), base: base(server, "") }
}

pub(crate) fn searxng(server: &Upstream) -> SearXng {
    SearXng { base: base(server, "") }
}

pub(crate) fn brave(server: &Upstream) -> Brave {
    Brave { key: SecretString::from(BRAVE_KEY), base: base(server, "") }
}

fn base(server: &Upstream, path: &str) -> Url {
    Url::parse(&server.url(path)).expect("a URL")
}

/// All three providers, at one server.
pub(crate) fn all(server: &Upstream) -> SearchProviders {
    SearchProviders {
        tavily: Some(tavily(server)),
        searxng: Some(searxng(server)),
        brave: Some(brave(server)),
    }
}

/// Responds like each provider, with twelve results, if the key is right.
fn providers(seen: &RecordedRequest) -> Response<Vec<u8>> {
    let path = seen.target.split('?').next().unwrap_or_default();
    let result = |number: usize, content: &str| json!({"title": format!("Title {number}"), "url": format!("https://example.com/{number}"), content: format!("Content {number}"), "score": 0.9});
    let results = |content: &str| -> Value { (1..=12).map(|number| result(number, content)).collect() };
    match (seen.method.as_str(), path) {
        ("POST", "/search")
            if seen.header("authorization") == Some(format!("Bearer {TAVILY_KEY}").as_str()) =>
        {
            json_reply(200, &json!({"query": "x", "results": results("content"), "response_time": 1.1}))
        }
        ("GET", "/search" | "/searx/search") if seen.target.contains("format=json") => {
            json_reply(200, &json!({"query": "x", "number_of_results": 0, "results": results("content")}))
        }
        ("GET", "/res/v1/web/search") if seen.header("x-subscription-token") == Some(BRAVE_KEY) => {
            json_reply(
                200,
                &json!({"type": "search", "web": {"type": "search", "results": results("description")}}),
            )
        }
        _ => json_reply(401, &json!({"detail": {"error": "Unauthorized"}})),
    }
}

async fn search(tools: &ToolService, arguments: Value) -> CallOutcome {
    call(tools, "web_search", arguments, Locale::En).await
}

/// A search by an agent whose binding chooses a provider.
pub(crate) async fn search_by(
    provider: &str,
    tools: &ToolService,
    arguments: Value,
    locale: Locale,
) -> CallOutcome {
    let options = bound(&json!({"$fixed": {"provider": provider}}));
    call_with(tools, "web_search", arguments, locale, options).await
}

/// The expected output for this number of results.
fn expected(query: &str, count: usize) -> Value {
    let result = |number: usize| json!({"title": format!("Title {number}"), "url": format!("https://example.com/{number}"), "content": format!("Content {number}")});
    json!({"query": query, "results": (1..=count).map(result).collect::<Value>(), "count": count})
}

#[tokio::test]
async fn every_provider_has_its_request_format_and_a_common_output() {
    let server = Upstream::start(providers).await;
    let tools = tools(all(&server));
    for (provider, target) in [
        ("tavily", "/search"),
        ("searxng", "/search?q=rust+%26+%E7%BD%91%E9%A1%B5+100%25&format=json"),
        ("brave", "/res/v1/web/search?q=rust+%26+%E7%BD%91%E9%A1%B5+100%25&count=3"),
    ] {
        let query = "rust & 网页 100%";
        let arguments = json!({"query": query, "maxResults": 3});
        let made = search_by(provider, &tools, arguments, Locale::En).await;
        assert_eq!(made.data(provider), &expected(query, 3), "{provider}");
        let seen = server.seen().pop().expect("a request");
        assert_eq!(seen.target, target, "{provider}");
        if provider == "tavily" {
            assert_eq!(seen.header("content-type"), Some("application/json"));
            assert_eq!(seen.json(), json!({"query": query, "max_results": 3, "search_depth": "basic"}));
        } else {
            assert_eq!((seen.method.as_str(), seen.text().as_str()), ("GET", ""), "{provider}");
            assert_eq!(seen.header("authorization"), None, "{provider}: another one's key");
        }
    }
}

#[tokio::test]
async fn the_first_configured_provider_is_used() {
    let server = Upstream::start(providers).await;
    let none = SearchProviders::default;
    for (case, configured, path) in [
        ("all", all(&server), "/search"),
        ("no tavily", SearchProviders { tavily: None, ..all(&server) }, "/search?q=x&format=json"),
        (
            "only brave",
            SearchProviders { brave: Some(brave(&server)), ..none() },
            "/res/v1/web/search?q=x&count=5",
        ),
        (
            "below a path",
            SearchProviders { searxng: Some(SearXng { base: base(&server, "/searx/") }), ..none() },
            "/searx/search?q=x&format=json",
        ),
    ] {
        let made = search(&tools(configured), json!({"query": "x"})).await;
        assert_eq!(made.data(case), &expected("x", 5), "{case}");
        assert_eq!(server.seen().pop().expect("a request").target, path, "{case}");
    }
}

#[tokio::test]
async fn a_binding_chooses_the_provider() {
    let server = Upstream::start(providers).await;
    let tools = tools(all(&server));
    let brave = "/res/v1/web/search?q=x&count=2";
    for tool_config in [
        json!({"maxResults": 2, "provider": "brave"}),
        json!({"$fixed": {"provider": "brave", "maxResults": 2}}),
    ] {
        let case = tool_config.to_string();
        let made =
            call_with(&tools, "web_search", json!({"query": "x"}), Locale::En, bound(&tool_config)).await;
        assert_eq!(made.data(&case), &expected("x", 2), "{case}");
        assert_eq!(server.seen().pop().expect("a request").target, brave, "{case}");
    }
}

#[tokio::test]
async fn the_older_tool_name_is_an_alias() {
    let server = Upstream::start(providers).await;
    let tools = tools(all(&server));
    let made = call(&tools, "Tavily_web_search", json!({"query": "x", "maxResults": 10}), Locale::En).await;
    assert_eq!(made.data("an older name"), &expected("x", 10));
}

#[tokio::test]
async fn arguments_are_validated_before_any_request() {
    let server = Upstream::start(providers).await;
    let tools = tools(all(&server));
    for (arguments, at) in [
        (json!({}), "query"),
        (json!({"query": ""}), "query"),
        (json!({"query": "x", "maxResults": 0}), "maxResults"),
        (json!({"query": "x", "maxResults": 11}), "maxResults"),
        (json!({"query": "x", "maxResults": 2.5}), "maxResults"),
        (json!({"query": "x", "provider": "google"}), "provider"),
        (json!({"query": "x", "apiKey": "y"}), "apiKey"),
    ] {
        let case = arguments.to_string();
        let (kind, words) = search(&tools, arguments).await.failed(&case);
        assert_eq!(kind, ErrorKind::Validation, "{case}");
        assert!(words.starts_with("Invalid inputs: ") && words.contains(at), "{case}: {words}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn missing_fields_of_a_result_are_empty_and_tags_are_removed() {
    let odd =
        |content: &str| json!([{"title": " One "}, {}, 7, null, {"title": 1, "url": null, content: ["x"]}]);
    let empty = json!({"title": "", "url": "", "content": ""});
    let one = json!({"title": "One", "url": "", "content": ""});
    for (provider, answer) in [
        ("tavily", json!({"results": odd("content")})),
        ("searxng", json!({"results": odd("content")})),
        ("brave", json!({"web": {"results": odd("description")}})),
    ] {
        let server = Upstream::start(move |_| json_reply(200, &answer)).await;
        let made = search_by(provider, &tools(all(&server)), json!({"query": "x"}), Locale::En).await;
        let expected = json!({"query": "x", "results": [one, empty, empty], "count": 3});
        assert_eq!(made.data(provider), &expected, "{provider}");
    }
    let marked = json!({"type": "search", "web": {"results": [{
        "title": "<strong>Rust</strong> &amp; friends", "url": "https://example.com/?a=1&amp=2",
        "description": "It&#x27;s <strong>fast</strong>,\n and 1 < 2",
    }]}});
    let server = Upstream::start(move |_| json_reply(200, &marked)).await;
    let only = SearchProviders { brave: Some(brave(&server)), ..SearchProviders::default() };
    let made = search(&tools(only), json!({"query": "x"})).await;
    let expected = json!([{"title": "Rust & friends", "url": "https://example.com/?a=1&amp=2", "content": "It's fast, and 1 < 2"}]);
    assert_eq!(made.data("marked")["results"], expected);
}

#[tokio::test]
async fn an_empty_result_is_a_success() {
    for (provider, answer) in [
        ("tavily", json!({"results": []})),
        ("searxng", json!({"results": [], "unresponsive_engines": [["a", "timeout"]]})),
        ("brave", json!({"web": {"results": []}})),
        ("brave", json!({"type": "search", "query": {"original": "x"}})),
    ] {
        let server = Upstream::start(move |_| json_reply(200, &answer)).await;
        let made = search_by(provider, &tools(all(&server)), json!({"query": "x"}), Locale::En).await;
        assert_eq!(made.data(provider), &expected("x", 0), "{provider}");
    }
}

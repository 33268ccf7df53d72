//! Built-in tools that read the web: a page, a search, and the error without a key.

use haft_testkit::{Client, HaftProcess, Upstream, http_response, json_reply, run};
use serde_json::json;

use crate::HAFT;

#[tokio::test]
async fn page_is_read_and_search_uses_the_key_of_the_environment() {
    let site = Upstream::start(|seen| match seen.target.as_str() {
        "/search" => json_reply(
            200,
            &json!({"results": [{"title": "Haft", "url": "https://haft.example", "content": "A handle."}]}),
        ),
        _ => http_response(200, &[("content-type", "text/plain; charset=utf-8")], "Plain words."),
    })
    .await;
    let tavily = site.url("");
    let environment = [
        ("HAFT_ADMIN_TOKEN", crate::TOKEN),
        ("HAFT_ALLOW_PRIVATE_NETWORKS", "127.0.0.0/8"),
        ("TAVILY_API_KEY", "tvly-0123456789"),
        ("TAVILY_BASE_URL", tavily.as_str()),
    ];
    let server = HaftProcess::start(HAFT, &["serve"], &environment).await;
    let api = Client::new(&server.url, crate::TOKEN);
    let page = api
        .post("/api/tools/url_reader/execute", &json!({"arguments": {"url": site.url("/notes.txt")}}))
        .await;
    assert_eq!(page.data()["data"]["content"], "Plain words.", "{}", page.body);
    let written = api
        .post("/api/tools/url_reader/execute", &json!({"arguments": {"url": site.url("/wiki/北京")}}))
        .await;
    assert_eq!(written.data()["data"]["title"], "北京", "{}", written.body);
    assert_eq!(site.seen().pop().expect("a request").target, "/wiki/%E5%8C%97%E4%BA%AC");
    let nonsense = json!({"arguments": {"url": "北京"}});
    for (language, expected) in [
        ("en", "Invalid inputs: url: is not a URL: it must begin with http:// or https://"),
        ("zh-CN", "输入无效：url: 不是有效的 URL: 必须以 http:// 或 https:// 开头"),
    ] {
        let refused =
            api.with("accept-language", language).post("/api/tools/url_reader/execute", &nonsense).await;
        assert_eq!((refused.status, refused.message()), (400, expected), "{}", refused.body);
    }
    // The older name of `web_search`.
    let found =
        api.post("/api/tools/Tavily_web_search/execute", &json!({"arguments": {"query": "haft"}})).await;
    assert_eq!(
        found.data()["data"],
        json!({"query": "haft", "count": 1, "results": [{"title": "Haft", "url": "https://haft.example", "content": "A handle."}]}),
        "{}",
        found.body
    );
    assert_eq!(found.data()["toolName"], "web_search");
    let asked = site.seen().pop().expect("a request");
    assert_eq!(
        (asked.header("authorization"), asked.json()["max_results"].as_i64()),
        (Some("Bearer tvly-0123456789"), Some(5))
    );
    let taken = json!({"name": "Tavily_web_search", "description": "d", "url": "https://a.example"});
    assert_eq!(api.post("/api/tools", &taken).await.status, 409, "the name is reserved");
}

#[tokio::test]
async fn search_without_a_key_names_the_setting() {
    let ended = run(HAFT, &["call", "web_search", "query=haft"], &[], "").await;
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let expected = "Tavily API key not configured. Please add TAVILY_API_KEY to your environment variables.";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    let ended = run(HAFT, &["call", "web_search", "query=haft"], &[("SEARXNG_URL", "nowhere")], "").await;
    assert!(ended.stderr.contains("SEARXNG_URL: \"nowhere\" is not a URL"), "{}", ended.stderr);
}

//! Definitions of tools: refusals with their messages, and accepted definitions.

use haft_testkit::{Upstream, json_reply};
use serde_json::{Value, json};

use super::execute;
use crate::agents::{make, patch};
use crate::http_tools::start;

#[tokio::test]
async fn refusals_name_their_cause() {
    let (_server, api) = start(&[]).await;
    let url = "https://api.example.com/x";
    for (definition, status, en, zh) in [
        (
            json!({"name": "t", "description": "d"}),
            400,
            "type: is missing, and there is no url that would make it an http tool",
            "type: 缺失，且没有 url",
        ),
        (
            json!({"name": "t", "description": "d", "type": "MCP"}),
            400,
            "type: mcp is not a kind of tool this server can run; it can run ",
            "type: mcp 不是本服务支持的工具类型；支持：",
        ),
        (
            json!({"name": "t", "description": "d", "type": "htpt", "url": url}),
            400,
            "type: htpt is not a kind of tool this server can run; did you mean http?",
            "是否想用 http？",
        ),
        (
            json!({"name": "find_tools", "description": "d", "url": url}),
            400,
            "name: is reserved for an agent's own tools (find_tools, task_result, read_result)",
            "name: 是智能体自带工具的名称（find_tools, task_result, read_result）",
        ),
        (
            json!({"name": "calculator", "description": "d", "url": url}),
            409,
            "calculator is the name of a tool that comes with the program and cannot be replaced; choose another name",
            "calculator 是程序自带工具的名称，不能被替换；请换一个名称",
        ),
        (
            json!({"name": "Tavily_web_search", "description": "d", "url": url}),
            409,
            "Tavily_web_search is the name of a tool that comes with the program",
            "Tavily_web_search 是程序自带工具的名称",
        ),
        (
            json!({"name": "t", "description": "d", "url": url, "security": {"allowedDomains": ["b.example", "*.example.org"]}}),
            400,
            "config.security.allowedDomains: does not include api.example.com, the host of the tool's url",
            "config.security.allowedDomains: 不包含 api.example.com",
        ),
    ] {
        for (client, expected) in
            [(api.with("accept-language", "en"), en), (api.with("accept-language", "zh"), zh)]
        {
            let reply = client.post("/api/tools", &definition).await;
            assert_eq!(reply.status, status, "{definition}: {}", reply.body);
            assert!(reply.message().contains(expected), "{definition}: {}", reply.message());
        }
    }
    let right = json!({"name": "t", "description": "d", "url": url, "security": {"allowedDomains": ["*.example.com"]}});
    make(&api, "/api/tools", &right).await;
    let wrong =
        patch(&api, "/api/tools/t", &json!({"config": {"security": {"allowedDomains": ["b.example"]}}}))
            .await;
    assert_eq!(wrong.status, 400, "{}", wrong.body);
}

#[tokio::test]
async fn a_default_that_does_not_fit_is_ignored_in_every_call() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({}))).await;
    let (_server, api) = start(&[]).await;
    let definition = json!({
        "name": "list", "description": "d", "url": upstream.url("/items"), "method": "GET",
        "params": {"limit": "{{limit}}", "page": "{{page}}"},
        "inputSchema": {"type": "object", "properties": {
            "limit": {"type": "integer", "default": null},
            "page": {"type": "integer", "default": 2},
        }},
    });
    let tool = make(&api, "/api/tools", &definition).await;
    assert_eq!(tool["inputSchema"]["properties"]["limit"], json!({"type": "integer", "default": null}));
    for (arguments, target) in [(json!({}), "/items?page=2"), (json!({"limit": 5}), "/items?limit=5&page=2")]
    {
        let reply = execute(&api, "list", arguments).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert_eq!(upstream.seen().last().map(|seen| seen.target.clone()).as_deref(), Some(target));
    }
    let strict = json!({"arguments": {}, "options": {"strict": true}});
    assert_eq!(api.post("/api/tools/list/execute", &strict).await.status, 200);
    assert_eq!(execute(&api, "list", json!({"limit": null})).await.status, 400, "a given value must fit");
}

#[tokio::test]
async fn a_title_needs_one_language_only() {
    let (_server, api) = start(&[]).await;
    let definition = |title: Value| json!({"name": "t", "description": "d", "url": "https://api.example.com/x", "title": title});
    let tool = make(&api, "/api/tools", &definition(json!({"en": "Weather"}))).await;
    assert_eq!(tool["title"], json!({"en": "Weather", "zh": "Weather"}));
    // Saving an equal definition makes no version.
    let again = api.put("/api/tools/t", &definition(json!({"en": "Weather"}))).await;
    assert_eq!((again.status, &again.data()["version"]), (200, &json!(1)), "{}", again.body);
    for (given, expected) in [
        (json!({"en": "Forecast"}), json!({"en": "Forecast", "zh": "Forecast"})),
        (json!({"zh": "天气"}), json!({"en": "Forecast", "zh": "天气"})),
        (json!({"en": "Weather"}), json!({"en": "Weather", "zh": "天气"})),
    ] {
        let changed = patch(&api, "/api/tools/t", &json!({"title": given})).await;
        assert_eq!(changed.data()["title"], expected, "{given}");
    }
    let refused = api.put("/api/tools/t", &definition(json!({}))).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
}

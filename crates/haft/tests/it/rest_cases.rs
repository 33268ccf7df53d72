//! Findings in the first release candidate as one table of requests: each row names its finding.

use serde_json::Value;

use crate::http_tools::start;

use self::Expected::{Absent, Chinese, Field, Lacks, Message};

/// The expected part of a reply.
enum Expected {
    /// A value, written as JSON, at a pointer.
    Field(&'static str, &'static str),
    /// An object at the pointer without its last segment, which does not have that field.
    Absent(&'static str),
    /// A part of the message.
    Message(&'static str),
    /// A part of the message if the caller asks for Chinese.
    Chinese(&'static str),
    /// A text that is nowhere in the body.
    Lacks(&'static str),
}

/// Finding, method, path, body, status and expected part of the reply. Rows use resources that earlier rows
/// stored.
type Case = (&'static str, &'static str, &'static str, &'static str, u16, Expected);

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("B16", "GET", "/api/agents", "", 200, Field("/data/items", "[]")),
    ("B2", "POST", "/api/tools", r#"{"name": "kept", "description": "d", "type": "mock"}"#, 201, Field("/data/version", "1")),
    ("B2", "POST", "/api/agents", r#"{"name": "a_clerk", "bindings": [{"toolId": "kept", "pinnedVersion": 1}]}"#, 201, Field("/data/name", r#""a_clerk""#)),
    ("B2", "GET", "/api/tools/export?format=json", "", 200, Field("/data/agents/0/bindings/0/pinnedVersion", "1")),
    ("B3", "POST", "/api/tools", r#"{"name": "list", "description": "d", "type": "mock", "inputSchema": {"type": "object",
        "properties": {"limit": {"type": "integer", "default": null}, "page": {"type": "integer", "default": 2}}}}"#, 201, Field("/data/version", "1")),
    ("B3", "POST", "/api/tools/list/execute", "{}", 200, Field("/data/data", r#"{"page": 2}"#)),
    ("B4", "POST", "/api/tools", r#"{"name": "busy", "description": "d", "type": "mock", "retryCount": 10, "retryDelay": 0,
        "config": {"answers": [{"error": {"kind": "Server", "message": "busy"}}]}}"#, 201, Field("/data/retryCount", "10")),
    ("B4", "POST", "/api/tools/busy/execute", "{}", 502, Field("/data/attempts", "11")),
    ("B4", "GET", "/api/circuits", "", 200, Lacks(r#""state":"open""#)),
    ("B5", "POST", "/api/tools/datetime/execute", r#"{"arguments": {"operation": "diff", "date": "2024-01-01", "targetDate": "Mar 20, 2024"}}"#, 200,
        Field("/data/data/from", r#""2024-01-01""#)),
    ("B5", "POST", "/api/tools/datetime/execute", r#"{"arguments": {"operation": "diff", "date": "2024-01-01", "targetDate": "Mar 20, 2024"}}"#, 200,
        Field("/data/data/to", r#""Mar 20, 2024""#)),
    ("B6", "POST", "/api/tools/datetime/execute", r#"{"arguments": {"operation": "add", "date": "2024-01-31", "amount": 1, "unit": "days", "timezone": "UTC"}}"#, 200,
        Field("/data/data/iso", r#""2024-02-01T00:00:00.000Z""#)),
    ("B6", "POST", "/api/tools/datetime/execute", r#"{"arguments": {"operation": "add", "date": "2024-01-31", "amount": 1, "unit": "M", "timezone": "UTC"}}"#, 200,
        Field("/data/data/iso", r#""2024-02-29T00:00:00.000Z""#)),
    ("B6", "POST", "/api/tools/datetime/execute", r#"{"arguments": {"operation": "add", "date": "2024-01-31", "amount": 1, "unit": "quarter", "timezone": "UTC"}}"#, 200,
        Field("/data/data/iso", r#""2024-04-30T00:00:00.000Z""#)),
    ("B7", "POST", "/api/tools/datetime/execute", r#"{"arguments": {"operation": "format", "date": "2018-4-1 1:1:1:22", "timezone": "UTC"}}"#, 200,
        Field("/data/data/formatted", r#""2018-04-01 01:01:01""#)),
    ("B7", "POST", "/api/tools/datetime/execute", r#"{"arguments": {"operation": "format", "date": "20210102T012345", "timezone": "UTC"}}"#, 200,
        Field("/data/data/formatted", r#""2021-01-02 01:23:45""#)),
    ("B7", "POST", "/api/tools/datetime/execute", r#"{"arguments": {"operation": "format", "date": "2018 February 03", "timezone": "UTC"}}"#, 200,
        Field("/data/data/formatted", r#""2018-02-03 00:00:00""#)),
    ("B8", "POST", "/api/tools/datetime/execute", r#"{"arguments": {"operation": "format", "date": ""}}"#, 400, Chinese("无法解析日期: ")),
    ("B8", "POST", "/api/tools/datetime/execute", r#"{"arguments": {"operation": "diff", "date": "2024-01-01", "targetDate": null}}"#, 400,
        Chinese("计算日期差需要提供目标日期 (targetDate)")),
    ("B10", "POST", "/api/tools/import/curl", r#"{"command": "curl https://api.example.com/users/42", "dryRun": true}"#, 200,
        Field("/data/tools/0/inputSchema/properties/user_id/default", "42")),
    ("B10", "POST", "/api/tools/import/curl", r#"{"command": "curl https://api.example.com/users/42", "dryRun": true}"#, 200,
        Field("/data/tools/0/definition/config/url", r#""https://api.example.com/users/{{user_id}}""#)),
    ("B12", "POST", "/api/tools", r#"{"name": "t", "description": "d"}"#, 400, Message("type: is missing, and there is no url")),
    ("B12", "POST", "/api/tools", r#"{"name": "t", "description": "d", "type": "MCP"}"#, 400, Message("mcp is not a kind of tool this server can run")),
    ("B12", "POST", "/api/tools", r#"{"name": "calculator", "description": "d", "url": "https://api.example.com/x"}"#, 409,
        Message("calculator is the name of a tool that comes with the program")),
    ("B12", "POST", "/api/tools", r#"{"name": "t", "description": "d", "url": "https://api.example.com/x", "security": {"allowedDomains": ["b.example"]}}"#, 400,
        Message("does not include api.example.com")),
    ("B13", "POST", "/api/tools", r#"{"name": "plain", "description": "d", "url": "https://api.example.com/x"}"#, 201, Field("/data/version", "1")),
    ("B13", "POST", "/api/tools", r#"{"name": "headed", "description": "d", "url": "https://api.example.com/x", "headers": {"X-Tenant": "acme"}}"#, 201, Field("/data/version", "1")),
    ("B13", "POST", "/api/agents", r#"{"name": "clerk", "toolIds": ["plain"]}"#, 201, Field("/data/name", r#""clerk""#)),
    ("B13", "POST", "/api/agents", r#"{"name": "scribe", "toolIds": ["headed"]}"#, 201, Field("/data/name", r#""scribe""#)),
    ("B13", "GET", "/api/agents/clerk/tools", "", 200, Field("/data/0/headers", "null")),
    ("B13", "GET", "/api/agents/scribe/tools", "", 200, Field("/data/0/headers", r#"{"X-Tenant": "acme"}"#)),
    ("B14", "POST", "/api/tools", r#"{"name": "nulls", "description": "d", "url": "https://api.example.com/x", "timeout": null, "retryCount": null}"#, 201,
        Field("/data/timeout", "30000")),
    ("B14", "POST", "/api/tools/calculator/execute", "{}", 400, Chinese("输入无效：expression")),
    ("B14", "GET", "/api/tools?limit=many", "", 400, Chinese("limit: 必须是范围内的整数")),
    ("B14", "GET", "/api/tool-calls?status=odd", "", 400, Chinese("status: 必须是以下之一：success, failed, cancelled")),
    ("B14", "GET", "/api/tools/%FF", "", 400, Chinese("路径无法读取：必须是经过百分号编码的 UTF-8")),
    ("B14", "POST", "/api/tools", r#"{"name": "private", "description": "d", "url": "http://10.0.0.1/x"}"#, 201, Field("/data/version", "1")),
    ("B14", "POST", "/api/tools/private/execute", "{}", 403, Chinese("不允许的地址: 10.0.0.1 解析到私有地址")),
    ("B15", "POST", "/api/tools/calculator/execute", r#"{"arguments": {"expression": "1234 * 5678"}}"#, 200, Field("/data/data/text", r#""7006652""#)),
    ("B17", "POST", "/api/tools", r#"{"name": "titled", "description": "d", "type": "mock", "title": {"en": "Weather"}}"#, 201,
        Field("/data/title", r#"{"en": "Weather", "zh": "Weather"}"#)),
    ("C4", "POST", "/api/providers", r#"{"name": "local", "kind": "scripted", "script": [{"text": "Hello."}]}"#, 201, Field("/data/name", r#""local""#)),
    ("C4", "GET", "/v1/models/local/org/model:free", "", 200, Field("/owned_by", r#""local""#)),
    ("E1", "POST", "/api/tools/private/execute", "{}", 403, Message("To allow it, start Haft with HAFT_ALLOW_PRIVATE_NETWORKS")),
    ("E2", "POST", "/api/tools/calculator/execute", r#"{"expression": "1+1"}"#, 400,
        Message("The body has no field `expression`. Put arguments under `arguments`.")),
    ("E2", "POST", "/api/tools/calculator/execute", r#"{"arguments": {}, "agentId": "clerk"}"#, 400, Message("The body has no field `agentId`. Put it under `options`.")),
    ("E6", "POST", "/api/agents", r#"{"name": "helper", "toolIds": ["calculator"]}"#, 201, Field("/data/name", r#""helper""#)),
    ("E6", "POST", "/api/tools/calculator/execute", r#"{"arguments": {"expression": "1+1"}, "options": {"agentId": "helper", "timeout": "30s"}}"#, 200, Field("/data/data/result", "2")),
    ("E6", "POST", "/api/tools", r#"{"name": "timed", "description": "d", "type": "mock", "timeout": "30s", "config": {"answers": [{"delay": "1s", "data": 1}]}}"#, 201,
        Field("/data/timeout", "30000")),
    ("E6", "POST", "/api/tools", r#"{"name": "decimal", "description": "d", "type": "mock", "timeout": "4.1m", "retryDelay": "16.1s"}"#, 201, Field("/data/timeout", "246000")),
    ("E6", "GET", "/api/tools/decimal", "", 200, Field("/data/retryDelay", "16100")),
    ("E6", "GET", "/api/tools/timed", "", 200, Field("/data/config/answers/0/delay", "1000")),
    ("F3", "POST", "/api/alerts", r#"{"name": "slow", "metric": "p95", "above": 5, "webhook": "https://hooks.example.com/services/T0-key"}"#, 201, Field("/data/name", r#""slow""#)),
    ("F3", "GET", "/api/tools/export?format=json", "", 200, Field("/data/alerts/0/webhook", r#""https://hooks.example.com/***""#)),
    ("F3", "GET", "/api/tools/export?format=json", "", 200, Lacks("T0-key")),
    ("F9", "POST", "/api/agents", r#"{"name": "searcher", "toolIds": ["web_search"]}"#, 201, Field("/data/name", r#""searcher""#)),
    ("F9", "GET", "/api/agents/searcher/tools?effective=true", "", 200, Absent("/data/0/parameters/properties/provider")),
];

#[tokio::test]
async fn each_finding_stays_fixed_over_rest() {
    let (_server, api) = start(&[]).await;
    for (finding, method, path, body, status, expected) in CASES {
        let case = format!("{finding}: {method} {path} {body}");
        let client =
            if matches!(expected, Chinese(_)) { api.with("accept-language", "zh") } else { api.clone() };
        let reply = match *method {
            "GET" => client.get(path).await,
            _ => client.post(path, &parsed(body)).await,
        };
        assert_eq!(reply.status, *status, "{case}: {}", reply.body);
        match expected {
            Field(pointer, value) => {
                assert_eq!(reply.body.pointer(pointer), Some(&parsed(value)), "{case}: {}", reply.body);
            }
            Absent(pointer) => {
                let (parent, field) = pointer.rsplit_once('/').expect("a pointer");
                let fields = reply.body.pointer(parent).and_then(Value::as_object);
                assert!(fields.is_some_and(|fields| !fields.contains_key(field)), "{case}: {}", reply.body);
            }
            Message(text) | Chinese(text) => {
                assert!(reply.message().contains(text), "{case}: {}", reply.message());
            }
            Lacks(text) => assert!(!reply.body.to_string().contains(text), "{case}: {}", reply.body),
        }
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

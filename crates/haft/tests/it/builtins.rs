//! The built-in tools over REST and on the command line, and the guide generated from their definitions.

use axum::http::Method;
use haft_testkit::{Client, HaftProcess, run};
use serde_json::{Value, json};

use crate::HAFT;

const NAMES: [&str; 8] =
    ["array", "calculator", "datetime", "object", "stop_response", "string", "url_reader", "web_search"];

#[tokio::test]
async fn builtin_tools_work_over_rest_and_on_the_command_line() {
    let server = HaftProcess::start(HAFT, &["serve"], &[("HAFT_ADMIN_TOKEN", crate::TOKEN)]).await;
    let api = Client::new(&server.url, crate::TOKEN);
    for (tool, arguments, pairs, expected) in [
        (
            "calculator",
            json!({"expression": "(10 * 5) + 2"}),
            vec!["expression=(10 * 5) + 2"],
            json!({"expression": "(10 * 5) + 2", "result": 52, "text": "52"}),
        ),
        (
            "datetime",
            json!({"operation": "add", "date": "2024-01-31", "amount": 1, "unit": "month", "format": "YYYY-MM-DD", "timezone": "UTC"}),
            vec![
                "operation=add",
                "date=2024-01-31",
                "amount=1",
                "unit=month",
                "format=YYYY-MM-DD",
                "timezone=UTC",
            ],
            json!({"operation": "add", "originalDate": "2024-01-31", "amount": 1, "unit": "month", "result": "2024-02-29",
                   "iso": "2024-02-29T00:00:00.000Z"}),
        ),
        (
            "string",
            json!({"operation": "upper", "text": "straße"}),
            vec!["operation=upper", "text=straße"],
            json!({"operation": "upper", "result": "STRASSE"}),
        ),
        (
            "array",
            json!({"operation": "sum", "array": [1, 2, 3]}),
            vec!["operation=sum", "array:=[1,2,3]"],
            json!({"operation": "sum", "result": 6}),
        ),
        (
            "object",
            json!({"operation": "get", "object": {"a": {"b": [7]}}, "path": "a.b.0"}),
            vec!["operation=get", "object:={\"a\":{\"b\":[7]}}", "path=a.b.0"],
            json!({"operation": "get", "result": 7}),
        ),
        (
            "stop_response",
            json!({"message": "bye"}),
            vec!["message=bye"],
            json!({"message": "bye", "control": "stop"}),
        ),
    ] {
        let reply = api.post(&format!("/api/tools/{tool}/execute"), &json!({"arguments": arguments})).await;
        assert_eq!((reply.status, &reply.data()["data"]), (200, &expected), "{tool}: {}", reply.body);
        let mut command = vec!["call", tool, "--json"];
        command.extend(pairs);
        let ended = run(HAFT, &command, &[], "").await;
        let result: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        assert_eq!((ended.code, &result["data"]), (0, &expected), "{tool}: {}", ended.stderr);
    }
    let zh = api.with("accept-language", "zh-CN");
    let reply = zh
        .post(
            "/api/tools/datetime/execute",
            &json!({"arguments": {"operation": "diff", "date": "2024-01-01"}}),
        )
        .await;
    assert_eq!(
        (reply.status, reply.message()),
        (400, "输入无效：targetDate: 计算日期差需要提供目标日期 (targetDate)")
    );
    let reply = api.post("/api/tools/calculator/execute", &json!({"arguments": {"expression": "foo"}})).await;
    assert_eq!((reply.status, reply.kind(), reply.message()), (422, "Execution", "Undefined symbol foo"));
}

#[tokio::test]
async fn builtin_tools_are_complete_and_can_be_customized() {
    let server = HaftProcess::start(HAFT, &["serve"], &[("HAFT_ADMIN_TOKEN", crate::TOKEN)]).await;
    let api = Client::new(&server.url, crate::TOKEN);
    let listed = api.get("/api/tools?type=builtin").await;
    let names: Vec<&str> = listed.data()["items"]
        .as_array()
        .expect("items")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, NAMES);
    for tool in listed.data()["items"].as_array().expect("items") {
        let name = &tool["name"];
        assert_eq!(&tool["id"], name);
        assert!(tool["title"]["en"].is_string() && tool["title"]["zh"].is_string(), "{name}");
        assert!(tool["icon"].is_string() && tool["category"].is_string(), "{name}");
        assert!(tool["outputSchema"].is_object(), "{name}");
        let forms =
            tool["inputSchema"]["oneOf"].as_array().cloned().unwrap_or(vec![tool["inputSchema"].clone()]);
        for form in forms {
            assert_eq!(form["additionalProperties"], false, "{name} {}", form["title"]);
            for (field, schema) in form["properties"].as_object().expect("fields") {
                let described = schema["description"].is_string() || schema.get("const").is_some();
                assert!(described, "{name} {} {field} has no description", form["title"]);
            }
        }
    }
    // A variant with a narrower schema is a separate tool.
    let narrow = json!({"name": "shout", "description": "Upper case.", "type": "builtin", "config": {"tool": "string"},
        "inputSchema": {"type": "object", "required": ["operation", "text"], "properties": {"operation": {"const": "upper"}, "text": {"type": "string"}}}});
    assert_eq!(api.post("/api/tools", &narrow).await.status, 201);
    let reply = api
        .post("/api/tools/shout/execute", &json!({"arguments": {"operation": "upper", "text": "hi"}}))
        .await;
    assert_eq!(reply.data()["data"]["result"], "HI");
    // A stored variant accepts the arguments of the original tool, also in a pinned version.
    let dates =
        json!({"name": "dates", "description": "Dates.", "type": "builtin", "config": {"tool": "datetime"}});
    assert_eq!(api.post("/api/tools", &dates).await.status, 201);
    let pinned = json!({"name": "clock", "bindings": [{"toolId": "dates", "pinnedVersion": 1}]});
    assert_eq!(api.post("/api/agents", &pinned).await.status, 201);
    let changed = json!({"description": "All dates."});
    assert_eq!(api.send_json(Method::PATCH, "/api/tools/dates", &changed).await.status, 200);
    for arguments in [
        json!({"operation": "now", "date": "2024-01-01"}),
        json!({"operation": "add", "date": "2024-01-01", "amount": 1, "unit": "days"}),
    ] {
        for options in [json!({}), json!({"agentId": "clock"})] {
            let body = json!({"arguments": arguments, "options": options});
            let reply = api.post("/api/tools/dates/execute", &body).await;
            assert_eq!(reply.status, 200, "{body}: {}", reply.body);
        }
    }
    // A variant with a wider schema still enforces the limits of the original tool.
    let wide = json!({"name": "anything", "description": "Anything.", "type": "builtin", "config": {"tool": "calculator"},
        "inputSchema": {"type": "object"}});
    assert_eq!(api.post("/api/tools", &wide).await.status, 201);
    let long = json!({"arguments": {"expression": "1".repeat(10_001)}});
    let reply = api.post("/api/tools/anything/execute", &long).await;
    assert_eq!((reply.status, reply.kind()), (400, "Validation"));
    assert!(reply.message().ends_with("is longer than 10000 characters"), "{}", reply.message());
    let unknown = json!({"name": "x", "description": "X.", "type": "builtin", "config": {"tool": "none"}});
    let reply = api.post("/api/tools", &unknown).await;
    assert!(
        reply.message().starts_with("Invalid inputs: config.tool: there is no built-in tool of that name"),
        "{}",
        reply.message()
    );
}

#[tokio::test]
async fn guide_matches_the_definitions() {
    let listed = run(HAFT, &["tools", "--json"], &[], "").await;
    let tools: Vec<Value> = serde_json::from_str(&listed.stdout).expect("JSON");
    let guide = guide(tools.iter().filter(|tool| tool["type"] == "builtin"));
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/builtins.md");
    if std::env::var_os("HAFT_WRITE_GUIDE").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, &guide).expect("written");
    }
    let current = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(current == guide, "docs/guide/builtins.md is out of date. Run `make guide`.");
}

fn guide<'a>(tools: impl Iterator<Item = &'a Value>) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut guide = String::from(
        "# Built-in tools\n\nMade from the definitions by `make guide`; a test fails when it is out of date.\n\
         Call one with `haft call NAME key=value …`, or `POST /api/tools/NAME/execute`.\n\n\
         Models see all operations of a tool as one object and may send more than one operation takes. A property \
         that belongs to another operation is ignored, with a warning in the call log. A property that belongs to \
         no operation is refused.\n",
    );
    for tool in tools {
        let (en, zh) = (text(&tool["title"]["en"]), text(&tool["title"]["zh"]));
        guide += &format!(
            "\n## {}\n\n{en} · {zh} · `{}`\n\n{}\n",
            text(&tool["name"]),
            text(&tool["category"]),
            text(&tool["description"])
        );
        match tool["inputSchema"]["oneOf"].as_array() {
            None => guide += &fields(&tool["inputSchema"]),
            Some(forms) => {
                for form in forms {
                    guide += &format!(
                        "\n### {} {}\n\n{}\n",
                        text(&tool["name"]),
                        text(&form["title"]),
                        text(&form["description"])
                    );
                    guide += &fields(form);
                }
            }
        }
    }
    guide
}

fn fields(form: &Value) -> String {
    let required: Vec<&str> =
        form["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut rows = String::new();
    for (name, schema) in form["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, schema)| schema.get("const").is_none())
    {
        let mut facts = Vec::new();
        for keyword in ["type", "enum", "default", "minimum", "maximum", "minLength", "maxLength", "maxItems"]
        {
            if let Some(value) = schema.get(keyword) {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                facts.push(if keyword == "type" { text } else { format!("{keyword} {text}") });
            }
        }
        let need = if required.contains(&name.as_str()) { "yes" } else { "" };
        let about = schema["description"].as_str().unwrap_or_default().replace('|', "\\|");
        rows += &format!("| `{name}` | {need} | {} | {about} |\n", facts.join(", ").replace('|', "\\|"));
    }
    if rows.is_empty() {
        String::new()
    } else {
        format!("\n| field | required | form | meaning |\n|---|---|---|---|\n{rows}")
    }
}

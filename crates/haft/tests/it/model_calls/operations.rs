//! Tools with several operations: models see all of them, and may send properties of another operation.

use std::collections::BTreeSet;

use haft_testkit::{FakeDialect, ModelReply, RecordedModelRequest};
use serde_json::{Value, json};

use crate::chat::{Desk, user};
use crate::http_tools::start;
use crate::tasks::{self, accepted_task, make, wait_for_status};
use crate::tool_calls::{execute, read};
use crate::v1::{choice, complete};

/// Lists every built-in tool whose schema has alternatives at its root, with these alternatives.
async fn operations(desk: &Desk) -> Vec<(String, Vec<Value>)> {
    let listed = desk.api.get("/api/tools?type=builtin&limit=200").await;
    let mut operations = Vec::new();
    for tool in listed.data()["items"].as_array().expect("a list") {
        let name = tool["name"].as_str().expect("a name");
        let schema = desk.api.get(&format!("/api/tools/{name}")).await.data()["inputSchema"].clone();
        let alternatives = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
        operations.extend(alternatives.map(|alternatives| (name.to_owned(), alternatives.clone())));
    }
    assert!(operations.len() >= 4, "{operations:?}");
    operations
}

fn enum_of(tool: &Value, property: &str) -> BTreeSet<String> {
    let values = tool["properties"][property]["enum"].as_array().expect("an enum");
    values.iter().map(|value| value.as_str().expect("a text").to_owned()).collect()
}

#[tokio::test]
async fn every_builtin_operation_reaches_the_model_in_every_dialect() {
    let desk = Desk::new(async |_: RecordedModelRequest| ModelReply::says("Hello.")).await;
    let operations = operations(&desk).await;
    let tools: Vec<&str> = operations.iter().map(|(tool, _)| tool.as_str()).collect();
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &tools, json!({})).await;
        assert_eq!(desk.ask(&agent, "Hi.").await.status, 200);
        let asked = desk.model.seen().pop().expect("a question");
        for (tool, alternatives) in &operations {
            let sent = asked.tools.iter().find(|sent| sent.name == *tool).expect("the tool is sent");
            let schema = &sent.schema;
            let mut names = BTreeSet::new();
            for operation in alternatives {
                let name = operation["properties"]["operation"]["const"].as_str().expect("a name");
                names.insert(name.to_owned());
                let about = schema["properties"]["operation"]["description"].as_str().unwrap_or_default();
                let line = format!("- {name}: {}", operation["description"].as_str().expect("a text"));
                assert!(about.contains(&line), "{dialect:?} {tool}: {line} is not in {about}");
                for property in operation["properties"].as_object().expect("an object").keys() {
                    let shown = &schema["properties"][property];
                    assert!(shown.is_object(), "{dialect:?} {tool} {name}: {property} is missing");
                }
            }
            assert_eq!(enum_of(schema, "operation"), names, "{dialect:?} {tool}");
            assert_eq!(schema["required"], json!(["operation"]), "{dialect:?} {tool}");
        }
        let datetime = asked.tools.iter().find(|tool| tool.name == "datetime").expect("it is sent");
        let target = datetime.schema["properties"]["targetDate"]["description"]
            .as_str()
            .or(datetime.schema["properties"]["targetDate"]["anyOf"][0]["description"].as_str())
            .unwrap_or_default();
        assert!(target.contains("only with operation diff"), "{dialect:?}: {}", datetime.schema);
    }
    desk.check();
}

#[tokio::test]
async fn alternatives_of_a_client_tool_all_reach_the_model() {
    let desk = Desk::new(async |_: RecordedModelRequest| ModelReply::says("Hello.")).await;
    let form = |kind: &str, field: &str| {
        json!({
            "type": "object", "title": format!("By {field}"), "required": ["kind", field],
            "properties": {"kind": {"const": kind}, field: {"type": "string"}},
        })
    };
    let function = |root: &str| {
        json!({"type": "function", "function": {
            "name": format!("look_{root}"), "description": "Looks.",
            "parameters": {"type": "object", root: [form("name", "first"), form("mail", "address"), form("id", "number")]},
        }})
    };
    let tools = json!({"tools": [function("oneOf"), function("anyOf")]});
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &[], json!({})).await;
        let reply = complete(&desk.api, &agent, &json!([user("Hi.")]), &tools).await;
        assert_eq!(choice(&reply)["message"]["content"], "Hello.", "{dialect:?}");
        let asked = desk.model.seen().pop().expect("a question");
        for tool in ["look_oneOf", "look_anyOf"] {
            let sent = asked.tools.iter().find(|sent| sent.name == tool).expect("the tool is sent");
            let kinds: BTreeSet<String> = ["name", "mail", "id"].map(str::to_owned).into();
            assert_eq!(enum_of(&sent.schema, "kind"), kinds, "{dialect:?} {tool}");
            for field in ["first", "address", "number"] {
                assert!(sent.schema["properties"][field].is_object(), "{dialect:?} {tool} {field}");
            }
            assert!(sent.schema.to_string().contains("By address"), "{dialect:?} {tool}: {}", sent.schema);
        }
    }
    desk.check();
}

/// Returns the arguments that a row of the call log warns about.
fn warned_arguments(row: &Value) -> Vec<&str> {
    let warnings = row["warnings"].as_array().expect("a list");
    warnings.iter().filter_map(|warning| warning["path"].as_str()).collect()
}

#[tokio::test]
async fn property_of_another_operation_is_ignored_and_logged() {
    let (_server, api) = start(&[]).await;
    for (tool, arguments, ignored) in [
        ("datetime", json!({"operation": "now", "date": "2024-01-01"}), vec!["date"]),
        (
            "datetime",
            json!({"operation": "diff", "date": "2024-01-01", "targetDate": "2024-01-03", "format": "YYYY", "amount": {}}),
            vec!["format", "amount"],
        ),
        ("string", json!({"operation": "upper", "text": "a", "pattern": "("}), vec!["pattern"]),
        ("string", json!({"operation": "upper", "text": "a"}), vec![]),
    ] {
        let reply = execute(&api, tool, arguments.clone()).await;
        assert_eq!(reply.status, 200, "{arguments}: {}", reply.body);
        let row = read(&api, &reply).await;
        assert_eq!(warned_arguments(&row), ignored, "{arguments}: {row}");
        for name in ignored {
            assert_eq!(row["arguments"].get(name), None, "{row}");
        }
    }
    for (arguments, part) in [
        (json!({"operation": "now", "colour": "red"}), "colour"),
        (json!({"operation": "later", "date": "2024-01-01"}), "later"),
        (json!({"operation": "diff", "date": "2024-01-01", "format": "YYYY"}), "targetDate"),
    ] {
        let reply = execute(&api, "datetime", arguments.clone()).await;
        assert_eq!((reply.status, reply.kind()), (400, "Validation"), "{arguments}: {}", reply.body);
        assert!(reply.message().contains(part), "{arguments}: {}", reply.body);
    }
}

#[tokio::test]
async fn a_variant_with_a_flat_schema_ignores_properties_of_other_operations() {
    let (_server, api) = start(&[]).await;
    let given = json!({"operation": "now", "date": "2024-01-01"});
    let properties = json!({"operation": {"type": "string"}, "date": {"type": "string"}});
    for (name, required, ignored) in
        [("plain", json!(["operation"]), vec!["date"]), ("dated", json!(["date"]), vec![])]
    {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        let variant = json!({
            "name": name, "description": "Dates.", "type": "builtin", "config": {"tool": "datetime"},
            "inputSchema": schema,
        });
        make(&api, variant).await;
        let reply = execute(&api, name, given.clone()).await;
        assert_eq!(reply.status, 200, "{name}: {}", reply.body);
        assert_eq!(reply.data()["data"]["operation"], "now", "{name}: {}", reply.body);
        let row = read(&api, &reply).await;
        assert_eq!(warned_arguments(&row), ignored, "{name}: {row}");
        let refused = execute(&api, name, json!({"operation": "now", "date": "x", "colour": "red"})).await;
        assert_eq!((refused.status, refused.kind()), (400, "Validation"), "{name}: {}", refused.body);
    }
}

#[tokio::test]
async fn call_that_becomes_a_task_warns_about_ignored_properties() {
    let (_server, api) = start(&[]).await;
    let asking = json!({
        "name": "asking", "description": "Dates.", "type": "builtin", "config": {"tool": "datetime"},
        "policy": "ask",
    });
    make(&api, asking).await;
    for (tool, options) in [("datetime", json!({"mode": "async"})), ("asking", json!({}))] {
        let given = json!({"operation": "now", "date": "2024-01-01"});
        let begun = tasks::execute(&api, tool, json!({"arguments": given, "options": options})).await;
        let task = accepted_task(&begun);
        if tool == "asking" {
            wait_for_status(&api, &task, "waiting").await;
            let decision = json!({"decision": "approve"});
            let decided = api.post(&format!("/api/approvals/{task}"), &decision).await;
            assert_eq!(decided.status, 200, "{}", decided.body);
        }
        let done = wait_for_status(&api, &task, "succeeded").await;
        assert_eq!(done["result"]["data"]["operation"], "now", "{tool}: {done}");
        let row = read(&api, &begun).await;
        assert_eq!(warned_arguments(&row), ["date"], "{tool}: {row}");
        assert_eq!(row["arguments"].get("date"), None, "{tool}: {row}");
    }
}

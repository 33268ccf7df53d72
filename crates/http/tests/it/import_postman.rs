//! Imports Postman collections: folders, variables, inherited auth, and every kind of body.

use haft_http::import::{ExampleOptions, Imported, postman};
use serde_json::{Value, json};

use crate::import_curl::{apart, assert_accepted, file, secrets};

/// Options with only a name prefix.
pub(crate) fn named(name: Option<&str>) -> ExampleOptions {
    ExampleOptions { name: name.map(str::to_owned), ..ExampleOptions::default() }
}

#[track_caller]
pub(crate) fn read(collection: &Value, options: &ExampleOptions) -> Imported {
    match postman(collection, options) {
        Ok(imported) => {
            assert_accepted(&imported);
            imported
        }
        Err(violations) => panic!("{violations:?}"),
    }
}

/// Imports one request of a minimal collection.
#[track_caller]
fn one(request: Value) -> (Value, Imported) {
    let imported = read(&json!({"item": [{"name": "One", "request": request}]}), &named(None));
    let reasons: Vec<String> = imported.skipped.iter().map(|skipped| skipped.reason.to_string()).collect();
    assert_eq!(imported.tools.len(), 1, "{reasons:?}");
    (apart(&imported.tools[0].definition).0, imported)
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
    let imported = read(&shop(), &named(Some("shop")));
    let definitions: Vec<Value> =
        imported.tools.iter().map(|tool| Value::Object(tool.definition.clone())).collect();
    let bearer = |secret: &str| json!({"type": "bearer", "token": format!("secret://{secret}")});
    let origin = |operation: &str| json!({"from": "postman", "document": "Shop", "operation": operation});
    let expected = [
        json!({
            "name": "shop_get_user", "description": "Gives one user.", "type": "http",
            "inputSchema": {
                "type": "object", "required": ["id"], "additionalProperties": false,
                "properties": {"id": {"type": "string", "examples": ["42"]}, "expand": {"type": "string", "default": "orders"}},
            },
            "config": {
                "url": "https://api.shop.example/v1/users/{{id}}", "method": "GET",
                "headers": {"Accept": "application/json"}, "query": {"expand": "{{expand}}"}, "auth": bearer("shop_example_token"),
                "imported": origin("GET https://api.shop.example/v1/users/{id} (Users / Get user)"),
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
                "url": "https://api.shop.example/v1/users", "method": "POST", "headers": {"X-Shop": "secret://shop_example_key"},
                "body": {"name": "{{name}}", "age": "{{age}}", "tenant": "{{tenant}}", "trace": "{{guid}}"},
                "imported": origin("POST https://api.shop.example/v1/users (Users / Create user)"),
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
                "body": {"user": "{{user}}", "password": "secret://shop_example_password"},
                "imported": origin("POST https://api.shop.example/v1/login (Login)"),
            },
        }),
        json!({
            "name": "shop_get_ping", "description": "GET other.example/ping", "type": "http",
            "inputSchema": {"type": "object", "properties": {}, "additionalProperties": false},
            "config": {
                "url": "https://other.example/ping", "method": "GET", "auth": bearer("other_example_token"),
                "imported": origin("GET https://other.example/ping (https://other.example/ping)"),
            },
        }),
    ];
    assert_eq!(definitions, expected);
    assert_eq!(imported.tools[0].path, "/v1/users/{id}");
    let expected = [
        ("shop_example_token", Some("tok-123456789")),
        ("shop_example_key", None),
        ("shop_example_password", Some("hunter2hunter2")),
        ("other_example_token", Some("tok-123456789")),
    ];
    assert_eq!(secrets(&imported), expected);
    let skipped: Vec<(&str, String)> = imported
        .skipped
        .iter()
        .map(|skipped| (skipped.operation.as_str(), skipped.reason.to_string()))
        .collect();
    assert_eq!(skipped.len(), 3, "{skipped:?}");
    for ((operation, reason), (expected, words)) in skipped.iter().zip([
        ("No host", "has no value in the collection; give baseUrl"),
        ("Odd / Signed", "auth of the type awsv4"),
        ("Odd / File", "its body is a file"),
    ]) {
        assert_eq!(*operation, expected);
        assert!(reason.contains(words), "{operation}: {reason}");
    }
}

#[tokio::test]
async fn bodies_of_every_mode_are_imported() {
    let url = "https://api.parts.example/a";
    for (body, expected) in [
        (
            json!({"mode": "formdata", "formdata": [
                {"key": "title", "value": "Cat", "type": "text"},
                {"key": "file", "type": "file", "src": ["pictures/cat.png", "dog.png"], "contentType": "image/png"},
                {"key": "meta", "value": "{\"n\": 1}", "contentType": "application/json"},
            ]}),
            json!({"url": url, "method": "POST", "bodyType": "multipart", "body": {
                "title": "{{title}}", "meta": {"n": "{{n}}"}, "file": ["{{file}}", "{{file_2}}"],
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
    let (_, imported) = one(json!({"method": "POST", "url": url, "body": {"mode": "formdata", "formdata": [
        {"key": "f", "type": "file", "src": "pictures/cat.png"},
    ]}}));
    assert_eq!(imported.tools[0].definition["inputSchema"]["properties"]["f"], file("cat.png", None));
}

#[tokio::test]
async fn auth_and_urls_of_old_and_new_versions_are_imported() {
    let url = "https://api.parts.example/a";
    for (auth, expected, found) in [
        (
            json!({"type": "basic", "basic": {"username": "ada", "password": "longpassword"}}),
            json!({"url": url, "method": "GET", "auth": {
                "type": "basic", "username": "secret://parts_example_username", "password": "secret://parts_example_password",
            }}),
            vec![("parts_example_username", Some("ada")), ("parts_example_password", Some("longpassword"))],
        ),
        (
            json!({"type": "apikey", "apikey": [
                {"key": "key", "value": "api_key"}, {"key": "value", "value": "abc12345678"}, {"key": "in", "value": "query"},
            ]}),
            json!({"url": url, "method": "GET", "query": {"api_key": "secret://parts_example_api_key"}}),
            vec![("parts_example_api_key", Some("abc12345678"))],
        ),
        (
            json!({"type": "oauth2", "oauth2": []}),
            json!({"url": url, "method": "GET", "auth": {"type": "bearer", "token": "secret://parts_example_token"}}),
            vec![("parts_example_token", None)],
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
    let wrapped = read(&json!({"collection": shop()}), &named(None));
    assert_eq!(wrapped.tools.len(), 4);
}

#[test]
fn invalid_collections_are_rejected_with_a_reason() {
    for document in [json!({}), json!({"requests": []}), json!({"item": {}}), json!([])] {
        let violations = postman(&document, &named(None)).expect_err("no collection");
        let reported = violations[0].message.to_string();
        assert!(reported.contains("is not a Postman collection of version 2"), "{document}: {reported}");
    }
}

fn request(name: &str, method: &str, url: &str) -> Value {
    json!({"name": name, "request": {"method": method, "url": url}})
}

#[track_caller]
fn names(imported: &Imported) -> Vec<(&str, &str)> {
    let found = imported.tools.iter();
    found.map(|tool| (tool.definition["name"].as_str().expect("a name"), tool.path.as_str())).collect()
}

#[tokio::test]
async fn names_do_not_depend_on_the_order() {
    let users = json!({"name": "Users", "item": [request("List", "GET", "https://api.shop.example/users")]});
    let orders =
        json!({"name": "Orders", "item": [request("List", "GET", "https://api.shop.example/orders")]});
    let login = request("Login", "POST", "https://api.shop.example/login");
    let imported = read(&json!({"item": [users, orders, login]}), &named(None));
    let swapped = read(&json!({"item": [login, orders, users]}), &named(None));
    let (mut found, mut again) = (names(&imported), names(&swapped));
    found.sort_unstable();
    again.sort_unstable();
    assert_eq!(found, again);
    assert_eq!(found.len(), 3);
    assert!(found.contains(&("login", "/login")), "{found:?}");
    assert!(found.iter().all(|(name, path)| *path == "/login" || name.starts_with("list_")), "{found:?}");
    // Identical requests are distinguished only by number.
    let twice = request("List", "GET", "https://api.shop.example/users");
    let imported = read(&json!({"item": [twice, twice]}), &named(None));
    let found = names(&imported);
    assert_eq!(found[1].0, format!("{}_2", found[0].0));
}

#[tokio::test]
async fn a_base_url_replaces_an_environment_variable() {
    let collection = json!({"variable": [{"key": "known", "value": "https://known.example"}], "item": [
        request("A", "GET", "{{baseUrl}}/a"),
        request("B", "GET", "{{protocol}}://{{host}}:{{port}}/b?x=1"),
        request("C", "GET", "https://{{tenant}}.shop.example/c"),
        request("D", "GET", "{{baseUrl}}{{path}}"),
        request("E", "GET", "{{known}}/e"),
        request("F", "GET", "https://{{user}}:{{password}}@known.example/f"),
        request("G", "GET", "{{baseUrl}}"),
    ]});
    let imported = read(&collection, &named(None));
    assert_eq!(names(&imported), [("e", "/e"), ("f", "/f")]);
    assert_eq!(imported.skipped.len(), 5);
    for skipped in &imported.skipped {
        assert!(skipped.reason.to_string().contains("give baseUrl"), "{}", skipped.reason);
    }
    let base_url = Some("https://api.shop.example/v1/".to_owned());
    let imported = read(&collection, &ExampleOptions { base_url, ..named(None) });
    let urls: Vec<&str> =
        imported.tools.iter().map(|tool| tool.definition["config"]["url"].as_str().expect("a URL")).collect();
    let expected = [
        "https://api.shop.example/v1/a",
        "https://api.shop.example/v1/b",
        "https://api.shop.example/v1/c",
        "https://api.shop.example/v1/{{path}}",
        "https://known.example/e",
        "https://known.example/f",
        "https://api.shop.example/v1",
    ];
    assert_eq!(urls, expected);
    for wrong in ["shop", "ftp://shop.example", "https://{{host}}/", "https://me@shop.example"] {
        let options = ExampleOptions { base_url: Some(wrong.to_owned()), ..named(None) };
        let violations = postman(&collection, &options).expect_err(wrong);
        assert_eq!(violations[0].path, "baseUrl", "{wrong}");
    }
}

#[tokio::test]
async fn only_selected_requests_are_imported() {
    for (only, expected, missing) in [
        ("shop_get_user", vec![("shop_get_user", "/v1/users/{id}")], vec![]),
        ("GET /v1/users/{id}", vec![("shop_get_user", "/v1/users/{id}")], vec![]),
        ("get /users/:id", vec![("shop_get_user", "/v1/users/{id}")], vec![]),
        ("Users / Get user", vec![("shop_get_user", "/v1/users/{id}")], vec![]),
        ("Odd / Signed", vec![], vec![("Odd / Signed", "auth of the type awsv4")]),
        ("nothing", vec![], vec![("nothing", "there is no request nothing")]),
    ] {
        let options = ExampleOptions { only: vec![only.to_owned()], ..named(Some("shop")) };
        let imported = read(&shop(), &options);
        assert_eq!(names(&imported), expected, "{only}");
        assert_eq!(imported.skipped.len(), missing.len(), "{only}");
        for (skipped, (operation, words)) in imported.skipped.iter().zip(missing) {
            assert_eq!(skipped.operation, operation);
            assert!(skipped.reason.to_string().contains(words), "{only}: {}", skipped.reason);
        }
        assert_eq!(imported.secrets.len(), expected.len(), "{only}");
    }
}

#[tokio::test]
async fn unsupported_features_are_reported() {
    let script = |line: &str| json!([{"listen": "prerequest", "script": {"exec": ["", line]}}]);
    let url = "https://api.shop.example/a";
    let collection = json!({"item": [
        {"name": "Signed", "event": script("pm.request.headers.add('x')"), "request": {"method": "GET", "url": url}},
        {"name": "Folder", "event": script("sign()"), "item": [
            {"name": "Inner", "request": {"method": "PUT", "url": url, "certificate": {"name": "c"}}},
        ]},
        {"name": "Plain", "event": script(" "), "request": {"method": "POST", "url": url}},
    ]});
    let imported = read(&collection, &named(None));
    let notes: Vec<String> =
        imported.notes.iter().map(|note| format!("{}: {}", note.operation, note.reason)).collect();
    let expected = [
        "GET /a: its pre-request script was ignored",
        "PUT /a: its pre-request script was ignored",
        "PUT /a: its client certificate was ignored",
    ];
    assert_eq!(notes, expected);
}

#[test]
fn unbounded_variables_affect_only_their_request() {
    let mut variables = vec![json!({"key": "a9", "value": "ha".repeat(50)})];
    for level in 0..9 {
        let next = format!("{{{{a{}}}}}", level + 1);
        variables.push(json!({"key": format!("a{level}"), "value": next.repeat(50)}));
    }
    let bomb = |name: &str| {
        let body = json!({"mode": "raw", "raw": "{{a0}}"});
        json!({"name": name, "request": {"method": "POST", "url": "https://a.example/x", "body": body}})
    };
    let mut items = vec![request("Fine", "GET", "https://a.example/fine")];
    items.extend((0..50).map(|number| bomb(&format!("Bomb {number}"))));
    let imported = postman(&json!({"variable": variables, "item": items}), &named(None)).expect("tools");
    assert_eq!(names(&imported), [("fine", "/fine")]);
    assert_eq!(imported.skipped.len(), 50);
    for skipped in &imported.skipped {
        assert_eq!(skipped.reason.to_string(), "its expanded variables are too large");
    }
}

#[test]
fn requests_and_folder_depth_are_limited() {
    let items: Vec<Value> = (0..2_500)
        .map(|number| request("List", "GET", &format!("https://a.example/{}", number % 7)))
        .collect();
    let imported = postman(&json!({"item": items}), &named(None)).expect("tools");
    assert_eq!(imported.tools.len(), 2_000);
    assert_eq!(imported.skipped.len(), 1);
    let reason = imported.skipped[0].reason.to_string();
    assert_eq!(reason, "500 more requests: one import makes at most 2000 tools");

    let mut folder = request("Deep", "GET", "https://a.example/deep");
    for _ in 0..100 {
        folder = json!({"name": "F", "item": [folder]});
    }
    let imported = postman(&json!({"item": [folder]}), &named(None)).expect("a collection");
    assert!(imported.tools.is_empty());
    assert!(imported.skipped[0].reason.to_string().contains("nested more than 64 levels deep"));
}

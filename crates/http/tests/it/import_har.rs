//! Imports HAR files: one tool for each kind of request, and a count of skipped entries.

use haft_http::import::{ExampleOptions, har};
use serde_json::{Value, json};

use crate::import_curl::{apart, assert_accepted, secrets};
use crate::import_postman::named;

fn entry(method: &str, url: &str, headers: &[(&str, &str)], answer: &str) -> Value {
    let headers: Vec<Value> =
        headers.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    json!({
        "request": {"method": method, "url": url, "headers": headers, "queryString": [], "cookies": []},
        "response": {"status": 200, "content": {"mimeType": answer}},
    })
}

fn sending(url: &str, data: Value) -> Value {
    let mut entry = entry("POST", url, &[], "application/json; charset=utf-8");
    entry["request"]["postData"] = data;
    entry
}

#[tokio::test]
async fn a_recording_becomes_tools() {
    let browser = [
        (":authority", "app.example.com"),
        ("accept", "application/json"),
        ("accept-encoding", "gzip, br"),
        ("cookie", "session=0123456789abcdef"),
        ("sec-fetch-mode", "cors"),
        ("user-agent", "Mozilla/5.0 (X11; Linux x86_64)"),
    ];
    let json_answer = "application/json";
    let parts = "------X\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nCat\r\n------X\r\n\
                 Content-Disposition: form-data; name=\"file\"; filename=\"cat.png\"\r\n\
                 Content-Type: image/png\r\n\r\n\r\n------X--\r\n";
    let document = json!({"log": {"version": "1.2", "entries": [
        entry("GET", "https://app.example.com/", &browser, "text/html"),
        entry("GET", "https://app.example.com/static/app.js?v=3", &[], "application/javascript"),
        entry("GET", "https://cdn.example.com/logo.png", &[], ""),
        entry("OPTIONS", "https://app.example.com/api/users/123", &[], ""),
        entry("GET", "https://app.example.com/api/users/123?expand=1", &browser, json_answer),
        entry("GET", "https://app.example.com/api/users/456?expand=0", &browser, json_answer),
        entry("GET", "wss://app.example.com/live", &[], ""),
        entry("GET", "data:image/png;base64,AAAA", &[], "image/png"),
        sending("https://app.example.com/api/notes", json!({"mimeType": "application/json", "text": "{\"title\": \"A\", \"token\": \"t0k3n-t0k3n\"}"})),
        sending("https://app.example.com/api/form", json!({"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a", "value": "1"}]})),
        sending("https://app.example.com/api/files", json!({"mimeType": "multipart/form-data; boundary=----X", "text": parts})),
        sending("https://app.example.com/api/photos", json!({"mimeType": "multipart/form-data; boundary=----Y", "params": [
            {"name": "photo", "fileName": "a.jpg", "contentType": "image/jpeg"}, {"name": "alt", "value": "A"},
        ]})),
        entry("PROPFIND", "https://app.example.com/dav", &[], ""),
        {},
    ]}});
    let imported = har(&document, &named(Some("app"))).expect("tools");
    assert_accepted(&imported);
    let found: Vec<(&Value, Value)> =
        imported.tools.iter().map(|tool| (&tool.definition["name"], apart(&tool.definition).0)).collect();
    let expected = [
        (
            "app_get_users",
            json!({
                "url": "https://app.example.com/api/users/{{user_id}}", "method": "GET", "query": {"expand": "{{expand}}"},
                "headers": {"accept": "application/json", "cookie": "secret://app_example_com_cookie"},
            }),
        ),
        (
            "app_post_notes",
            json!({
                "url": "https://app.example.com/api/notes", "method": "POST",
                "body": {"title": "{{title}}", "token": "secret://app_example_com_token"},
            }),
        ),
        (
            "app_post_form",
            json!({
                "url": "https://app.example.com/api/form", "method": "POST", "body": {"a": "{{a}}"}, "bodyType": "form",
            }),
        ),
        (
            "app_post_files",
            json!({
                "url": "https://app.example.com/api/files", "method": "POST", "bodyType": "multipart",
                "body": {"title": "{{title}}", "file": "{{file}}"},
            }),
        ),
        (
            "app_post_photos",
            json!({
                "url": "https://app.example.com/api/photos", "method": "POST", "bodyType": "multipart",
                "body": {"photo": "{{photo}}", "alt": "{{alt}}"},
            }),
        ),
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((name, config), (expected_name, expected_config)) in found.into_iter().zip(&expected) {
        assert_eq!((name.as_str(), &config), (Some(*expected_name), expected_config));
    }
    let expected = json!({
        "from": "har", "document": "app.example.com", "operation": "GET https://app.example.com/api/users/{user_id}",
    });
    assert_eq!(apart(&imported.tools[0].definition).1, expected);
    let schema = json!({
        "type": "object", "additionalProperties": false,
        "properties": {"user_id": {"type": "integer", "default": 123}, "expand": {"type": "number", "default": 1}},
    });
    assert_eq!(imported.tools[0].definition["inputSchema"], schema);
    let expected = [
        ("app_example_com_cookie", Some("session=0123456789abcdef")),
        ("app_example_com_token", Some("t0k3n-t0k3n")),
    ];
    assert_eq!(secrets(&imported), expected);
    let skipped: Vec<String> =
        imported.skipped.iter().map(|skipped| format!("{}: {}", skipped.operation, skipped.reason)).collect();
    let expected = [
        "GET app.example.com/api/users/{id}: 1 more requests of the same shape",
        "PROPFIND app.example.com/dav: PROPFIND is not a method that tools can use; they have GET, POST, PUT, PATCH, DELETE, HEAD",
        "GET app.example.com: 3 requests for pages, pictures, scripts and other files",
        "OPTIONS app.example.com: 1 CORS preflight requests",
        "GET wss:: 2 requests that are not http",
        ": 1 entries that cannot be read",
    ];
    assert_eq!(skipped, expected);
}

#[test]
fn invalid_recordings_are_rejected_with_a_reason() {
    for document in [json!({}), json!({"log": {}}), json!({"log": {"entries": {}}}), json!([])] {
        let violations = har(&document, &named(None)).expect_err("no recording");
        assert!(violations[0].message.to_string().contains("is not a HAR file"), "{document}");
    }
    let nothing = har(&json!({"log": {"entries": []}}), &named(None)).expect("nothing");
    assert!(nothing.tools.is_empty() && nothing.skipped.is_empty() && nothing.secrets.is_empty());
}

fn graphql(body: Value) -> Value {
    sending(
        "https://app.example.com/graphql",
        json!({"mimeType": "application/json", "text": body.to_string()}),
    )
}

#[tokio::test]
async fn each_graphql_operation_becomes_a_tool() {
    let document = json!({"log": {"pages": [{"title": "https://app.example.com/home?token=abc"}], "entries": [
        graphql(json!({"operationName": "GetUser", "query": "query GetUser($id: ID!) { user(id: $id) { name } }", "variables": {"id": "7"}})),
        graphql(json!({"query": "mutation AddUser($name: String!) { addUser(name: $name) { id } }", "variables": {"name": "Ada"}})),
        graphql(json!({"operationName": "GetUser", "query": "query GetUser($id: ID!) { user(id: $id) { name } }", "variables": {"id": "8"}})),
        graphql(json!({"query": "{ orders { id } }"})),
        graphql(json!({"operationName": "GetUser", "query": "query GetUser($id: ID!) { user(id: $id) { name } }", "variables": {"id": "9"}})),
    ]}});
    let imported = har(&document, &named(None)).expect("tools");
    assert_accepted(&imported);
    let found: Vec<(&str, &str, &str)> = imported
        .tools
        .iter()
        .map(|tool| {
            let text = |value: &'static str| tool.definition["config"]["imported"][value].as_str();
            let name = tool.definition["name"].as_str();
            (name.expect("a name"), text("document").expect("a text"), text("operation").expect("a text"))
        })
        .collect();
    let expected = [
        ("get_user", "app.example.com", "POST https://app.example.com/graphql GetUser"),
        ("add_user", "app.example.com", "POST https://app.example.com/graphql AddUser"),
        ("orders", "app.example.com", "POST https://app.example.com/graphql orders"),
    ];
    assert_eq!(found, expected);
    let skipped: Vec<String> =
        imported.skipped.iter().map(|skipped| format!("{}: {}", skipped.operation, skipped.reason)).collect();
    assert_eq!(skipped, ["POST app.example.com/graphql GetUser: 2 more requests of the same shape"]);
}

#[tokio::test]
async fn only_selected_requests_are_imported() {
    let json_answer = "application/json";
    let document = json!({"log": {"entries": [
        entry("GET", "https://app.example.com/api/users/123", &[], json_answer),
        entry("GET", "https://app.example.com/api/users/456", &[("x-api-key", "k3y-k3y-k3y")], json_answer),
        entry("GET", "https://app.example.com/api/orders", &[("x-api-key", "k3y-k3y-k3y")], json_answer),
        entry("PROPFIND", "https://app.example.com/dav", &[], ""),
        entry("GET", "https://cdn.example.com/logo.png", &[], ""),
    ]}});
    for (only, tools, skipped) in [
        (vec!["get_orders"], vec!["get_orders"], vec![]),
        (vec!["get /api/orders"], vec!["get_orders"], vec![]),
        (vec!["GET /api/users/{user_id}"], vec!["get_users"], vec![]),
        (vec!["GET /api/users/456"], vec!["get_users"], vec![]),
        (vec!["GET /api/orders", "get_users"], vec!["get_users", "get_orders"], vec![]),
        (vec!["PROPFIND /dav"], vec![], vec!["PROPFIND app.example.com/dav"]),
        (vec!["get_nothing", "POST /api/orders"], vec![], vec!["get_nothing", "POST /api/orders"]),
    ] {
        let options = ExampleOptions { only: only.iter().map(ToString::to_string).collect(), ..named(None) };
        let imported = har(&document, &options).expect("tools");
        let names: Vec<&Value> = imported.tools.iter().map(|tool| &tool.definition["name"]).collect();
        assert_eq!(names, tools, "{only:?}");
        let left_out: Vec<&str> = imported.skipped.iter().map(|skipped| skipped.operation.as_str()).collect();
        assert_eq!(left_out, skipped, "{only:?}");
        let needs_key = tools.contains(&"get_orders");
        assert_eq!(imported.secrets.len(), usize::from(needs_key), "{only:?}");
    }
}

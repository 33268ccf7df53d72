//! HAR files as tools: one for each kind of request, and a count of what is left out.

use haft_http::import::har;
use serde_json::{Value, json};

use crate::import_curl::{assert_accepted, secrets};

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
    let imported = har(&document, Some("app")).expect("tools");
    assert_accepted(&imported);
    let found: Vec<(&Value, &Value)> =
        imported.tools.iter().map(|tool| (&tool.definition["name"], &tool.definition["config"])).collect();
    let expected = [
        (
            "app_get_users",
            json!({
                "url": "https://app.example.com/api/users/{{user_id}}", "method": "GET", "query": {"expand": "{{expand}}"},
                "headers": {"accept": "application/json", "cookie": "secret://example_cookie"},
            }),
        ),
        (
            "app_post_notes",
            json!({
                "url": "https://app.example.com/api/notes", "method": "POST",
                "body": {"title": "{{title}}", "token": "secret://example_token"},
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
                "body": {"title": "{{title}}", "file": {"filename": "cat.png", "contentType": "image/png", "content": "{{file}}"}},
            }),
        ),
        (
            "app_post_photos",
            json!({
                "url": "https://app.example.com/api/photos", "method": "POST", "bodyType": "multipart",
                "body": {"photo": {"filename": "a.jpg", "contentType": "image/jpeg", "content": "{{photo}}"}, "alt": "{{alt}}"},
            }),
        ),
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((name, config), (expected_name, expected_config)) in found.into_iter().zip(&expected) {
        assert_eq!((name.as_str(), config), (Some(*expected_name), expected_config));
    }
    let schema = json!({
        "type": "object", "required": ["user_id"], "additionalProperties": false,
        "properties": {"user_id": {"type": "integer", "examples": [123]}, "expand": {"type": "integer", "default": 1}},
    });
    assert_eq!(imported.tools[0].definition["inputSchema"], schema);
    let expected =
        [("example_cookie", Some("session=0123456789abcdef")), ("example_token", Some("t0k3n-t0k3n"))];
    assert_eq!(secrets(&imported), expected);
    let skipped: Vec<String> =
        imported.skipped.iter().map(|skipped| format!("{}: {}", skipped.operation, skipped.reason)).collect();
    let expected = [
        "PROPFIND app.example.com/dav: PROPFIND is not a method that tools can use; they have GET, POST, PUT, PATCH, DELETE, HEAD",
        "GET app.example.com: 3 requests for pages, pictures, scripts and other files",
        "OPTIONS app.example.com: 1 requests by which browsers ask what is allowed",
        "GET wss:: 2 requests that are not http",
        ": 1 entries that cannot be read",
    ];
    assert_eq!(skipped, expected);
}

#[test]
fn what_is_no_recording_is_refused_in_words() {
    for document in [json!({}), json!({"log": {}}), json!({"log": {"entries": {}}}), json!([])] {
        let violations = har(&document, None).expect_err("no recording");
        assert!(violations[0].message.to_string().contains("is not a HAR file"), "{document}");
    }
    let nothing = har(&json!({"log": {"entries": []}}), None).expect("nothing");
    assert!(nothing.tools.is_empty() && nothing.skipped.is_empty() && nothing.secrets.is_empty());
}

//! The server's OpenAPI document and its page: valid, complete, and consistent with actual responses.

use std::collections::BTreeSet;

use axum::http::Method;
use haft_testkit::{Client, HaftProcess, TestResponse};
use serde_json::{Value, json};

use crate::HAFT;

use crate::TOKEN;

/// The files of the page, with their content types.
const PAGE: [(&str, &str); 5] = [
    ("/api/docs", "text/html; charset=utf-8"),
    ("/api/docs/docs.js", "text/javascript; charset=utf-8"),
    ("/api/docs/schema.js", "text/javascript; charset=utf-8"),
    ("/api/docs/words.js", "text/javascript; charset=utf-8"),
    ("/api/docs/docs.css", "text/css; charset=utf-8"),
];

/// Asserts that a response is documented. `path` is the path in the document, with its `{…}`.
#[track_caller]
pub(crate) fn check_response(document: &Value, method: &str, path: &str, status: u16, body: &Value) {
    let operation = &document["paths"][path][method.to_ascii_lowercase()];
    assert!(operation.is_object(), "{method} {path} is not in the document");
    let documented = resolved(document, &operation["responses"][status.to_string()]);
    assert!(
        documented.is_object(),
        "{method} {path} responds with {status}, which is not documented: {body}"
    );
    let schema = &documented["content"]["application/json"]["schema"];
    assert!(schema.is_object(), "{method} {path} responds with {status} and something that is not JSON");
    let validator = validator(document, schema);
    let wrong: Vec<String> = validator
        .iter_errors(body)
        .map(|error| format!("{}: {error}", error.instance_path().as_str()))
        .collect();
    assert!(wrong.is_empty(), "{method} {path} {status}: {wrong:#?}\n{body:#}");
}

fn validator(document: &Value, schema: &Value) -> jsonschema::Validator {
    let mut schema = schema.clone();
    schema["components"] = document["components"].clone();
    let options = jsonschema::options().offline().with_draft(jsonschema::Draft::Draft202012);
    options.should_validate_formats(true).build(&schema).expect("a good schema")
}

/// Resolves `thing` if it is a `$ref`, and otherwise returns it unchanged.
fn resolved<'a>(document: &'a Value, thing: &'a Value) -> &'a Value {
    match thing["$ref"].as_str() {
        Some(reference) => {
            let pointer = reference.strip_prefix('#').expect("a reference within the document");
            document.pointer(pointer).unwrap_or_else(|| panic!("{reference} points at nothing"))
        }
        None => thing,
    }
}

struct Served {
    /// Stops when it is dropped.
    _server: HaftProcess,
    anonymous: Client,
    api: Client,
    document: Value,
}

async fn serve() -> Served {
    let server = HaftProcess::start(HAFT, &["serve"], &[("HAFT_ADMIN_TOKEN", TOKEN)]).await;
    let anonymous = Client::anonymous(&server.url);
    let api = Client::new(&server.url, TOKEN);
    let reply = anonymous.get("/api/openapi.json").await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
    Served { _server: server, anonymous, api, document: reply.body }
}

/// Lists every operation with its method and path.
fn operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            all.push((method.as_str(), path.as_str(), operation));
        }
    }
    all
}

/// Returns the names within `{…}`.
fn placeholders(path: &str) -> BTreeSet<&str> {
    path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}')).collect()
}

#[tokio::test]
async fn document_is_valid() {
    let Served { document, .. } = serve().await;
    assert_eq!(document["openapi"], "3.1.1");
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    check_references(&document, &document);
    for name in document["components"]["schemas"].as_object().expect("schemas").keys() {
        validator(&document, &json!({"$ref": format!("#/components/schemas/{name}")}));
    }
    let tags: BTreeSet<&str> =
        document["tags"].as_array().expect("tags").iter().filter_map(|tag| tag["name"].as_str()).collect();
    let mut ids = BTreeSet::new();
    for (method, path, operation) in operations(&document) {
        let at = format!("{method} {path}");
        let id = operation["operationId"].as_str().expect("an id");
        assert!(ids.insert(id), "{at}: {id} is not unique");
        assert!(operation["summary"].as_str().is_some_and(|says| !says.is_empty()), "{at} has no summary");
        assert!(operation["tags"][0].as_str().is_some_and(|tag| tags.contains(tag)), "{at} has no tag");
        let parameters = operation["parameters"].as_array().expect("a list").iter();
        let declared: BTreeSet<&str> = parameters
            .map(|parameter| resolved(&document, parameter))
            .filter(|parameter| parameter["in"] == "path" && parameter["required"] == true)
            .filter_map(|parameter| parameter["name"].as_str())
            .collect();
        assert_eq!(declared, placeholders(path), "{at}");
        let statuses: Vec<&String> = operation["responses"].as_object().expect("responses").keys().collect();
        assert!(
            statuses.iter().any(|status| status.starts_with('2')),
            "{at} has no success status: {statuses:?}"
        );
        let is_open = operation["x-needs"] == "nothing";
        assert_eq!(operation["security"] == json!([]), is_open, "{at}");
    }
}

fn check_references(document: &Value, part: &Value) {
    match part {
        Value::Object(fields) => {
            resolved(document, part);
            fields.values().for_each(|value| check_references(document, value));
        }
        Value::Array(items) => items.iter().for_each(|item| check_references(document, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn every_operation_exists_and_refuses_anonymous_callers() {
    let Served { _server, anonymous, document, .. } = serve().await;
    for (method, path, operation) in operations(&document) {
        let names = placeholders(path);
        let address =
            names.iter().fold(path.to_owned(), |path, name| path.replace(&format!("{{{name}}}"), "1"));
        let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes()).expect("a method");
        let reply = anonymous.send_json(method.clone(), &address, &json!({})).await;
        if operation["x-needs"] == "nothing" {
            // An unknown id returns 404, too; a missing route has other error details.
            let is_none = reply.status == 404 && reply.body["error"]["details"]["what"] != "route";
            let is_there = is_none || ![401, 404, 405].contains(&reply.status);
            assert!(is_there, "{method} {path}: {}", reply.status);
            continue;
        }
        assert_eq!(reply.status, 401, "{method} {path}: {}", reply.body);
        check_response(&document, method.as_str(), path, reply.status, &reply.body);
    }
}

#[tokio::test]
async fn responses_match_the_document() {
    let Served { _server, api, anonymous, document } = serve().await;
    let check = |method: &str, path: &str, status: u16, reply: &TestResponse| {
        assert_eq!(reply.status, status, "{method} {path}: {}", reply.body);
        check_response(&document, method, path, status, &reply.body);
    };
    let (tools, tool, execute) = ("/api/tools", "/api/tools/{id}", "/api/tools/{id}/execute");
    let weather = json!({
        "name": "weather",
        "description": "The weather of a city.",
        "title": {"en": "Weather", "zh": "天气"},
        "url": "https://api.example.com/forecast/{{city}}",
        "rateLimit": {"perMinute": 60},
    });
    check("POST", tools, 200, &api.post("/api/tools?dryRun=true", &weather).await);
    check("POST", tools, 201, &api.post("/api/tools", &weather).await);
    check("POST", tools, 409, &api.post("/api/tools", &weather).await);
    check("POST", tools, 400, &api.post("/api/tools", &json!({"nam": 1})).await);
    check("POST", tools, 415, &api.send(Method::POST, "/api/tools", b"{}".to_vec()).await);
    check("GET", tools, 200, &api.get("/api/tools?limit=200").await);
    check("GET", tools, 401, &anonymous.get("/api/tools").await);
    check("GET", tool, 200, &api.get("/api/tools/weather").await);
    check("GET", tool, 404, &api.get("/api/tools/whether").await);
    check("PUT", tool, 409, &api.with("if-match", "\"7\"").put("/api/tools/weather", &weather).await);
    check("PUT", tool, 403, &api.put("/api/tools/calculator", &weather).await);
    let calculate = |arguments: Value| {
        let api = api.clone();
        async move { api.post("/api/tools/calculator/execute", &json!({"arguments": arguments})).await }
    };
    check("POST", execute, 200, &calculate(json!({"expression": "6 * 7"})).await);
    check("POST", execute, 400, &calculate(json!({})).await);
    check("POST", execute, 404, &api.post("/api/tools/whether/execute", &json!({})).await);
    let dry = json!({"arguments": {"city": "Berlin"}, "options": {"dryRun": true}});
    check("POST", execute, 200, &api.post("/api/tools/weather/execute", &dry).await);
    let command = json!({"command": "curl 'https://api.example.com/news?topic=cats'"});
    let import = "/api/tools/import/curl";
    check("POST", import, 201, &api.post(import, &command).await);
    check("POST", import, 400, &api.post(import, &json!({})).await);
    check("DELETE", tool, 200, &api.delete("/api/tools/weather").await);
}

#[tokio::test]
#[should_panic(expected = "which is not documented")]
async fn undocumented_response_is_detected() {
    let Served { document, .. } = serve().await;
    check_response(&document, "GET", "/api/tools", 418, &json!({}));
}

#[tokio::test]
async fn documentation_page_is_public_and_loads_nothing_from_elsewhere() {
    let Served { _server, anonymous, .. } = serve().await;
    for (path, content_type) in PAGE {
        let reply = anonymous.get(path).await;
        let text = reply.body.as_str().expect("text");
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(content_type)), "{path}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        let policy = reply.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'self';") && !policy.contains("unsafe"), "{path}: {policy}");
        for foreign in ["://", "src=\"//", "href=\"//", "url(//", "innerHTML", "eval("] {
            assert!(!text.contains(foreign), "{path} contains {foreign}");
        }
        let tag = reply.header("etag").expect("a tag");
        let again = anonymous.with("if-none-match", tag).get(path).await;
        assert_eq!((again.status, again.body.as_str()), (304, Some("")), "{path}");
    }
    let page = anonymous.get("/api/docs").await;
    let page = page.body.as_str().expect("text");
    for inline in ["<style", "style=", "<script>", "onclick", "onload", "javascript:"] {
        assert!(!page.contains(inline), "{inline}");
    }
    let document = anonymous.get("/api/openapi.json").await;
    let tag = document.header("etag").expect("a tag");
    assert_eq!(anonymous.with("if-none-match", tag).get("/api/openapi.json").await.status, 304);
    assert_eq!(anonymous.with("if-none-match", "\"other\"").get("/api/openapi.json").await.status, 200);
}

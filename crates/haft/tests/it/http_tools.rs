//! HTTP tools over REST and the command line: the examples unchanged, dry runs, schemas, files.

use haft_testkit::{Client, HaftProcess, Upstream, json_reply, run};
use serde_json::{Value, json};

use crate::HAFT;

const TEMPLATED: &str = include_str!("../../../../examples/tool-templated.json");
const FLAT: &str = include_str!("../../../../examples/tools-flat.json");

pub(crate) async fn start(more: &[(&str, &str)]) -> (HaftProcess, Client) {
    let mut environment =
        vec![("HAFT_ADMIN_TOKEN", crate::TOKEN), ("HAFT_ALLOW_PRIVATE_NETWORKS", "127.0.0.0/8")];
    environment.extend_from_slice(more);
    let server = HaftProcess::start(HAFT, &["serve"], &environment).await;
    let api = Client::new(&server.url, crate::TOKEN);
    (server, api)
}

/// Parses an example with its hosts replaced by a stub.
fn with_stub_hosts(upstream: &Upstream, example: &str) -> Value {
    let stub = format!("http://{}", upstream.address);
    let text = ["api.weather.com", "api.search.com", "api.coderun.com"].iter().fold(
        example.to_owned(),
        |text, host| {
            text.replace(&format!("https://{host}"), &stub).replace(&format!("\"{host}\""), "\"127.0.0.1\"")
        },
    );
    serde_json::from_str(&text).expect("JSON")
}

async fn create(api: &Client, definition: &Value) -> Value {
    let reply = api.post("/api/tools", definition).await;
    assert_eq!(reply.status, 201, "{}", reply.body);
    reply.data().clone()
}

#[tokio::test]
async fn examples_are_accepted_unchanged() {
    let server = HaftProcess::start(HAFT, &["serve"], &[("HAFT_ADMIN_TOKEN", crate::TOKEN)]).await;
    let api = Client::new(&server.url, crate::TOKEN);
    let tool = create(&api, &serde_json::from_str(TEMPLATED).expect("JSON")).await;
    assert_eq!(
        tool["inputSchema"],
        json!({
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Parameter: city"},
                "duration": {"type": "string", "description": "Parameter: duration"},
            },
            "required": ["city"],
            "additionalProperties": false,
        })
    );
    assert_eq!(
        (&tool["type"], &tool["category"], &tool["timeout"]),
        (&json!("http"), &json!("custom"), &json!(10000))
    );
    let flat: Vec<Value> = serde_json::from_str(FLAT).expect("JSON");
    for definition in &flat {
        let tool = create(&api, definition).await;
        assert_eq!(tool["type"], "http", "{tool}");
        assert_eq!(tool["inputSchema"], definition["parameters"], "{tool}");
        assert_eq!(tool["retryCount"], definition["retryCount"], "{tool}");
        assert_eq!(tool["config"]["url"], definition["endpoint"], "{tool}");
    }
}

#[tokio::test]
async fn examples_send_the_defined_requests() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({"ok": true}))).await;
    let (_server, api) = start(&[]).await;
    create(&api, &with_stub_hosts(&upstream, TEMPLATED)).await;
    for definition in with_stub_hosts(&upstream, FLAT).as_array().expect("a list") {
        create(&api, definition).await;
    }
    let call = async |tool: &str, arguments: Value| {
        let reply = api.post(&format!("/api/tools/{tool}/execute"), &json!({"arguments": arguments})).await;
        assert_eq!(reply.status, 200, "{tool}: {}", reply.body);
        assert_eq!(reply.data()["data"], json!({"ok": true}), "{tool}");
        upstream.seen().pop().expect("a request")
    };

    let seen = call("weather_forecast", json!({"city": "São Paulo/../x", "duration": 3})).await;
    assert_eq!(seen.method, "GET");
    assert_eq!(seen.target, "/forecast/S%C3%A3o%20Paulo%2F..%2Fx?days=3&units=metric");
    assert_eq!(call("weather_forecast", json!({"city": "Oslo"})).await.target, "/forecast/Oslo?units=metric");

    let seen = call("news_search", json!({"query": "rust \"1.95\""})).await;
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("POST", "/v1/query"));
    assert_eq!(seen.json(), json!({"query": "rust \"1.95\"", "limit": 5}));
    assert_eq!(seen.header("authorization"), Some("Bearer sk-xxx"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert!(seen.header("idempotency-key").is_some());

    let seen = call("code_executor", json!({"code": "print(1)\n", "timeout": 7})).await;
    assert_eq!(seen.json(), json!({"code": "print(1)\n", "timeout": 7}));
    assert_eq!(seen.header("x-api-key"), Some("your-api-key"));

    let seen = call("weather_query", json!({"city": "北京"})).await;
    assert_eq!(
        (seen.method.as_str(), seen.target.as_str()),
        ("GET", "/v1/current?city=%E5%8C%97%E4%BA%AC&unit=celsius")
    );
    assert_eq!(seen.header("x-weather-api-key"), Some("your-weather-api-key"));
    assert_eq!(seen.header("idempotency-key"), None);

    let before = upstream.seen().len();
    let wrong = json!({"arguments": {"city": "Oslo", "unit": "kelvin"}});
    let reply = api.post("/api/tools/weather_query/execute", &wrong).await;
    assert_eq!((reply.status, reply.kind()), (400, "Validation"), "{}", reply.body);
    assert_eq!(upstream.seen().len(), before, "an invalid call is not sent");
}

#[tokio::test]
async fn a_dry_run_shows_the_request_and_sends_nothing() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({}))).await;
    let (_server, api) = start(&[]).await;
    let definition = json!({
        "name": "orders", "description": "Makes an order.", "url": upstream.url("/orders/{{id}}?v=2"), "method": "POST",
        "headers": {"X-Api-Key": "secret://shop-key", "X-Token": "literal-token"},
        "config": {"query": {"trace": "{{callId}}"}, "body": {"note": "for {{name}}", "count": "{{count}}"}},
        "parameters": {"type": "object", "properties": {"count": {"type": "integer"}}},
    });
    create(&api, &definition).await;
    let asked = json!({"arguments": {"id": "a b", "name": "Ada", "count": 3}, "options": {"dryRun": true, "callId": "c-1"}});
    let reply = api.post("/api/tools/orders/execute", &asked).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(
        reply.data()["data"],
        json!({
            "method": "POST",
            "url": upstream.url("/orders/a%20b?v=2&trace=c-1"),
            "headers": {
                "x-api-key": "secret://shop-key", "x-token": "secret://orders_x_token", "idempotency-key": "c-1",
                "content-type": "application/json",
            },
            "body": {"note": "for Ada", "count": 3},
        })
    );
    assert_eq!(upstream.connections(), 0);
}

#[tokio::test]
async fn schema_preview_accepts_an_incomplete_definition() {
    let (_server, api) = start(&[]).await;
    let written =
        json!({"url": "https://api.example.com/{{a}}/{{b.c}}?x={{d}}", "headers": {"X-E": "{{e}} {{a}}"}});
    let reply = api.post("/api/tools/schema-preview", &written).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let property =
        |kind: &str, name: &str| json!({"type": kind, "description": format!("Parameter: {name}")});
    assert_eq!(
        reply.data()["inputSchema"],
        json!({
            "type": "object",
            "properties": {
                "a": property("string", "a"), "b": property("object", "b"),
                "d": property("string", "d"), "e": property("string", "e"),
            },
            "required": ["a", "b"],
            "additionalProperties": false,
        })
    );
    let named = json!({"name": "", "description": null, "type": "http", "config": {"baseUrl": "https://api.example.com/v1"}});
    let reply = api.post("/api/tools/schema-preview", &named).await;
    assert_eq!(reply.data()["inputSchema"]["required"], json!(["url", "method"]), "{}", reply.body);

    for (wrong, expected) in [
        (json!({"url": "https://{{host}}/x"}), "config.url: has {{host}} in its scheme, host or port"),
        (json!({"url": "https://a.example/{{x y}}"}), "config.url: {{x y}} is not a variable"),
        (json!({"url": "/relative"}), "config.url: must be an absolute URL"),
        (json!({"url": "https://a.example", "metod": "GET"}), "metod: is not a field of a tool"),
    ] {
        let reply = api.post("/api/tools/schema-preview", &wrong).await;
        assert_eq!((reply.status, reply.kind()), (400, "Validation"), "{wrong}: {}", reply.body);
        assert!(reply.message().contains(expected), "{wrong}: {}", reply.message());
    }
    let list = api.get("/api/tools?type=http").await;
    assert_eq!(list.data()["total"], 0, "a preview is not stored");
}

#[tokio::test]
async fn a_tool_is_called_from_its_file() {
    let upstream =
        Upstream::start(|seen| json_reply(200, &json!({"target": seen.target, "key": seen.header("x-key")})))
            .await;
    let directory = std::env::temp_dir().join(format!("haft-files-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let file = |name: &str, content: &Value| {
        let path = directory.join(name);
        std::fs::write(&path, content.to_string()).expect("written");
        path.to_string_lossy().into_owned()
    };
    let weather = file("weather.json", &with_stub_hosts(&upstream, TEMPLATED));
    let flat = file("flat.json", &with_stub_hosts(&upstream, FLAT));
    let keyed = json!({"name": "keyed", "description": "d", "url": upstream.url("/k"), "headers": {"X-Key": "secret://my-key"}});
    let keyed = file("keyed.json", &keyed);
    let environment = [("HAFT_ALLOW_PRIVATE_NETWORKS", "127.0.0.0/8"), ("HAFT_SECRET_MY_KEY", "k-123456")];
    let call = async |arguments: &[&str]| run(HAFT, &[&["call"], arguments].concat(), &environment, "").await;

    for (arguments, answered) in [
        (vec!["--file", &weather, "city=Tokyo"], "/forecast/Tokyo?units=metric"),
        (vec!["--file", &weather, "weather_forecast", "city=Tokyo"], "/forecast/Tokyo?units=metric"),
        (vec!["-f", &weather, "--args", r#"{"city": "Rome"}"#], "/forecast/Rome?units=metric"),
        (vec!["--file", &flat, "weather_query", "city=Oslo"], "/v1/current?city=Oslo&unit=celsius"),
        // A secret that the upstream returns is redacted.
        (vec!["--file", &keyed], "\"key\": \"***\""),
    ] {
        let ended = call(&arguments).await;
        assert_eq!(ended.code, 0, "{arguments:?}: {}", ended.stderr);
        assert!(ended.stdout.contains(answered), "{arguments:?}: {}", ended.stdout);
    }
    assert_eq!(
        upstream.seen().last().and_then(|seen| seen.header("x-key").map(str::to_owned)).as_deref(),
        Some("k-123456")
    );

    let broken = file("broken.json", &json!({"name": "x", "description": "d", "url": "https://{{h}}/"}));
    let missing = directory.join("missing.json").to_string_lossy().into_owned();
    for (arguments, code, expected) in [
        (vec!["--file", &weather], 2, "Invalid inputs: city: is required"),
        (
            vec!["--file", &flat, "city=Oslo"],
            1,
            "holds several tools; name the one to call: news_search, code_executor",
        ),
        (vec!["--file", &flat, "wether", "city=Oslo"], 1, "holds no tool wether; it holds news_search"),
        (vec!["--file", &broken], 2, "config.url: has {{h}} in its scheme, host or port"),
        (vec!["--file", &missing], 1, "cannot read"),
    ] {
        let ended = call(&arguments).await;
        assert_eq!(ended.code, code, "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{arguments:?}: {}", ended.stderr);
    }
    let ended = run(HAFT, &["call", "--file", &keyed], &environment[..1], "").await;
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("The secret secret://my-key is not set"), "{}", ended.stderr);
    let ended = run(HAFT, &["call", "--file", &weather, "city=x"], &[], "").await;
    assert_eq!(ended.code, 4, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("Address not allowed: 127.0.0.1 resolves to a private address"),
        "{}",
        ended.stderr
    );
    std::fs::remove_dir_all(directory).expect("removed");
}

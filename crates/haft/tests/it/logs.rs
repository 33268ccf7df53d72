//! The server's log as JSON: every line can be read alone, and names the request of a call.

use haft_testkit::{TestResponse, TestStorage, run};
use serde_json::{Value, json};

use crate::HAFT;
use crate::survival::Settings;
use crate::timestamps::has_milliseconds;

/// A value in the query string of requests, which must not be logged.
const HIDDEN: &str = "zeppelin";

fn request_id(reply: &TestResponse) -> &str {
    reply.header("x-request-id").expect("an id")
}

/// Returns the only line that has this value in a field.
fn line<'a>(lines: &'a [Value], field: &str, value: &str) -> &'a Value {
    let found: Vec<&Value> = lines.iter().filter(|line| line[field] == value).collect();
    assert_eq!(found.len(), 1, "{field} {value}: {found:#?} of {lines:#?}");
    found[0]
}

#[tokio::test]
async fn every_log_line_is_json_and_self_contained() {
    let place = TestStorage::new();
    let log = std::env::temp_dir().join(format!("haft-logs-{}.log", std::process::id()));
    let settings = Settings::of(&place).with("HAFT_LOG_FORMAT", "json").with("HAFT_LOG", "info,haft=debug");
    let (server, api) = settings.start_behind("exec 2>\"$1\"", log.to_str().expect("a path")).await;
    let me = api.get("/api/me").await;
    let calculate = format!("/api/tools/calculator/execute?key={HIDDEN}");
    let body = json!({"arguments": {"expression": "6 * 7"}});
    let given = api.with("x-request-id", "order-7").post(&calculate, &body).await;
    let made = api.post(&calculate, &body).await;
    let unknown = api.post("/api/tools/whether/execute", &json!({})).await;
    // No server listens on that port any more, so the import fails with a server error.
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let document = json!({"url": format!("http://{port}/openapi.json?key={HIDDEN}")});
    let failed = api.post("/api/tools/import/openapi?dryRun=true", &document).await;
    assert!(failed.status >= 500, "{}", failed.body);
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    let text = std::fs::read_to_string(&log).expect("a log");
    let _ = std::fs::remove_file(&log);

    assert!(!text.contains(HIDDEN) && !text.contains("dryRun"), "{text}");
    let read = |line: &str| -> Value {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    let lines: Vec<Value> = text.lines().map(read).collect();
    for line in &lines {
        for field in ["timestamp", "level", "target", "message"] {
            assert!(line[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {line}");
        }
        assert!(line["timestamp"].as_str().is_some_and(has_milliseconds), "{line}");
        let is_flat = line.as_object().expect("an object").values().all(|value| !value.is_object());
        assert!(is_flat, "{line}");
    }
    assert_eq!(request_id(&given), "order-7");
    for (reply, tool, outcome, level) in [
        (&given, "calculator", "success", "DEBUG"),
        (&made, "calculator", "success", "DEBUG"),
        (&unknown, "whether", "NotFound", "INFO"),
    ] {
        let line = line(&lines, "request.id", request_id(reply));
        for (field, value) in [
            ("level", json!(level)),
            ("message", json!(format!("Called tool `{tool}`: {outcome}"))),
            ("call.id", reply.data()["callId"].clone()),
            ("tool.name", json!(tool)),
            ("space.id", me.data()["space"]["id"].clone()),
            ("user.id", me.data()["user"]["id"].clone()),
            ("call.outcome", json!(outcome)),
        ] {
            assert_eq!(line[field], value, "{field}: {line}");
        }
    }
    let line = line(&lines, "request.id", request_id(&failed));
    assert_eq!(failed.body["error"]["requestId"], request_id(&failed));
    for (field, value) in [
        ("level", json!("WARN")),
        ("request.method", json!("POST")),
        ("request.route", json!("/api/tools/import/openapi")),
        ("request.status", json!(failed.status)),
    ] {
        assert_eq!(line[field], value, "{field}: {line}");
    }
    assert!(line["request.duration_ms"].is_u64(), "{line}");
}

#[tokio::test]
async fn server_that_cannot_start_logs_the_reason_in_the_chosen_format() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let place = TestStorage::new();
    let settings = Settings::of(&place);
    let arguments = ["serve", "--addr", address.as_str(), "--log-format", "json"];
    // The flag wins over the environment.
    let ended = settings.clone().with("HAFT_LOG_FORMAT", "text").haft(&arguments, "").await;
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let last: Value = serde_json::from_str(ended.stderr.lines().last().expect("a line")).expect("JSON");
    let error = last["error"].as_str().unwrap_or_default();
    assert!(error.contains(&format!("cannot listen on {address}")), "{last}");
    let ended = settings.haft(&arguments[..3], "").await;
    assert!(ended.stderr.contains("error:"), "the default format is text: {}", ended.stderr);

    let ended = run(HAFT, &["serve"], &[("HAFT_LOG_FORMAT", "xml")], "").await;
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("'xml'") && ended.stderr.contains("text, json"), "{}", ended.stderr);
}

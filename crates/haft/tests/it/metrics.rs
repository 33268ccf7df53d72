//! `GET /metrics`: permissions, counted calls, and the OpenMetrics format.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use axum::http::Method;
use haft_testkit::{Client, TestResponse, Upstream, eventually, http_response};
use serde_json::{Value, json};

use crate::agents::{make, scoped, stranger};
use crate::http_tools::start;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

async fn page(api: &Client) -> String {
    let reply = api.get("/metrics").await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some(OPEN_METRICS)), "{}", reply.body);
    reply.body.as_str().expect("a text").to_owned()
}

/// Returns all samples whose names begin with `name`, sorted.
fn samples(page: &str, name: &str) -> Vec<String> {
    let mut found: Vec<String> =
        page.lines().filter(|line| line.starts_with(name)).map(str::to_owned).collect();
    found.sort();
    found
}

/// Returns the value of a sample. Returns `None` if the sample is missing.
fn value(page: &str, sample: &str) -> Option<f64> {
    page.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' ')?.parse().ok())
}

/// Returns the page once `calls` calls are counted, which happens shortly after the response.
async fn page_of(api: &Client, calls: f64) -> String {
    let count = async || value(&page(api).await, "haft_call_log_rows_total").expect("a count");
    eventually("the calls are counted", async || count().await >= calls).await;
    let page = page(api).await;
    assert_eq!(value(&page, "haft_call_log_rows_total"), Some(calls), "{page}");
    page
}

async fn space_of(api: &Client) -> String {
    api.get("/api/me").await.data()["space"]["id"].as_str().expect("an id").to_owned()
}

/// Creates a mock tool with additional fields.
async fn mock(api: &Client, name: &str, more: Value) {
    let mut tool = json!({
        "name": name, "description": "A mock.", "type": "mock", "inputSchema": {"type": "object"},
        "retryCount": 0,
    });
    let more = more.as_object().expect("fields").clone();
    tool.as_object_mut().expect("fields").extend(more);
    make(api, "/api/tools", &tool).await;
}

async fn execute(api: &Client, tool: &str, body: Value) -> TestResponse {
    api.post(&format!("/api/tools/{tool}/execute"), &body).await
}

#[tokio::test]
async fn one_call_of_each_outcome_is_counted_once() {
    let (_server, api) = start(&[]).await;
    let space = space_of(&api).await;
    let broken = json!({"answers": [{"error": {"kind": "Execution", "message": "it broke"}}]});
    mock(&api, "broken", json!({"config": broken})).await;
    mock(&api, "slow", json!({"config": {"answers": [{"delay": 5000, "data": 1}]}})).await;
    mock(&api, "kept", json!({"cacheTtl": 60, "config": {"answers": [{"data": 1}]}})).await;

    let sum = json!({"arguments": {"expression": "6 * 7"}});
    let late = json!({"options": {"timeout": 50, "retries": 1, "retryDelay": 1}});
    let mut by_class: HashMap<u16, f64> = HashMap::new();
    for (tool, body, status) in [
        ("calculator", sum.clone(), 200),
        ("calculator", json!({}), 400),
        ("whether", json!({}), 404),
        ("weather", json!({}), 404),
        ("broken", json!({}), 422),
        ("slow", late, 504),
        ("kept", json!({}), 200),
        ("kept", json!({}), 200),
        // A dry run calls nothing.
        ("kept", json!({"options": {"dryRun": true}}), 200),
    ] {
        let reply = execute(&api, tool, body).await;
        assert_eq!(reply.status, status, "{tool}: {}", reply.body);
        *by_class.entry(status / 100).or_default() += 1.0;
    }
    let cli = execute(&api.with("haft-source", "cli"), "calculator", sum).await;
    assert_eq!(cli.status, 200, "{}", cli.body);
    *by_class.entry(2).or_default() += 1.0;
    // A client that disconnects cancels its call.
    let left = execute(&api, "slow", json!({}));
    assert!(tokio::time::timeout(Duration::from_millis(300), left).await.is_err());

    let page = page_of(&api, 10.0).await;
    let calls = |tool: &str, source: &str, outcome: &str, count: u32| {
        let labels = format!("tool=\"{tool}\",source=\"{source}\",outcome=\"{outcome}\"");
        format!("haft_tool_calls_total{{space=\"{space}\",{labels}}} {count}")
    };
    let mut expected = vec![
        calls("calculator", "api", "success", 1),
        calls("calculator", "api", "Validation", 1),
        calls("calculator", "cli", "success", 1),
        calls("(unknown)", "api", "NotFound", 2),
        calls("broken", "api", "Execution", 1),
        calls("slow", "api", "Timeout", 1),
        calls("slow", "api", "Cancelled", 1),
        calls("kept", "api", "success", 2),
    ];
    expected.sort();
    assert_eq!(samples(&page, "haft_tool_calls_total"), expected);
    for (tool, count, attempts, cached) in [
        ("calculator", 3.0, 2.0, 0.0),
        ("(unknown)", 2.0, 0.0, 0.0),
        ("broken", 1.0, 1.0, 0.0),
        ("slow", 2.0, 3.0, 0.0),
        ("kept", 2.0, 1.0, 1.0),
    ] {
        let labels = format!("space=\"{space}\",tool=\"{tool}\"");
        let of = |name: &str| value(&page, &format!("{name}{{{labels}}}"));
        assert_eq!(of("haft_tool_call_duration_seconds_count"), Some(count), "{tool}: {page}");
        assert_eq!(of("haft_tool_call_attempts_total"), Some(attempts), "{tool}: {page}");
        assert_eq!(of("haft_tool_calls_cached_total"), Some(cached), "{tool}: {page}");
    }
    for (class, count) in by_class {
        let route = "method=\"POST\",route=\"/api/tools/{id}/execute\"";
        let sample = format!("haft_http_requests_total{{{route},status=\"{class}xx\"}}");
        assert_eq!(value(&page, &sample), Some(count), "{page}");
    }
    for (sample, expected) in [
        ("haft_tool_calls_in_flight", 0.0),
        ("haft_call_log_queue_length", 0.0),
        ("haft_call_log_queue_capacity", 16_384.0),
        ("haft_calls_refused_total{reason=\"log_full\"}", 0.0),
        ("haft_call_log_write_failures_total", 0.0),
        ("haft_trace_spans_sent_total", 0.0),
        ("haft_trace_spans_dropped_total{reason=\"full\"}", 0.0),
        ("haft_trace_spans_dropped_total{reason=\"failed\"}", 0.0),
    ] {
        assert_eq!(value(&page, sample), Some(expected), "{sample}: {page}");
    }
    check_format(&page);
}

#[tokio::test]
async fn running_calls_are_counted() {
    let (_server, api) = start(&[]).await;
    mock(&api, "slow", json!({"config": {"answers": [{"delay": 30_000, "data": 1}]}})).await;
    let running = tokio::spawn({
        let api = api.clone();
        async move { execute(&api, "slow", json!({})).await }
    });
    let in_flight = async || value(&page(&api).await, "haft_tool_calls_in_flight");
    eventually("one call is in flight", async || in_flight().await == Some(1.0)).await;
    running.abort();
    eventually("no call is in flight", async || in_flight().await == Some(0.0)).await;
}

#[tokio::test]
async fn made_up_tool_names_are_not_in_labels() {
    let (_server, api) = start(&[]).await;
    for number in 0..20 {
        let reply = execute(&api, &format!("evil_{number}%22%7D%201%0Aevil%5C"), json!({})).await;
        assert_eq!(reply.status, 404, "{}", reply.body);
    }
    api.send(Method::GET, "/api/evil", Vec::new()).await;
    let page = page_of(&api, 20.0).await;
    assert!(!page.contains("evil"), "{page}");
    assert_eq!(samples(&page, "haft_tool_calls_total").len(), 1, "{page}");
    check_format(&page);
}

#[tokio::test]
async fn only_operators_read_metrics_with_a_token_of_any_scope() {
    let (server, api) = start(&[]).await;
    let anyone = Client::anonymous(&server.url);
    for client in [anyone.clone(), anyone.with("authorization", "Bearer haft_nobody")] {
        let refused = client.get("/metrics").await;
        assert_eq!((refused.status, refused.kind()), (401, "Unauthorized"), "{}", refused.body);
    }
    let bob = stranger(&server, &api).await;
    let refused = bob.get("/metrics").await;
    assert_eq!((refused.status, refused.kind()), (403, "Permission"), "{}", refused.body);
    for scope in ["read", "call", "admin"] {
        check_format(&page(&scoped(&server, &api, scope).await).await);
    }
}

#[tokio::test]
async fn an_open_circuit_is_named_by_tool_and_origin_without_its_path() {
    let (_server, api) = start(&[]).await;
    let space = space_of(&api).await;
    let upstream = Upstream::start(|_| http_response(500, &[], "no")).await;
    let tool = json!({
        "name": "failing", "description": "Fails.", "url": upstream.url("/path?key=canary"), "retryCount": 0,
    });
    make(&api, "/api/tools", &tool).await;
    assert!(samples(&page(&api).await, "haft_circuit_open").is_empty());
    for _ in 0..5 {
        assert_eq!(execute(&api, "failing", json!({})).await.status, 502);
    }
    let page = page(&api).await;
    let origin = format!("http://{}", upstream.address);
    let expected = format!("haft_circuit_open{{space=\"{space}\",circuit=\"failing at {origin}\"}} 1");
    assert_eq!(samples(&page, "haft_circuit_open"), [expected]);
    assert!(!page.contains("canary"), "{page}");
}

#[tokio::test]
async fn process_metrics_are_reported() {
    let (_server, api) = start(&[]).await;
    let page = page(&api).await;
    let build = format!("haft_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(value(&page, &build), Some(1.0), "{page}");
    for sample in [
        "process_cpu_seconds_total",
        "process_start_time_seconds",
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_max_fds",
    ] {
        assert!(value(&page, sample).is_some_and(|value| value > 0.0), "{sample}: {page}");
    }
}

/// Asserts that a page is valid OpenMetrics: every line can be parsed, families are contiguous and unique, no
/// sample repeats, histograms add up, and the end is marked.
#[track_caller]
fn check_format(page: &str) {
    let body = page.strip_suffix("# EOF\n").expect("an end");
    let (mut types, mut seen) = (HashMap::<&str, &str>::new(), HashSet::<&str>::new());
    let mut family = "";
    let mut buckets: Vec<f64> = Vec::new();
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            let mut words = rest.splitn(3, ' ');
            let (word, name) = (words.next().expect("a word"), words.next().expect("a name"));
            let text = words.next().expect("a text");
            assert!(!text.is_empty(), "{line}");
            match word {
                // The first line of a family.
                "HELP" => {
                    assert!(!types.contains_key(name), "{name} comes twice");
                    family = name;
                }
                "TYPE" => assert!(name == family && types.insert(name, text).is_none(), "{line}"),
                "UNIT" => assert!(name == family && name.ends_with(&format!("_{text}")), "{line}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (series, number) = line.rsplit_once(' ').expect("a sample");
        let number: f64 = number.parse().unwrap_or_else(|_| panic!("not a number: {line}"));
        assert!(number.is_finite() && number >= 0.0, "{line}");
        assert!(seen.insert(series), "twice: {series}");
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        check_labels(labels, line);
        let kind = types.get(family).unwrap_or_else(|| panic!("before its type: {line}"));
        let suffix = name.strip_prefix(family).unwrap_or_else(|| panic!("not of {family}: {line}"));
        let allowed: &[&str] = match *kind {
            "counter" => &["_total"],
            "gauge" => &[""],
            "info" => &["_info"],
            "histogram" => &["_sum", "_count", "_bucket"],
            _ => panic!("{kind}"),
        };
        assert!(allowed.contains(&suffix), "{line}");
        match suffix {
            "_count" => buckets = vec![number],
            "_bucket" => buckets.push(number),
            _ => {}
        }
        if labels.starts_with("le=\"+Inf\"") {
            assert_eq!(buckets.first(), buckets.last(), "{line}");
            assert!(buckets[1..].is_sorted(), "{line}");
        }
    }
}

/// Asserts that labels are valid: lowercase names, and quoted values with correct escapes.
#[track_caller]
fn check_labels(labels: &str, line: &str) {
    if labels.is_empty() {
        return;
    }
    let mut rest = labels.strip_suffix('}').unwrap_or_else(|| panic!("{line}"));
    loop {
        let (name, behind) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
        assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase()), "{line}");
        let mut characters = behind.char_indices();
        let end = loop {
            match characters.next().unwrap_or_else(|| panic!("{line}")) {
                (at, '"') => break at,
                (_, '\\') => {
                    let escaped = characters.next().map(|(_, character)| character);
                    assert!(matches!(escaped, Some('\\' | '"' | 'n')), "{line}");
                }
                (..) => {}
            }
        };
        let Some(next) = behind[end + 1..].strip_prefix(',') else {
            assert_eq!(&behind[end + 1..], "", "{line}");
            return;
        };
        rest = next;
    }
}

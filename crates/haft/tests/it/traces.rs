//! Traces over OTLP as a collector receives them: spans of calls, their parents, and values that are never
//! sent.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use haft_testkit::{Client, Upstream, eventually, http_response, json_reply, run};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::HAFT;
use crate::agents::make;
use crate::http_tools::start;

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

/// Starts a collector that accepts everything.
async fn collector() -> Upstream {
    Upstream::start(|_| http_response(200, &[("content-type", "application/x-protobuf")], "")).await
}

fn batches(collector: &Upstream) -> Vec<ExportTraceServiceRequest> {
    let read = |body: &[u8]| ExportTraceServiceRequest::decode(body).expect("a batch of spans");
    collector.seen().iter().map(|seen| read(&seen.body)).collect()
}

/// Returns all spans so far, in the order of their calls.
fn spans(collector: &Upstream) -> Vec<Span> {
    let resources = batches(collector).into_iter().flat_map(|batch| batch.resource_spans);
    resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
}

/// Waits until `count` spans are sent, and returns them.
async fn spans_of(collector: &Upstream, count: usize) -> Vec<Span> {
    eventually("the spans are sent", async || spans(collector).len() >= count).await;
    let spans = spans(collector);
    assert_eq!(spans.len(), count, "{spans:#?}");
    spans
}

fn named(attributes: &[KeyValue]) -> BTreeMap<String, Value> {
    let value = |attribute: &KeyValue| match attribute.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Any::StringValue(text)) => json!(text),
        Some(Any::IntValue(number)) => json!(number),
        Some(Any::BoolValue(flag)) => json!(flag),
        other => panic!("{}: {other:?}", attribute.key),
    };
    attributes.iter().map(|attribute| (attribute.key.clone(), value(attribute))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn status(span: &Span) -> (StatusCode, &str) {
    let status = span.status.as_ref().expect("a status");
    (status.code(), status.message.as_str())
}

async fn execute(api: &Client, tool: &str, body: Value) -> Value {
    api.post(&format!("/api/tools/{tool}/execute"), &body).await.data().clone()
}

/// Creates a tool that fails with a message.
async fn broken(api: &Client, message: &str) {
    let answers = json!([{"error": {"kind": "Execution", "message": message}}]);
    let tool = json!({
        "name": "broken", "description": "A mock.", "type": "mock", "retryCount": 0,
        "inputSchema": {"type": "object"}, "config": {"answers": answers},
    });
    make(api, "/api/tools", &tool).await;
}

#[tokio::test]
async fn call_is_a_span_in_the_trace_of_its_caller() {
    let collector = collector().await;
    let (_server, api) = start(&[
        (ENDPOINT, &collector.url("/")),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20collector-key"),
        ("OTEL_SERVICE_NAME", "tools"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test"),
    ])
    .await;
    let me = api.get("/api/me").await;
    let agent = make(&api, "/api/agents", &json!({"name": "clerk", "toolIds": ["calculator"]})).await;
    let conversation = Uuid::now_v7().to_string();
    let options =
        json!({"callId": "call_7", "agentId": agent["id"], "conversationId": conversation.as_str()});
    let traced = api.with("traceparent", &format!("00-{TRACE}-{SPAN}-01"));
    let body = json!({"arguments": {"expression": "6 * 7"}, "options": options});
    assert_eq!(execute(&traced, "calculator", body).await["success"], true);

    let spans = spans_of(&collector, 1).await;
    let span = &spans[0];
    assert_eq!((span.name.as_str(), span.kind()), ("execute_tool calculator", SpanKind::Internal));
    assert_eq!((hex(&span.trace_id).as_str(), hex(&span.parent_span_id).as_str()), (TRACE, SPAN));
    assert!(span.span_id.len() == 8 && hex(&span.span_id) != SPAN, "{span:?}");
    // Sampled, and the parent is known to be remote.
    assert_eq!(span.flags, 0x301);
    assert!(0 < span.start_time_unix_nano && span.start_time_unix_nano <= span.end_time_unix_nano);
    assert_eq!(status(span), (StatusCode::Unset, ""));
    let expected = [
        ("gen_ai.operation.name", json!("execute_tool")),
        ("gen_ai.tool.name", json!("calculator")),
        ("gen_ai.tool.call.id", json!("call_7")),
        ("gen_ai.tool.type", json!("function")),
        ("gen_ai.agent.id", agent["id"].clone()),
        ("gen_ai.conversation.id", json!(conversation)),
        ("haft.space.id", me.data()["space"]["id"].clone()),
        ("haft.user.id", me.data()["user"]["id"].clone()),
        ("haft.source", json!("api")),
        ("haft.attempts", json!(1)),
        ("haft.cached", json!(false)),
        ("haft.tool.version", json!(1)),
    ];
    let expected: BTreeMap<String, Value> =
        expected.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    assert_eq!(named(&span.attributes), expected);

    let seen = &collector.seen()[0];
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("POST", "/v1/traces"));
    assert_eq!(seen.header("authorization"), Some("Bearer collector-key"));
    assert_eq!(seen.header("content-type"), Some("application/x-protobuf"));
    let resource = &batches(&collector)[0].resource_spans[0];
    let about = named(&resource.resource.as_ref().expect("a resource").attributes);
    let version = env!("CARGO_PKG_VERSION");
    for (name, value) in
        [("service.name", "tools"), ("service.version", version), ("deployment.environment.name", "test")]
    {
        assert_eq!(about[name], value, "{about:?}");
    }
    assert_eq!(resource.scope_spans[0].scope.as_ref().expect("a scope").name, "haft");
}

#[tokio::test]
async fn each_outcome_is_one_span_and_counted() {
    let collector = collector().await;
    let (_server, api) = start(&[(ENDPOINT, &collector.url(""))]).await;
    broken(&api, "it broke").await;
    let upstream = Upstream::start(|_| json_reply(200, &json!({"sky": "clear"}))).await;
    let weather = json!({"name": "weather", "description": "Weather.", "url": upstream.url("/")});
    make(&api, "/api/tools", &weather).await;
    for (tool, arguments) in [
        ("weather", json!({})),
        ("calculator", json!({"expression": {"deep": "quoted"}})),
        ("whether", json!({})),
        ("broken", json!({})),
    ] {
        execute(&api, tool, json!({"arguments": arguments})).await;
    }
    let spans = spans_of(&collector, 4).await;
    let attribute = |span: &Span, name: &str| named(&span.attributes).get(name).cloned().unwrap_or_default();
    let expected = [
        ("weather", json!("extension"), None),
        ("calculator", json!("function"), Some(("Validation", "invalidInputs"))),
        ("(unknown)", Value::Null, Some(("NotFound", "tool.notFoundNear"))),
        ("broken", json!("function"), Some(("Execution", "verbatim"))),
    ];
    for (span, (name, kind_of_tool, error)) in spans.iter().zip(expected) {
        assert_eq!(span.name, format!("execute_tool {name}"));
        let of_tool = (attribute(span, "gen_ai.tool.name"), attribute(span, "gen_ai.tool.type"));
        assert_eq!(of_tool, (json!(name), kind_of_tool));
        // The kind and the message id, but never the message: it may quote arguments.
        let (kind, id) = error.unzip();
        let of_error = (attribute(span, "error.type"), attribute(span, "haft.error.id"));
        assert_eq!(of_error, (json!(kind), json!(id)), "{name}");
        let expected = kind.map_or((StatusCode::Unset, ""), |kind| (StatusCode::Error, kind));
        assert_eq!(status(span), expected, "{name}");
    }
    let sent = async || {
        let page = api.get("/metrics").await.body;
        page.as_str().is_some_and(|page| page.contains("\nhaft_trace_spans_sent_total 4\n"))
    };
    eventually("the spans are counted", sent).await;
}

#[tokio::test]
async fn unsampled_trace_gets_no_span_and_a_malformed_header_no_parent() {
    let collector = collector().await;
    let (_server, api) = start(&[(ENDPOINT, &collector.url(""))]).await;
    let sum = json!({"arguments": {"expression": "1"}});
    let unsampled = api.with("traceparent", &format!("00-{TRACE}-{SPAN}-00"));
    execute(&unsampled, "calculator", sum.clone()).await;
    let malformed = api.with("traceparent", &format!("00-{}-{SPAN}-01", TRACE.to_uppercase()));
    execute(&malformed, "calculator", sum.clone()).await;
    execute(&api, "calculator", sum).await;
    let spans = spans_of(&collector, 2).await;
    for span in &spans {
        assert!(span.parent_span_id.is_empty(), "{span:?}");
        assert_eq!((span.trace_id.len(), span.flags), (16, 0x101), "{span:?}");
        assert_ne!(hex(&span.trace_id), TRACE);
    }
    assert_ne!(spans[0].trace_id, spans[1].trace_id);
}

#[tokio::test]
async fn stop_sends_queued_spans_without_arguments_or_results() {
    let collector = collector().await;
    let endpoint = collector.url("/elsewhere");
    let (server, api) =
        start(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &endpoint), ("HAFT_SECRET_KEY", "canary-secret")])
            .await;
    // Returns everything it received, in results and in errors.
    let upstream = Upstream::start(|seen| {
        let status = if seen.target.contains("fail") { 400 } else { 200 };
        let received = format!("{} {:?} {}", seen.target, seen.headers, seen.text());
        json_reply(status, &json!({"heard": received, "canary-result": 1}))
    })
    .await;
    let tool = json!({
        "name": "echo", "description": "Echoes.", "url": upstream.url("/"), "method": "POST",
        "headers": {"X-Key": "secret://key"}, "params": {"word": "{{word}}"}, "query": {"how": "{{how}}"},
    });
    make(&api, "/api/tools", &tool).await;
    broken(&api, "canary-argument is too much").await;
    for (tool, arguments) in [
        ("echo", json!({"word": "canary-argument", "how": "well"})),
        ("echo", json!({"word": "canary-argument", "how": "fail"})),
        ("calculator", json!({"expression": ["canary-argument"]})),
        ("calculator", json!({"expression": "\"canary-argument\""})),
        ("broken", json!({})),
        ("canary-name", json!({})),
    ] {
        execute(&api, tool, json!({"arguments": arguments})).await;
    }
    assert_eq!(upstream.seen().len(), 2);
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    assert_eq!(spans(&collector).len(), 6);
    for seen in collector.seen() {
        assert_eq!(seen.target, "/elsewhere");
        assert!(!String::from_utf8_lossy(&seen.body).contains("canary"), "{:#?}", batches(&collector));
    }
}

#[tokio::test]
async fn unreachable_collector_does_not_affect_calls() {
    // No server listens at this port.
    let (server, api) = start(&[(ENDPOINT, "http://127.0.0.1:1")]).await;
    let sum = json!({"arguments": {"expression": "1"}});
    for _ in 0..20 {
        assert_eq!(execute(&api, "calculator", sum.clone()).await["success"], true);
    }
    let lost = async || {
        let page = api.get("/metrics").await.body;
        page.as_str().is_some_and(|page| page.contains("{reason=\"failed\"} 20\n"))
    };
    eventually("the spans are counted as lost", lost).await;
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
}

#[tokio::test]
async fn collector_that_never_responds_does_not_delay_a_stop() {
    let stuck = Upstream::raw(|stream| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    let (server, api) = start(&[(ENDPOINT, &stuck.url(""))]).await;
    let sum = json!({"arguments": {"expression": "1"}});
    assert_eq!(execute(&api, "calculator", sum.clone()).await["success"], true);
    eventually("the collector is connected", async || stuck.connections() > 0).await;
    assert_eq!(execute(&api, "calculator", sum).await["success"], true);
    let asked = Instant::now();
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    assert!(asked.elapsed() < Duration::from_secs(5), "the collector alone would have taken longer");
}

#[tokio::test]
async fn nothing_is_sent_when_traces_are_disabled() {
    let collector = collector().await;
    let (server, api) = start(&[(ENDPOINT, &collector.url("")), ("OTEL_SDK_DISABLED", "true")]).await;
    let sum = json!({"arguments": {"expression": "1"}});
    assert_eq!(execute(&api, "calculator", sum).await["success"], true);
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    assert_eq!(collector.connections(), 0);
}

#[tokio::test]
async fn invalid_endpoint_is_reported_at_the_start_without_its_value() {
    let wrong = [(ENDPOINT, "canary:4318")];
    let ended = run(HAFT, &["serve"], &wrong, "").await;
    assert_eq!(ended.code, 1);
    assert!(ended.stderr.contains("OTEL_EXPORTER_OTLP_ENDPOINT is not a URL such as"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("canary"), "{}", ended.stderr);
    // Other commands send no traces, and work.
    assert_eq!(run(HAFT, &["tools"], &wrong, "").await.code, 0);
}

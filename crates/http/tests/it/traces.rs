//! The caller's trace context on outgoing requests.

use haft_core::{TraceParent, TraceState};
use haft_engine::CallOptions;
use serde_json::json;

use crate::support::{Stage, open};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const STATE: &str = "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7";

fn traced(state: Option<&str>) -> CallOptions {
    let parent = TraceParent::parse(PARENT.as_bytes()).expect("a parent");
    let mut options = CallOptions::default().trace_parent(parent);
    options.trace_state = state.and_then(|state| TraceState::parse([state.as_bytes()].into_iter()));
    options
}

#[tokio::test]
async fn requests_have_the_callers_trace_unless_disabled() {
    let stage = Stage::new().await;
    let own = "00-00000000000000000000000000000001-0000000000000001-00";
    // (config, options of the call, traceparent and tracestate that arrive)
    for (config, options, parent, state) in [
        (json!({}), CallOptions::default(), None, None),
        (json!({}), traced(None), Some(PARENT), None),
        (json!({}), traced(Some(STATE)), Some(PARENT), Some(STATE)),
        (json!({"method": "POST", "body": {"a": 1}}), traced(Some(STATE)), Some(PARENT), Some(STATE)),
        (json!({"sendTrace": true}), traced(Some(STATE)), Some(PARENT), Some(STATE)),
        (json!({"sendTrace": false}), traced(Some(STATE)), None, None),
        (json!({"send_trace": false}), traced(Some(STATE)), None, None),
        (json!({"headers": {"TraceParent": own}}), traced(Some(STATE)), Some(own), None),
    ] {
        let case = config.to_string();
        stage.register(&open(stage.config_at("/x", config)));
        let made = stage.call(json!({}), options).await;
        let seen = made.only_request(&case);
        assert_eq!((seen.header("traceparent"), seen.header("tracestate")), (parent, state), "{case}");
    }
}

#[tokio::test]
async fn every_attempt_and_a_dry_run_carry_the_same_trace() {
    let stage = Stage::answering(&[], |_| haft_testkit::json_reply(503, &json!({}))).await;
    stage.register(&open(stage.config_at("/x", json!({}))));
    let made = stage.call(json!({}), traced(Some(STATE)).retries(2)).await;
    let parents: Vec<_> = made.seen.iter().map(|seen| seen.header("traceparent")).collect();
    assert_eq!(parents, [Some(PARENT); 3]);
    let shown = stage.call(json!({}), traced(Some(STATE)).dry_run()).await;
    let headers = shown.result.data().map(|data| data["headers"].clone());
    assert_eq!(headers, Some(json!({"traceparent": PARENT, "tracestate": STATE})));
}

#[tokio::test]
async fn a_setting_that_is_not_a_boolean_is_rejected() {
    let stage = Stage::new().await;
    let reported =
        crate::support::wrong(&stage.tools, open(stage.config_at("/x", json!({"sendTrace": "no"}))));
    let places: Vec<&str> = reported.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(places, ["config.sendTrace"]);
}

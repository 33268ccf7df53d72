//! Events of calls, as subscribers receive them.

use std::time::Duration;

use haft_engine::{CallContext, CallError, CallOptions, Effect, ErrorKind, Progress, Tool};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{builder, call, call_with, failing, mock};

/// Runs one call and returns its events, without the fields that differ from run to run.
async fn events_of(tool: Tool, options: CallOptions) -> Vec<Value> {
    let tools = builder().events().build();
    tools.register(tool).expect("registered");
    let mut events = tools.subscribe().expect("events are on");
    call_with(&tools, json!({}), options.call_id("c1".parse().expect("an id"))).await;
    let mut heard = Vec::new();
    while let Ok(event) = events.try_recv() {
        let mut event = serde_json::to_value(&*event).expect("written");
        assert_eq!((&event["callId"], &event["tool"]), (&json!("c1"), &json!("t")));
        let fields = event.as_object_mut().expect("an object");
        for name in ["callId", "tool", "spaceId", "agentId", "conversationId", "at", "duration", "pause"] {
            fields.remove(name);
        }
        heard.push(event);
    }
    heard
}

#[tokio::test(start_paused = true)]
async fn each_outcome_emits_its_events() {
    assert_eq!(
        events_of(mock(json!([{"data": 1}])), CallOptions::default()).await,
        [
            json!({"type": "tool.call.started", "attempt": 0}),
            json!({"type": "tool.call.completed", "attempt": 1, "cached": false})
        ]
    );
    assert_eq!(
        events_of(mock(json!([failing("Server"), failing("Execution")])), CallOptions::default()).await,
        [
            json!({"type": "tool.call.started", "attempt": 0}),
            json!({"type": "tool.call.retrying", "attempt": 1, "error": "Server"}),
            json!({"type": "tool.call.failed", "attempt": 2, "error": "Execution"})
        ]
    );
    let token = CancellationToken::new();
    token.cancel();
    assert_eq!(
        events_of(mock(json!([{"delay": 5}])), CallOptions::default().cancel(token)).await,
        [
            json!({"type": "tool.call.started", "attempt": 0}),
            json!({"type": "tool.call.cancelled", "attempt": 0})
        ]
    );
    assert!(events_of(mock(json!([])), CallOptions::default().dry_run()).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_disconnected_caller_emits_a_cancelled_event() {
    let tools = builder().events().build();
    tools.register(mock(json!([{"delay": 10_000}]))).expect("registered");
    let mut events = tools.subscribe().expect("events are on");
    tokio::time::timeout(Duration::from_secs(1), call(&tools, json!({}))).await.expect_err("gone");
    let names: Vec<&str> =
        std::iter::from_fn(|| events.try_recv().ok()).map(|event| event.stage.name()).collect();
    assert_eq!(names, ["tool.call.started", "tool.call.cancelled"]);
}

#[tokio::test]
async fn a_tool_can_report_progress() {
    let tool = Tool::native_json("t", "Works.", json!({}), |_, context: CallContext| {
        context.progress(Progress::of(1.0, 2.0).with_message("half"));
        async move { Ok(json!(null)) }
    });
    let heard = events_of(tool, CallOptions::default()).await;
    assert_eq!(
        heard[1]["progress"],
        json!({"progress": 1.0, "total": 2.0, "fraction": 0.5, "message": "half"})
    );
    assert_eq!(heard[1]["attempt"], 1);

    let second = Tool::native_json("t", "Works the second time.", json!({}), |_, context: CallContext| {
        let attempt = context.attempt();
        context.progress(Progress::message(format!("attempt {attempt}")));
        async move {
            anyhow::ensure!(attempt > 1, CallError::text(ErrorKind::Server, "not yet"));
            Ok(json!(null))
        }
    });
    let heard = events_of(second.effect(Effect::Read).retry_delay_ms(0), CallOptions::default()).await;
    let told = heard.iter().filter(|event| event["type"] == "tool.call.progress");
    assert_eq!(told.map(|event| event["attempt"].clone()).collect::<Vec<_>>(), [json!(1), json!(2)]);
}

#[tokio::test]
async fn events_are_off_until_turned_on() {
    assert!(builder().build().subscribe().is_none());
}

#[tokio::test]
async fn a_slow_subscriber_loses_events_without_blocking_others() {
    let tools = builder().events().build();
    tools.register(mock(json!([{"data": 1}]))).expect("registered");
    let mut events = tools.subscribe().expect("events are on");
    for _ in 0..2000 {
        assert!(call(&tools, json!({})).await.is_success());
    }
    assert!(matches!(events.try_recv(), Err(tokio::sync::broadcast::error::TryRecvError::Lagged(_))));
}

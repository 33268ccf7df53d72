//! Attempts: retried failures, pauses between attempts, and the end of a call. Time is virtual.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haft_engine::{CallContext, CallError, CallOptions, Effect, ErrorKind, Tool};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::support::{builder, call, call_with, failed, failing, mock};

#[tokio::test(start_paused = true)]
async fn only_the_effect_decides_about_retries() {
    let attempts = async |effect, answer: Value, told: Option<u32>| {
        let tools = builder().build();
        let tool = mock(json!([answer])).effect(effect);
        tools
            .register(match told {
                Some(retries) => tool.retries(retries),
                None => tool,
            })
            .expect("registered");
        call(&tools, json!({})).await.attempts
    };
    let refused = json!({"error": {"kind": "Network", "message": "refused", "didNothing": true}});
    for effect in [Effect::Read, Effect::Idempotent] {
        for kind in ["Network", "Timeout", "Server", "RateLimit"] {
            assert_eq!(attempts(effect, failing(kind), None).await, 4, "{effect:?} {kind}");
        }
        assert_eq!(attempts(effect, failing("Server"), Some(0)).await, 1);
    }
    for kind in ["Network", "Timeout", "Server"] {
        assert_eq!(attempts(Effect::Write, failing(kind), None).await, 1, "{kind}");
        assert_eq!(attempts(Effect::Write, failing(kind), Some(2)).await, 3, "{kind}");
    }
    assert_eq!(attempts(Effect::Write, refused, None).await, 4, "it certainly did nothing");
    assert_eq!(
        attempts(Effect::Write, failing("RateLimit"), None).await,
        4,
        "a rate-limited request was not served"
    );
    for kind in
        ["Validation", "Authentication", "Permission", "NotFound", "Execution", "ResponseTooLarge", "Denied"]
    {
        assert_eq!(attempts(Effect::Read, failing(kind), Some(5)).await, 1, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_with_an_unknown_outcome_is_not_retryable() {
    let retryable = async |effect, answer: Value| {
        let tools = builder().build();
        tools.register(mock(json!([answer])).effect(effect)).expect("registered");
        call(&tools, json!({})).await.error().expect("a failure").is_retryable()
    };
    assert!(retryable(Effect::Read, failing("Timeout")).await);
    assert!(!retryable(Effect::Write, failing("Timeout")).await);
    let refused = json!({"error": {"kind": "Network", "message": "refused", "didNothing": true}});
    assert!(retryable(Effect::Write, refused).await);
    assert!(!retryable(Effect::Read, failing("Validation")).await);
}

#[tokio::test(start_paused = true)]
async fn a_recovered_call_reports_its_attempts() {
    let tools = builder().build();
    tools
        .register(mock(json!([failing("Server"), failing("Network"), {"data": "at last"}])))
        .expect("registered");
    let result = call(&tools, json!({})).await;
    assert_eq!((result.data(), result.attempts), (Some(&json!("at last")), 3));
}

#[tokio::test(start_paused = true)]
async fn options_override_the_tool() {
    let tools = builder().build();
    tools.register(mock(json!([failing("Server")])).retries(5)).expect("registered");
    assert_eq!(call_with(&tools, json!({}), CallOptions::default().retries(1)).await.attempts, 2);
    assert_eq!(call_with(&tools, json!({}), CallOptions::default().retries(0)).await.attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn pauses_double_with_full_jitter() {
    let mut longest = Duration::ZERO;
    let mut shortest = Duration::MAX;
    for _ in 0..200 {
        let tools = builder().build();
        tools.register(mock(json!([failing("Server")])).retries(3).retry_delay_ms(1000)).expect("registered");
        let start = Instant::now();
        call(&tools, json!({})).await;
        longest = longest.max(start.elapsed());
        shortest = shortest.min(start.elapsed());
    }
    assert!(longest <= Duration::from_millis(7010), "{longest:?}");
    assert!(longest > Duration::from_millis(4000), "{longest:?}");
    assert!(shortest < Duration::from_millis(3000), "{shortest:?}");
}

#[tokio::test(start_paused = true)]
async fn a_longer_pause_requested_by_the_upstream_is_used() {
    let tools = builder().build();
    let busy = json!({"error": {"kind": "RateLimit", "message": "slow down", "retryAfter": 20_000}});
    tools.register(mock(json!([busy, {"data": 1}])).retry_delay_ms(10)).expect("registered");
    let start = Instant::now();
    assert_eq!(call(&tools, json!({})).await.attempts, 2);
    assert!(start.elapsed() >= Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn a_pause_beyond_the_deadline_ends_the_call() {
    let tools = builder().build();
    let busy = json!({"error": {"kind": "RateLimit", "message": "slow down", "retryAfter": 500_000}});
    tools.register(mock(json!([busy, {"data": 1}]))).expect("registered");
    let start = Instant::now();
    let result = call(&tools, json!({})).await;
    assert_eq!(failed(&result).0, ErrorKind::RateLimit);
    assert_eq!((result.attempts, start.elapsed()), (1, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn attempts_and_calls_have_separate_timeouts() {
    let tools = builder().build();
    tools
        .register(mock(json!([{"delay": 50_000, "data": 1}])).timeout_ms(2000).retries(1).retry_delay_ms(0))
        .expect("registered");
    let start = Instant::now();
    let result = call(&tools, json!({})).await;
    assert_eq!(failed(&result), (ErrorKind::Timeout, "t did not respond within 2000 ms".to_owned()));
    assert_eq!((result.attempts, start.elapsed().as_secs()), (2, 4));

    tools.unregister("t");
    let slow = mock(json!([{"delay": 50_000, "data": 1}]))
        .timeout_ms(2000)
        .total_timeout_ms(3000)
        .retries(9)
        .retry_delay_ms(0);
    tools.register(slow).expect("registered");
    let start = Instant::now();
    let result = call(&tools, json!({})).await;
    assert_eq!(failed(&result), (ErrorKind::Timeout, "t did not respond within 1000 ms".to_owned()));
    assert_eq!((result.attempts, start.elapsed().as_secs()), (2, 3));
}

#[tokio::test(start_paused = true)]
async fn a_longer_attempt_timeout_extends_the_total_timeout() {
    let tools = builder().build();
    tools.register(mock(json!([{"delay": 300_000, "data": "slow"}]))).expect("registered");
    let result = call_with(&tools, json!({}), CallOptions::default().timeout_ms(400_000)).await;
    assert_eq!(result.data(), Some(&json!("slow")));
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_attempts_and_pauses() {
    for answer in [
        json!({"delay": 60_000, "data": 1}),
        json!({"error": {"kind": "Server", "message": "x", "retryAfter": 60_000}}),
    ] {
        let tools = builder().build();
        tools.register(mock(json!([answer])).timeout_ms(100_000)).expect("registered");
        let token = CancellationToken::new();
        let options = CallOptions::default().cancel(token.clone());
        let start = Instant::now();
        let (result, ()) = tokio::join!(call_with(&tools, json!({}), options), async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            token.cancel();
        });
        assert_eq!(failed(&result), (ErrorKind::Cancelled, "the call was cancelled".to_owned()));
        assert_eq!(start.elapsed(), Duration::from_secs(1));
    }
}

#[tokio::test(start_paused = true)]
async fn the_tool_is_notified_when_its_caller_disconnects() {
    let tools = builder().build();
    let (sender, mut told) = tokio::sync::mpsc::unbounded_channel();
    let tool = Tool::native_json("t", "Waits.", json!({}), move |_, context: CallContext| {
        let sender = sender.clone();
        async move {
            let token = context.cancellation().clone();
            tokio::spawn(async move {
                token.cancelled().await;
                sender.send(()).expect("the test waits");
            });
            tokio::time::sleep(Duration::from_secs(600)).await;
            Ok(json!(null))
        }
    });
    tools.register(tool.timeout_ms(10)).expect("registered");
    assert_eq!(failed(&call(&tools, json!({})).await).0, ErrorKind::Timeout);
    told.recv().await.expect("notified of the timeout");

    let call = tools.execute("t", json!({}), CallOptions::default());
    tokio::time::timeout(Duration::from_millis(1), call).await.expect_err("the caller disconnects");
    told.recv().await.expect("notified of the disconnect");
}

#[tokio::test(start_paused = true)]
async fn every_attempt_of_a_call_has_the_same_id_and_a_number() {
    let tools = builder().build();
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let tool = {
        let seen = seen.clone();
        Tool::native_json("t", "Counts.", json!({}), move |_, context: CallContext| {
            seen.lock().expect("a lock").push((context.call_id().to_string(), context.attempt()));
            async move { anyhow::Result::<Value>::Err(CallError::text(ErrorKind::Server, "down").into()) }
        })
    };
    tools.register(tool.effect(Effect::Idempotent)).expect("registered");
    let result = call(&tools, json!({})).await;
    let id = result.call_id.to_string();
    assert_eq!(*seen.lock().expect("a lock"), (1..=4).map(|n| (id.clone(), n)).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_panic_fails_only_its_call() {
    let tools = builder().build();
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let tool = Tool::native_json("t", "Panics once.", json!({}), move |_, _| {
        let first = counted.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            assert!(!first, "first time");
            Ok(json!("fine"))
        }
    });
    tools.register(tool).expect("registered");
    let result = call(&tools, json!({})).await;
    assert_eq!(failed(&result), (ErrorKind::Execution, "t stopped unexpectedly: first time".to_owned()));
    assert_eq!(call(&tools, json!({})).await.data(), Some(&json!("fine")));
}

#[tokio::test(start_paused = true)]
async fn only_the_tool_can_permit_retries_of_writes() {
    let tools = builder().build();
    tools.register(mock(json!([failing("Timeout")])).effect(Effect::Write)).expect("registered");
    assert_eq!(call_with(&tools, json!({}), CallOptions::default().retries(5)).await.attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn an_extreme_pause_is_limited() {
    let tools = builder().build();
    let tool = Tool::native_json("t", "Asks for too much.", json!({}), |_, _| async {
        Err::<Value, _>(CallError::text(ErrorKind::Server, "later").retry_after(Duration::MAX).into())
    });
    tools.register(tool.effect(Effect::Read)).expect("registered");
    assert_eq!(failed(&call(&tools, json!({})).await), (ErrorKind::Server, "later".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_its_own_cancellation() {
    let tools = builder().build();
    let tokens = Arc::new(std::sync::Mutex::new(Vec::new()));
    let tool = {
        let tokens = tokens.clone();
        Tool::native_json("t", "Hangs.", json!({}), move |_, context: CallContext| {
            let mut tokens = tokens.lock().expect("a lock");
            assert!(tokens.iter().all(CancellationToken::is_cancelled), "the previous attempt was cancelled");
            tokens.push(context.cancellation().clone());
            async move {
                tokio::time::sleep(Duration::from_secs(60)).await;
                Ok(json!(null))
            }
        })
    };
    tools.register(tool.effect(Effect::Read).timeout_ms(10).retries(2)).expect("registered");
    let result = call(&tools, json!({})).await;
    assert_eq!((failed(&result).0, result.attempts), (ErrorKind::Timeout, 3));
    assert_eq!(tokens.lock().expect("a lock").len(), 3);
}

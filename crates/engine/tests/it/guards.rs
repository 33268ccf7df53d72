//! Cache, breaker, rate limit and bulkhead of a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haft_engine::{
    BreakerSettings, CallError, CallOptions, CallRequest, Caller, Effect, ErrorKind, Locale, Source, SpaceId,
    Tool, ToolService, UserId,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{builder, call, call_with, failed, failing, mock};

/// A tool that takes a while and counts its executions.
fn counting(effect: Effect) -> (Tool, Arc<AtomicU32>) {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = runs.clone();
    let tool = Tool::native_json("t", "Counts.", json!({}), move |arguments: Value, _| {
        let run = counted.fetch_add(1, Ordering::Relaxed) + 1;
        async move {
            tokio::time::sleep(Duration::from_millis(200)).await;
            if arguments.get("fail").is_some() {
                return Err(CallError::text(ErrorKind::Execution, "as asked").into());
            }
            Ok(json!({"run": run}))
        }
    });
    (tool.effect(effect).cache_seconds(60), runs)
}

fn caller(space: u128) -> Caller {
    let user = Some(UserId::from(uuid::Uuid::from_u128(9)));
    Caller {
        space: SpaceId::from(uuid::Uuid::from_u128(space)),
        user,
        source: Source::Api,
        locale: Locale::En,
        request: None,
    }
}

async fn call_in(tools: &ToolService, space: u128, arguments: Value) -> haft_engine::ToolExecutionResult {
    let request = CallRequest { tool: "t".to_owned(), arguments, options: CallOptions::default() };
    tools.call(&caller(space), request).await.expect("the engine itself works")
}

#[tokio::test]
async fn a_cached_result_is_reused_for_equal_arguments_in_the_same_space() {
    let tools = builder().cache().build();
    let (tool, runs) = counting(Effect::Read);
    tools
        .register(tool.input_schema(json!({"type": "object", "properties": {"n": {"default": 1}}})))
        .expect("registered");
    let first = call_in(&tools, 1, json!({"a": 1, "b": 2})).await;
    assert!(!first.cached && first.attempts == 1);
    let again = call_in(&tools, 1, json!({"b": 2, "a": 1, "n": 1})).await;
    assert!(again.cached && again.attempts == 0);
    assert_eq!(again.data(), first.data());
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    assert!(!call_in(&tools, 1, json!({"a": 2, "b": 2})).await.cached, "other arguments");
    assert!(!call_in(&tools, 2, json!({"a": 1, "b": 2})).await.cached, "another space");
}

#[tokio::test]
async fn a_fresh_call_executes_the_tool_and_caches_its_result() {
    let tools = builder().cache().build();
    tools.register(mock(json!([{"data": 1}, {"data": 2}])).cache_seconds(60)).expect("registered");
    assert_eq!(call(&tools, json!({})).await.data(), Some(&json!(1)));
    let fresh = call_with(&tools, json!({}), CallOptions::default().fresh()).await;
    assert_eq!((fresh.data(), fresh.cached), (Some(&json!(2)), false));
    let kept = call(&tools, json!({})).await;
    assert_eq!((kept.data(), kept.cached), (Some(&json!(2)), true));
}

#[tokio::test]
async fn only_successful_reads_are_cached_and_only_if_the_cache_is_on() {
    let (tool, runs) = counting(Effect::Read);
    let tools = builder().cache().build();
    tools.register(tool).expect("registered");
    call(&tools, json!({"fail": 1})).await;
    call(&tools, json!({"fail": 1})).await;
    assert_eq!(runs.load(Ordering::Relaxed), 2, "failures are not kept");

    for effect in [Effect::Idempotent, Effect::Write] {
        let (tool, runs) = counting(effect);
        let tools = builder().cache().build();
        tools.register(tool).expect("registered");
        call(&tools, json!({})).await;
        call(&tools, json!({})).await;
        assert_eq!(runs.load(Ordering::Relaxed), 2, "{effect:?}");
    }

    let (tool, runs) = counting(Effect::Read);
    let tools = builder().build();
    tools.register(tool).expect("registered");
    call(&tools, json!({})).await;
    call(&tools, json!({})).await;
    assert_eq!(runs.load(Ordering::Relaxed), 2, "the cache is off");
}

#[tokio::test]
async fn a_cached_result_expires() {
    let tools = builder().cache().build();
    tools.register(mock(json!([{"data": 1}, {"data": 2}])).cache_seconds(1)).expect("registered");
    assert_eq!(call(&tools, json!({})).await.data(), Some(&json!(1)));
    assert_eq!(call(&tools, json!({})).await.data(), Some(&json!(1)));
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(call(&tools, json!({})).await.data(), Some(&json!(2)));
}

#[tokio::test]
async fn concurrent_equal_calls_execute_once() {
    let tools = builder().cache().build();
    let (tool, runs) = counting(Effect::Read);
    tools.register(tool).expect("registered");
    let calls = (0..50).map(|_| call(&tools, json!({"q": "x"})));
    let results = futures_util::future::join_all(calls).await;
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    assert_eq!(results.iter().filter(|result| result.cached).count(), 49);
}

#[tokio::test]
async fn follower_restarts_the_call_when_the_leader_is_cancelled() {
    let tools = builder().cache().build();
    let (tool, runs) = counting(Effect::Read);
    tools.register(tool).expect("registered");
    let token = CancellationToken::new();
    let leader = call_with(&tools, json!({}), CallOptions::default().cancel(token.clone()));
    let (leader, follower, ()) = tokio::join!(
        leader,
        async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            call(&tools, json!({})).await
        },
        async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            token.cancel();
        }
    );
    assert_eq!(failed(&leader).0, ErrorKind::Cancelled);
    assert_eq!(follower.data(), Some(&json!({"run": 2})), "the follower made the call itself");
    assert_eq!(runs.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn an_open_circuit_rejects_calls_and_a_trial_closes_it() {
    let tools = builder().breaker(BreakerSettings::default()).build();
    let answers: Vec<Value> = (0..5).map(|_| failing("Server")).chain([json!({"data": "back"})]).collect();
    let config = json!({"answers": answers, "breakerKey": "api.example"});
    tools.register(Tool::new("t", "A mock.", "mock", config).retries(0)).expect("registered");
    for _ in 0..5 {
        assert_eq!(failed(&call(&tools, json!({})).await).0, ErrorKind::Server);
    }
    let refused = call(&tools, json!({})).await;
    assert_eq!(
        failed(&refused),
        (
            ErrorKind::CircuitOpen,
            "t at api.example is paused because its own calls kept failing (last failure: Server). \
             A trial call is allowed in 30 s."
                .to_owned()
        )
    );
    assert_eq!(refused.attempts, 0);
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(call(&tools, json!({})).await.data(), Some(&json!("back")));
}

#[tokio::test(start_paused = true)]
async fn the_breaker_counts_calls_and_not_attempts() {
    for kind in ["Network", "Timeout", "Server"] {
        let tools = builder().breaker(BreakerSettings::default()).build();
        let config = json!({"answers": [failing(kind)], "breakerKey": "k"});
        tools
            .register(Tool::new("t", "A mock.", "mock", config).retries(10).retry_delay_ms(0))
            .expect("registered");
        for call_number in 1..=5 {
            let result = call(&tools, json!({})).await;
            assert_eq!(result.attempts, 11, "{kind}: call {call_number}");
        }
        assert_eq!(failed(&call(&tools, json!({})).await).0, ErrorKind::CircuitOpen, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn retries_stop_with_the_upstream_error_when_other_calls_open_the_circuit() {
    let tools = builder().breaker(BreakerSettings::default()).build();
    let config = json!({"answers": [failing("Network")], "breakerKey": "k"});
    tools.register(Tool::new("t", "A mock.", "mock", config).retry_delay_ms(10_000)).expect("registered");
    let retrying = call_with(&tools, json!({}), CallOptions::default().retries(9));
    let others = async {
        for _ in 0..5 {
            call_with(&tools, json!({}), CallOptions::default().retries(0)).await;
        }
    };
    let (retrying, ()) = tokio::join!(retrying, others);
    assert_eq!((failed(&retrying).0, retrying.attempts), (ErrorKind::Network, 2));
}

/// Registers the tools `bad` and `good` of one upstream; `bad` fails with `kind`.
fn bad_and_good(kind: &str) -> ToolService {
    let tools = builder().breaker(BreakerSettings::default()).build();
    for (name, answer) in [("bad", failing(kind)), ("good", json!({"data": 1}))] {
        let config = json!({"answers": [answer], "breakerKey": "k"});
        tools.register(Tool::new(name, "A mock.", "mock", config).retries(0)).expect("registered");
    }
    tools
}

#[tokio::test(start_paused = true)]
async fn a_failing_tool_does_not_affect_others_unless_its_connections_fail() {
    for (kind, healthy_tool_is_refused) in [("Server", false), ("Timeout", false), ("Network", true)] {
        let tools = bad_and_good(kind);
        let run = async |name: &str| {
            tools.execute(name, json!({}), CallOptions::default()).await.expect("the engine itself works")
        };
        for _ in 0..5 {
            assert_eq!(failed(&run("bad").await).0.to_string(), kind);
        }
        assert_eq!(failed(&run("bad").await).0, ErrorKind::CircuitOpen, "{kind}");
        let healthy = run("good").await;
        assert_eq!(!healthy.is_success(), healthy_tool_is_refused, "{kind}");
        if healthy_tool_is_refused {
            let (error, words) = failed(&healthy);
            assert_eq!(error, ErrorKind::CircuitOpen);
            assert!(
                words.starts_with("k is paused because connections to it kept failing in calls of bad."),
                "{words}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_never_open_a_circuit() {
    let tools = builder().breaker(BreakerSettings::default()).build();
    let config = json!({"answers": [failing("RateLimit")], "breakerKey": "k"});
    tools.register(Tool::new("t", "A mock.", "mock", config).retries(0)).expect("registered");
    for _ in 0..50 {
        assert_eq!(failed(&call(&tools, json!({})).await).0, ErrorKind::RateLimit);
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_without_a_key_has_its_own_circuit() {
    let tools = builder().breaker(BreakerSettings::default()).build();
    tools.register(mock(json!([failing("Server")])).retries(0)).expect("registered");
    for _ in 0..5 {
        assert_eq!(failed(&call(&tools, json!({})).await).0, ErrorKind::Server);
    }
    let (kind, words) = failed(&call(&tools, json!({})).await);
    assert_eq!(kind, ErrorKind::CircuitOpen);
    assert!(words.starts_with("t is paused because its own calls kept failing"), "{words}");
}

#[tokio::test(start_paused = true)]
async fn without_the_breaker_nothing_opens() {
    let tools = builder().build();
    let config = json!({"answers": [failing("Server")], "breakerKey": "k"});
    tools.register(Tool::new("t", "A mock.", "mock", config).retries(0)).expect("registered");
    for _ in 0..30 {
        assert_eq!(failed(&call(&tools, json!({})).await).0, ErrorKind::Server);
    }
}

#[tokio::test(start_paused = true)]
async fn an_operator_sees_circuits_and_closes_them() {
    let tools = builder().breaker(BreakerSettings::default()).build();
    let config = json!({"answers": [failing("Server")], "breakerKey": "k"});
    tools.register(Tool::new("t", "A mock.", "mock", config).retries(0)).expect("registered");
    for _ in 0..5 {
        call_in(&tools, 1, json!({})).await;
    }
    let space = tools.in_space(caller(1).space);
    assert_eq!(
        json!(space.circuits()),
        json!([
            {
                "key": "k", "scope": "connection", "state": "closed", "failuresInARow": 0, "toolId": null,
                "upstream": "k", "failingTools": [], "lastError": null, "retryAfter": 0,
            },
            {
                "key": "t at k", "scope": "tool", "state": "open", "failuresInARow": 5, "toolId": "t",
                "upstream": "k", "failingTools": ["t"], "lastError": "Server", "retryAfter": 30,
            },
        ])
    );
    assert!(tools.in_space(caller(2).space).circuits().is_empty(), "another space sees nothing of it");
    assert!(space.reset_circuit("t at k"));
    assert_eq!(failed(&call_in(&tools, 1, json!({})).await).0, ErrorKind::Server, "it is tried again");
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_holds_per_tool_and_user() {
    let tools = builder().limits().build();
    tools.register(mock(json!([{"data": 1}])).per_minute(60, 2)).expect("registered");
    assert!(call(&tools, json!({})).await.is_success());
    assert!(call(&tools, json!({})).await.is_success());
    let refused = call(&tools, json!({})).await;
    assert_eq!(
        failed(&refused),
        (ErrorKind::RateLimit, "t may be called 60 times a minute; try again in 1 s".to_owned())
    );
    assert_eq!(refused.attempts, 0, "our own limit is not retried");
    assert!(call_in(&tools, 1, json!({})).await.is_success(), "another user");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(call(&tools, json!({})).await.is_success());
}

#[tokio::test(start_paused = true)]
async fn limits_are_off_until_turned_on() {
    let tools = builder().build();
    tools.register(mock(json!([{"data": 1}])).per_minute(1, 1).max_concurrency(1)).expect("registered");
    for _ in 0..20 {
        assert!(call(&tools, json!({})).await.is_success());
    }
}

#[tokio::test(start_paused = true)]
async fn concurrency_is_limited_and_further_calls_wait() {
    let tools = builder().limits().build();
    let running = Arc::new(AtomicU32::new(0));
    let most = Arc::new(AtomicU32::new(0));
    let tool = {
        let (running, most) = (running.clone(), most.clone());
        Tool::native_json("t", "Slow.", json!({}), move |_, _| {
            let (running, most) = (running.clone(), most.clone());
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(json!(null))
            }
        })
    };
    tools.register(tool.max_concurrency(3)).expect("registered");
    let start = tokio::time::Instant::now();
    let results = futures_util::future::join_all((0..9).map(|_| call(&tools, json!({})))).await;
    assert!(results.iter().all(haft_engine::ToolExecutionResult::is_success));
    assert_eq!((most.load(Ordering::SeqCst), start.elapsed().as_secs()), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_and_a_wait_past_the_deadline_are_rejected() {
    let tools = builder().limits().build();
    let slow = mock(json!([{"delay": 10_000, "data": 1}]))
        .max_concurrency(1)
        .total_timeout_ms(15_000)
        .timeout_ms(11_000);
    tools.register(slow).expect("registered");
    let start = tokio::time::Instant::now();
    let timed = (0..20).map(|_| async { (call(&tools, json!({})).await, start.elapsed().as_secs()) });
    let results = futures_util::future::join_all(timed).await;
    let refused_at = |second: u64| {
        let overloaded = |result: &haft_engine::ToolExecutionResult| {
            result.error().is_some_and(|error| error.kind() == ErrorKind::Overloaded)
        };
        results.iter().filter(|(result, at)| *at == second && overloaded(result)).count()
    };
    // One call runs, sixteen wait, the others are rejected. One more gets a slot before the deadline.
    assert_eq!((refused_at(0), refused_at(15)), (3, 15));
    assert_eq!(results.iter().filter(|(result, _)| result.is_success()).count(), 1);
}

#[tokio::test]
async fn a_blocking_function_holds_its_slot_until_it_returns() {
    let tools = builder().limits().build();
    let running = Arc::new(AtomicU32::new(0));
    let most = Arc::new(AtomicU32::new(0));
    let tool = {
        let (running, most) = (running.clone(), most.clone());
        Tool::native_json("t", "Blocks.", json!({}), move |_, _| {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(150));
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(json!(null))
        })
    };
    tools.register(tool.max_concurrency(1).timeout_ms(20)).expect("registered");
    let results = futures_util::future::join_all((0..3).map(|_| call(&tools, json!({})))).await;
    assert!(results.iter().all(|result| failed(result).0 == ErrorKind::Timeout));
    assert_eq!(most.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn shared_executions_do_not_share_rate_limits_and_records() {
    let tools = builder().cache().limits().build();
    let (tool, runs) = counting(Effect::Read);
    tools.register(tool.per_minute(1, 1)).expect("registered");
    // A second user has a separate rate limit, even when joining the first user's execution.
    let (first, again, other) =
        tokio::join!(call(&tools, json!({})), call(&tools, json!({})), call_in(&tools, 0, json!({})));
    assert!(first.is_success() && other.is_success());
    assert_eq!(failed(&again).0, ErrorKind::RateLimit);
    assert_eq!(runs.load(Ordering::Relaxed), 1);

    let tools = builder().cache().build();
    let (tool, _) = counting(Effect::Read);
    tools.register(tool).expect("registered");
    let impatient = call_with(&tools, json!({}), CallOptions::default().timeout_ms(20).retries(0));
    let (impatient, patient) = tokio::join!(impatient, call(&tools, json!({})));
    assert_eq!(failed(&impatient).0, ErrorKind::Timeout);
    assert!(patient.is_success(), "the shorter timeout is not shared");
    let cached = call_with(&tools, json!({}), CallOptions::default().timeout_ms(20)).await;
    assert!(cached.cached, "but the cached result is shared");
}

#[tokio::test]
async fn a_tool_that_takes_over_a_name_does_not_get_its_cached_results() {
    let tools = builder().cache().build();
    tools.register(mock(json!([{"data": "old"}])).cache_seconds(60)).expect("registered");
    assert_eq!(call(&tools, json!({})).await.data(), Some(&json!("old")));
    tools.unregister("t");
    tools.register(mock(json!([{"data": "new"}])).cache_seconds(60)).expect("registered");
    assert_eq!(call(&tools, json!({})).await.data(), Some(&json!("new")));
}

#[tokio::test(start_paused = true)]
async fn timeouts_shortened_by_the_caller_do_not_open_a_circuit() {
    let tools = builder().breaker(BreakerSettings::default()).build();
    let config = json!({"answers": [{"delay": 100, "data": "fine"}], "breakerKey": "k"});
    tools.register(Tool::new("t", "A mock.", "mock", config).retries(0)).expect("registered");
    for _ in 0..30 {
        let result = call_with(&tools, json!({}), CallOptions::default().timeout_ms(1)).await;
        assert_eq!(failed(&result).0, ErrorKind::Timeout);
    }
    assert!(call(&tools, json!({})).await.is_success());
}

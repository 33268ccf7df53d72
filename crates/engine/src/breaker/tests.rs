//! Opening, trials, and failures that do not count.

use super::*;

/// Two tools with the same upstream, and the time as a number of seconds.
struct Bench {
    breakers: Breakers,
    start: Instant,
}

const SERVER: Option<ErrorKind> = Some(ErrorKind::Server);
const NETWORK: Option<ErrorKind> = Some(ErrorKind::Network);

fn space() -> SpaceId {
    SpaceId::from(uuid::Uuid::nil())
}

fn tool(name: &str) -> (ToolId, Arc<str>) {
    (ToolId::Named(name.parse().expect("a name")), name.into())
}

/// Ends a call with an error of this kind; a network error is a failed connection.
fn end(pass: CallPass, kind: Option<ErrorKind>, now: Instant) {
    let error = kind.map(|kind| {
        let error = CallError::text(kind, "it failed");
        if kind == ErrorKind::Network { error.that_could_not_connect() } else { error }
    });
    pass.end(error.as_ref(), now);
}

impl Bench {
    fn new() -> Self {
        Self { breakers: Breakers::new(BreakerSettings::default()), start: Instant::now() }
    }

    fn breaker_of(&self, name: &str) -> CallBreaker {
        let (id, name) = tool(name);
        self.breakers.of_call(space(), (&id, &name), Some(BreakerKey::new("k")), self.start)
    }

    fn breaker(&self) -> CallBreaker {
        self.breaker_of("t")
    }

    fn instant(&self, seconds: f64) -> Instant {
        self.start + Duration::from_secs_f64(seconds)
    }

    fn call_of(&self, name: &str, seconds: f64, error: Option<ErrorKind>) -> Result<(), CallError> {
        let now = self.instant(seconds);
        self.breaker_of(name).enter(now).map(|pass| end(pass, error, now))
    }

    fn call(&self, seconds: f64, error: Option<ErrorKind>) -> Result<(), CallError> {
        self.call_of("t", seconds, error)
    }
}

#[test]
fn five_failures_in_a_row_open_it_and_a_trial_after_thirty_seconds_closes_it() {
    let bench = Bench::new();
    for _ in 0..5 {
        bench.call(0.0, SERVER).expect("closed");
    }
    let error = bench.call(1.0, None).expect_err("open");
    assert_eq!(error.kind(), ErrorKind::CircuitOpen);
    assert_eq!(error.requested_pause(), Some(Duration::from_secs(29)));
    assert!(bench.call(29.9, None).is_err());
    bench.call(30.0, None).expect("the trial");
    bench.call(30.0, SERVER).expect("closed again, and counting from nothing");
    bench.call(30.0, None).expect("closed");
}

#[test]
fn a_success_ends_the_row() {
    let bench = Bench::new();
    for _ in 0..3 {
        for _ in 0..4 {
            bench.call(0.0, SERVER).expect("closed");
        }
        bench.call(0.0, None).expect("closed");
        // Keeps the failure rate low, so that only consecutive failures could open the circuit.
        for _ in 0..5 {
            bench.call(0.0, None).expect("closed");
        }
    }
    bench.call(0.0, None).expect("closed");
}

#[test]
fn over_half_of_twenty_calls_within_a_minute_open_it() {
    let bench = Bench::new();
    for n in 0..19 {
        let error = if n % 2 == 0 { SERVER } else { None };
        bench.call(f64::from(n), error).expect("fewer than twenty");
    }
    bench.call(19.0, SERVER).expect("the twentieth");
    assert!(bench.call(20.0, None).is_err(), "11 of 20 failed");
}

#[test]
fn failures_older_than_a_minute_are_forgotten() {
    let bench = Bench::new();
    for n in 0..18 {
        let error = if n % 2 == 0 { SERVER } else { None };
        bench.call(0.0, error).expect("fewer than twenty");
    }
    bench.call(120.0, SERVER).expect("closed");
    bench.call(120.0, SERVER).expect("closed");
    bench.call(120.0, None).expect("two of two is less than twenty");
}

#[test]
fn only_an_unwell_upstream_counts() {
    for kind in ErrorKind::ALL {
        let bench = Bench::new();
        for _ in 0..30 {
            let _ = bench.call(0.0, Some(kind));
        }
        let opened = bench.call(0.0, None).is_err();
        let counts = [ErrorKind::Network, ErrorKind::Timeout, ErrorKind::Server].contains(&kind);
        assert_eq!(opened, counts, "{kind}");
    }
}

#[test]
fn one_trial_at_a_time_and_a_failed_one_opens_again() {
    let bench = Bench::new();
    for _ in 0..5 {
        bench.call(0.0, SERVER).expect("closed");
    }
    let trial = bench.breaker().enter(bench.instant(31.0)).expect("the trial");
    assert!(bench.call(31.0, None).is_err(), "only one");
    end(trial, SERVER, bench.instant(32.0));
    assert!(bench.call(61.9, None).is_err());
    bench.call(62.0, None).expect("the next trial");
}

#[test]
fn a_cancelled_trial_is_released() {
    let bench = Bench::new();
    for _ in 0..5 {
        bench.call(0.0, SERVER).expect("closed");
    }
    drop(bench.breaker().enter(bench.instant(31.0)).expect("the trial"));
    bench.call(31.0, None).expect("another trial");
}

#[test]
fn calls_that_began_before_the_circuit_opened_are_not_counted() {
    let bench = Bench::new();
    let late: Vec<CallPass> =
        (0..3).map(|_| bench.breaker().enter(bench.instant(0.0)).expect("closed")).collect();
    for _ in 0..5 {
        bench.call(0.0, SERVER).expect("closed");
    }
    let trial = bench.breaker().enter(bench.instant(31.0)).expect("the trial");
    for pass in late {
        end(pass, SERVER, bench.instant(31.0));
    }
    trial.end(None, bench.instant(32.0));
    bench.call(32.0, None).expect("the trial closed it");
}

#[test]
fn failed_calls_of_one_tool_do_not_affect_other_tools_unless_connections_failed() {
    // (how each call of `bad` ends, whether `good` is rejected after it)
    for (error, is_refused) in
        [(ErrorKind::Server, false), (ErrorKind::Timeout, false), (ErrorKind::Network, true)]
    {
        let bench = Bench::new();
        for _ in 0..5 {
            bench.call_of("bad", 0.0, Some(error)).expect("closed");
        }
        assert!(bench.call_of("bad", 1.0, None).is_err(), "{error}: its own circuit");
        assert_eq!(bench.call_of("good", 1.0, None).is_err(), is_refused, "{error}");
    }
}

#[test]
fn timeouts_neither_open_the_shared_circuit_nor_end_a_row_of_failed_connections() {
    let bench = Bench::new();
    for n in 0..5 {
        bench.call_of(&format!("t{n}"), 0.0, NETWORK).expect("closed");
        if n < 4 {
            bench.call_of("slow", 0.0, Some(ErrorKind::Timeout)).expect("closed");
        }
    }
    assert!(bench.call_of("good", 1.0, None).is_err());
}

#[test]
fn network_errors_other_than_failed_connections_do_not_count_in_the_shared_circuit() {
    let broken = CallError::text(ErrorKind::Network, "the connection broke");
    let elsewhere = broken.clone().that_could_not_connect().about_another_host();
    for error in [broken, elsewhere] {
        let bench = Bench::new();
        let fail = |name: &str, seconds: f64| {
            let now = bench.instant(seconds);
            bench.breaker_of(name).enter(now).map(|pass| pass.end(Some(&error), now))
        };
        for n in 0..30 {
            fail(&format!("t{n}"), 0.0).expect("closed");
        }
        for _ in 0..5 {
            fail("bad", 0.0).expect("closed");
        }
        assert!(fail("bad", 0.0).is_err(), "the circuit of the tool counts them");
        // They neither interrupt consecutive failed connections nor decide a trial.
        for n in 0..5 {
            fail(&format!("between{n}"), 0.0).expect("closed");
            bench.call_of(&format!("refused{n}"), 0.0, NETWORK).expect("closed");
        }
        assert!(bench.call_of("good", 1.0, None).is_err());
        fail("trial", 31.0).expect("the trial");
        bench.call_of("good", 31.0, None).expect("the trial is released");
        bench.call_of("good", 31.0, None).expect("closed");
    }
}

#[test]
fn an_upstream_error_resets_the_consecutive_failed_connections() {
    let bench = Bench::new();
    for n in 0..4 {
        bench.call_of(&format!("t{n}"), 0.0, NETWORK).expect("closed");
    }
    bench.call_of("failing", 0.0, SERVER).expect("closed");
    bench.call_of("t5", 0.0, NETWORK).expect("closed");
    bench.call_of("good", 0.0, None).expect("closed");
}

#[test]
fn a_refusal_names_the_tools_whose_failures_opened_the_circuit() {
    let bench = Bench::new();
    for name in ["a", "b", "a", "b", "c"] {
        bench.call_of(name, 0.0, NETWORK).expect("closed");
    }
    let refusal = bench.call_of("d", 1.0, None).expect_err("open");
    assert_eq!(
        refusal.message().to_string(),
        "k is paused because connections to it kept failing in calls of a, b, c. A trial call is allowed in 29 s."
    );
    assert_eq!(refusal.details(haft_core::Locale::En)["failingTools"], serde_json::json!(["a", "b", "c"]));

    let bench = Bench::new();
    for _ in 0..5 {
        bench.call(0.0, SERVER).expect("closed");
    }
    let refusal = bench.call(1.0, None).expect_err("open");
    assert_eq!(
        refusal.message().to_string(),
        "t at k is paused because its own calls kept failing (last failure: Server). A trial call is allowed in 29 s."
    );
    assert_eq!(
        refusal.message().render(haft_core::Locale::Zh),
        "t（上游：k）自身的调用持续失败（最近一次：Server），已暂停；29 秒后允许一次试探调用。"
    );
    let listed = bench.breakers.list(space(), bench.instant(1.0));
    let own = listed.iter().find(|circuit| circuit.scope == CircuitScope::Tool).expect("its own circuit");
    assert_eq!(own.message(), *refusal.message(), "operators see the same message");
}

#[test]
fn spaces_do_not_share_circuits_and_an_operator_can_close_one() {
    let bench = Bench::new();
    for _ in 0..5 {
        bench.call(0.0, NETWORK).expect("closed");
    }
    let (id, name) = tool("t");
    let other = SpaceId::from(uuid::Uuid::from_u128(1));
    let elsewhere = bench.breakers.of_call(other, (&id, &name), Some(BreakerKey::new("k")), bench.start);
    assert!(elsewhere.enter(bench.instant(1.0)).is_ok());

    let now = bench.instant(1.0);
    let keys = |circuits: Vec<Circuit>| circuits.into_iter().map(|circuit| circuit.key).collect::<Vec<_>>();
    let listed = bench.breakers.list(space(), now);
    assert!(
        listed.iter().all(|circuit| circuit.state == CircuitState::Open && circuit.failures_in_a_row == 5)
    );
    assert_eq!(keys(listed), ["k", "t at k"]);
    assert_eq!(bench.breakers.not_closed(now).len(), 2);
    assert!(bench.breakers.reset(space(), "k", now));
    assert!(!bench.breakers.reset(space(), "none", now));
    bench.call_of("good", 1.0, None).expect("closed by hand");
    assert!(bench.call(1.0, None).is_err(), "the tool's own circuit is still open");
    assert!(bench.breakers.reset_of(space(), &id, None, now));
    bench.call(1.0, None).expect("closed by hand");
    assert!(bench.breakers.not_closed(now).is_empty());
}

#[test]
fn resetting_a_tool_closes_the_circuits_of_all_upstreams_it_has_called() {
    let bench = Bench::new();
    let (id, name) = tool("t");
    let call = |upstream: &str| {
        let breaker =
            bench.breakers.of_call(space(), (&id, &name), Some(BreakerKey::new(upstream)), bench.start);
        breaker.enter(bench.start).map(|pass| end(pass, NETWORK, bench.start))
    };
    for upstream in ["live", "pinned"] {
        for _ in 0..5 {
            call(upstream).expect("closed");
        }
    }
    for _ in 0..5 {
        let (other, name) = tool("other");
        let upstream = Some(BreakerKey::new("elsewhere"));
        let breaker = bench.breakers.of_call(space(), (&other, &name), upstream, bench.start);
        end(breaker.enter(bench.start).expect("closed"), NETWORK, bench.start);
    }
    assert_eq!(bench.breakers.list_of(space(), &id, None, bench.start).len(), 4);
    assert!(bench.breakers.reset_of(space(), &id, None, bench.start));
    let open: Vec<String> = bench.breakers.not_closed(bench.start).into_iter().map(|(_, key)| key).collect();
    assert_eq!(open.len(), 2, "{open:?}");
    assert!(open.iter().all(|key| key.ends_with("elsewhere")), "{open:?}");
}

#[test]
fn the_circuit_of_a_live_upstream_is_listed_and_reset_for_a_tool_that_was_never_called() {
    let bench = Bench::new();
    for _ in 0..5 {
        bench.call_of("a", 0.0, NETWORK).expect("closed");
    }
    let (never_called, _) = tool("b");
    let live = BreakerKey::new("k");
    assert!(bench.breakers.list_of(space(), &never_called, None, bench.start).is_empty());
    let listed = bench.breakers.list_of(space(), &never_called, Some(&live), bench.start);
    assert_eq!(listed.iter().map(|circuit| circuit.key.as_str()).collect::<Vec<_>>(), ["k"]);
    assert!(bench.breakers.reset_of(space(), &never_called, Some(&live), bench.start));
    bench.call_of("b", 1.0, None).expect("closed by hand");
    assert!(bench.call_of("a", 1.0, None).is_err(), "the circuit of the other tool is its own");
}

#[test]
fn calls_do_not_retry_after_a_concurrent_call_opens_their_circuit() {
    let bench = Bench::new();
    let retrying = bench.breaker_of("good").enter(bench.start).expect("closed");
    let of_tool = bench.breaker().enter(bench.start).expect("closed");
    for _ in 0..5 {
        bench.call(0.0, SERVER).expect("closed");
    }
    assert!(retrying.may_retry() && !of_tool.may_retry());
    for n in 0..5 {
        bench.call_of(&format!("t{n}"), 0.0, NETWORK).expect("closed");
    }
    assert!(!retrying.may_retry());
    let trial = bench.breaker().enter(bench.instant(31.0)).expect("the trial");
    assert!(trial.may_retry());
}

#[test]
fn idle_circuits_are_dropped() {
    let bench = Bench::new();
    for n in 0..10_000_u32 {
        let now = bench.instant(f64::from(n));
        let (id, name) = tool(&format!("t{n}"));
        let upstream = Some(BreakerKey::new(n.to_string()));
        let breaker = bench.breakers.of_call(space(), (&id, &name), upstream, now);
        breaker.enter(now).expect("closed").end(None, now);
    }
    assert!(lock(&bench.breakers.circuits).by_id.len() <= MAX_IDLE_CIRCUITS + 2);
}

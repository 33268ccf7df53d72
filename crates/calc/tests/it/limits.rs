//! Endless, huge and deep expressions end with clear errors and do not affect the next expression.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft_core::Locale;
use haft_engine::{CallOptions, CallRequest, Caller, ErrorKind, Source, SpaceId, ToolService};
use serde_json::{Value, json};

use crate::support::{engine, evaluate};

#[tokio::test]
async fn costly_expressions_end_and_the_next_expression_is_evaluated() {
    let tools = engine();
    let deep = format!("{}1{}", "(".repeat(4900), ")".repeat(4900));
    let calls = format!("{}1{}", "sin(".repeat(1600), ")".repeat(1600));
    let powers = vec!["2"; 3000].join("^");
    for hostile in [
        "sum(1:1e9)",
        "zeros(1e5, 1e5)",
        "f(x) = f(x + 1); f(1)",
        "ones(3000, 3000) * ones(3000, 3000)",
        "map(1:1e7, f(x) = x^2)",
        "s(n) = n == 0 ? 0 : s(n - 1) + s(n - 1); s(40)",
        "inv(ones(500, 500) + diag(1:500))",
        "combinations(1e7, 5e6)",
        "factorial(bignumber(1e6))",
        "nthRoots(1, 1e9)",
        "concat(\"a\", \"b\") ^ 2",
        &deep,
        &calls,
        &powers,
        "a = [1:1000]; b = kron(a, a); c = kron(b, b)",
        "bignumber(2) ^ 1e9",
        "format(1:1e6)",
        "print(\"$a\", {a: 1:1e6})",
    ] {
        // Any outcome is acceptable, but there must be one.
        let started = hostile.get(..40).unwrap_or(hostile);
        let answer = tokio::time::timeout(Duration::from_secs(60), evaluate(&tools, hostile)).await;
        if let Err((kind, message)) = answer.unwrap_or_else(|_| panic!("{started} did not end")) {
            assert_eq!(kind, ErrorKind::Execution, "{started}: {message}");
            assert!(!message.is_empty(), "{started}");
        }
        let next = evaluate(&tools, "1 + 1").await.expect("the next expression succeeds");
        assert_eq!(next["result"], 2, "after {started}");
    }
}

#[tokio::test]
async fn each_limit_has_its_own_message_in_both_languages() {
    let tools = engine();
    let deep = format!("{}1{}", "(".repeat(4900), ")".repeat(4900));
    let time = (
        "The expression takes more than 1 s to compute; try a smaller one",
        "表达式的计算超过 1 秒；请简化后再试",
    );
    let memory = (
        "The expression needs more than 64 MB; try a smaller one",
        "表达式需要的内存超过 64 MB；请简化后再试",
    );
    let depth = ("The expression is nested too deeply", "表达式嵌套过深");
    let size = ("The result has more than 1,000,000 characters", "结果超过 1,000,000 个字符");
    let doubling = format!("a = \"{}\"; {}a", "x".repeat(1000), "a = concat(a, a); ".repeat(11));
    for (expression, allowed) in [
        // Which of the two limits is reached first depends on the machine.
        ("sum(1:1e9)", [time, memory].as_slice()),
        ("zeros(1e5, 1e5)", &[time, memory]),
        ("s(n) = n == 0 ? 0 : s(n - 1) + s(n - 1); s(40)", &[time]),
        ("f(x) = f(x + 1); f(1)", &[depth]),
        (&deep, &[depth]),
        (&doubling, &[size]),
    ] {
        let started = std::time::Instant::now();
        let result =
            tools.execute("calculator", json!({"expression": expression}), CallOptions::default()).await;
        let result = result.expect("the engine itself works");
        let shown = &expression[..10];
        let error = result.error().unwrap_or_else(|| panic!("{shown} was answered"));
        let said = (error.message().render(Locale::En), error.message().render(Locale::Zh));
        assert!(allowed.iter().any(|(en, zh)| said.0 == *en && said.1 == *zh), "{shown}: {said:?}");
        assert!(started.elapsed() < Duration::from_secs(30), "{shown}");
        assert_eq!(evaluate(&tools, "1 + 1").await.expect("the next expression succeeds")["result"], 2);
    }
}

#[tokio::test]
async fn engine_messages_and_lone_surrogates_in_an_expression_are_plain_text() {
    let tools = engine();
    let (_, message) = evaluate(&tools, "\"out of memory\" + 1").await.expect_err("no number");
    assert!(message.contains("Cannot convert"), "{message}");
    let half = evaluate(&tools, "subset(\"😀\", index(1))").await.expect("half a character");
    assert_eq!(half["text"], "\"\u{fffd}\"");
    let long = format!("a = \"{}\"; {}a + 1", "x".repeat(1000), "a = concat(a, a); ".repeat(10));
    let (_, message) = evaluate(&tools, &long).await.expect_err("no number");
    assert!(message.chars().count() <= 1001, "{}", message.len());
}

#[tokio::test]
async fn a_worn_engine_is_replaced() {
    let tools = engine();
    for n in 0..2100 {
        assert_eq!(evaluate(&tools, &format!("{n} + 1")).await.expect("answered")["result"], n + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_expression_does_not_block_a_fast_one() {
    let tools = engine();
    evaluate(&tools, "1").await.expect("loaded");
    let slow = tokio::spawn({
        let tools = tools.clone();
        async move { evaluate(&tools, "s(n) = n == 0 ? 0 : s(n - 1) + s(n - 1); s(40)").await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    evaluate(&tools, "2").await.expect("answered");
    assert!(!slow.is_finished(), "the quick one came first");
    assert!(slow.await.expect("no panic").is_err());
}

/// Evaluates one expression for a space.
async fn evaluate_in(tools: &ToolService, space: u8, expression: &str) -> Result<Value, ErrorKind> {
    let space: SpaceId =
        serde_json::from_value(json!(format!("00000000-0000-0000-0000-{space:012}"))).expect("an id");
    let caller = Caller { space, user: None, source: Source::Api, locale: Locale::En, request: None };
    let request = CallRequest {
        tool: "calculator".to_owned(),
        arguments: json!({"expression": expression}),
        options: CallOptions::default(),
    };
    let result = tools.call(&caller, request).await.expect("the engine itself works");
    match &result.outcome {
        Ok(data) => Ok(Value::clone(data)),
        Err(error) => Err(error.kind()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_space_that_floods_the_calculator_does_not_block_others() {
    const SLOW: &str = "s(n) = n == 0 ? 0 : s(n - 1) + s(n - 1); s(40)";
    let tools = engine();
    evaluate_in(&tools, 2, "1").await.expect("loaded");
    let (refused, ran) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let flood: Vec<_> = (0..300)
        .map(|_| {
            let (tools, refused, ran) = (tools.clone(), refused.clone(), ran.clone());
            tokio::spawn(async move {
                let counter = match evaluate_in(&tools, 1, SLOW).await {
                    Err(ErrorKind::Overloaded) => refused,
                    _ => ran,
                };
                counter.fetch_add(1, Ordering::SeqCst);
            })
        })
        .collect();
    while refused.load(Ordering::SeqCst) < 90 {
        tokio::task::yield_now().await;
    }
    for n in 0..5 {
        let before = ran.load(Ordering::SeqCst);
        let answer = evaluate_in(&tools, 2, &format!("{n} + 1")).await.expect("the other space is served");
        assert_eq!(answer["result"], n + 1);
        let between = ran.load(Ordering::SeqCst) - before;
        assert!(between <= 4, "{between} expressions of the other space came first");
    }
    for task in flood {
        task.abort();
    }
}

#[tokio::test]
async fn a_too_long_expression_is_rejected_before_evaluation() {
    let tools = engine();
    for length in [10_001, 100_000, 10_000_000] {
        let (kind, message) = evaluate(&tools, &"(".repeat(length)).await.expect_err("refused");
        assert_eq!(kind, ErrorKind::Validation);
        assert!(message.ends_with("is longer than 10000 characters") && message.len() < 300, "{message}");
    }
    assert_eq!(evaluate(&tools, "").await.expect_err("refused").0, ErrorKind::Validation);
}

#[tokio::test]
async fn expressions_are_isolated() {
    let tools = engine();
    assert!(evaluate(&tools, "secret = 42; g(x) = x + secret; g(1)").await.is_ok());
    for leak in ["secret", "g(1)"] {
        let (_, message) = evaluate(&tools, leak).await.expect_err("unknown");
        assert!(message.starts_with("Undefined"), "{message}");
    }
    for units in ["5 m2 to sqmi", "1 acre to m2", "3 hp to W", "2 mile / 1 hour to knot"] {
        let _ = evaluate(&tools, units).await;
        let area = evaluate(&tools, "2 m * 3 m").await.expect("an area");
        assert_eq!(area["text"], "6 m^2", "after {units}");
    }
    evaluate(&tools, "pi = 3; sin = 4; e = 1").await.expect("its own names");
    assert_eq!(evaluate(&tools, "round(pi * 1000)").await.expect("pi is pi")["result"], 3142);
    assert_eq!(evaluate(&tools, "sin(0)").await.expect("sin is sin")["result"], 0);
}

#[tokio::test]
async fn functions_that_change_or_leave_the_engine_are_rejected() {
    let tools = engine();
    for name in [
        "import",
        "createUnit",
        "reviver",
        "evaluate",
        "parse",
        "parser",
        "compile",
        "simplify",
        "simplifyCore",
        "simplifyConstant",
        "rationalize",
        "derivative",
        "resolve",
        "leafCount",
        "symbolicEqual",
        "help",
        "config",
        "typed",
    ] {
        for call in [format!("{name}()"), format!("{name}(\"x\")"), format!("{name}(\"x\", \"x\")")] {
            let refused = evaluate(&tools, &call).await;
            assert_eq!(
                refused,
                Err((ErrorKind::Execution, format!("Function {name} is disabled"))),
                "{call}"
            );
        }
    }
    // No expression can affect the evaluation of the next one.
    evaluate(&tools, "config({number: \"BigNumber\"})").await.expect_err("refused");
    assert_eq!(evaluate(&tools, "typeOf(1/3)").await.expect("a number")["result"], "\"number\"");
    for reach in [
        "constructor",
        "cos.constructor",
        "cos.constructor(\"return 1\")()",
        "f(x) = x; f.constructor",
        "[].constructor",
        "{}.constructor",
        "{}.__proto__",
        "{a: 1}[\"constructor\"]",
        "\"a\".constructor",
        "this",
        "globalThis",
        "process",
        "require(\"fs\")",
        "fetch(\"http://127.0.0.1\")",
        "Date()",
        "performance.now()",
        "toString.call",
        "math.import",
    ] {
        evaluate(&tools, reach).await.expect_err(reach);
    }
}

#[tokio::test]
async fn many_concurrent_expressions_are_all_evaluated() {
    let tools = engine();
    let expressions: Vec<String> = (0..100).map(|n| format!("{n} * 2")).collect();
    let calls = expressions.iter().map(|expression| evaluate(&tools, expression));
    for (n, answer) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
        assert_eq!(answer.expect("answered")["result"], n * 2);
    }
}

#[tokio::test]
async fn expressions_of_disconnected_callers_are_skipped() {
    let tools = engine();
    evaluate(&tools, "1").await.expect("loaded");
    for _ in 0..20 {
        let slow = evaluate(&tools, "s(n) = n == 0 ? 0 : s(n - 1) + s(n - 1); s(40)");
        tokio::time::timeout(Duration::from_millis(1), slow).await.expect_err("gone");
    }
    // At most the two that have started delay it, not all twenty.
    let answer = tokio::time::timeout(Duration::from_secs(15), evaluate(&tools, "2")).await.expect("in time");
    assert_eq!(answer.expect("answered")["result"], 2);
}

#[tokio::test]
async fn random_numbers_come_from_mathjs() {
    let tools = engine();
    let mut seen = std::collections::HashSet::new();
    for _ in 0..20 {
        let answer = evaluate(&tools, "randomInt(0, 1000000)").await.expect("a number");
        let number = answer["result"].as_u64().expect("an integer");
        assert!(number < 1_000_000);
        seen.insert(number);
    }
    assert!(seen.len() > 10, "{seen:?}");
}

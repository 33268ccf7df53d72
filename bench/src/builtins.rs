//! The cost of warm calls of built-in tools, and the start time and memory of the calculator.

use std::time::Instant;

use haft_engine::{CallOptions, ToolService};
use serde_json::{Value, json};

use crate::table::{median, print};

const ROUNDS: usize = 11;
const CALLS: usize = 500;

pub(crate) async fn run() -> anyhow::Result<()> {
    let tools = ToolService::builder().kind(haft_builtins::kind().with(haft_calc::calculator())).build();
    let before = resident()?;
    let start = Instant::now();
    tools.execute("calculator", json!({"expression": "1 + 1"}), CallOptions::default()).await?;
    let loading = start.elapsed();
    let after = resident()?;

    let list: Vec<u32> = (0..100).rev().collect();
    let calls = [
        ("calculator: (10 * 5) + 2", "calculator", json!({"expression": "(10 * 5) + 2"})),
        ("calculator: 12.7 cm to inch", "calculator", json!({"expression": "12.7 cm to inch"})),
        ("calculator: det([-1, 2; 3, 1])", "calculator", json!({"expression": "det([-1, 2; 3, 1])"})),
        ("datetime: now", "datetime", json!({"operation": "now", "timezone": "Asia/Shanghai"})),
        (
            "datetime: add a month",
            "datetime",
            json!({"operation": "add", "date": "2024-01-31", "amount": 1, "unit": "month"}),
        ),
        ("stop_response", "stop_response", json!({"message": "bye"})),
        ("string: upper", "string", json!({"operation": "upper", "text": "the quick brown fox"})),
        (
            "string: regexReplace",
            "string",
            json!({"operation": "regexReplace", "text": "a1b22c333", "pattern": "[0-9]+", "replacement": "#"}),
        ),
        ("array: sort 100 numbers", "array", json!({"operation": "sort", "array": list})),
        (
            "object: query",
            "object",
            json!({"operation": "query", "object": {"a": [{"b": 1}, {"b": 2}]}, "expression": "a[*].b"}),
        ),
    ];
    let mut rows = vec![vec!["one warm call".to_owned(), "per call".to_owned()]];
    for (name, tool, arguments) in calls {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push(round(&tools, tool, &arguments).await?);
        }
        rows.push(vec![name.to_owned(), format!("{:.1} µs", median(rounds))]);
    }
    print("Built-in tools, through the pipeline", &rows);
    println!(
        "  the calculator's first call takes {:.0} ms and {:.1} MiB",
        loading.as_secs_f64() * 1e3,
        after - before
    );
    let without = making(|| ToolService::builder().kind(haft_builtins::kind()).build());
    let with =
        making(|| ToolService::builder().kind(haft_builtins::kind().with(haft_calc::calculator())).build());
    println!(
        "  building an engine with the built-ins takes {without:.2} ms; with the calculator {with:.2} ms"
    );
    Ok(())
}

/// Returns the milliseconds to build an engine.
fn making(make: impl Fn() -> ToolService) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        std::hint::black_box(make());
        start.elapsed().as_secs_f64() * 1e3
    });
    median(rounds.collect())
}

async fn round(tools: &ToolService, tool: &str, arguments: &Value) -> anyhow::Result<f64> {
    let start = Instant::now();
    for _ in 0..CALLS {
        let result = tools.execute(tool, arguments.clone(), CallOptions::default()).await?;
        anyhow::ensure!(result.is_success(), "{tool}: {:?}", result.error());
    }
    Ok(start.elapsed().as_secs_f64() * 1e6 / CALLS as f64)
}

fn resident() -> anyhow::Result<f64> {
    crate::memory::resident_of("self")
}

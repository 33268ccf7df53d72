//! The cost of one call through the whole pipeline, compared with a direct call of the function.

use std::hint::black_box;
use std::time::{Duration, Instant};

use haft_engine::{CallOptions, ToolService};
use serde_json::json;

use crate::no_op::{engine, no_op};
use crate::table::{median, print};

const ROUNDS: usize = 15;
const CALLS: usize = 20_000;

/// Runs one round of calls of these tools. Returns microseconds per call.
async fn round(engine: &ToolService, names: &[String]) -> anyhow::Result<f64> {
    let start = Instant::now();
    for name in names.iter().cycle().take(CALLS) {
        let result = engine.execute(name, json!({"city": "Tokyo"}), CallOptions::default()).await?;
        anyhow::ensure!(result.is_success(), "the call failed: {:?}", result.error());
    }
    Ok(start.elapsed().as_secs_f64() * 1e6 / CALLS as f64)
}

async fn direct_round() -> anyhow::Result<f64> {
    let start = Instant::now();
    for _ in 0..CALLS {
        black_box(no_op(black_box(&json!({"city": "Tokyo", "days": 3}))).await?);
    }
    Ok(start.elapsed().as_secs_f64() * 1e6 / CALLS as f64)
}

/// One row of the table, with its rounds so far.
struct Line<'a> {
    name: &'static str,
    engine: &'a ToolService,
    tools: Vec<String>,
    rounds: Vec<f64>,
}

pub(crate) async fn run() -> anyhow::Result<()> {
    let few = engine(10)?;
    let start = Instant::now();
    let many = engine(10_000)?;
    let registering = start.elapsed();
    let subscribed = engine(10)?;
    let mut events = subscribed.subscribe();

    let names = |prefix: &str, count: usize| (0..count).map(|n| format!("{prefix}_{n}")).collect::<Vec<_>>();
    let line = |name, engine, tools| Line { name, engine, tools, rounds: Vec::new() };
    let mut lines = [
        line("native tool, one of 10", &few, names("native", 1)),
        line("native tool, one of 10,000", &many, names("native", 1)),
        line("native tools, 5,000 in turn, each cold", &many, names("native", 5000)),
        line("tool with a circuit breaker, one of 10", &few, names("kind", 1)),
        line("tool with a circuit breaker, one of 10,000", &many, names("kind", 1)),
        line("cached result", &few, vec!["cached".to_owned()]),
        line("native tool, one subscriber to events", &subscribed, names("native", 1)),
    ];
    let mut direct = Vec::new();
    for _ in 0..ROUNDS {
        direct.push(direct_round().await?);
        for line in &mut lines {
            // Waits until the call records of the last round are written.
            tokio::time::sleep(Duration::from_millis(30)).await;
            line.rounds.push(round(line.engine, &line.tools).await?);
        }
        if let Some(events) = &mut events {
            while !matches!(events.try_recv(), Err(tokio::sync::broadcast::error::TryRecvError::Empty)) {}
        }
    }
    let figure = |rounds| format!("{:.2} µs", median(rounds));
    let mut rows = vec![
        vec!["one call of a tool that does nothing".to_owned(), "per call".to_owned()],
        vec!["the function, called directly".to_owned(), figure(direct)],
    ];
    rows.extend(lines.into_iter().map(|line| vec![line.name.to_owned(), figure(line.rounds)]));
    print(
        "Pipeline: validation, a default, breaker, cache, rate limit, bulkhead, events and records on",
        &rows,
    );
    println!("  10,000 tools checked, compiled and registered in {:.0} ms", registering.as_secs_f64() * 1e3);
    let start = Instant::now();
    let listed = many.list().len();
    println!("  {listed} tools listed in {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

//! The cost of one call through the whole pipeline, beside calling the function itself.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use haft_core::SpaceId;
use haft_engine::{
    BoxFuture, BreakerSettings, CallOptions, CallRecord, CallSink, Effect, MockKind, SinkError, Tool,
    ToolService,
};
use serde_json::{Value, json};

use crate::table::{median, print};

const ROUNDS: usize = 15;
const CALLS: usize = 20_000;

/// Takes records and forgets them: the cost of keeping them is the sink's own.
struct Forgetful;

impl CallSink for Forgetful {
    fn write<'a>(&'a self, records: &'a [CallRecord]) -> BoxFuture<'a, Result<(), SinkError>> {
        black_box(records);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// The tool that does nothing, as a plain function.
async fn no_op(arguments: Value) -> anyhow::Result<Value> {
    Ok(arguments)
}

fn engine(tools: usize) -> anyhow::Result<ToolService> {
    let engine = ToolService::builder()
        .kind(MockKind)
        .breaker(BreakerSettings::default())
        .cache()
        .limits()
        .events()
        .sink(Arc::new(Forgetful))
        .build();
    let schema = json!({
        "type": "object",
        "required": ["city"],
        "properties": {
            "city": {"type": "string", "minLength": 1},
            "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 3},
        },
        "additionalProperties": false,
    });
    let named = |name: String| {
        Tool::native_json(&name, "Does nothing.", schema.clone(), |arguments, _| no_op(arguments))
            .effect(Effect::Read)
            .per_minute(1_000_000, 1_000_000)
            .max_concurrency(1000)
    };
    engine.register_all((0..tools).map(|n| named(format!("tool_{n}"))))?;
    Ok(engine)
}

async fn round_of_calls(engine: &ToolService) -> anyhow::Result<f64> {
    let start = Instant::now();
    for _ in 0..CALLS {
        let result = engine.execute("tool_7", json!({"city": "Tokyo"}), CallOptions::default()).await?;
        anyhow::ensure!(result.is_success(), "the call failed: {:?}", result.error());
    }
    Ok(start.elapsed().as_secs_f64() * 1e6 / CALLS as f64)
}

async fn round_of_direct_calls() -> anyhow::Result<f64> {
    let start = Instant::now();
    for _ in 0..CALLS {
        black_box(no_op(black_box(json!({"city": "Tokyo", "days": 3}))).await?);
    }
    Ok(start.elapsed().as_secs_f64() * 1e6 / CALLS as f64)
}

pub(crate) async fn run() -> anyhow::Result<()> {
    let few = engine(10)?;
    let start = Instant::now();
    let many = engine(10_000)?;
    let registering = start.elapsed();
    let listener = engine(10)?;
    let mut events = listener.subscribe();
    let (mut direct, mut ten, mut ten_thousand, mut listened) = (vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        direct.push(round_of_direct_calls().await?);
        ten.push(round_of_calls(&few).await?);
        ten_thousand.push(round_of_calls(&many).await?);
        listened.push(round_of_calls(&listener).await?);
        if let Some(events) = &mut events {
            while events.try_recv().is_ok() {}
        }
    }
    let figure = |figures| format!("{:.2} µs", median(figures));
    let rows = [
        vec!["one call of a no-op native tool".to_owned(), "per call".to_owned()],
        vec!["the function, called directly".to_owned(), figure(direct)],
        vec!["the pipeline, 10 tools".to_owned(), figure(ten)],
        vec!["the pipeline, 10,000 tools".to_owned(), figure(ten_thousand)],
        vec!["the pipeline, 10 tools, one subscriber to events".to_owned(), figure(listened)],
    ];
    print(
        "Pipeline (breaker, cache, limits, events and records on; arguments checked and a default filled in)",
        &rows,
    );
    println!("  10,000 tools checked, compiled and registered in {:.0} ms", registering.as_secs_f64() * 1e3);
    let space = SpaceId::from(uuid::Uuid::nil());
    let start = Instant::now();
    let listed = many.in_space(space).list().len();
    println!("  {listed} tools listed in {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

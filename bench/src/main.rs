//! Benchmarks that compare Haft with the same work without Haft. `make bench` runs all of them.
//!
//! Rounds of the compared variants are interleaved, so that other load on the machine affects all of them.
//! The result is the median round. There are no thresholds.

#![allow(clippy::disallowed_methods, reason = "a benchmark ends with its process")]

mod agent;
mod bare_hop;
mod builtins;
mod connection;
mod haft;
mod hops;
mod http;
mod http_tool;
mod import;
mod load;
mod log;
mod machine;
mod memory;
mod nginx;
mod no_op;
mod pipeline;
mod scratch;
mod start;
mod subscriber;
mod table;
mod tasks;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};

/// The allocator of the `haft` binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // The servers under load are separate processes, so that their CPU time is measured separately.
    if let ["serve", which @ ..] = words.as_slice() {
        return http::serve(which);
    }
    let (words, rows) = match words.as_slice() {
        [first @ .., "--rows", rows] => (first, rows.replace('_', "").parse::<u64>().context("--rows")?),
        others => (others, log::ROWS),
    };
    // A second binary, such as that of an older commit, measured in the same run.
    let (words, other) = match words {
        [first @ .., "--beside", path] => (first, Some(Path::new(*path))),
        others => (others, None),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        match words {
            [] => all(rows).await,
            // A single benchmark.
            ["pipeline"] => tokio::spawn(pipeline::run()).await?,
            ["builtins"] => tokio::spawn(builtins::run()).await?,
            ["start"] => start::run(other),
            ["http"] => http::run().await,
            ["http-tool"] => http_tool::run().await,
            ["hops"] => hops::run(other).await,
            ["import"] => import::run().await,
            ["tasks"] => tasks::run().await,
            ["agent"] => agent::run(agent::ROUND).await,
            // With shorter rounds, to test the benchmark itself.
            ["agent", seconds] => {
                let seconds = seconds.parse::<f64>().context("seconds")?;
                agent::run(Duration::try_from_secs_f64(seconds)?).await
            }
            ["latency"] => agent::latency().await,
            ["log"] => log::run(rows).await,
            ["load", seconds] => {
                let seconds = seconds.parse::<u64>().context("seconds")?;
                hops::load(Duration::from_secs(seconds)).await
            }
            ["load", variant, seconds, connections @ ..] if connections.len() < 2 => {
                let seconds = seconds.parse::<u64>().context("seconds")?;
                let connections = connections.first().map_or(Ok(16), |count| count.parse());
                agent::load(variant, Duration::from_secs(seconds), connections.context("connections")?).await
            }
            other => bail!("unknown benchmark {other:?}; bench/README.md lists the benchmarks"),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn all(rows: u64) -> anyhow::Result<()> {
    // On a worker thread of the runtime, as in a server.
    tokio::spawn(pipeline::run()).await??;
    tokio::spawn(builtins::run()).await??;
    start::run(None)?;
    http::run().await?;
    http_tool::run().await?;
    hops::run(None).await?;
    import::run().await?;
    tasks::run().await?;
    agent::run(agent::ROUND).await?;
    agent::latency().await?;
    log::run(rows).await
}

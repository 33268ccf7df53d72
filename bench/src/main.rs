//! Figures of this machine: what Haft costs beside doing without it. `make bench` runs all of them.
//!
//! Rounds of the things compared are interleaved, so that a busy moment hits
//! all of them, and the median round is shown. Nothing is asserted.

#![allow(clippy::disallowed_methods, reason = "a benchmark ends with its process")]

mod builtins;
mod http;
mod http_tool;
mod load;
mod memory;
mod no_op;
mod pipeline;
mod start;
mod table;

use std::process::ExitCode;

/// The same allocator as the binary has.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // The servers under load are processes of their own, so that their CPU time can be told from the client's.
    if let [serve, which] = arguments.as_slice()
        && serve == "serve"
    {
        return http::serve(which);
    }
    // One part alone, for whoever works on it: `haft-bench http-tool`.
    let only = arguments.first().map(String::as_str);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        match only {
            Some("http-tool") => return http_tool::run().await,
            Some("start") => return start::run(),
            Some(_) | None => {}
        }
        // On a worker, as calls in a server are.
        tokio::spawn(pipeline::run()).await??;
        tokio::spawn(builtins::run()).await??;
        start::run()?;
        http::run().await?;
        http_tool::run().await
    })?;
    Ok(ExitCode::SUCCESS)
}

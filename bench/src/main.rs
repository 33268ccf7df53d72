//! Figures of this machine: what Haft costs beside doing without it. `make bench` runs all of them.
//!
//! Rounds of the things compared are interleaved, so that a busy moment hits
//! all of them, and the median round is shown. Nothing is asserted.

#![allow(clippy::disallowed_methods, reason = "a benchmark ends with its process")]

mod builtins;
mod http;
mod load;
mod no_op;
mod pipeline;
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
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        // On a worker, as calls in a server are.
        tokio::spawn(pipeline::run()).await??;
        tokio::spawn(builtins::run()).await??;
        http::run().await
    })?;
    Ok(ExitCode::SUCCESS)
}

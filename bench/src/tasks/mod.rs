//! Calls as tasks: throughput, the delay until a worker claims one, and the cost of an `Idempotency-Key`.

mod claim_delay;
mod keys;
mod throughput;

use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use serde_json::json;

use crate::haft::{Server, binary};
use crate::load::{Round, Target};
use crate::machine::machine;
use crate::scratch::Scratch;

/// Time after the last call in which CPU time is counted, such as for writing the call log.
const SETTLING: Duration = Duration::from_millis(500);

/// Maximum number of plain calls in a round. The server refuses calls if too many records wait for the call
/// log, which is slower than plain calls.
const MAX_PLAIN_CALLS: usize = 10_000;

/// A separate server with default settings on SQLite, and tools that do nothing.
struct TaskServer {
    server: Server,
    _data: Scratch,
}

impl TaskServer {
    /// Starts a server with a tool that reads and one that writes. Calls of the latter are reserved in the
    /// journal first.
    fn start(binary: &Path) -> anyhow::Result<Self> {
        let data = Scratch::new("tasks")?;
        let server = Server::start(binary, data.path(), &[])?;
        for effect in ["read", "write"] {
            let tool = json!({
                "name": effect, "description": "Does nothing.", "type": "mock", "effect": effect,
                "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
                "maxConcurrency": 1000, "rateLimit": {"perMinute": 1_000_000, "burst": 1_000_000},
            });
            let created = server.post("/api/tools", &tool)?;
            ensure!(created["code"] == 201, "the tool was not created: {created}");
        }
        Ok(Self { server, _data: data })
    }

    /// Returns the target of plain calls of a tool.
    fn target(&self, tool: &str) -> Target {
        let path = format!("/api/tools/{tool}/execute");
        let target = Target::new(self.server.address(), &path, vec![self.server.process()]);
        Target { settling: SETTLING, max_requests: MAX_PLAIN_CALLS, ..target }
    }
}

pub(crate) async fn run() -> anyhow::Result<()> {
    let Some(binary) = binary()? else {
        println!("\nTasks are not measured: build the binary first (`make build`)");
        return Ok(());
    };
    throughput::run(&binary).await?;
    claim_delay::run(&binary).await?;
    keys::run(&binary).await?;
    println!("  {}; again with `target/release/haft-bench tasks`", machine());
    Ok(())
}

fn row(name: &str, middle: &Round) -> Vec<String> {
    vec![
        name.to_owned(),
        format!("{:.0}", middle.per_second),
        format!("{:.0} µs", middle.median),
        format!("{:.0} µs", middle.slowest),
        format!("{:.1} µs", middle.cpu),
    ]
}

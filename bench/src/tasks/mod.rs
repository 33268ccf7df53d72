//! Calls that are tasks: how many a second go all the way, how soon one is picked up, and what a call with an
//! `Idempotency-Key` costs beside a plain one.

mod keys;
mod pick_up;
mod throughput;

use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use serde_json::json;

use crate::haft::{Server, binary};
use crate::load::{Round, Target};
use crate::machine::machine;
use crate::scratch::Scratch;

/// Writing the log of the last ones counts too.
const SETTLING: Duration = Duration::from_millis(500);

/// Fewer than may wait for the call log, which is slower than plain calls on a busy disk: then they are refused.
const MOST_PLAIN: usize = 10_000;

/// A server of its own, on SQLite as it is by default, with tools that do nothing.
struct Door {
    server: Server,
    _data: Scratch,
}

impl Door {
    /// With a tool that reads, and one that writes, so that each of its calls is reserved before it is made.
    fn open(binary: &Path) -> anyhow::Result<Self> {
        let data = Scratch::new("tasks")?;
        let server = Server::start(binary, data.path(), &[])?;
        for effect in ["read", "write"] {
            let tool = json!({
                "name": effect, "description": "Does nothing.", "type": "mock", "effect": effect,
                "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
                "maxConcurrency": 1000, "rateLimit": {"perMinute": 1_000_000, "burst": 1_000_000},
            });
            let made = server.post("/api/tools", &tool)?;
            ensure!(made["code"] == 201, "the tool was not taken: {made}");
        }
        Ok(Self { server, _data: data })
    }

    /// Plain calls of a tool.
    fn target(&self, tool: &str) -> Target {
        let path = format!("/api/tools/{tool}/execute");
        let target = Target::new(self.server.address(), &path, vec![self.server.process()]);
        Target { settling: SETTLING, most: MOST_PLAIN, ..target }
    }
}

pub(crate) async fn run() -> anyhow::Result<()> {
    let Some(binary) = binary()? else {
        println!("\nTasks are not measured: build the binary first (`make build`)");
        return Ok(());
    };
    throughput::run(&binary).await?;
    pick_up::run(&binary).await?;
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

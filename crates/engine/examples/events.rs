//! Prints the events of calls while calls run.
//!
//! `cargo run -p haft-engine --example events`

use haft_engine::{CallContext, CallOptions, MockKind, Progress, Tool, ToolService};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let tools = ToolService::builder().kind(MockKind).events().build();
    let mut events = tools.subscribe().ok_or_else(|| anyhow::anyhow!("events are on"))?;

    // Fails once, then succeeds. The engine retries it, because its effect is `read`.
    let flaky = json!({"answers": [{"error": {"kind": "Server", "message": "busy"}}, {"data": "fine"}]});
    tools.register(Tool::new("flaky", "Works the second time.", "mock", flaky).retry_delay_ms(10))?;

    let schema = json!({"type": "object", "properties": {}});
    tools.register(Tool::native_json(
        "slow",
        "Reports its progress.",
        schema,
        |_: Value, context: CallContext| async move {
            context.progress(Progress::of(1.0, 2.0).with_message("half way"));
            Ok("there")
        },
    ))?;

    tools.execute("flaky", json!({}), CallOptions::default()).await?;
    tools.execute("slow", json!({}), CallOptions::default()).await?;

    let mut stages = Vec::new();
    while let Ok(event) = events.try_recv() {
        println!("{}", serde_json::to_string(&*event)?);
        stages.push(event.stage.name());
    }
    assert_eq!(
        stages,
        [
            "tool.call.started",
            "tool.call.retrying",
            "tool.call.completed",
            "tool.call.started",
            "tool.call.progress",
            "tool.call.completed",
        ]
    );
    Ok(())
}

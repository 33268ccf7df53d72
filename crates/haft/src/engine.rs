//! The engine this binary ships: every kind and built-in tool it knows, in one readable list.

use std::sync::Arc;

use anyhow::Context;
use haft_engine::{
    BoxFuture, BreakerSettings, Builder, CallRecord, CallSink, Effect, MockKind, SinkError, Tool, ToolService,
};
use serde::{Deserialize, Serialize};

/// An engine for a server: all guards on, every call logged.
pub(crate) fn for_server() -> anyhow::Result<ToolService> {
    ready(ToolService::builder().events().sink(Arc::new(LogLines)))
}

/// An engine for one command.
pub(crate) fn for_command() -> anyhow::Result<ToolService> {
    ready(ToolService::builder())
}

fn ready(builder: Builder) -> anyhow::Result<ToolService> {
    let tools = builder.kind(MockKind).breaker(BreakerSettings::default()).cache().limits().build();
    tools.register(echo()).context("the built-in tools")?;
    Ok(tools)
}

#[derive(Deserialize, Serialize, schemars::JsonSchema)]
struct Echo {
    /// Any text.
    text: String,
}

/// The tool to try things out with.
fn echo() -> Tool {
    Tool::native(
        "echo",
        "Gives back the text it was given. Use it to see that calls get through.",
        |said: Echo| async move { Ok(said) },
    )
    .effect(Effect::Read)
    .title("Echo", "回声")
    .category("utility")
    .icon("message")
}

/// Writes one line for each call to the process's log.
struct LogLines;

impl CallSink for LogLines {
    fn write<'a>(&'a self, records: &'a [CallRecord]) -> BoxFuture<'a, Result<(), SinkError>> {
        for record in records {
            let outcome =
                record.outcome.as_ref().err().map_or("success".to_owned(), |error| error.kind().to_string());
            tracing::info!(
                call.id = %record.call_id,
                tool.name = %record.tool_name,
                call.outcome = outcome,
                call.attempts = record.attempts,
                call.duration_ms = record.duration.as_millis() as u64,
                "Called tool `{}`: {outcome}", record.tool_name
            );
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

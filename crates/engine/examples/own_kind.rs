//! Adds a tool kind from outside the engine: one type prepares, another runs.
//!
//! `cargo run -p haft-engine --example own_kind`

use std::sync::Arc;

use haft_engine::{
    Arguments, BoxFuture, BreakerSettings, CallContext, CallError, CallOptions, ConfigError, Effect, Kind,
    Message, Prepared, Tool, ToolContext, ToolOutput, ToolService, Violation,
};
use serde_json::{Map, Value, json};

/// Tools that look up a key in a table of their definition.
struct Lookup;

impl Kind for Lookup {
    fn name(&self) -> &'static str {
        "lookup"
    }

    /// Runs once per tool version. Checks and precomputes everything that does not depend on a call.
    fn prepare(&self, tool: &ToolContext<'_>) -> Result<Arc<dyn Prepared>, ConfigError> {
        match tool.config.get("table") {
            Some(Value::Object(table)) => Ok(Arc::new(Table(table.clone()))),
            _ => Err(Violation::new("table", Message::verbatim("must be an object")).into()),
        }
    }
}

struct Table(Map<String, Value>);

impl Prepared for Table {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    /// The keys are fixed, so the schema lists them and a model cannot request another.
    fn input_schema(&self) -> Option<Value> {
        let keys: Vec<&String> = self.0.keys().collect();
        Some(json!({
            "type": "object",
            "properties": {"key": {"enum": keys}},
            "required": ["key"],
            "additionalProperties": false,
        }))
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        let found = arguments.get("key").and_then(Value::as_str).and_then(|key| self.0.get(key));
        Box::pin(std::future::ready(Ok(ToolOutput::from(found.cloned().unwrap_or_default()))))
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // The new kind gets timeouts, retries, breaker, cache and limits like any other.
    let tools =
        ToolService::builder().kind(Lookup).breaker(BreakerSettings::default()).cache().limits().build();
    let capitals = json!({"table": {"France": "Paris", "Japan": "Tokyo"}});
    tools.register(Tool::new("capital", "The capital of a country.", "lookup", capitals))?;

    let result = tools.execute("capital", json!({"key": "Japan"}), CallOptions::default()).await?;
    println!("Japan: {}", result.data().cloned().unwrap_or_default());
    assert_eq!(result.data(), Some(&json!("Tokyo")));

    let result = tools.execute("capital", json!({"key": "Mars"}), CallOptions::default()).await?;
    let message = result.error().map(|error| error.message().to_string()).unwrap_or_default();
    println!("Mars: {message}");
    assert_eq!(message, "Invalid inputs: key: \"Mars\" is not one of \"France\", \"Japan\"");

    let bad = tools.register(Tool::new("broken", "No table.", "lookup", json!({})));
    println!("without a table: {}", bad.err().map(|error| error.to_string()).unwrap_or_default());
    Ok(())
}

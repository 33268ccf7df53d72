//! A kind of tool that does nothing, and an engine with all guards on.

use std::sync::Arc;

use haft_engine::{
    Arguments, BoxFuture, BreakerKey, BreakerSettings, CallContext, CallError, CallRecord, CallSink,
    ConfigError, Effect, Kind, Prepared, SinkError, Tool, ToolContext, ToolOutput, ToolService,
};
use serde_json::{Value, json};

/// Does nothing, as a plain function.
pub(crate) async fn no_op(arguments: &Value) -> anyhow::Result<Value> {
    Ok(arguments.clone())
}

/// The kind of tool that does nothing, with a circuit breaker like a tool that calls an API.
struct NoOp {
    key: BreakerKey,
}

impl Kind for NoOp {
    fn name(&self) -> &'static str {
        "no-op"
    }

    fn prepare(&self, _: &ToolContext<'_>) -> Result<Arc<dyn Prepared>, ConfigError> {
        Ok(Arc::new(Self { key: self.key.clone() }))
    }
}

impl Prepared for NoOp {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn breaker_key(&self, _: &Arguments) -> Option<BreakerKey> {
        Some(self.key.clone())
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        Box::pin(async move {
            let result = no_op(arguments.as_value()).await;
            result
                .map(ToolOutput::from)
                .map_err(|error| CallError::text(haft_engine::ErrorKind::Execution, error.to_string()))
        })
    }
}

/// A sink that discards call records, since the cost of storing them is not part of the pipeline.
pub(crate) struct DiscardingSink;

impl CallSink for DiscardingSink {
    fn write<'a>(&'a self, records: &'a [CallRecord]) -> BoxFuture<'a, Result<(), SinkError>> {
        std::hint::black_box(records);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Builds an engine with all features on, and the tools `native_0` …, `kind_0` … and `cached`.
pub(crate) fn engine(tools: usize) -> anyhow::Result<ToolService> {
    let engine = ToolService::builder()
        .kind(NoOp { key: BreakerKey::new("https://api.example") })
        .breaker(BreakerSettings::default())
        .cache()
        .limits()
        .events()
        // Enough for several rounds, since these calls are faster than any log.
        .sink_of(Arc::new(DiscardingSink), 1 << 20)
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
    let limited = |tool: Tool| {
        tool.input_schema(schema.clone())
            .effect(Effect::Read)
            .per_minute(1_000_000, 1_000_000)
            .max_concurrency(1000)
    };
    let native = |n: usize| {
        limited(Tool::native_json(
            &format!("native_{n}"),
            "Does nothing.",
            json!({}),
            |arguments, _| async move { no_op(&arguments).await },
        ))
    };
    let of_kind = |name: &str| limited(Tool::new(name, "Does nothing.", "no-op", json!({})));
    let half = tools / 2;
    let all = (0..half).map(native).chain((0..half).map(|n| of_kind(&format!("kind_{n}"))));
    engine.register_all(all.chain([of_kind("cached").cache_seconds(3600)]))?;
    Ok(engine)
}

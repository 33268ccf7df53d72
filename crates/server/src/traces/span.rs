//! A finished call as a span, with the names that OpenTelemetry's conventions for generative AI give.
//!
//! Neither arguments nor results are in it, nor any words of an error, which may quote both.

use std::sync::Arc;
use std::time::SystemTime;

use haft_core::KindName;
use haft_engine::CallRecord;
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SpanData, SpanEvents, SpanLinks};

const OPERATION: &str = "execute_tool";

/// Stands for a name that is no tool's: it is the caller's own, and there is no end of those.
const UNKNOWN: &str = "(unknown)";

/// Makes spans.
pub(super) struct SpanMaker {
    ids: RandomIdGenerator,
    scope: InstrumentationScope,
}

impl Default for SpanMaker {
    fn default() -> Self {
        let scope = InstrumentationScope::builder("haft").with_version(env!("CARGO_PKG_VERSION")).build();
        Self { ids: RandomIdGenerator::default(), scope }
    }
}

impl SpanMaker {
    /// Nothing when the caller does not keep its own trace.
    pub(super) fn span_of(&self, record: &CallRecord) -> Option<SpanData> {
        let parent = record.trace_parent;
        if parent.is_some_and(|parent| !parent.is_sampled()) {
            return None;
        }
        let trace_id = match parent {
            Some(parent) => TraceId::from_bytes(parent.trace_id()),
            None => self.ids.new_trace_id(),
        };
        let span_id = self.ids.new_span_id();
        let start_time = SystemTime::from(record.started_at);
        Some(SpanData {
            span_context: SpanContext::new(trace_id, span_id, TraceFlags::SAMPLED, false, TraceState::NONE),
            parent_span_id: parent.map_or(SpanId::INVALID, |parent| SpanId::from_bytes(parent.span_id())),
            parent_span_is_remote: parent.is_some(),
            span_kind: SpanKind::Internal,
            name: format!("{OPERATION} {}", tool_name(record)).into(),
            start_time,
            end_time: start_time.checked_add(record.duration).unwrap_or(start_time),
            attributes: attributes(record),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: match &record.outcome {
                Ok(_) => Status::Unset,
                Err(error) => Status::error(error.kind().to_string()),
            },
            instrumentation_scope: self.scope.clone(),
        })
    }
}

fn attributes(record: &CallRecord) -> Vec<KeyValue> {
    let mut attributes = vec![
        KeyValue::new("gen_ai.operation.name", OPERATION),
        KeyValue::new("gen_ai.tool.name", tool_name(record)),
        KeyValue::new("gen_ai.tool.call.id", record.call_id.to_string()),
        KeyValue::new("haft.space.id", record.space.to_string()),
        KeyValue::new("haft.source", record.source.as_str()),
        KeyValue::new("haft.attempts", i64::from(record.attempts)),
        KeyValue::new("haft.cached", record.cached),
    ];
    let mut add = |name: &'static str, value: Option<String>| {
        attributes.extend(value.map(|value| KeyValue::new(name, value)));
    };
    add("gen_ai.tool.type", record.kind.as_ref().map(|kind| tool_type(kind).to_owned()));
    add("gen_ai.agent.id", record.agent.map(|agent| agent.to_string()));
    add("gen_ai.conversation.id", record.conversation.map(|conversation| conversation.to_string()));
    add("haft.user.id", record.user.map(|user| user.to_string()));
    if let Err(error) = &record.outcome {
        attributes.push(KeyValue::new("error.type", error.kind().to_string()));
        // Which of our texts it is; the log has it in words.
        attributes.push(KeyValue::new("haft.error.id", error.message().id()));
    }
    if let Some((_, version)) = record.tool {
        attributes.push(KeyValue::new("haft.tool.version", i64::try_from(version).unwrap_or(i64::MAX)));
    }
    attributes
}

fn tool_name(record: &CallRecord) -> Arc<str> {
    if record.tool.is_some() { record.tool_name.clone() } else { UNKNOWN.into() }
}

/// The convention tells functions from extensions, which bring in somebody else's API.
fn tool_type(kind: &KindName) -> &'static str {
    match kind.as_str() {
        "http" | "mcp" => "extension",
        _ => "function",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_other_peoples_apis_are_extensions() {
        for (kind, expected) in [("http", "extension"), ("builtin", "function"), ("native", "function")] {
            assert_eq!(tool_type(&KindName::from(kind)), expected, "{kind}");
        }
    }
}

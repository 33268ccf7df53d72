//! A finished call as a span, with the names that OpenTelemetry's conventions for generative AI give.
//!
//! Neither arguments nor results are in it, nor words that quote arguments.

use std::time::SystemTime;

use haft_core::{CallError, KindName, Locale};
use haft_engine::CallRecord;
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SpanData, SpanEvents, SpanLinks};

use crate::call_log::cut;

const OPERATION: &str = "execute_tool";

/// So much is said of an error, in bytes.
const LONGEST_MESSAGE: usize = 512;

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
        // A name that is no tool's is the caller's own, and there is no end of those.
        let tool = if record.tool.is_some() { &*record.tool_name } else { "(unknown)" };
        Some(SpanData {
            span_context: SpanContext::new(trace_id, span_id, TraceFlags::SAMPLED, false, TraceState::NONE),
            parent_span_id: parent.map_or(SpanId::INVALID, |parent| SpanId::from_bytes(parent.span_id())),
            parent_span_is_remote: parent.is_some(),
            span_kind: SpanKind::Internal,
            name: format!("{OPERATION} {tool}").into(),
            start_time,
            end_time: start_time.checked_add(record.duration).unwrap_or(start_time),
            attributes: attributes(record),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: match &record.outcome {
                Ok(_) => Status::Unset,
                Err(error) => Status::error(said(error)),
            },
            instrumentation_scope: self.scope.clone(),
        })
    }
}

fn attributes(record: &CallRecord) -> Vec<KeyValue> {
    let mut attributes = vec![
        KeyValue::new("gen_ai.operation.name", OPERATION),
        KeyValue::new("gen_ai.tool.name", record.tool_name.clone()),
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
    add("error.type", record.outcome.as_ref().err().map(|error| error.kind().to_string()));
    if let Some((_, version)) = record.tool {
        attributes.push(KeyValue::new("haft.tool.version", i64::try_from(version).unwrap_or(i64::MAX)));
    }
    attributes
}

/// The convention tells functions from extensions, which bring in somebody else's API.
fn tool_type(kind: &KindName) -> &'static str {
    match kind.as_str() {
        "http" | "mcp" => "extension",
        _ => "function",
    }
}

/// What went wrong. Words about arguments quote them, so of those only the places are said.
fn said(error: &CallError) -> String {
    let places: Vec<&str> = error.violations().iter().map(|violation| violation.path.as_str()).collect();
    let words = if places.is_empty() {
        error.message().render(Locale::En)
    } else {
        format!("Invalid inputs: {}", places.join(", "))
    };
    cut(&words, LONGEST_MESSAGE).to_owned()
}

#[cfg(test)]
mod tests {
    use haft_core::{ErrorKind, Message, Violation};

    use super::*;

    #[test]
    fn an_error_is_told_without_what_the_call_was_given() {
        let quoting = |path| Violation::new(path, Message::verbatim("\"canary\" is not of type \"number\""));
        let invalid = CallError::invalid(vec![quoting("city"), quoting("files.0.url")]);
        assert_eq!(said(&invalid), "Invalid inputs: city, files.0.url");
        assert_eq!(said(&CallError::text(ErrorKind::Server, "it broke")), "it broke");
        assert_eq!(said(&CallError::text(ErrorKind::Server, "汉".repeat(1000))), "汉".repeat(170));
    }

    #[test]
    fn tools_of_other_peoples_apis_are_extensions() {
        for (kind, expected) in [("http", "extension"), ("builtin", "function"), ("native", "function")] {
            assert_eq!(tool_type(&KindName::from(kind)), expected, "{kind}");
        }
    }
}

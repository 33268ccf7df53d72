//! The `Model` trait, implemented by all sources of model responses.

use std::sync::Arc;

use haft_core::{BoxFuture, CallError, Locale, Message, ModelOptions};
use haft_egress::Limits;
use serde_json::Value;

use crate::delta::DeltaStream;
use crate::request::ModelRequest;

/// The error detail that lists the options which the provider rejected.
const DROPPED: &str = "dropped";

/// A source of model responses.
pub trait Model: Send + Sync {
    /// Sends one request. The limits apply to the whole response; dropping the stream cancels it.
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        limits: Limits,
    ) -> BoxFuture<'a, Result<ModelStream, CallError>>;

    /// The names of options that the model does not support, or not with their values.
    fn unsupported(&self, _options: &ModelOptions) -> Vec<String> {
        Vec::new()
    }

    /// Returns true if the model has no native tool calls and writes calls at the end of its text.
    fn writes_calls_as_text(&self) -> bool {
        false
    }
}

/// A model whose provider settings declare that it has no native tool calls.
pub struct TextToolCalls(pub Arc<dyn Model>);

impl Model for TextToolCalls {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        limits: Limits,
    ) -> BoxFuture<'a, Result<ModelStream, CallError>> {
        self.0.ask(request, limits)
    }

    fn unsupported(&self, options: &ModelOptions) -> Vec<String> {
        self.0.unsupported(options)
    }

    fn writes_calls_as_text(&self) -> bool {
        true
    }
}

/// A response whose stream has started.
pub struct ModelStream {
    /// Tools that were omitted from the request.
    pub left_out: Vec<OmittedTool>,
    /// The names of unsupported options that were left out. `response_format` is then part of the
    /// instructions.
    pub dropped: Vec<String>,
    pub deltas: DeltaStream,
}

/// Adds the options that a provider rejected earlier to the error of the last request.
pub(crate) fn with_dropped(error: CallError, dropped: Vec<String>) -> CallError {
    if dropped.is_empty() { error } else { error.detail(DROPPED, dropped) }
}

/// The options that a provider rejected before a request failed with this error. A retry leaves them out.
pub fn dropped_before(error: &CallError) -> Vec<String> {
    let details = error.details(Locale::En);
    let names = details.get(DROPPED).and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A tool that was omitted because the provider would reject the whole request.
#[derive(Debug, Clone, PartialEq)]
pub struct OmittedTool {
    pub name: String,
    pub why: Message,
}

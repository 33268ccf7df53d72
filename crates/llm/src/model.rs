//! The seam: whatever can be asked as a model is.

use std::sync::Arc;

use haft_core::{BoxFuture, CallError, Locale, Message, ModelOptions};
use haft_egress::Limits;
use serde_json::Value;

use crate::delta::DeltaStream;
use crate::request::ModelRequest;

/// The detail of an error that names the options that the provider had refused before.
const DROPPED: &str = "dropped";

/// Something that answers as a model does.
pub trait Model: Send + Sync {
    /// Asks once. The limits hold for the whole answer; dropping the stream ends it.
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        limits: Limits,
    ) -> BoxFuture<'a, Result<Asked, CallError>>;

    /// Options that it does not have, or not with their values, by name.
    fn unsupported(&self, _options: &ModelOptions) -> Vec<String> {
        Vec::new()
    }

    /// Whether it has no native tool calls, and writes them at the end of its text.
    fn writes_calls_as_text(&self) -> bool {
        false
    }
}

/// A model that its provider's settings mark as having no native tool calls.
pub struct TextToolCalls(pub Arc<dyn Model>);

impl Model for TextToolCalls {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        limits: Limits,
    ) -> BoxFuture<'a, Result<Asked, CallError>> {
        self.0.ask(request, limits)
    }

    fn unsupported(&self, options: &ModelOptions) -> Vec<String> {
        self.0.unsupported(options)
    }

    fn writes_calls_as_text(&self) -> bool {
        true
    }
}

/// An answer that has begun.
pub struct Asked {
    /// Tools that the model was not told of.
    pub left_out: Vec<LeftOut>,
    /// Options that the provider does not support and that were left out, by name. `response_format` is then part of
    /// the instructions.
    pub dropped: Vec<String>,
    pub deltas: DeltaStream,
}

/// Adds the options that a provider refused before to the error of the last request.
pub(crate) fn with_dropped(error: CallError, dropped: Vec<String>) -> CallError {
    if dropped.is_empty() { error } else { error.detail(DROPPED, dropped) }
}

/// The options that a provider refused before a request failed with this error. A retry leaves them out.
pub fn dropped_before(error: &CallError) -> Vec<String> {
    let details = error.details(Locale::En);
    let names = details.get(DROPPED).and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A tool that the provider would not have taken, and with it the whole request.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    pub name: String,
    pub why: Message,
}

//! Model providers over HTTP: sends one request in each provider's dialect, and parses streamed responses.
//!
//! A [`Model`] receives a request and returns [`Delta`]s, which [`ResponseBuilder`] combines into a [`ModelResponse`].
//! Agent loops, retries, budgets and the storage of keys belong to the caller; connections belong to the
//! egress guard.

mod anthropic;
mod delta;
mod dialect;
mod failure;
mod fenced;
mod format;
mod framing;
mod gemini;
mod ids;
mod masking;
mod model;
mod ollama;
mod openai;
mod options;
mod parameters;
mod reading;
mod reasoning;
mod refusal;
mod request;
mod response;
mod schema;
mod scripted;
mod sides;
mod sse;
mod thinking;
mod wire;

pub use delta::{Delta, DeltaStream, EndReason, MAX_CALLS, Usage};
pub use dialect::Dialect;
pub use model::{Model, ModelStream, OmittedTool, TextToolCalls, dropped_before};
pub use ollama::{ContextWindow, OLLAMA_WINDOW};
pub use parameters::Parameters;
pub use reasoning::{Reasoning, Seal, Thought};
pub use request::{
    CLIENT_CALL_PREFIX, Call, ContentPart, Image, ImageSource, ModelRequest, ModelTool, ModelTurn,
    NamedInstruction, SYNTHETIC_CALL_PREFIX, ToolChoice, ToolResult,
};
pub use response::{ModelResponse, ResponseBuilder};
pub use scripted::Scripted;
pub use wire::{Reach, Wire};

/// All message templates of this crate.
pub fn all_templates() -> Vec<&'static haft_core::Template> {
    [failure::TEMPLATES, schema::TEMPLATES, scripted::TEMPLATES].into_iter().flatten().copied().collect()
}

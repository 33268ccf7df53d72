//! Models on the wire: one request in each provider's own form, and its streamed answer in one.
//!
//! A [`Model`] is asked once and answers with [`Delta`]s, which [`Gathered`] folds
//! into a [`ModelAnswer`]. Loops, retries, budgets and where keys come from belong
//! to whoever asks; connections belong to the egress guard.

mod answer;
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
mod schema;
mod scripted;
mod sides;
mod sse;
mod thinking;
mod wire;

pub use answer::{Gathered, ModelAnswer};
pub use delta::{Delta, DeltaStream, EndReason, MAX_CALLS, Usage};
pub use dialect::Dialect;
pub use model::{Asked, LeftOut, Model, TextToolCalls, dropped_before};
pub use ollama::{OLLAMA_WINDOW, Window};
pub use parameters::Parameters;
pub use reasoning::{Reasoning, Seal, Thought};
pub use request::{
    Call, Image, ImageSource, ModelRequest, NamedInstruction, Part, SAID, TOLD, ToolChoice, ToolDefinition,
    ToolResult, Turn,
};
pub use scripted::Scripted;
pub use wire::{Reach, Wire};

/// Every message of this crate.
pub fn all_templates() -> Vec<&'static haft_core::Template> {
    [failure::TEMPLATES, schema::TEMPLATES, scripted::TEMPLATES].into_iter().flatten().copied().collect()
}

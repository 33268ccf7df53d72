//! A model's answer while it comes: one sequence of deltas, whoever the provider is.

use std::pin::Pin;

use futures_util::Stream;
use haft_core::CallError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::reasoning::Seal;

/// An answer as it comes. The last delta is an `End`, or there is an error and nothing after it. Whoever
/// reads on until there is nothing lets the connection serve again.
pub type DeltaStream = Pin<Box<dyn Stream<Item = Result<Delta, CallError>> + Send>>;

/// Calls of one answer; it is read no further than its next call.
pub const MAX_CALLS: usize = 128;

/// One more piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    Text(String),
    Reasoning(String),
    /// By which the provider knows the reasoning again, whole; an empty signature ends a thought that it would not
    /// know again. What is thought after it is another thought.
    ReasoningSignature(Seal),
    /// Something became known of a call. Calls count from 0, without gaps, in the order in which they came.
    Call {
        index: usize,
        id: Option<String>,
        name: Option<String>,
        signature: Option<String>,
    },
    /// More of a call's arguments, which are JSON once they are whole.
    Arguments {
        index: usize,
        fragment: String,
    },
    /// How likely the next tokens were, as OpenAI tells it.
    Logprobs(Vec<Value>),
    /// All that was used so far; a later one replaces it.
    Usage(Usage),
    End(EndReason),
}

/// What an answer cost, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// All of the input, with what was cached.
    pub input: u64,
    /// All of the output, with the reasoning.
    pub output: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Adds what something else cost.
    pub fn add(&mut self, more: Self) {
        let sum = |sum: Option<u64>, more: Option<u64>| match (sum, more) {
            (None, None) => None,
            (sum, more) => Some(sum.unwrap_or_default() + more.unwrap_or_default()),
        };
        self.input += more.input;
        self.output += more.output;
        self.cached = sum(self.cached, more.cached);
        self.reasoning = sum(self.reasoning, more.reasoning);
    }
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    Stop,
    ToolCalls,
    /// At the most tokens it may write.
    Length,
    /// A content filter of the provider stopped the input or the output.
    Filtered,
    /// The model refused, and its provider marks the text as a refusal.
    Refused,
    /// It called, or meant to, in a way that its provider could not read or did not allow, and nothing came of
    /// it: whoever tells it so may ask again.
    Malformed,
    Other,
}

//! Deltas of a streamed response, in one form for all providers.

use std::pin::Pin;

use futures_util::Stream;
use haft_core::CallError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::reasoning::Seal;

/// The deltas of a response. The last item is an `End` or an error. Reading to the end of the stream returns
/// the connection to the pool.
pub type DeltaStream = Pin<Box<dyn Stream<Item = Result<Delta, CallError>> + Send>>;

/// Maximum number of calls in a response; reading stops at the next one.
pub const MAX_CALLS: usize = 128;

/// A part of a streamed response.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    Text(String),
    Reasoning(String),
    /// The seal by which the provider verifies the previous reasoning. An empty signature ends a thought
    /// without a seal. Further reasoning belongs to a new thought.
    ReasoningSignature(Seal),
    /// New data about a call. Indexes count from 0 without gaps, in the order of arrival.
    Call {
        index: usize,
        id: Option<String>,
        name: Option<String>,
        signature: Option<String>,
    },
    /// A fragment of a call's arguments, which form a JSON text.
    Arguments {
        index: usize,
        fragment: String,
    },
    /// Log probabilities of the next tokens, in OpenAI's form.
    Logprobs(Vec<Value>),
    /// Cumulative usage; replaces earlier values.
    Usage(Usage),
    End(EndReason),
}

/// Tokens used by a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Input tokens, including cached ones.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Adds the usage of another response.
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

/// The reason why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    Stop,
    ToolCalls,
    /// The token limit was reached.
    Length,
    /// A content filter of the provider stopped the input or the output.
    Filtered,
    /// The model refused, and the provider marks the text as a refusal.
    Refused,
    /// The provider rejected or could not parse a tool call. The caller may report that to the model and ask
    /// it to retry.
    Malformed,
    Other,
}

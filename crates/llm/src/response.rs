//! Builds a complete response from deltas, and corrects inconsistencies of providers.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::delta::{Delta, EndReason, MAX_CALLS, Usage};
use crate::fenced;
use crate::reasoning::{Reasoning, Seal, Thought};
use crate::request::{Call, ModelRequest, ModelTurn, ToolChoice};

/// A model's complete response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelResponse {
    pub text: String,
    pub reasoning: Option<Reasoning>,
    pub calls: Vec<Call>,
    /// The log probability of each token of the text, if requested and if the text is unmodified.
    pub logprobs: Vec<Value>,
    /// `None` if the provider did not report it.
    pub usage: Option<Usage>,
    pub end: EndReason,
}

impl ModelResponse {
    /// Converts the response to a turn of the conversation.
    pub fn into_turn(self) -> ModelTurn {
        ModelTurn::assistant(self.text, self.reasoning, self.calls)
    }
}

/// A response under construction.
#[derive(Debug, Clone)]
pub struct ResponseBuilder {
    /// Number of responses before this one in the conversation; makes generated ids unique.
    previous_responses: usize,
    offered: HashSet<String>,
    /// True if calls at the end of the text count as tool calls.
    reads_text_calls: bool,
    text: String,
    thoughts: Vec<Thought>,
    /// The last thought ended without a seal.
    is_thought_over: bool,
    calls: Vec<Call>,
    logprobs: Vec<Value>,
    usage: Option<Usage>,
    end: Option<EndReason>,
}

/// Prefix of ids that Haft generates for calls without a provider id. They are not sent to the provider.
const MADE_UP: &str = "haft_";

/// Returns true if Haft generated the id: a placeholder, or the UUID of an executed call.
pub(crate) fn is_made_up(id: &str) -> bool {
    let is_uuid = id.len() == 36 && [8, 13, 18, 23].iter().all(|at| id.as_bytes().get(*at) == Some(&b'-'));
    is_uuid || is_placeholder(id)
}

/// Returns true if an id is a placeholder for one that the provider did not supply.
pub(crate) fn is_placeholder(id: &str) -> bool {
    id.starts_with(MADE_UP)
}

impl ResponseBuilder {
    /// The empty response to a request.
    pub fn of(request: &ModelRequest) -> Self {
        let offered = match request.tool_choice {
            ToolChoice::None => HashSet::new(),
            ToolChoice::Auto | ToolChoice::Required | ToolChoice::Tool(_) => {
                request.tools.iter().map(|tool| tool.name.clone()).collect()
            }
        };
        Self {
            previous_responses: request.previous_responses(),
            offered,
            reads_text_calls: request.reads_text_calls(),
            text: String::new(),
            thoughts: Vec::new(),
            is_thought_over: false,
            calls: Vec::new(),
            logprobs: Vec::new(),
            usage: None,
            end: None,
        }
    }

    /// The text received so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn add(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(text) => self.text.push_str(text),
            Delta::Reasoning(text) => self.open_thought().text.push_str(text),
            Delta::ReasoningSignature(Seal::Signature(signature)) if signature.is_empty() => {
                self.is_thought_over = true;
            }
            Delta::ReasoningSignature(seal @ Seal::Signature(_)) => {
                self.open_thought().seal = Some(seal.clone());
            }
            Delta::ReasoningSignature(seal @ Seal::Redacted(_)) => {
                self.new_thought().seal = Some(seal.clone());
            }
            Delta::Call { index, id, name, signature } => self.add_call(*index, id, name, signature),
            Delta::Arguments { index, fragment } => {
                if let Some(call) = self.call(*index) {
                    call.arguments.push_str(fragment);
                }
            }
            Delta::Logprobs(logprobs) => self.logprobs.extend(logprobs.iter().cloned()),
            Delta::Usage(usage) => self.usage = Some(*usage),
            Delta::End(reason) => self.end = Some(*reason),
        }
    }

    /// The thought that receives the next delta.
    fn open_thought(&mut self) -> &mut Thought {
        let has_seal = self.thoughts.last().is_none_or(|thought| thought.seal.is_some());
        let is_open = !has_seal && !self.is_thought_over;
        let last = self.thoughts.len().saturating_sub(1);
        if is_open { &mut self.thoughts[last] } else { self.new_thought() }
    }

    fn new_thought(&mut self) -> &mut Thought {
        let (after_words, after_calls) = (self.text.len(), self.calls.len());
        self.is_thought_over = false;
        let place = self.thoughts.len();
        self.thoughts.push(Thought { after_words, after_calls, ..Thought::default() });
        &mut self.thoughts[place]
    }

    fn add_call(
        &mut self,
        index: usize,
        id: &Option<String>,
        name: &Option<String>,
        signature: &Option<String>,
    ) {
        let known = self.call(index).map(|call| call.name.clone()).unwrap_or_default();
        let is_complete = self.offered.contains(&known);
        let Some(call) = self.call(index) else { return };
        if let Some(id) = id.as_ref().filter(|id| !id.is_empty() && call.id.is_empty()) {
            call.id.clone_from(id);
        }
        if let Some(signature) = signature {
            call.signature = Some(signature.clone());
        }
        // Some servers repeat the whole name in every delta, others send it in pieces.
        if let Some(name) = name.as_ref().filter(|name| !is_complete && **name != call.name) {
            call.name.push_str(name);
        }
    }

    /// The call with this index. Returns `None` beyond [`MAX_CALLS`], and for an index that skips others.
    fn call(&mut self, index: usize) -> Option<&mut Call> {
        if index == self.calls.len() && index < MAX_CALLS {
            self.calls.push(Call::default());
        }
        self.calls.get_mut(index)
    }

    /// Completes the response.
    pub fn finish(mut self) -> ModelResponse {
        let offered: Vec<&str> = self.offered.iter().map(String::as_str).collect();
        let is_written = self.reads_text_calls && self.calls.is_empty() && !offered.is_empty();
        if let Some(written) = is_written.then(|| fenced::calls(&self.text, &offered)).flatten() {
            self.text = written.text;
            self.calls = written.calls;
            self.logprobs.clear();
        }
        self.calls.retain(|call| !(call.name.is_empty() && call.arguments.is_empty()));
        for (number, call) in self.calls.iter_mut().enumerate() {
            if call.id.is_empty() {
                call.id = format!("{MADE_UP}{}_{number}", self.previous_responses);
            }
            if call.arguments.trim().is_empty() {
                call.arguments = "{}".to_owned();
            }
        }
        // Some providers report `stop` although the model made calls, or the reverse.
        let end = match (self.end.unwrap_or(EndReason::Other), self.calls.is_empty()) {
            // If one of several calls is malformed, the others still count.
            (EndReason::Stop | EndReason::Other | EndReason::Malformed, false) => EndReason::ToolCalls,
            (EndReason::ToolCalls, true) => EndReason::Stop,
            (end, _) => end,
        };
        let (text, calls, logprobs, usage) = (self.text, self.calls, self.logprobs, self.usage);
        ModelResponse { text, reasoning: Reasoning::of(self.thoughts), calls, logprobs, usage, end }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::request::ModelTool;

    #[test]
    fn log_probabilities_of_a_call_written_as_text_are_dropped() {
        let tool = ModelTool {
            name: "look".to_owned(),
            description: String::new(),
            parameters: json!({}).into(),
            strict: None,
        };
        let turns = vec![ModelTurn::user("Look.")];
        let mut request = ModelRequest { tools: vec![Arc::new(tool)], ..ModelRequest::new("m", turns) };
        for (text_tool_calls, expected) in [(true, (1, 0)), (false, (0, 1))] {
            request.text_tool_calls = text_tool_calls;
            let mut gathered = ResponseBuilder::of(&request);
            gathered.add(&Delta::Text(r#"{"name": "look", "arguments": {}}"#.to_owned()));
            gathered.add(&Delta::Logprobs(vec![json!({"token": "{", "logprob": -0.5})]));
            let answer = gathered.finish();
            assert_eq!((answer.calls.len(), answer.logprobs.len()), expected);
        }
    }
}

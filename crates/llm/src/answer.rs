//! Deltas folded into a whole answer, with whatever providers leave out put right.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::delta::{Delta, EndReason, MAX_CALLS, Usage};
use crate::fenced;
use crate::reasoning::{Reasoning, Seal, Thought};
use crate::request::{Call, ModelRequest, ToolChoice, Turn};

/// A model's whole answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelAnswer {
    pub text: String,
    pub reasoning: Option<Reasoning>,
    pub calls: Vec<Call>,
    /// The log probability of each token of the text, if they were requested and the text is as the model wrote it.
    pub logprobs: Vec<Value>,
    /// Nothing where the provider did not say.
    pub usage: Option<Usage>,
    pub end: EndReason,
}

impl ModelAnswer {
    /// The answer as a turn of the conversation.
    pub fn into_turn(self) -> Turn {
        Turn::assistant(self.text, self.reasoning, self.calls)
    }
}

/// An answer that is still coming.
#[derive(Debug, Clone)]
pub struct Gathered {
    /// How many answers came before: no id that is made up may come twice in a conversation.
    answers_before: usize,
    offered: HashSet<String>,
    /// Whether calls that the text ends with are calls.
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

/// How ids begin that a provider did not give. It is not told them, either.
const MADE_UP: &str = "haft_";

/// Whether an id was made up here, or by whoever carries calls out, who gives them UUIDs.
pub(crate) fn is_made_up(id: &str) -> bool {
    let is_uuid = id.len() == 36 && [8, 13, 18, 23].iter().all(|at| id.as_bytes().get(*at) == Some(&b'-'));
    is_uuid || is_placeholder(id)
}

/// Whether an id stands for one that a provider did not give.
pub(crate) fn is_placeholder(id: &str) -> bool {
    id.starts_with(MADE_UP)
}

impl Gathered {
    /// The answer to a request, of which nothing has come yet.
    pub fn of(request: &ModelRequest) -> Self {
        let offered = match request.tool_choice {
            ToolChoice::None => HashSet::new(),
            ToolChoice::Auto | ToolChoice::Required | ToolChoice::Tool(_) => {
                request.tools.iter().map(|tool| tool.name.clone()).collect()
            }
        };
        Self {
            answers_before: request.answers_before(),
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

    /// What has come of the text.
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

    /// The thought that is being thought.
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
        // A name may come again with every piece, or in pieces itself.
        if let Some(name) = name.as_ref().filter(|name| !is_complete && **name != call.name) {
            call.name.push_str(name);
        }
    }

    /// The call of this number. Returns `None` beyond [`MAX_CALLS`], and for a number that skips others.
    fn call(&mut self, index: usize) -> Option<&mut Call> {
        if index == self.calls.len() && index < MAX_CALLS {
            self.calls.push(Call::default());
        }
        self.calls.get_mut(index)
    }

    /// The answer, when nothing more comes.
    pub fn finish(mut self) -> ModelAnswer {
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
                call.id = format!("{MADE_UP}{}_{number}", self.answers_before);
            }
            if call.arguments.trim().is_empty() {
                call.arguments = "{}".to_owned();
            }
        }
        // Some say that they stopped and mean that they called, or the other way round.
        let end = match (self.end.unwrap_or(EndReason::Other), self.calls.is_empty()) {
            // Of several calls one may be broken; the others are made.
            (EndReason::Stop | EndReason::Other | EndReason::Malformed, false) => EndReason::ToolCalls,
            (EndReason::ToolCalls, true) => EndReason::Stop,
            (end, _) => end,
        };
        let (text, calls, logprobs, usage) = (self.text, self.calls, self.logprobs, self.usage);
        ModelAnswer { text, reasoning: Reasoning::of(self.thoughts), calls, logprobs, usage, end }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::request::ToolDefinition;

    #[test]
    fn log_probabilities_of_a_call_that_was_written_as_text_are_dropped() {
        let tool = ToolDefinition {
            name: "look".to_owned(),
            description: String::new(),
            parameters: json!({}).into(),
            strict: None,
        };
        let turns = vec![Turn::user("Look.")];
        let mut request = ModelRequest { tools: vec![Arc::new(tool)], ..ModelRequest::new("m", turns) };
        for (text_tool_calls, expected) in [(true, (1, 0)), (false, (0, 1))] {
            request.text_tool_calls = text_tool_calls;
            let mut gathered = Gathered::of(&request);
            gathered.add(&Delta::Text(r#"{"name": "look", "arguments": {}}"#.to_owned()));
            gathered.add(&Delta::Logprobs(vec![json!({"token": "{", "logprob": -0.5})]));
            let answer = gathered.finish();
            assert_eq!((answer.calls.len(), answer.logprobs.len()), expected);
        }
    }
}

//! A turn as `chat.completion.chunk`s.

use haft_agent::Turn;
use haft_core::CallError;
use serde_json::{Value, json};

use super::answer::{ClientCall, Head, client_calls, finish_reason, logprobs, usage};
use crate::routes::v1::course::Heard;
use crate::routes::v1::error::Failed;
use crate::routes::v1::stream::Telling;
use crate::routes::v1::warn;
use crate::routes::v1::words::{Said, Words};

/// Between the words of two steps.
const APART: &str = "\n\n";

/// An answer on its way.
pub(super) struct Chunks {
    head: Head,
    has_usage: bool,
    words: Words,
    /// The step whose words were sent last.
    step: Option<u32>,
}

impl Chunks {
    pub(super) fn new(head: Head, has_usage: bool) -> Self {
        Self { head, has_usage, words: Words::default(), step: None }
    }

    fn delta(&self, delta: &Value, out: &mut String) {
        line(&self.head.chunk(delta, None), out);
    }

    fn call(&self, index: usize, call: &ClientCall, out: &mut String) {
        let function = json!({"name": call.name, "arguments": ""});
        let named = json!({"index": index, "id": call.at.id(), "type": "function", "function": function});
        self.delta(&json!({"tool_calls": [named]}), out);
        let arguments = json!({"index": index, "function": {"arguments": call.arguments}});
        self.delta(&json!({"tool_calls": [arguments]}), out);
    }
}

impl Telling for Chunks {
    fn begin(&mut self, out: &mut String) {
        self.delta(&json!({"role": "assistant", "content": ""}), out);
    }

    fn hear(&mut self, heard: &Heard, out: &mut String) -> Result<(), CallError> {
        let Some(event) = heard else {
            self.words.again();
            return Ok(());
        };
        match self.words.hear(event)? {
            Some(Said::Text { step, text }) => {
                let is_another = self.step.replace(step).is_some_and(|last| last != step);
                let text = if is_another { format!("{APART}{text}") } else { text };
                self.delta(&json!({"content": text}), out);
            }
            Some(Said::Thought { text, .. }) => self.delta(&json!({"reasoning_content": text}), out),
            None => {}
        }
        Ok(())
    }

    fn end(&mut self, turn: &Turn, out: &mut String) {
        for (index, call) in client_calls(self.head.run, turn).iter().enumerate() {
            self.call(index, call, out);
        }
        if let Some(refusal) = turn.refusal() {
            self.delta(&json!({"refusal": refusal}), out);
        }
        let logprobs = logprobs(turn);
        if !logprobs.is_null() {
            line(&self.head.logprobs(logprobs), out);
        }
        let mut last = self.head.chunk(&json!({}), Some(finish_reason(turn)));
        warn(&mut last, turn);
        line(&last, out);
        if self.has_usage {
            let mut chunk = self.head.part(json!([]));
            chunk["usage"] = usage(turn);
            line(&chunk, out);
        }
        out.push_str("data: [DONE]\n\n");
    }

    fn fail(&mut self, failed: &Failed, out: &mut String) {
        line(&failed.body(), out);
        out.push_str("data: [DONE]\n\n");
    }
}

/// JSON has no line breaks of its own, so it is one line of data.
fn line(data: &Value, out: &mut String) {
    out.push_str("data: ");
    out.push_str(&data.to_string());
    out.push_str("\n\n");
}

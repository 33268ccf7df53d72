//! Reads the events of a message, or a whole message from a server that does not stream.

use serde_json::Value;

use crate::delta::{Delta, EndReason, MAX_CALLS, Usage};
use crate::dialect::Reader;
use crate::reasoning::Seal;

/// A partially received message.
#[derive(Default)]
pub(crate) struct Message {
    /// Indexes of the tool-call blocks, among all blocks.
    calls: Vec<u64>,
    /// The signature of the current thought.
    signature: String,
    usage: Usage,
    end: Option<EndReason>,
    is_complete: bool,
}

impl Reader for Message {
    fn read(&mut self, event: &Value, deltas: &mut Vec<Delta>) {
        let part = |name: &str| event.get(name).unwrap_or(&Value::Null);
        let block = part("index").as_u64().unwrap_or_default();
        let kind = part("type").as_str().unwrap_or_default();
        // Any other event ends a thought; not all servers send an explicit end.
        if !matches!(kind, "content_block_delta" | "ping") {
            self.seal(deltas);
        }
        match kind {
            "message_start" => self.count(part("message").get("usage"), deltas),
            "content_block_start" => self.begin(block, part("content_block"), deltas),
            "content_block_delta" => self.continue_block(block, part("delta"), deltas),
            "message_delta" => {
                self.stop(part("delta"));
                self.count(event.get("usage"), deltas);
            }
            "message_stop" => self.is_complete = true,
            "message" => {
                let blocks = part("content").as_array().into_iter().flatten();
                for (number, block) in blocks.enumerate() {
                    self.begin(number as u64, block, deltas);
                    self.seal(deltas);
                }
                self.count(event.get("usage"), deltas);
                self.stop(event);
                self.is_complete = true;
            }
            // Pings, ends of blocks, and unknown events.
            _ => {}
        }
    }

    fn end(&self) -> Option<EndReason> {
        self.end
    }

    fn is_complete(&self) -> bool {
        self.is_complete
    }
}

impl Message {
    fn begin(&mut self, number: u64, block: &Value, deltas: &mut Vec<Delta>) {
        let text = |name: &str| block.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        match text("type") {
            Some("text") => deltas.extend(text("text").map(|text| Delta::Text(text.to_owned()))),
            Some("thinking") => {
                deltas.extend(text("thinking").map(|text| Delta::Reasoning(text.to_owned())));
                self.signature = text("signature").unwrap_or_default().to_owned();
            }
            Some("redacted_thinking") => {
                let data = text("data").map(|data| Seal::Redacted(data.to_owned()));
                deltas.extend(data.map(Delta::ReasoningSignature));
            }
            // The response ends at the first call beyond the limit.
            Some("tool_use") if self.calls.len() <= MAX_CALLS => {
                let index = self.calls.len();
                self.calls.push(number);
                let [id, name] = ["id", "name"].map(|name| text(name).map(str::to_owned));
                deltas.push(Delta::Call { index, id, name, signature: None });
                // The input is complete here if the server does not stream it in pieces.
                let input = block.get("input").and_then(Value::as_object).filter(|input| !input.is_empty());
                if let Some(fragment) = input.and_then(|input| serde_json::to_string(input).ok()) {
                    deltas.push(Delta::Arguments { index, fragment });
                }
            }
            Some(_) | None => {}
        }
    }

    fn continue_block(&mut self, number: u64, delta: &Value, deltas: &mut Vec<Delta>) {
        let text = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let more = match delta.get("type").and_then(Value::as_str) {
            Some("text_delta") => Delta::Text(text("text")),
            Some("thinking_delta") => Delta::Reasoning(text("thinking")),
            Some("signature_delta") => return self.signature.push_str(&text("signature")),
            Some("input_json_delta") => {
                let Some(index) = self.calls.iter().position(|call| *call == number) else { return };
                Delta::Arguments { index, fragment: text("partial_json") }
            }
            Some(_) | None => return,
        };
        let is_empty = match &more {
            Delta::Text(text) | Delta::Reasoning(text) => text.is_empty(),
            Delta::Arguments { fragment, .. } => fragment.is_empty(),
            Delta::ReasoningSignature(_)
            | Delta::Call { .. }
            | Delta::Logprobs(_)
            | Delta::Usage(_)
            | Delta::End(_) => false,
        };
        if !is_empty {
            deltas.push(more);
        }
    }

    /// Ends the current thought with its signature, if it has one.
    fn seal(&mut self, deltas: &mut Vec<Delta>) {
        let signature = std::mem::take(&mut self.signature);
        if !signature.is_empty() {
            deltas.push(Delta::ReasoningSignature(Seal::Signature(signature)));
        }
    }

    fn stop(&mut self, holder: &Value) {
        let Some(reason) = holder.get("stop_reason").and_then(Value::as_str) else { return };
        self.end = Some(match reason {
            "end_turn" | "stop_sequence" => EndReason::Stop,
            "tool_use" => EndReason::ToolCalls,
            "max_tokens" | "model_context_window_exceeded" => EndReason::Length,
            "refusal" => EndReason::Filtered,
            _ => EndReason::Other,
        });
    }

    /// Counts are cumulative; missing fields keep their values.
    fn count(&mut self, usage: Option<&Value>, deltas: &mut Vec<Delta>) {
        let Some(usage) = usage.filter(|usage| usage.is_object()) else { return };
        let number = |name: &str| usage.get(name).and_then(Value::as_u64);
        let cached = number("cache_read_input_tokens");
        if let Some(fresh) = number("input_tokens") {
            let written = number("cache_creation_input_tokens").unwrap_or_default();
            self.usage.input = fresh + written + cached.unwrap_or_default();
            self.usage.cached = cached;
        }
        self.usage.output = number("output_tokens").unwrap_or(self.usage.output);
        deltas.push(Delta::Usage(self.usage));
    }
}

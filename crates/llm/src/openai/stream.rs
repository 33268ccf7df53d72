//! Reads the chunks of a chat completion, or a whole one from a server that does not stream.

use serde_json::Value;

use crate::delta::{Delta, EndReason, MAX_CALLS, Usage};
use crate::dialect::Reader;

/// Partially received chunks.
#[derive(Default)]
pub(crate) struct Chunks {
    calls: Vec<CallIdentity>,
    has_refused: bool,
    end: Option<EndReason>,
}

/// The identity of a call in the server's chunks.
struct CallIdentity {
    index: Option<u64>,
    id: Option<String>,
    is_named: bool,
}

impl Reader for Chunks {
    fn read(&mut self, chunk: &Value, deltas: &mut Vec<Delta>) {
        if let Some(choice) = chunk.get("choices").and_then(|choices| choices.get(0)) {
            // A response that is not streamed has `message` instead of `delta`.
            for part in ["delta", "message"].into_iter().filter_map(|name| choice.get(name)) {
                self.read_part(part, deltas);
            }
            let logprobs = choice.get("logprobs").and_then(|logprobs| logprobs.get("content")?.as_array());
            if let Some(logprobs) = logprobs.filter(|logprobs| !logprobs.is_empty()) {
                deltas.push(Delta::Logprobs(logprobs.clone()));
            }
            if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
                let is_refusal = self.has_refused && reason == "stop";
                self.end = Some(if is_refusal { EndReason::Refused } else { end(reason) });
            }
        }
        // Usage comes with every chunk, with the last choice, or after it, depending on the server.
        if let Some(usage) = chunk.get("usage").and_then(usage) {
            deltas.push(Delta::Usage(usage));
        }
    }

    fn end(&self) -> Option<EndReason> {
        self.end
    }
}

impl Chunks {
    fn read_part(&mut self, part: &Value, deltas: &mut Vec<Delta>) {
        let text = |name: &str| part.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some(thought) = text("reasoning_content").or_else(|| text("reasoning")) {
            deltas.push(Delta::Reasoning(thought.to_owned()));
        }
        // Some models refuse in a separate field.
        self.has_refused |= text("refusal").is_some();
        for content in [text("content"), text("refusal")].into_iter().flatten() {
            deltas.push(Delta::Text(content.to_owned()));
        }
        let calls = part.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            // The response ends at the first call beyond the limit.
            if self.calls.len() > MAX_CALLS {
                return;
            }
            self.read_call(call, deltas);
        }
    }

    fn read_call(&mut self, call: &Value, deltas: &mut Vec<Delta>) {
        let text = |holder: &Value, name: &str| -> Option<String> {
            holder.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let function = call.get("function").unwrap_or(&Value::Null);
        let (id, name) = (text(call, "id"), text(function, "name"));
        let (index, is_new) =
            self.find_or_add(call.get("index").and_then(Value::as_u64), id.as_deref(), name.is_some());
        if is_new || id.is_some() || name.is_some() {
            deltas.push(Delta::Call { index, id, name, signature: None });
        }
        let fragment = match function.get("arguments") {
            Some(Value::String(fragment)) => fragment.clone(),
            // Some servers send the arguments as an object instead of a text.
            Some(whole @ Value::Object(_)) => whole.to_string(),
            Some(_) | None => return,
        };
        if !fragment.is_empty() {
            deltas.push(Delta::Arguments { index, fragment });
        }
    }

    /// The index of the call that a chunk belongs to, and whether the chunk is its first. The server's
    /// indexes may be missing, start anywhere, or all be 0; ids may be missing, or differ in every chunk. At
    /// most [`MAX_CALLS`] calls are searched.
    fn find_or_add(&mut self, index: Option<u64>, id: Option<&str>, is_named: bool) -> (usize, bool) {
        let found = self.calls.iter().rposition(|call| {
            let is_other_id = id.is_some_and(|id| call.id.as_deref().is_some_and(|known| known != id));
            let begins_another =
                is_named && call.is_named && (is_other_id || (index.is_none() && id.is_none()));
            let is_same = match (index, id) {
                (Some(_), _) => call.index == index,
                (None, Some(_)) => !is_other_id,
                (None, None) => true,
            };
            is_same && !begins_another
        });
        if let Some(number) = found
            && let Some(call) = self.calls.get_mut(number)
        {
            call.is_named |= is_named;
            call.id = call.id.take().or_else(|| id.map(str::to_owned));
            return (number, false);
        }
        self.calls.push(CallIdentity { index, id: id.map(str::to_owned), is_named });
        (self.calls.len() - 1, true)
    }
}

fn end(reason: &str) -> EndReason {
    match reason {
        "stop" => EndReason::Stop,
        "tool_calls" | "function_call" => EndReason::ToolCalls,
        "length" => EndReason::Length,
        "content_filter" => EndReason::Filtered,
        _ => EndReason::Other,
    }
}

fn usage(usage: &Value) -> Option<Usage> {
    let detail = |of: &str, name: &str| usage.get(of)?.get(name)?.as_u64();
    Some(Usage {
        input: usage.get("prompt_tokens")?.as_u64()?,
        output: usage.get("completion_tokens").and_then(Value::as_u64).unwrap_or_default(),
        cached: detail("prompt_tokens_details", "cached_tokens"),
        reasoning: detail("completion_tokens_details", "reasoning_tokens"),
    })
}

//! Reads the chunks of generated content. Each has the form of a complete response.

use serde_json::Value;

use crate::delta::{Delta, EndReason, MAX_CALLS, Usage};
use crate::dialect::Reader;

/// Partially received content.
#[derive(Default)]
pub(crate) struct Candidates {
    calls: usize,
    end: Option<EndReason>,
}

impl Reader for Candidates {
    fn read(&mut self, event: &Value, deltas: &mut Vec<Delta>) {
        // Without server-sent events, the response is a list of chunks.
        if let Value::Array(pieces) = event {
            pieces.iter().for_each(|piece| self.read_piece(piece, deltas));
        } else {
            self.read_piece(event, deltas);
        }
    }

    fn end(&self) -> Option<EndReason> {
        self.end
    }
}

impl Candidates {
    fn read_piece(&mut self, piece: &Value, deltas: &mut Vec<Delta>) {
        let candidate = piece.get("candidates").and_then(|candidates| candidates.get(0));
        let parts = candidate.and_then(|candidate| candidate.get("content")?.get("parts")?.as_array());
        for part in parts.into_iter().flatten() {
            self.read_part(part, deltas);
        }
        if let Some(reason) = candidate.and_then(|candidate| candidate.get("finishReason")?.as_str()) {
            self.end = Some(end(reason));
        }
        if piece.get("promptFeedback").is_some_and(|feedback| feedback.get("blockReason").is_some()) {
            self.end = Some(EndReason::Filtered);
        }
        if let Some(usage) = piece.get("usageMetadata") {
            deltas.push(Delta::Usage(count(usage)));
        }
    }

    fn read_part(&mut self, part: &Value, deltas: &mut Vec<Delta>) {
        if let Some(text) = part.get("text").and_then(Value::as_str).filter(|text| !text.is_empty()) {
            let is_thought = part.get("thought").and_then(Value::as_bool).unwrap_or_default();
            deltas.push(if is_thought {
                Delta::Reasoning(text.to_owned())
            } else {
                Delta::Text(text.to_owned())
            });
        }
        // The response ends at the first call beyond the limit.
        let Some(call) = part.get("functionCall").filter(|_| self.calls <= MAX_CALLS) else { return };
        let index = self.calls;
        self.calls += 1;
        let text = |holder: &Value, name: &str| holder.get(name).and_then(Value::as_str).map(str::to_owned);
        let (id, name) = (text(call, "id"), text(call, "name"));
        deltas.push(Delta::Call { index, id, name, signature: text(part, "thoughtSignature") });
        if let Some(arguments) = call.get("args").filter(|arguments| arguments.is_object()) {
            deltas.push(Delta::Arguments { index, fragment: arguments.to_string() });
        }
    }
}

fn end(reason: &str) -> EndReason {
    match reason {
        "STOP" => EndReason::Stop,
        "MAX_TOKENS" => EndReason::Length,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => EndReason::Filtered,
        "MALFORMED_FUNCTION_CALL" | "MALFORMED_RESPONSE" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" => {
            EndReason::Malformed
        }
        _ => EndReason::Other,
    }
}

fn count(usage: &Value) -> Usage {
    let number = |name: &str| usage.get(name).and_then(Value::as_u64);
    let reasoning = number("thoughtsTokenCount");
    let of_tools = number("toolUsePromptTokenCount").unwrap_or_default();
    Usage {
        input: number("promptTokenCount").unwrap_or_default() + of_tools,
        output: number("candidatesTokenCount").unwrap_or_default() + reasoning.unwrap_or_default(),
        cached: number("cachedContentTokenCount"),
        reasoning,
    }
}

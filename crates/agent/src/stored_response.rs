//! A response of a model, as the journal stores it.

use haft_llm::{Call, EndReason, Reasoning, Usage};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A response of the model, as the journal stores it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredResponse {
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The estimated number of tokens, if the provider reported none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guessed: Option<u64>,
    pub end: EndReason,
    /// `provider/model`.
    pub model: String,
    pub at: Timestamp,
    pub ms: u64,
    /// The log probabilities of the tokens, if requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logprobs: Vec<Value>,
    /// The result of the check against the response format. `None` if no format was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<FormatCheck>,
    /// Options that the provider does not support, and that the request left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
    /// Warnings for the user, such as tools that were not offered to the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The result of the check of a final response against the requested format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FormatCheck {
    Fits,
    /// It has calls, and its text is not the final response.
    BesideCalls,
    /// It is incomplete.
    Cut,
    /// There is no response in this format. Contains the refusal that replaces it.
    Refused(String),
}

impl StoredResponse {
    /// Returns the refusal that replaces a response in the requested format.
    pub fn refusal(&self) -> Option<&str> {
        match &self.format {
            Some(FormatCheck::Refused(refusal)) => Some(refusal),
            Some(FormatCheck::Fits | FormatCheck::BesideCalls | FormatCheck::Cut) | None => None,
        }
    }

    /// Returns the text for the user. Under a response format, this is empty unless the text has the format.
    pub fn user_text(&self) -> &str {
        match &self.format {
            Some(FormatCheck::BesideCalls | FormatCheck::Refused(_)) => "",
            Some(FormatCheck::Fits | FormatCheck::Cut) | None => &self.text,
        }
    }

    /// Returns its calls for a request to a model, `provider/model`. Ids and signatures of the provider go back to the model
    /// that made the calls, and to no other: behind one provider may be models that take different ids.
    pub(crate) fn calls_for(&self, model: &str) -> Vec<Call> {
        let mut calls = self.calls.clone();
        if self.model != model {
            calls.iter_mut().for_each(|call| (call.provider_id, call.signature) = (None, None));
        }
        calls
    }

    /// Adds the cost and the warnings of an earlier response that this one replaces.
    pub(crate) fn replacing(self, before: Self) -> Self {
        let usage = match (before.usage, self.usage) {
            (Some(before), Some(mut usage)) => {
                usage.add(before);
                Some(usage)
            }
            (before, usage) => usage.or(before),
        };
        let guessed = match (before.guessed, self.guessed) {
            (None, None) => None,
            (before, guessed) => Some(before.unwrap_or_default() + guessed.unwrap_or_default()),
        };
        let mut warnings = before.warnings;
        warnings.extend(self.warnings);
        warnings.dedup();
        Self { calls: Vec::new(), usage, guessed, at: before.at, ms: before.ms + self.ms, warnings, ..self }
    }

    pub(crate) fn tokens(&self) -> u64 {
        self.usage.map(|usage| usage.input + usage.output).or(self.guessed).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_of_the_provider_go_back_to_the_model_that_made_the_calls_alone() {
        let call = json!({
            "id": "1", "name": "look", "arguments": "{}", "provider_id": "functions.look:0", "signature": "s",
        });
        let answer = json!({
            "text": "", "calls": [call], "end": "tool_calls", "model": "router/moonshotai/kimi-k2",
            "at": Timestamp::UNIX_EPOCH, "ms": 1,
        });
        let answer: StoredResponse = serde_json::from_value(answer).expect("an answer");
        for (model, is_own) in [
            ("router/moonshotai/kimi-k2", true),
            ("router/mistralai/mistral-large", false),
            ("other/moonshotai/kimi-k2", false),
            ("router", false),
        ] {
            let calls = answer.calls_for(model);
            let sent = (calls[0].provider_id.as_deref(), calls[0].signature.as_deref());
            let expected = if is_own { (Some("functions.look:0"), Some("s")) } else { (None, None) };
            assert_eq!(sent, expected, "{model}");
        }
    }
}

//! Reasoning of a model: as one text for readers, and as separate thoughts for the provider, which accepts
//! only its own unchanged thoughts.

use serde::{Deserialize, Serialize};

/// The reasoning of one response. A single thought before all other output needs no list of thoughts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The text of all thoughts.
    pub text: String,
    /// The signature by which Anthropic verifies the thought; it rejects thoughts without one.
    #[serde(default)]
    pub signature: Option<String>,
    /// Each thought in order, if there are several or a redacted one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thoughts: Vec<Thought>,
}

/// One thought and its position in the response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Thought {
    pub text: String,
    /// `None` if the provider cannot verify the thought.
    pub seal: Option<Seal>,
    /// Position: number of text bytes before the thought, and number of calls before it.
    pub after_words: usize,
    pub after_calls: usize,
}

/// The proof by which a provider verifies its own thought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Seal {
    Signature(String),
    /// The encrypted thought, which only the provider can read.
    Redacted(String),
}

impl Reasoning {
    /// Combines the thoughts of a response. Returns `None` if there are none.
    pub(crate) fn of(thoughts: Vec<Thought>) -> Option<Self> {
        if thoughts.is_empty() {
            return None;
        }
        let text = thoughts.iter().map(|thought| thought.text.as_str()).collect();
        if thoughts.iter().all(|thought| thought.seal.is_none()) {
            return Some(Self { text, ..Self::default() });
        }
        match thoughts.as_slice() {
            [Thought { seal: Some(Seal::Signature(signature)), after_words: 0, after_calls: 0, .. }] => {
                Some(Self { text, signature: Some(signature.clone()), thoughts: Vec::new() })
            }
            [..] => Some(Self { text, signature: None, thoughts }),
        }
    }

    /// The thoughts that the provider can verify.
    pub(crate) fn sealed(&self) -> Vec<Thought> {
        let known = |thought: &&Thought| thought.seal.is_some();
        let first = self.signature.iter().map(|signature| Thought {
            text: self.text.clone(),
            seal: Some(Seal::Signature(signature.clone())),
            ..Thought::default()
        });
        first.chain(self.thoughts.iter().filter(known).cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn thought(text: &str, seal: Option<Seal>) -> Thought {
        Thought { text: text.to_owned(), seal, ..Thought::default() }
    }

    fn signed(signature: &str) -> Option<Seal> {
        Some(Seal::Signature(signature.to_owned()))
    }

    #[test]
    fn one_thought_has_the_older_stored_form() {
        let one = Reasoning::of(vec![thought("Hm.", signed("s"))]).expect("a thought");
        let kept = json!({"text": "Hm.", "signature": "s"});
        assert_eq!(serde_json::to_value(&one).expect("written"), kept);
        for (kept, sealed) in [
            (kept, vec![thought("Hm.", signed("s"))]),
            (json!({"text": "Hm.", "signature": null}), vec![]),
            (json!({"text": "Hm."}), vec![]),
        ] {
            let read: Reasoning = serde_json::from_value(kept).expect("read");
            assert_eq!((read.text.as_str(), read.sealed()), ("Hm.", sealed));
        }
        assert_eq!(Reasoning::of(Vec::new()), None);
    }

    #[test]
    fn several_thoughts_have_separate_seals_and_positions() {
        let redacted = Some(Seal::Redacted("c2VjcmV0".to_owned()));
        let later = Thought { after_words: 7, after_calls: 1, ..thought("And then.", signed("t")) };
        let all =
            vec![thought("Hm. ", signed("s")), thought("", redacted), thought("Unsigned. ", None), later];
        let reasoning = Reasoning::of(all.clone()).expect("thoughts");
        assert_eq!((reasoning.text.as_str(), &reasoning.signature), ("Hm. Unsigned. And then.", &None));
        assert_eq!(reasoning.sealed(), [all[0].clone(), all[1].clone(), all[3].clone()]);
        let kept: Value = serde_json::to_value(&reasoning).expect("written");
        assert_eq!(serde_json::from_value::<Reasoning>(kept).expect("read"), reasoning);
    }
}

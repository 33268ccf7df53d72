//! What a model thought before it spoke and in between: all of it for whoever reads along, and piece by piece for
//! the provider, which takes its own thoughts back only as they were.

use serde::{Deserialize, Serialize};

/// What a model thought. One thought before everything else needs no pieces.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    /// All of it.
    pub text: String,
    /// By which Anthropic knows its own thought again; it refuses thoughts without.
    #[serde(default)]
    pub signature: Option<String>,
    /// Where it thought more than once, or in secret: each thought, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thoughts: Vec<Thought>,
}

/// One thought, and where it stood in its answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Thought {
    pub text: String,
    /// Nothing where the provider would not know it again.
    pub seal: Option<Seal>,
    /// So many bytes of the answer's words came before it, and so many calls.
    pub after_words: usize,
    pub after_calls: usize,
}

/// By what a provider knows a thought again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Seal {
    Signature(String),
    /// The thought itself, which nobody else can read.
    Redacted(String),
}

impl Reasoning {
    /// All that a model thought in an answer; nothing where it did not.
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

    /// Each thought that its provider knows again.
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
    fn what_was_kept_before_is_read_and_one_thought_is_kept_as_it_was() {
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
    fn several_thoughts_keep_their_own_seals_and_places() {
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

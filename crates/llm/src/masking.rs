//! Removes the provider's API key from deltas: a server may echo it anywhere.

use haft_core::mask::Mask;
use haft_core::mask_stream::{HeldText, StreamMask};
use serde_json::Value;

use crate::delta::Delta;
use crate::reasoning::Seal;

/// If fewer bytes than this at the end of a thought may start the key, the thought keeps its seal.
const FEW: usize = 4;

/// Removes a key from the deltas of one response, even if it is split across deltas.
#[derive(Default)]
pub(crate) struct Masking {
    key: String,
    mask: StreamMask,
    text: HeldText,
    reasoning: HeldText,
    /// True if the held-back text comes from an earlier thought.
    holds_earlier_thought: bool,
    /// Log probabilities of held-back text. They are dropped if that text contained the key.
    logprobs: Vec<Value>,
    /// True if the last text contained the key: the next log probabilities are those of its tokens.
    is_text_masked: bool,
    /// The pieces of each call's name. The key may be split across them.
    names: Vec<(usize, Vec<String>)>,
    /// The arguments of each call, held back until they are complete, since JSON can spell a text in many
    /// ways.
    arguments: Vec<(usize, String)>,
}

impl Masking {
    pub(crate) fn of(key: Option<&str>) -> Self {
        let key = key.unwrap_or_default().trim().to_owned();
        Self { mask: StreamMask::new([key.as_str()]), key, ..Self::default() }
    }

    /// Passes on everything that certainly contains no part of the key.
    pub(crate) fn pass(&mut self, delta: Delta, out: &mut impl FnMut(Delta)) {
        if self.mask.is_empty() {
            return out(delta);
        }
        match delta {
            Delta::Text(more) => {
                let clean = self.mask.feed(&mut self.text, &more);
                if !clean.is_empty() {
                    out(Delta::Text(clean));
                }
                self.is_text_masked = self.text.take_has_masked();
                if self.is_text_masked {
                    self.logprobs.clear();
                }
                self.release_logprobs(out);
            }
            Delta::Logprobs(more) => {
                if !self.is_text_masked {
                    self.logprobs.extend(more);
                    self.release_logprobs(out);
                }
            }
            Delta::Reasoning(more) => {
                let clean = self.mask.feed(&mut self.reasoning, &more);
                if !clean.is_empty() {
                    out(Delta::Reasoning(clean));
                }
            }
            Delta::Arguments { index, fragment } => {
                match self.arguments.iter_mut().find(|(known, _)| *known == index) {
                    Some((_, before)) => before.push_str(&fragment),
                    None => self.arguments.push((index, fragment)),
                }
            }
            Delta::Call { index, id, name, signature } => {
                let id = id.map(|id| self.mask.text(&id).into_owned());
                match self.names.iter_mut().find(|(other, _)| *other == index) {
                    Some((_, pieces)) => pieces.extend(name),
                    None => self.names.push((index, name.into_iter().collect())),
                }
                out(Delta::Call { index, id, name: None, signature });
            }
            Delta::ReasoningSignature(seal @ Seal::Signature(_)) => self.seal(seal, out),
            Delta::ReasoningSignature(_) | Delta::Usage(_) | Delta::End(_) => out(delta),
        }
    }

    fn release_logprobs(&mut self, out: &mut impl FnMut(Delta)) {
        if self.text.is_empty() && !self.logprobs.is_empty() {
            out(Delta::Logprobs(std::mem::take(&mut self.logprobs)));
        }
    }

    /// Passes on the seal of an unchanged thought. Providers verify seals, so a thought ends without one if
    /// it was masked, may end with the start of the key, or begins with text of an earlier thought.
    fn seal(&mut self, seal: Seal, out: &mut impl FnMut(Delta)) {
        let is_masked = self.reasoning.take_has_masked();
        let has_earlier_text = std::mem::take(&mut self.holds_earlier_thought);
        if is_masked || has_earlier_text || self.reasoning.len() >= FEW {
            // The held-back text becomes part of the next thought.
            self.holds_earlier_thought = !self.reasoning.is_empty();
            return out(Delta::ReasoningSignature(Seal::Signature(String::new())));
        }
        if !self.reasoning.is_empty() {
            out(Delta::Reasoning(self.reasoning.release()));
        }
        out(Delta::ReasoningSignature(seal));
    }

    /// Passes on held-back text at the end of the response.
    pub(crate) fn finish(&mut self, out: &mut impl FnMut(Delta)) {
        let (held, reasoning) = (std::mem::take(&mut self.text), std::mem::take(&mut self.reasoning));
        // The held-back text may contain the key or its start.
        if !held.is_empty() {
            self.logprobs.clear();
        }
        let (text, reasoning) = (self.mask.finish(held), self.mask.finish(reasoning));
        if !reasoning.is_empty() {
            out(Delta::Reasoning(reasoning));
        }
        if !text.is_empty() {
            out(Delta::Text(text));
        }
        self.release_logprobs(out);
        for (index, pieces) in std::mem::take(&mut self.names) {
            for name in self.name(pieces) {
                out(Delta::Call { index, id: None, name: Some(name), signature: None });
            }
        }
        for (index, fragment) in std::mem::take(&mut self.arguments) {
            out(Delta::Arguments { index, fragment: self.arguments(fragment) });
        }
    }

    /// The pieces of a name, or one masked name if it contains the key.
    fn name(&self, pieces: Vec<String>) -> Vec<String> {
        let name = pieces.concat();
        let clean = self.mask.text(&name);
        if clean == name { pieces } else { vec![clean.into_owned()] }
    }

    /// Masks the arguments. If JSON escapes may hide the key, each decoded text is checked.
    fn arguments(&self, written: String) -> String {
        if !written.contains('\\') && self.mask.text(&written) == written {
            return written;
        }
        let mask = Mask::new([self.key.as_str()]);
        let Ok(mut value) = serde_json::from_str::<Value>(&written) else {
            return mask.text(&written).into_owned();
        };
        let before = value.clone();
        mask.value(&mut value);
        // Arguments without the key stay as the model wrote them.
        if value == before { written } else { value.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-secret-123456";

    /// The reasoning, text and arguments that are passed on.
    fn passed(deltas: Vec<Delta>) -> [String; 3] {
        let mut masking = Masking::of(Some(KEY));
        let mut passed: [String; 3] = Default::default();
        let mut add = |delta: Delta| match delta {
            Delta::Reasoning(text) => passed[0].push_str(&text),
            Delta::Text(text) => passed[1].push_str(&text),
            Delta::Arguments { fragment, .. } => passed[2].push_str(&fragment),
            Delta::ReasoningSignature(_)
            | Delta::Logprobs(_)
            | Delta::Call { .. }
            | Delta::Usage(_)
            | Delta::End(_) => {}
        };
        deltas.into_iter().for_each(|delta| masking.pass(delta, &mut add));
        masking.finish(&mut add);
        passed
    }

    #[test]
    fn a_key_is_masked_in_texts_thoughts_and_arguments_across_deltas() {
        for cut in 0..=KEY.len() {
            let (first, second) = KEY.split_at(cut);
            let arguments = [format!("{{\"a\":\"{first}"), format!("{second}\"}}")];
            let deltas = vec![
                Delta::Text(format!("It is {first}")),
                Delta::Reasoning(format!("Hm, {first}")),
                Delta::Arguments { index: 0, fragment: arguments[0].clone() },
                Delta::Text(format!("{second}.")),
                Delta::Arguments { index: 0, fragment: arguments[1].clone() },
                Delta::Reasoning(second.to_owned()),
            ];
            assert_eq!(passed(deltas), ["Hm, ***", "It is ***.", r#"{"a":"***"}"#], "{cut}");
        }
    }

    #[test]
    fn probabilities_of_the_tokens_of_a_key_are_dropped() {
        let token = |text: &str| Delta::Logprobs(vec![serde_json::json!({"token": text})]);
        let (first, second) = KEY.split_at(9);
        let tokens = |deltas: Vec<Delta>| {
            let (mut masking, mut tokens) = (Masking::of(Some(KEY)), Vec::new());
            let mut add = |delta: Delta| {
                if let Delta::Logprobs(more) = delta {
                    tokens.extend(
                        more.iter().map(|token| token["token"].as_str().unwrap_or_default().to_owned()),
                    );
                }
            };
            deltas.into_iter().for_each(|delta| masking.pass(delta, &mut add));
            masking.finish(&mut add);
            tokens
        };
        let text = |text: &str| Delta::Text(text.to_owned());
        assert_eq!(tokens(vec![text("It "), token("It "), text("is."), token("is.")]), ["It ", "is."]);
        let echoed = vec![
            text("It "),
            token("It "),
            text(first),
            token(first),
            text(second),
            token(second),
            text("."),
            token("."),
        ];
        assert_eq!(tokens(echoed), ["It ", "."]);
    }

    #[test]
    fn a_changed_thought_loses_its_seal() {
        let seal = || Delta::ReasoningSignature(Seal::Signature("s".to_owned()));
        let sealed = |thoughts: &[&str]| {
            let (mut masking, mut seals) = (Masking::of(Some(KEY)), Vec::new());
            let mut add = |delta: Delta| {
                if let Delta::ReasoningSignature(Seal::Signature(seal)) = delta {
                    seals.push(seal);
                }
            };
            for thought in thoughts {
                masking.pass(Delta::Reasoning((*thought).to_owned()), &mut add);
                masking.pass(seal(), &mut add);
            }
            seals
        };
        assert_eq!(sealed(&["Hm.", "Words that end with s"]), ["s", "s"]);
        assert_eq!(sealed(&[KEY, "Hm."]), ["", "s"]);
        assert_eq!(sealed(&[&KEY[..9], &KEY[9..], "Hm."]), ["", "", "s"]);
        // The end of the first thought is held back, and becomes part of the second.
        assert_eq!(sealed(&["So it is sk-s", "Hm.", "Hm."]), ["", "", "s"]);
        let masked = format!("{KEY} s");
        assert_eq!(sealed(&[masked.as_str(), "Hm.", "Hm."]), ["", "", "s"]);
    }

    #[test]
    fn a_key_is_masked_in_the_name_of_a_call_across_deltas() {
        let names = |pieces: &[&str]| {
            let (mut masking, mut names) = (Masking::of(Some(KEY)), Vec::new());
            let mut add = |delta: Delta| {
                if let Delta::Call { index: 0, name: Some(name), .. } = delta {
                    names.push(name);
                }
            };
            for piece in pieces {
                let name = Some((*piece).to_owned());
                masking.pass(Delta::Call { index: 0, id: None, name, signature: None }, &mut add);
            }
            masking.finish(&mut add);
            names
        };
        for cut in 0..=KEY.len() {
            let (first, second) = KEY.split_at(cut);
            assert_eq!(names(&[&format!("look_{first}"), second]), ["look_***"], "{cut}");
        }
        // Some servers send the name in pieces, others repeat it in each delta.
        assert_eq!(names(&["lo", "ok"]), ["lo", "ok"]);
        assert_eq!(names(&["look", "look"]), ["look", "look"]);
    }

    #[test]
    fn arguments_are_masked_in_any_json_spelling_and_otherwise_unchanged() {
        let arguments = |fragment: &str| {
            passed(vec![Delta::Arguments { index: 0, fragment: fragment.to_owned() }])[2].clone()
        };
        let escaped: String = KEY.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
        assert_eq!(arguments(&format!(r#"{{"a": ["{escaped}"]}}"#)), r#"{"a":["***"]}"#);
        assert_eq!(arguments(&format!(r#"{{"{KEY}": 1}}"#)), r#"{"***":1}"#);
        assert_eq!(arguments(&format!("{{{KEY}")), "{***");
        for plain in [r#"{"a": "\u0041", "b":  1.0}"#, r#"{"a": }"#, ""] {
            assert_eq!(arguments(plain), plain);
        }
    }
}

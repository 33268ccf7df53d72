//! Masks secrets in a stream of text, at any chunk boundaries.

use std::borrow::Cow;

use crate::mask::{MASKED, SHORTEST_FOUND, spellings};

/// The secrets of a stream. Text that could be the beginning of a secret is held back until more arrives.
#[derive(Debug, Clone, Default)]
pub struct StreamMask {
    /// All spellings of the secrets, longest first.
    patterns: Vec<String>,
    /// First bytes of the patterns.
    first_bytes: Vec<u8>,
}

/// Text of one stream that is held back.
#[derive(Debug, Clone, Default)]
pub struct HeldText {
    text: String,
    /// Number of bytes at its start that were released anyway.
    released: usize,
    has_masked: bool,
}

impl HeldText {
    /// Returns true if a secret was masked since the last call.
    pub fn take_has_masked(&mut self) -> bool {
        std::mem::take(&mut self.has_masked)
    }

    /// Returns the number of bytes that are held back.
    pub fn len(&self) -> usize {
        self.text.len() - self.released
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Releases the held-back text. If more text completes a secret, the rest of the secret is masked.
    pub fn release(&mut self) -> String {
        let given = self.text.get(self.released..).unwrap_or_default().to_owned();
        self.released = self.text.len();
        given
    }
}

impl StreamMask {
    /// Ignores secrets of fewer than four characters: they would match everywhere.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let secrets = secrets.into_iter().map(str::trim).filter(|secret| secret.len() >= SHORTEST_FOUND);
        let mut patterns: Vec<String> = secrets.flat_map(spellings).collect();
        patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.len()));
        let mut first_bytes: Vec<u8> = patterns.iter().filter_map(|pattern| pattern.bytes().next()).collect();
        first_bytes.sort_unstable();
        first_bytes.dedup();
        Self { patterns, first_bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Adds text, and returns the part that certainly contains no secret.
    pub fn feed(&self, held: &mut HeldText, more: &str) -> String {
        held.text.push_str(more);
        let (clean, rest) = self.scan(&held.text, true);
        let is_masked = matches!(clean, Cow::Owned(_));
        // Released text is the start of a secret, or was no secret: it is not returned again.
        let again = if clean.starts_with(MASKED) { 0 } else { held.released.min(rest) };
        let clean = clean.get(again..).unwrap_or_default().to_owned();
        held.text.drain(..rest);
        held.released = held.released.saturating_sub(rest);
        held.has_masked |= is_masked;
        clean
    }

    /// Returns the held-back text at the end of the stream.
    pub fn finish(&self, held: HeldText) -> String {
        let (clean, _) = self.scan(&held.text, false);
        let again = if clean.starts_with(MASKED) { 0 } else { held.released };
        clean.get(again..).unwrap_or_default().to_owned()
    }

    /// Masks the secrets of a whole text.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.scan(text, false).0
    }

    /// Returns the masked text, and the offset of the rest that more text could turn into a secret.
    fn scan<'t>(&self, text: &'t str, may_continue: bool) -> (Cow<'t, str>, usize) {
        let (mut clean, mut copied, mut at) = (String::new(), 0, 0);
        let bytes = text.as_bytes();
        let mut is_masked = false;
        while let Some(found) = bytes
            .get(at..)
            .and_then(|rest| rest.iter().position(|byte| self.first_bytes.binary_search(byte).is_ok()))
        {
            at += found;
            let rest = bytes.get(at..).unwrap_or_default();
            if may_continue && self.holds(rest) {
                break;
            }
            match self.patterns.iter().find(|pattern| rest.starts_with(pattern.as_bytes())) {
                Some(pattern) => {
                    clean.push_str(text.get(copied..at).unwrap_or_default());
                    clean.push_str(MASKED);
                    is_masked = true;
                    at += pattern.len();
                    copied = at;
                }
                None => at += 1,
            }
        }
        let end = if at < text.len() && may_continue && self.holds(bytes.get(at..).unwrap_or_default()) {
            at
        } else {
            text.len()
        };
        let last = text.get(copied..end).unwrap_or_default();
        if !is_masked {
            return (Cow::Borrowed(last), end);
        }
        clean.push_str(last);
        (Cow::Owned(clean), end)
    }

    /// Returns true if more text could turn this into a secret.
    fn holds(&self, rest: &[u8]) -> bool {
        self.patterns.iter().any(|pattern| pattern.len() > rest.len() && pattern.as_bytes().starts_with(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mask::Mask;

    const SECRET: &str = "sk-a/sk-a/ü+9";

    #[test]
    fn a_secret_is_masked_wherever_the_text_is_cut() {
        let mask = StreamMask::new([SECRET]);
        let encoded = "sk-a%2Fsk-a%2F%C3%BC%2B9";
        for text in [
            format!("My key is {SECRET}, keep it."),
            format!("{SECRET}{SECRET}sk-a/"),
            format!("sk-a/{SECRET} and {encoded}"),
            "sk-a/sk-b, s and sk-a/sk-a/ü+8".to_owned(),
            String::new(),
        ] {
            let expected = Mask::new([SECRET]).text(&text).into_owned();
            assert!(!expected.contains(SECRET) && !expected.contains(encoded), "{expected}");
            assert_eq!(mask.text(&text), expected, "{text}");
            let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            for (place, first) in cuts.iter().enumerate() {
                for second in &cuts[place..] {
                    let (mut held, mut masked) = (HeldText::default(), String::new());
                    for piece in [&text[..*first], &text[*first..*second], &text[*second..]] {
                        masked.push_str(&mask.feed(&mut held, piece));
                        assert!(expected.starts_with(&masked), "{masked} is not the beginning of {expected}");
                    }
                    masked.push_str(&mask.finish(held));
                    assert_eq!(masked, expected, "cut at {first} and {second}");
                }
            }
        }
    }

    #[test]
    fn only_what_could_become_a_secret_is_held_back() {
        let mask = StreamMask::new([SECRET]);
        let mut held = HeldText::default();
        assert_eq!(mask.feed(&mut held, "All of this, and s"), "All of this, and ");
        assert_eq!(mask.feed(&mut held, "o on; sk-a/"), "so on; ");
        assert_eq!(mask.feed(&mut held, "x"), "sk-a/x");
        assert_eq!(mask.finish(held), "");
    }

    #[test]
    fn released_text_is_not_returned_again_and_the_rest_of_a_secret_is_masked() {
        let mask = StreamMask::new([SECRET]);
        for (more, expected) in
            [("o what", "o what"), ("k-a/sk-a/ü+9!", "***!"), ("sk-a/sk-a/ü+9", "s***"), ("", "")]
        {
            let mut held = HeldText::default();
            assert_eq!(mask.feed(&mut held, "a s"), "a ");
            assert_eq!((held.len(), held.release(), held.len()), (1, "s".to_owned(), 0));
            // After `ss`, the second letter may begin a secret.
            let expected = if more.starts_with("sk") { "***" } else { expected };
            let mut masked = mask.feed(&mut held, more);
            assert_eq!(held.take_has_masked(), expected.starts_with('*'), "{more}");
            masked.push_str(&mask.finish(held));
            assert_eq!(masked, expected, "{more}");
        }
    }

    #[test]
    fn without_a_secret_worth_finding_nothing_is_held_back() {
        for secrets in [vec![], vec![""], vec!["abc"]] {
            let mask = StreamMask::new(secrets);
            assert!(mask.is_empty());
            assert_eq!(mask.feed(&mut HeldText::default(), "abc"), "abc");
        }
    }
}

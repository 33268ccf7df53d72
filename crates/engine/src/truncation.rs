//! The beginning of a JSON value as text: the part of arguments and results that a record holds.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::Arc;

use haft_core::mask::MASKED;
use serde_json::Value;

/// Maximum size of an excerpt in bytes.
const MAX_BYTES: usize = 16 << 10;

/// JSON text, truncated if it is too long. A single allocation, however many parts the value has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TruncatedJson {
    text: Arc<str>,
    is_cut: bool,
    is_masked: bool,
}

impl TruncatedJson {
    /// Wraps JSON text that is already serialized. Returns `None` if it is too long to be kept whole.
    pub(crate) fn whole(text: Arc<str>) -> Option<Self> {
        (text.len() <= MAX_BYTES).then_some(Self { text, is_cut: false, is_masked: false })
    }

    pub fn of(value: &Value) -> Self {
        thread_local!(static DRAFT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
        DRAFT.with_borrow_mut(|draft| {
            draft.clear();
            let is_cut = serde_json::to_writer(BoundedWriter(draft), value).is_err();
            let text = std::str::from_utf8(draft).unwrap_or_else(|error| {
                // The text was cut within a character.
                let whole = draft.get(..error.valid_up_to()).unwrap_or_default();
                std::str::from_utf8(whole).unwrap_or_default()
            });
            Self { text: text.into(), is_cut, is_masked: false }
        })
    }

    /// Returns the excerpt of a value that must not be recorded at all.
    pub(crate) fn hidden() -> Self {
        Self::of(&Value::from(MASKED)).that_is_masked()
    }

    /// Marks the excerpt as masked: a part of the value was removed before.
    #[must_use]
    pub(crate) fn that_is_masked(mut self) -> Self {
        self.is_masked = true;
        self
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text without copying it.
    pub fn shared_text(&self) -> Arc<str> {
        self.text.clone()
    }

    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns true if a part of the value is masked: a secret, or a value hidden by the tool's author.
    pub fn is_masked(&self) -> bool {
        self.is_masked
    }

    /// Returns the value. Returns `None` if the text was cut.
    pub fn value(&self) -> Option<Value> {
        (!self.is_cut).then(|| serde_json::from_str(&self.text).ok()).flatten()
    }
}

/// A writer that fails once it has enough bytes.
struct BoundedWriter<'a>(&'a mut Vec<u8>);

impl Write for BoundedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = MAX_BYTES - self.0.len();
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.0.extend_from_slice(taken);
        if taken.len() < bytes.len() { Err(io::ErrorKind::WriteZero.into()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn small_values_are_complete_and_large_ones_are_cut_between_characters() {
        let small = json!({"a": [1, "zwölf", null]});
        let kept = TruncatedJson::of(&small);
        assert_eq!((kept.value(), kept.is_cut()), (Some(small.clone()), false));
        assert_eq!(kept.text(), small.to_string());

        let exact = json!("x".repeat(MAX_BYTES - 2));
        assert!(!TruncatedJson::of(&exact).is_cut());
        for large in
            [json!("x".repeat(MAX_BYTES - 1)), json!("汉".repeat(MAX_BYTES)), json!(vec![1; MAX_BYTES])]
        {
            let kept = TruncatedJson::of(&large);
            assert!(kept.is_cut() && kept.value().is_none());
            assert!((MAX_BYTES - 3..=MAX_BYTES).contains(&kept.text().len()), "{}", kept.text().len());
            assert!(large.to_string().starts_with(kept.text()));
        }
    }
}

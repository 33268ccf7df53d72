//! The beginning of a JSON value as text: what a record keeps of arguments and results.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::Arc;

use haft_core::mask::MASKED;
use serde_json::Value;

/// So many bytes of each are kept.
const MOST: usize = 16 << 10;

/// JSON text, cut where it is too long. One piece of memory, however many parts the value had.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Excerpt {
    text: Arc<str>,
    is_cut: bool,
    is_masked: bool,
}

impl Excerpt {
    /// A value that was written already; nothing when it is too long to be kept whole.
    pub(crate) fn whole(text: Arc<str>) -> Option<Self> {
        (text.len() <= MOST).then_some(Self { text, is_cut: false, is_masked: false })
    }

    pub fn of(value: &Value) -> Self {
        thread_local!(static DRAFT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
        DRAFT.with_borrow_mut(|draft| {
            draft.clear();
            let is_cut = serde_json::to_writer(Kept(draft), value).is_err();
            let text = std::str::from_utf8(draft).unwrap_or_else(|error| {
                // Cut within a character.
                let whole = draft.get(..error.valid_up_to()).unwrap_or_default();
                std::str::from_utf8(whole).unwrap_or_default()
            });
            Self { text: text.into(), is_cut, is_masked: false }
        })
    }

    /// Stands where nothing may be kept.
    pub(crate) fn hidden() -> Self {
        Self::of(&Value::from(MASKED)).that_is_masked()
    }

    /// Something was taken out of the value before.
    #[must_use]
    pub(crate) fn that_is_masked(mut self) -> Self {
        self.is_masked = true;
        self
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same, for whoever keeps it.
    pub fn shared_text(&self) -> Arc<str> {
        self.text.clone()
    }

    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether something that was in the value is hidden: a secret, or what the tool's author wants nobody to see.
    pub fn is_masked(&self) -> bool {
        self.is_masked
    }

    /// The value itself, where nothing was cut.
    pub fn value(&self) -> Option<Value> {
        (!self.is_cut).then(|| serde_json::from_str(&self.text).ok()).flatten()
    }
}

/// Takes bytes until there are enough.
struct Kept<'a>(&'a mut Vec<u8>);

impl Write for Kept<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = MOST - self.0.len();
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
    fn a_small_value_is_kept_whole_and_a_large_one_is_cut_between_characters() {
        let small = json!({"a": [1, "zwölf", null]});
        let kept = Excerpt::of(&small);
        assert_eq!((kept.value(), kept.is_cut()), (Some(small.clone()), false));
        assert_eq!(kept.text(), small.to_string());

        let exact = json!("x".repeat(MOST - 2));
        assert!(!Excerpt::of(&exact).is_cut());
        for large in [json!("x".repeat(MOST - 1)), json!("汉".repeat(MOST)), json!(vec![1; MOST])] {
            let kept = Excerpt::of(&large);
            assert!(kept.is_cut() && kept.value().is_none());
            assert!((MOST - 3..=MOST).contains(&kept.text().len()), "{}", kept.text().len());
            assert!(large.to_string().starts_with(kept.text()));
        }
    }
}

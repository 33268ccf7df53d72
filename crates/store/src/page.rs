//! Pagination of lists with opaque cursors.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use haft_core::{CallError, Message, Violation};

haft_core::templates! {
    BAD_CURSOR = "store.badCursor",
        "is not a cursor of this list",
        "不是此列表给出的游标";
}

/// Maximum number of items per page.
const MAX_LIMIT: u32 = 1000;

/// A part of a list that is ordered by name and id.
#[derive(Debug, Clone)]
pub struct Page {
    pub limit: u32,
    /// `None` for the first page.
    pub cursor: Option<String>,
}

impl Page {
    pub fn first(limit: u32) -> Self {
        Self { limit, cursor: None }
    }

    /// Decodes the name and id after which the page begins. Both are empty for the first page.
    pub(crate) fn start_key(&self) -> Result<(String, String), CallError> {
        let Some(cursor) = &self.cursor else { return Ok(Default::default()) };
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
        let key = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let bad = || CallError::invalid(vec![Violation::new("cursor", Message::new(&BAD_CURSOR))]);
        key.ok_or_else(bad)
    }

    /// Returns the number of rows to read: one more than the page has, to detect whether there is a next
    /// page.
    pub(crate) fn rows(&self) -> u64 {
        u64::from(self.limit.clamp(1, MAX_LIMIT)) + 1
    }

    /// Removes the extra row, and returns the cursor of the next page.
    pub(crate) fn cut<T>(
        &self,
        mut items: Vec<T>,
        key: impl Fn(&T) -> (&str, String),
    ) -> (Vec<T>, Option<String>) {
        let limit = self.limit.clamp(1, MAX_LIMIT) as usize;
        if items.len() <= limit {
            return (items, None);
        }
        items.truncate(limit);
        let next = items.last().map(key).and_then(|(name, id)| cursor(name, &id));
        (items, next)
    }
}

/// Encodes the cursor of a page that begins after a name and an id.
pub(crate) fn cursor(name: &str, id: &str) -> Option<String> {
    serde_json::to_vec(&(name, id)).ok().map(|key| URL_SAFE_NO_PAD.encode(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_lead_to_the_next_page_and_invalid_ones_are_rejected() {
        let page = Page::first(2);
        fn key<'a>(name: &'a &'static str) -> (&'a str, String) {
            (name, format!("id of {name}"))
        }
        let (items, next) = page.cut(vec!["a", "b", "c"], key);
        assert_eq!(items, ["a", "b"]);
        let next = Page { limit: 2, cursor: next };
        assert_eq!(next.start_key().expect("a cursor"), ("b".to_owned(), "id of b".to_owned()));

        for bad in ["", "x", "!!", "WyJhIl0"] {
            let page = Page { limit: 2, cursor: Some(bad.to_owned()) };
            assert!(page.start_key().is_err(), "{bad:?}");
        }
        assert_eq!(page.cut(vec!["a", "b"], key).1, None);
    }
}

//! Lists by page: from where a page goes on, as a text that means nothing to callers.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use haft_core::{CallError, Message, Violation};

haft_core::templates! {
    BAD_CURSOR = "store.badCursor",
        "is not a cursor that this list gave",
        "不是此列表给出的游标";
}

/// The most of one page.
const LARGEST: u32 = 1000;

/// Which part of a list, ordered by name.
#[derive(Debug, Clone)]
pub struct Page {
    pub limit: u32,
    /// The start when absent.
    pub cursor: Option<String>,
}

impl Page {
    pub fn first(limit: u32) -> Self {
        Self { limit, cursor: None }
    }

    /// The name and id after which the page begins; both empty at the start.
    pub(crate) fn after(&self) -> Result<(String, String), CallError> {
        let Some(cursor) = &self.cursor else { return Ok(Default::default()) };
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
        let key = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let bad = || CallError::invalid(vec![Violation::new("cursor", Message::new(&BAD_CURSOR))]);
        key.ok_or_else(bad)
    }

    /// One more row than the page has, which tells whether there is another page.
    pub(crate) fn rows(&self) -> u64 {
        u64::from(self.limit.clamp(1, LARGEST)) + 1
    }

    /// Takes off the extra row, and says where the next page begins.
    pub(crate) fn cut<T>(
        &self,
        mut items: Vec<T>,
        key: impl Fn(&T) -> (&str, String),
    ) -> (Vec<T>, Option<String>) {
        let limit = self.limit.clamp(1, LARGEST) as usize;
        if items.len() <= limit {
            return (items, None);
        }
        items.truncate(limit);
        let next = items.last().map(key).and_then(|(name, id)| cursor(name, &id));
        (items, next)
    }
}

/// The cursor of a page that begins after a name and an id.
pub(crate) fn cursor(name: &str, id: &str) -> Option<String> {
    serde_json::to_vec(&(name, id)).ok().map(|key| URL_SAFE_NO_PAD.encode(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_on_to_the_next_page_and_a_made_up_one_is_refused() {
        let page = Page::first(2);
        fn key<'a>(name: &'a &'static str) -> (&'a str, String) {
            (name, format!("id of {name}"))
        }
        let (items, next) = page.cut(vec!["a", "b", "c"], key);
        assert_eq!(items, ["a", "b"]);
        let next = Page { limit: 2, cursor: next };
        assert_eq!(next.after().expect("a cursor"), ("b".to_owned(), "id of b".to_owned()));

        for bad in ["", "x", "!!", "WyJhIl0"] {
            let page = Page { limit: 2, cursor: Some(bad.to_owned()) };
            assert!(page.after().is_err(), "{bad:?}");
        }
        assert_eq!(page.cut(vec!["a", "b"], key).1, None);
    }
}

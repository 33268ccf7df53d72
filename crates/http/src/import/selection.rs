//! The selection of operations or requests to import; an empty selection means all.
//!
//! Names are looked up in sets, so that a long list takes linear time.

use std::collections::HashSet;

pub(crate) struct Selection<'a> {
    written: &'a [String],
    wanted: HashSet<String>,
    found: HashSet<String>,
}

impl<'a> Selection<'a> {
    pub(crate) fn new(written: &'a [String]) -> Self {
        Self { written, wanted: written.iter().map(|name| spelled(name)).collect(), found: HashSet::new() }
    }

    pub(crate) fn is_all(&self) -> bool {
        self.written.is_empty()
    }

    /// Returns true if an operation with these names is selected.
    pub(crate) fn takes(&mut self, names: impl IntoIterator<Item = String>) -> bool {
        let mut is_wanted = self.is_all();
        for name in names {
            let name = spelled(&name);
            if self.wanted.contains(&name) {
                self.found.insert(name);
                is_wanted = true;
            }
        }
        is_wanted
    }

    /// The selected names that no operation had, each once.
    pub(crate) fn missing(&self) -> impl Iterator<Item = &'a str> {
        let mut listed = HashSet::new();
        let is_missing = move |name: &&String| {
            let name = spelled(name);
            !self.found.contains(&name) && listed.insert(name)
        };
        self.written.iter().filter(is_missing).map(String::as_str)
    }
}

/// Normalizes a name: the method in capitals, followed by one blank.
fn spelled(name: &str) -> String {
    match name.trim().split_once(char::is_whitespace) {
        Some((method, path)) => format!("{} {}", method.to_ascii_uppercase(), path.trim_start()),
        None => name.trim().to_owned(),
    }
}

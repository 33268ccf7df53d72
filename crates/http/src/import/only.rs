//! The operations or requests of a source that an import names; without names, all of them.
//!
//! Names are looked up in sets, so that a long list costs time in proportion to its length.

use std::collections::HashSet;

pub(crate) struct Only<'a> {
    written: &'a [String],
    wanted: HashSet<String>,
    found: HashSet<String>,
}

impl<'a> Only<'a> {
    pub(crate) fn new(written: &'a [String]) -> Self {
        Self { written, wanted: written.iter().map(|name| spelled(name)).collect(), found: HashSet::new() }
    }

    pub(crate) fn is_all(&self) -> bool {
        self.written.is_empty()
    }

    /// Whether an import takes an operation that has these names.
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

    /// The names that no operation had, each once.
    pub(crate) fn missing(&self) -> impl Iterator<Item = &'a str> {
        let mut told = HashSet::new();
        let is_missing = move |name: &&String| {
            let name = spelled(name);
            !self.found.contains(&name) && told.insert(name)
        };
        self.written.iter().filter(is_missing).map(String::as_str)
    }
}

/// One spelling of a name: a method in capitals, one blank behind it.
fn spelled(name: &str) -> String {
    match name.trim().split_once(char::is_whitespace) {
        Some((method, path)) => format!("{} {}", method.to_ascii_uppercase(), path.trim_start()),
        None => name.trim().to_owned(),
    }
}

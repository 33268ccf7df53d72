//! What was asked for by name: some of the requests of a source, or all of them.

use std::collections::HashSet;

pub(super) struct Only<'a> {
    written: &'a [String],
    wanted: HashSet<String>,
    found: HashSet<String>,
}

impl<'a> Only<'a> {
    pub(super) fn new(written: &'a [String]) -> Self {
        Self { written, wanted: written.iter().map(|name| spelled(name)).collect(), found: HashSet::new() }
    }

    pub(super) fn is_all(&self) -> bool {
        self.written.is_empty()
    }

    /// Whether something is wanted that has these names.
    pub(super) fn takes(&mut self, names: impl IntoIterator<Item = String>) -> bool {
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

    /// What was asked for and not found.
    pub(super) fn missing(&self) -> impl Iterator<Item = &'a str> {
        let is_missing = move |name: &&String| !self.found.contains(&spelled(name));
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

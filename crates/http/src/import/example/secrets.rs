//! The secrets of one import: each value under a name of its own, however often it is used.

use std::collections::{HashMap, HashSet};

use haft_core::secret::SCHEME;
use secrecy::SecretString;

use crate::import::FoundSecret;

/// The longest name of a secret.
const LONGEST_NAME: usize = 64;

/// What the source tells of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held<'a> {
    Value(&'a str),
    /// A variable by its name, whose value is not told.
    Variable(&'a str),
    Nothing,
}

#[derive(Default)]
pub(super) struct SecretBook {
    found: Vec<Found>,
    taken: HashSet<String>,
    by_name: HashMap<String, Wanted>,
}

struct Found {
    name: String,
    value: Option<String>,
}

/// The secrets that wanted one name.
#[derive(Default)]
struct Wanted {
    /// By what tells them apart, where they are.
    known: HashMap<String, usize>,
    /// How many names were tried.
    tried: u32,
}

impl SecretBook {
    /// Keeps a secret and gives its place and the reference to it; the same one under the same name is kept once.
    pub(super) fn keep(&mut self, wanted: &str, held: Held<'_>) -> (usize, String) {
        let identity = match held {
            Held::Value(value) => format!("={value}"),
            Held::Variable(name) => format!("${name}"),
            Held::Nothing => String::new(),
        };
        let others = self.by_name.entry(wanted.to_owned()).or_default();
        if let Some(&at) = others.known.get(&identity)
            && let Some(found) = self.found.get(at)
        {
            return (at, reference(&found.name));
        }
        let name = loop {
            others.tried += 1;
            let name = numbered(wanted, others.tried);
            if self.taken.insert(name.clone()) {
                break name;
            }
        };
        let at = self.found.len();
        others.known.insert(identity, at);
        let value = match held {
            Held::Value(value) => Some(value.to_owned()),
            Held::Variable(_) | Held::Nothing => None,
        };
        let reference = reference(&name);
        self.found.push(Found { name, value });
        (at, reference)
    }

    /// Those of the secrets that are used.
    pub(super) fn into_found(self, used: &HashSet<usize>) -> Vec<FoundSecret> {
        let is_used = |(at, _): &(usize, Found)| used.contains(at);
        let found = |(_, Found { name, value }): (usize, Found)| FoundSecret {
            name,
            value: value.map(SecretString::from),
        };
        self.found.into_iter().enumerate().filter(is_used).map(found).collect()
    }
}

fn reference(name: &str) -> String {
    format!("{SCHEME}{name}")
}

/// The name itself, or with a number behind it.
fn numbered(name: &str, number: u32) -> String {
    if number == 1 {
        return name.to_owned();
    }
    let number = format!("_{number}");
    let start = name.get(..LONGEST_NAME.saturating_sub(number.len())).unwrap_or(name);
    format!("{start}{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_value() {
        let mut book = SecretBook::default();
        let mut keep = |held| book.keep("github_com_token", held).1;
        assert_eq!(keep(Held::Value("a")), "secret://github_com_token");
        assert_eq!(keep(Held::Value("a")), "secret://github_com_token");
        assert_eq!(keep(Held::Value("b")), "secret://github_com_token_2");
        assert_eq!(keep(Held::Variable("A")), "secret://github_com_token_3");
        assert_eq!(keep(Held::Variable("B")), "secret://github_com_token_4");
        assert_eq!(keep(Held::Variable("A")), "secret://github_com_token_3");
        assert_eq!(keep(Held::Nothing), "secret://github_com_token_5");
        assert_eq!(book.keep("github_com_token_2", Held::Nothing).1, "secret://github_com_token_2_2");
        let found = book.into_found(&HashSet::from([0, 2]));
        let names: Vec<&str> = found.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["github_com_token", "github_com_token_3"]);
    }
}

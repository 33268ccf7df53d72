//! The secrets of one import: each distinct value has a unique name.

use std::collections::{HashMap, HashSet};

use haft_core::secret::SCHEME;
use secrecy::SecretString;

use crate::import::FoundSecret;

/// Maximum length of a secret's name.
const LONGEST_NAME: usize = 64;

/// The source's information about a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretSource<'a> {
    Value(&'a str),
    /// A variable by its name, without a value.
    Variable(&'a str),
    Nothing,
}

#[derive(Default)]
pub(super) struct SecretBook {
    found: Vec<Found>,
    taken: HashSet<String>,
    by_name: HashMap<String, NameGroup>,
}

struct Found {
    name: String,
    value: Option<String>,
}

/// Secrets that share one preferred name.
#[derive(Default)]
struct NameGroup {
    /// Index of each secret, by its identity.
    known: HashMap<String, usize>,
    /// Number of names tried.
    tried: u32,
}

impl SecretBook {
    /// Adds a secret and returns its index and reference. A repeated secret is stored once.
    pub(super) fn add(&mut self, wanted: &str, held: SecretSource<'_>) -> (usize, String) {
        let identity = match held {
            SecretSource::Value(value) => format!("={value}"),
            SecretSource::Variable(name) => format!("${name}"),
            SecretSource::Nothing => String::new(),
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
            SecretSource::Value(value) => Some(value.to_owned()),
            SecretSource::Variable(_) | SecretSource::Nothing => None,
        };
        let reference = reference(&name);
        self.found.push(Found { name, value });
        (at, reference)
    }

    /// The secrets that are used.
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

/// The name, with a numeric suffix if the number is above 1.
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
    fn each_name_has_one_value() {
        let mut book = SecretBook::default();
        let mut add = |held| book.add("github_com_token", held).1;
        assert_eq!(add(SecretSource::Value("a")), "secret://github_com_token");
        assert_eq!(add(SecretSource::Value("a")), "secret://github_com_token");
        assert_eq!(add(SecretSource::Value("b")), "secret://github_com_token_2");
        assert_eq!(add(SecretSource::Variable("A")), "secret://github_com_token_3");
        assert_eq!(add(SecretSource::Variable("B")), "secret://github_com_token_4");
        assert_eq!(add(SecretSource::Variable("A")), "secret://github_com_token_3");
        assert_eq!(add(SecretSource::Nothing), "secret://github_com_token_5");
        assert_eq!(book.add("github_com_token_2", SecretSource::Nothing).1, "secret://github_com_token_2_2");
        let found = book.into_found(&HashSet::from([0, 2]));
        let names: Vec<&str> = found.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["github_com_token", "github_com_token_3"]);
    }
}

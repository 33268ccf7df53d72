//! Names that importers give: of tools, variables and secrets, made valid and kept apart.

use std::collections::HashSet;

/// The longest name of a tool or a secret.
const LONGEST: usize = 64;

/// Gives names that are valid tool names, each once.
pub(crate) struct Names {
    prefix: String,
    taken: HashSet<String>,
}

impl Names {
    pub(crate) fn new(prefix: Option<&str>) -> Self {
        let prefix = prefix.map(|prefix| valid(prefix, LONGEST / 2)).filter(|prefix| !prefix.is_empty());
        Self { prefix: prefix.map(|prefix| prefix + "_").unwrap_or_default(), taken: HashSet::new() }
    }

    /// What a tool would be called if nobody else wanted the name.
    pub(crate) fn wanted(&self, text: &str) -> String {
        let mut name = format!("{}{}", self.prefix, valid(text, LONGEST * 4));
        if name.len() > LONGEST {
            name.truncate(LONGEST);
        }
        let name = name.trim_end_matches('_');
        if name.is_empty() { "tool".to_owned() } else { name.to_owned() }
    }

    /// A name of its own. Where it is taken, a mark made from `identity` tells them apart,
    /// so that the same thing is called the same when it is imported again.
    pub(crate) fn unique(&mut self, text: &str, identity: &str) -> String {
        let name = self.wanted(text);
        if self.taken.insert(name.clone()) {
            return name;
        }
        self.marked(text, identity)
    }

    /// A name with the mark of its identity, wanted by several.
    pub(crate) fn marked(&mut self, text: &str, identity: &str) -> String {
        let wanted = self.wanted(text);
        let mut round = 0;
        loop {
            let mark = mark(identity, round);
            let room = LONGEST - mark.len() - 1;
            let name = format!("{}_{mark}", wanted.get(..room).unwrap_or(&wanted));
            if self.taken.insert(name.clone()) {
                return name;
            }
            round += 1;
        }
    }
}

/// Six digits that depend on a text alone (FNV-1a).
fn mark(text: &str, round: u32) -> String {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = text.bytes().chain(round.to_le_bytes()).fold(0x811c_9dc5, step);
    format!("{:06x}", hash & 0x00ff_ffff)
}

/// Letters, digits, `_` and `-`; whatever else stands between them becomes one `_`.
fn valid(text: &str, longest: usize) -> String {
    let mut name = String::new();
    for character in text.trim().chars() {
        let is_fine = character.is_ascii_alphanumeric() || character == '-';
        let next = if is_fine { character } else { '_' };
        if next != '_' || !name.ends_with('_') {
            name.push(next);
        }
        if name.len() >= longest {
            break;
        }
    }
    name.trim_matches(['_', '-']).to_owned()
}

/// A name that a placeholder may have.
pub(crate) fn variable_name(text: &str) -> String {
    let name = valid(text, LONGEST).replace('-', "_");
    match name.bytes().next() {
        None => "value".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        Some(_) => name,
    }
}

/// A name for a secret, from the words that say what it is for.
pub(crate) fn secret_name(parts: &[&str]) -> String {
    let mut words: Vec<String> = Vec::new();
    for part in parts {
        let mut word = String::new();
        let mut was_lower = false;
        // `apiKey` as `api_key`.
        for character in part.chars() {
            if character.is_ascii_uppercase() && was_lower {
                word.push('_');
            }
            was_lower = character.is_ascii_lowercase() || character.is_ascii_digit();
            word.push(character.to_ascii_lowercase());
        }
        let word = valid(&word, LONGEST).replace('-', "_");
        if !word.is_empty() && words.last() != Some(&word) {
            words.push(word);
        }
    }
    let mut name = words.join("_");
    name.truncate(LONGEST);
    let name = name.trim_matches('_');
    if name.is_empty() { "secret".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_the_same_thing_is_always_called_the_same() {
        let mut names = Names::new(Some("Pet Store"));
        assert_eq!(names.unique("getPetById", "GET /pet/{id}"), "Pet_Store_getPetById");
        let second = names.unique("getPetById", "GET /pets/{id}");
        assert_eq!(second.len(), "Pet_Store_getPetById".len() + 7);
        let mut again = Names::new(Some("Pet Store"));
        again.unique("getPetById", "GET /pet/{id}");
        assert_eq!(again.unique("getPetById", "GET /pets/{id}"), second);
        let mut plain = Names::new(None);
        for (text, name) in [
            ("/users/{user-id}/repos", "users_user-id_repos"),
            ("获取用户", "tool"),
            ("a  b", "a_b"),
            ("__x__", "x"),
        ] {
            assert_eq!(plain.wanted(text), name, "{text}");
        }
        let long = plain.unique(&"x".repeat(200), "GET /x");
        assert_eq!(long.len(), 64);
        assert_eq!(plain.unique(&"x".repeat(200), "GET /y").len(), 64);
    }

    #[test]
    fn variables_and_secrets_have_names_too() {
        for (text, name) in [("user-id", "user_id"), ("1st", "_1st"), ("$filter", "filter"), ("", "value")] {
            assert_eq!(variable_name(text), name, "{text}");
        }
        assert_eq!(secret_name(&["api.openai", "apiKey"]), "api_openai_api_key");
        assert_eq!(secret_name(&["Petstore", "petstore", "Token"]), "petstore_token");
        assert_eq!(secret_name(&["", "！"]), "secret");
    }
}

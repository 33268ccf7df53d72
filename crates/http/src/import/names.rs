//! Names that importers give: of tools, variables and secrets, made valid and kept apart.

use std::collections::{HashMap, HashSet};
use std::net::Ipv4Addr;

use haft_core::name::RESERVED_NAMES;

/// The longest name of a tool or a secret.
const LONGEST: usize = 64;

/// What a mark takes.
const MARK: usize = 6;

/// What a number behind a name takes at most, with its `_`.
const NUMBER: usize = 8;

/// The longest words that say what a secret is for.
const LONGEST_WORDS: usize = 48;

/// Gives names that are valid tool names, each once.
pub(crate) struct Names {
    prefix: String,
    taken: HashSet<String>,
    /// By name and mark, the number that the next one of the same identity gets.
    numbers: HashMap<String, u32>,
}

impl Names {
    pub(crate) fn new(prefix: Option<&str>) -> Self {
        let prefix = prefix.map(|prefix| valid(prefix, LONGEST / 2)).filter(|prefix| !prefix.is_empty());
        Self {
            prefix: prefix.map(|prefix| prefix + "_").unwrap_or_default(),
            taken: HashSet::new(),
            numbers: HashMap::new(),
        }
    }

    /// What a tool would be called if nobody else wanted the name.
    pub(crate) fn wanted(&self, text: &str) -> String {
        let name = format!("{}{}", self.prefix, valid(text, LONGEST * 4));
        let name = cut(&name, LONGEST).trim_end_matches('_');
        if name.is_empty() {
            "tool".to_owned()
        } else if is_like_an_id(name) || RESERVED_NAMES.contains(&name) {
            format!("tool_{name}")
        } else {
            name.to_owned()
        }
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

    /// A name with the mark of its identity, wanted by several. Equal identities are numbered.
    pub(crate) fn marked(&mut self, text: &str, identity: &str) -> String {
        let (wanted, mark) = (self.wanted(text), mark(identity));
        let name = format!("{}_{mark}", cut(&wanted, LONGEST - MARK - 1));
        if self.taken.insert(name.clone()) {
            return name;
        }
        let stem = format!("{}_{mark}", cut(&wanted, LONGEST - MARK - 1 - NUMBER));
        let number = self.numbers.entry(stem.clone()).or_insert(1);
        loop {
            *number += 1;
            let name = format!("{stem}_{number}");
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// Six digits that depend on a text alone (FNV-1a).
fn mark(text: &str) -> String {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = text.bytes().fold(0x811c_9dc5, step);
    // The upper digits stir the lower ones, which alone would hardly differ for texts alike.
    format!("{:06x}", (hash ^ (hash >> 24)) & 0x00ff_ffff)
}

/// The beginning of a name, which has letters of one byte only.
fn cut(name: &str, longest: usize) -> &str {
    name.get(..longest).unwrap_or(name)
}

/// Whether a name has the form of a UUID, which no tool may have.
fn is_like_an_id(name: &str) -> bool {
    let digits = name.bytes().filter(|byte| *byte != b'-').count();
    digits == 32 && name.len() <= 36 && name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
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

/// A name for a secret: the host it is for, then the words that say what it is.
///
/// The host comes first and whole, or with a mark of its own, so that what is
/// imported for one host never names the secret of another.
pub(crate) fn secret_name(host: &str, what: &[&str]) -> String {
    let words = secret_words(what);
    let host = secret_host(host);
    if host.is_empty() {
        return if words.is_empty() { "secret".to_owned() } else { format!("secret_{words}") };
    }
    let words = if words.is_empty() { "secret".to_owned() } else { words };
    let stem = valid(&host, LONGEST * 4);
    // A `_` in a host looks like a dot, and `uk_token` for `shop.co` like `token` for `shop.co.uk`.
    let is_plain = !host.contains('_') && stem == host.replace(['.', ':'], "_");
    let first = words.split('_').next().unwrap_or_default();
    let is_country = first.len() == 2 && first.bytes().all(|byte| byte.is_ascii_alphabetic());
    let name = format!("{stem}_{words}");
    if is_plain && !is_country && name.len() <= LONGEST {
        return name;
    }
    let room = LONGEST - MARK - 2 - words.len();
    format!("{}_{}_{words}", cut(&stem, room).trim_end_matches(['_', '-']), mark(&host))
}

/// A host without `api.` or `www.`, and without its port unless only the port tells its services apart.
fn secret_host(written: &str) -> String {
    let host = written.trim().trim_end_matches('.').to_ascii_lowercase();
    let is_port = |(name, port): &(&str, &str)| {
        let is_bracketed = !name.contains(':') || name.ends_with(']');
        is_bracketed && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    };
    let name = host.rsplit_once(':').filter(is_port).map_or(host.as_str(), |(name, _)| name);
    let is_address = name.contains(':') || name.parse::<Ipv4Addr>().is_ok();
    if is_address || name == "localhost" || name.ends_with(".localhost") {
        return host;
    }
    let rest = name.strip_prefix("api.").or_else(|| name.strip_prefix("www."));
    rest.filter(|rest| rest.contains('.')).unwrap_or(name).to_owned()
}

/// Words in small letters with `_` between them: `api_key` of `apiKey`.
fn secret_words(parts: &[&str]) -> String {
    let mut words: Vec<String> = Vec::new();
    for part in parts {
        let mut word = String::new();
        let mut was_lower = false;
        for character in part.chars().take(LONGEST * 4) {
            if character.is_ascii_uppercase() && was_lower {
                word.push('_');
            }
            was_lower = character.is_ascii_lowercase() || character.is_ascii_digit();
            word.push(character.to_ascii_lowercase());
        }
        let word = valid(&word.replace('-', "_"), LONGEST * 4);
        if !word.is_empty() && words.last() != Some(&word) {
            words.push(word);
        }
    }
    let words = words.join("_");
    if words.len() <= LONGEST_WORDS {
        return words;
    }
    let start = cut(&words, LONGEST_WORDS - MARK - 1).trim_end_matches('_');
    format!("{start}_{}", mark(&words))
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
            ("6f9619ff8b86d011b42d00cf4fc964ff", "tool_6f9619ff8b86d011b42d00cf4fc964ff"),
            ("find_tools", "tool_find_tools"),
        ] {
            assert_eq!(plain.wanted(text), name, "{text}");
        }
        let long = plain.unique(&"x".repeat(200), "GET /x");
        assert_eq!(long.len(), 64);
        assert_eq!(plain.unique(&"x".repeat(200), "GET /y").len(), 64);
    }

    #[test]
    fn equal_identities_are_numbered() {
        let mut names = Names::new(None);
        let first = names.marked("list", "GET /a");
        assert_ne!(names.marked("list", "GET /b"), first);
        assert_eq!(names.marked("list", "GET /a"), format!("{first}_2"));
        assert_eq!(names.marked("list", "GET /a"), format!("{first}_3"));
        let mut seen = HashSet::new();
        for _ in 0..3_000 {
            let name = names.marked(&"x".repeat(80), "GET /a");
            assert!(name.len() <= 64 && seen.insert(name));
        }
    }

    #[test]
    fn variables_have_names_too() {
        for (text, name) in [("user-id", "user_id"), ("1st", "_1st"), ("$filter", "filter"), ("", "value")] {
            assert_eq!(variable_name(text), name, "{text}");
        }
    }

    #[test]
    fn secrets_are_called_after_their_host() {
        for (host, what, name) in [
            ("api.openai.com", vec!["apiKey"], "openai_com_api_key"),
            ("API.OpenAI.com:8443", vec!["Token"], "openai_com_token"),
            ("www.example.com", vec!["Petstore", "petstore", "Token"], "example_com_petstore_token"),
            ("api.www.example.com", vec!["token"], "www_example_com_token"),
            ("api.com", vec!["token"], "api_com_token"),
            ("my-shop.example", vec!["X-Api-Key"], "my-shop_example_x_api_key"),
            ("xn--bcher-kva.example", vec!["token"], "xn--bcher-kva_example_token"),
            ("localhost:3000", vec!["token"], "localhost_3000_token"),
            ("127.0.0.1:8080", vec!["token"], "127_0_0_1_8080_token"),
            ("10.0.0.7", vec!["token"], "10_0_0_7_token"),
            ("example.com", vec!["", "！"], "example_com_secret"),
            ("", vec!["token"], "secret_token"),
            ("", vec![], "secret"),
        ] {
            assert_eq!(secret_name(host, &what), name, "{host}");
        }
    }

    #[test]
    fn the_secrets_of_different_hosts_stay_different() {
        let long = |last: &str| format!("{}.{last}", ["abcdefghij"; 8].join("."));
        let (com, net, many) = (long("com"), long("net"), "word ".repeat(40));
        for (one, other, what) in [
            ("my_api.example", "my.api.example", "token"),
            ("my-api.example", "my.api.example", "token"),
            ("[::1]:9200", "[::2]:9200", "token"),
            (com.as_str(), net.as_str(), "client_secret"),
            (com.as_str(), net.as_str(), many.as_str()),
        ] {
            let (first, second) = (secret_name(one, &[what]), secret_name(other, &[what]));
            assert_ne!(first, second);
            for name in [first, second] {
                let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
                assert!((1..=64).contains(&name.len()) && name.bytes().all(fits), "{name}");
            }
        }
        assert!(secret_name(&com, &["client_secret"]).ends_with("_client_secret"));
        assert_ne!(secret_name("shop.co", &["uk_token"]), secret_name("shop.co.uk", &["token"]));
    }
}

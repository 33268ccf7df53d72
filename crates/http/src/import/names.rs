//! Valid, unique names for imported tools, variables and secrets.

use std::collections::{HashMap, HashSet};
use std::net::Ipv4Addr;

use haft_core::name::RESERVED_NAMES;

/// Maximum length of the name of a tool or secret.
const LONGEST: usize = 64;

/// Length of a hash suffix.
const MARK: usize = 6;

/// Maximum length of a numeric suffix with its `_`.
const NUMBER: usize = 8;

/// Maximum length of the part of a secret's name that describes it.
const LONGEST_PURPOSE: usize = 48;

/// Assigns valid tool names, each once.
pub(crate) struct Names {
    prefix: String,
    taken: HashSet<String>,
    /// The next number for each name and hash suffix.
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

    /// The name a tool gets if no other tool has the same.
    pub(crate) fn preferred(&self, text: &str) -> String {
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

    /// A unique name. If it is taken, a hash of `identity` is appended, so that repeated imports use the same
    /// name.
    pub(crate) fn unique(&mut self, text: &str, identity: &str) -> String {
        let name = self.preferred(text);
        if self.taken.insert(name.clone()) {
            return name;
        }
        self.marked(text, identity)
    }

    /// A name with a hash suffix, for names that several tools want. Equal identities are numbered.
    pub(crate) fn marked(&mut self, text: &str, identity: &str) -> String {
        let (wanted, mark) = (self.preferred(text), mark(identity));
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

/// Six hex digits that depend only on a text (FNV-1a).
fn mark(text: &str) -> String {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = text.bytes().fold(0x811c_9dc5, step);
    // Mixing in the upper digits is needed because the lower ones hardly differ for similar texts.
    format!("{:06x}", (hash ^ (hash >> 24)) & 0x00ff_ffff)
}

/// Truncates a name, which is ASCII.
fn cut(name: &str, longest: usize) -> &str {
    name.get(..longest).unwrap_or(name)
}

/// Returns true if a name has the form of a UUID, which tools must not have.
fn is_like_an_id(name: &str) -> bool {
    let digits = name.bytes().filter(|byte| *byte != b'-').count();
    digits == 32 && name.len() <= 36 && name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Keeps letters, digits, `_` and `-`; other characters become one `_`.
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

/// A valid name for a placeholder.
pub(crate) fn variable_name(text: &str) -> String {
    let name = valid(text, LONGEST).replace('-', "_");
    match name.bytes().next() {
        None => "value".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        Some(_) => name,
    }
}

/// A name for a secret: the host, then words that describe it.
///
/// The host is complete or has a hash suffix, so that an import for one host never uses the secret of
/// another.
pub(crate) fn secret_name(host: &str, what: &[&str]) -> String {
    let words = secret_purpose(what);
    let host = secret_host(host);
    if host.is_empty() {
        return if words.is_empty() { "secret".to_owned() } else { format!("secret_{words}") };
    }
    let words = if words.is_empty() { "secret".to_owned() } else { words };
    let stem = valid(&host, LONGEST * 4);
    // A `_` in a host looks like a dot, and `uk_token` for `shop.co` equals `token` for `shop.co.uk`.
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

/// A host without `api.` or `www.`, and without the port unless the port distinguishes its services.
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

/// Converts words to snake case: `api_key` for `apiKey`.
fn secret_purpose(parts: &[&str]) -> String {
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
    if words.len() <= LONGEST_PURPOSE {
        return words;
    }
    let start = cut(&words, LONGEST_PURPOSE - MARK - 1).trim_end_matches('_');
    format!("{start}_{}", mark(&words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_stable() {
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
            assert_eq!(plain.preferred(text), name, "{text}");
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
    fn variable_names_are_valid() {
        for (text, name) in [("user-id", "user_id"), ("1st", "_1st"), ("$filter", "filter"), ("", "value")] {
            assert_eq!(variable_name(text), name, "{text}");
        }
    }

    #[test]
    fn secrets_are_named_after_their_host() {
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
    fn secrets_of_different_hosts_have_different_names() {
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

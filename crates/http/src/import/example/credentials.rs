//! Credentials of example requests: how they are known, and the secrets they become.

use haft_core::secret::SCHEME;
use secrecy::SecretString;

use crate::headers::{is_credential, looks_secret};
use crate::import::{FoundSecret, secret_name};

/// How names end that mean nothing but a credential.
const SURELY: [&str; 20] = [
    "accesskey",
    "accesstoken",
    "apikey",
    "apitoken",
    "authkey",
    "authtoken",
    "bearertoken",
    "credential",
    "credentials",
    "idtoken",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "refreshtoken",
    "secret",
    "secretkey",
    "securitytoken",
    "sessiontoken",
    "subscriptionkey",
];

/// Names that mean one in a query, and may mean one in a body.
const MAYBE: [&str; 9] = ["appid", "auth", "authorization", "jwt", "key", "pwd", "sig", "signature", "token"];

/// How the keys of well-known services begin.
const ISSUED: [&str; 14] = [
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "rk_test_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
];

/// How variables are called that say where something is, not who somebody is.
const PLACES: [&str; 9] = ["url", "uri", "host", "domain", "endpoint", "path", "name", "id", "type"];

pub(super) fn in_header(name: &str, value: &str) -> bool {
    is_credential(name) || letters(name).contains("session") || is_token(value)
}

pub(super) fn in_query(name: &str, value: &str) -> bool {
    let word = letters(name);
    let is_named = is_sure(&word) || MAYBE.contains(&word.as_str());
    !value.is_empty() && (is_named || is_token(value) || (is_token_name(&word) && looks_secret(value)))
}

pub(super) fn in_body(name: &str, value: &str) -> bool {
    let word = letters(name);
    let may_be = MAYBE.contains(&word.as_str()) || is_token_name(&word);
    !value.is_empty() && (is_sure(&word) || is_token(value) || (may_be && looks_secret(value)))
}

/// Whether a variable by this name holds a credential.
pub(crate) fn is_secret_variable(name: &str) -> bool {
    let word = letters(name);
    is_credential(name) && !PLACES.iter().any(|place| word.ends_with(place))
}

/// Whether a text is a key or a token by its form alone.
pub(super) fn is_token(text: &str) -> bool {
    let is_jwt = text.starts_with("eyJ") && text.matches('.').count() == 2;
    let is_issued = ISSUED.iter().any(|start| text.starts_with(start));
    text.len() >= 16 && !text.contains(char::is_whitespace) && (is_jwt || is_issued)
}

fn is_sure(word: &str) -> bool {
    SURELY.iter().any(|end| word.ends_with(end))
}

/// Tokens that say where a list goes on are none.
fn is_token_name(word: &str) -> bool {
    const OF_LISTS: [&str; 5] = ["page", "next", "continuation", "sync", "cursor"];
    let is_of_list = OF_LISTS.iter().any(|part| word.contains(part));
    (word.ends_with("token") && !is_of_list) || word.ends_with("signature")
}

fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// The name of a secret: what it is, and whose.
pub(super) fn name_of(label: &str, what: &str) -> String {
    let what = match letters(what).as_str() {
        "key" | "appid" | "apikey" | "xapikey" => "api_key",
        "auth" | "authorization" => "token",
        _ => what.strip_prefix("x-").or_else(|| what.strip_prefix("X-")).unwrap_or(what),
    };
    let (alone, label) = (secret_name(&[what]), secret_name(&[label]));
    if alone.starts_with(&format!("{label}_")) { alone } else { secret_name(&[label.as_str(), what]) }
}

/// What a bearer token is called: some are keys.
pub(super) fn word_for_token(token: &str) -> &'static str {
    let is_key = ["sk-", "sk_", "rk_", "pk_", "key-"].iter().any(|start| token.starts_with(start));
    if is_key { "api_key" } else { "token" }
}

/// The secrets of an import, each name once.
#[derive(Default)]
pub(super) struct SecretBook {
    found: Vec<(String, Option<String>)>,
}

impl SecretBook {
    /// Keeps a secret and gives the reference to it; the same value under the same name is one secret.
    pub(super) fn keep(&mut self, wanted: &str, value: Option<&str>) -> String {
        let value = value.filter(|value| !value.is_empty());
        let mut name = wanted.to_owned();
        let mut number = 1_u32;
        loop {
            match self.found.iter().find(|(known, _)| *known == name) {
                None => {
                    self.found.push((name.clone(), value.map(str::to_owned)));
                    break;
                }
                Some((_, known)) if known.as_deref() == value => break,
                Some(_) => {
                    number += 1;
                    let stem: String = wanted.chars().take(56).collect();
                    name = format!("{stem}_{number}");
                }
            }
        }
        format!("{SCHEME}{name}")
    }

    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    /// Forgets what came after so many.
    pub(super) fn forget_after(&mut self, known: usize) {
        self.found.truncate(known);
    }

    pub(super) fn into_found(self) -> Vec<FoundSecret> {
        let found = |(name, value): (String, Option<String>)| FoundSecret {
            name,
            value: value.map(SecretString::from),
        };
        self.found.into_iter().map(found).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_known_by_name_and_form() {
        for (name, value) in [
            ("api_key", "x"),
            ("key", "x"),
            ("appid", "x"),
            ("sig", "x"),
            ("X-Amz-Signature", "0af3c9d1e2b4"),
        ] {
            assert!(in_query(name, value), "{name}");
        }
        for (name, value) in [
            ("key", "Abc123456789"),
            ("client_secret", "x"),
            ("token", "xoxb-1234567890ab"),
            ("note", "ghp_0123456789abcdef"),
        ] {
            assert!(in_body(name, value), "{name}");
        }
        for (name, value) in
            [("pageToken", "CAUQAA0123456"), ("max_tokens", "100"), ("sortKey", "Name1234"), ("key", "")]
        {
            assert!(!in_query(name, value) && !in_body(name, value), "{name}");
        }
        assert!(!in_body("key", "greeting"));
        for (name, expected) in [("token", true), ("apiKey", true), ("tokenUrl", false), ("userId", false)] {
            assert_eq!(is_secret_variable(name), expected, "{name}");
        }
    }

    #[test]
    fn a_name_has_one_value() {
        let mut book = SecretBook::default();
        assert_eq!(book.keep(&name_of("github", "token"), Some("a")), "secret://github_token");
        assert_eq!(book.keep("github_token", Some("a")), "secret://github_token");
        assert_eq!(book.keep("github_token", Some("b")), "secret://github_token_2");
        assert_eq!(book.keep("github_token", None), "secret://github_token_3");
        assert_eq!(name_of("openai", "X-Api-Key"), "openai_api_key");
        assert_eq!(name_of("openai", "OPENAI_KEY"), "openai_key");
        assert_eq!(name_of("cloudflare", "X-Auth-Key"), "cloudflare_auth_key");
    }
}

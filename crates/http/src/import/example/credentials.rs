//! Detects credentials in example requests, and names their secrets.

use super::marks::{MarkKind, Piece, mark, pieces};
use super::url_names::{label, snake};
use crate::headers::{is_credential, looks_secret};
use crate::import::secret_name;

/// Name endings that always mean a credential.
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

/// Names that mean a credential in a query, and sometimes in a body.
const MAYBE: [&str; 10] =
    ["appid", "auth", "authorization", "jwt", "key", "pwd", "sid", "sig", "signature", "token"];

/// Name endings of session ids, which are credentials too.
const SESSIONS: [&str; 4] = ["session", "sessionid", "sessionkey", "sessid"];

/// Prefixes of keys issued by well-known services.
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

/// Endings of variable names that describe a location or type, not a credential.
const NOT_CREDENTIALS: [&str; 9] = ["url", "uri", "host", "domain", "endpoint", "path", "name", "id", "type"];

/// Parts of names of pagination tokens.
const OF_LISTS: [&str; 5] = ["page", "next", "continuation", "sync", "cursor"];

/// Words that precede credentials in free text.
const IN_TEXTS: [&str; 9] =
    ["password", "passwd", "secret", "token", "api_key", "api-key", "apikey", "authorization", "credential"];

/// Words used as stand-ins for a credential in documentation.
const STAND_INS: [&str; 24] = [
    "accesstoken",
    "apikey",
    "apitoken",
    "authtoken",
    "bearertoken",
    "changeit",
    "changeme",
    "dummy",
    "hidden",
    "jwt",
    "key",
    "pass",
    "passwd",
    "password",
    "placeholder",
    "redacted",
    "replaceme",
    "secret",
    "secretkey",
    "todo",
    "token",
    "undefined",
    "user",
    "username",
];

pub(super) fn in_header(name: &str, value: &str) -> bool {
    is_credential(name) || normalized(name).contains("session") || is_token(value)
}

pub(super) fn in_query(name: &str, value: &str) -> bool {
    let word = normalized(name);
    let is_named = is_sure(&word) || MAYBE.contains(&word.as_str()) || is_session(&word);
    !value.is_empty() && (is_named || is_token(value) || (is_token_name(&word) && looks_secret(value)))
}

pub(super) fn in_body(name: &str, value: &str) -> bool {
    let word = normalized(name);
    let may_be = MAYBE.contains(&word.as_str()) || is_token_name(&word) || is_session(&word);
    let is_stand_in = word.ends_with("token") && is_placeholder(value);
    let is_meant = is_sure(&word) || is_token(value) || (may_be && (looks_secret(value) || is_stand_in));
    !value.is_empty() && is_meant
}

/// Returns true if a field with this name always contains a credential.
pub(super) fn is_surely(name: &str) -> bool {
    is_sure(&normalized(name))
}

/// Returns true if a variable with this name contains a credential.
pub(crate) fn is_secret_variable(name: &str) -> bool {
    let word = normalized(name);
    let is_of_list = word.ends_with("token") && OF_LISTS.iter().any(|part| word.contains(part));
    is_credential(name) && !is_of_list && !NOT_CREDENTIALS.iter().any(|place| word.ends_with(place))
}

/// Creates the mark of a variable whose name alone is known.
pub(crate) fn mark_variable(name: &str) -> String {
    mark(if is_secret_variable(name) { MarkKind::Secret } else { MarkKind::Text }, name)
}

/// Returns true if a text has the form of a key or a token.
pub(super) fn is_token(text: &str) -> bool {
    let is_jwt = text.starts_with("eyJ") && text.matches('.').count() == 2;
    text.len() >= 16 && !text.contains(char::is_whitespace) && (is_jwt || is_issued(text))
}

/// Returns true if a text begins like the keys of a well-known service.
pub(crate) fn is_issued(text: &str) -> bool {
    ISSUED.iter().any(|start| text.starts_with(start))
}

/// Returns true if a text only marks the place of a credential: `YOUR_TOKEN`, `<token>`, `sk-...`.
pub(super) fn is_placeholder(text: &str) -> bool {
    let text = text.trim().trim_matches(['"', '\'']);
    // A cookie header contains several values; any of them may be real.
    if text.is_empty() || text.contains(';') {
        return text.is_empty();
    }
    let enclosed = [("<", ">"), ("{", "}"), ("${", "}"), ("[", "]"), ("%", "%")];
    let is_enclosed = enclosed.iter().any(|(open, close)| {
        let inside = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        inside.is_some_and(|inside| inside.starts_with(|first: char| first.is_alphabetic() || first == '{'))
    });
    let is_constant =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let is_variable = text.strip_prefix('$').is_some_and(is_constant);
    let is_crossed_out = ["...", "…", "xxxx", "XXXX", "****", "••••"].iter().any(|sign| text.contains(sign))
        || text.chars().all(|character| matches!(character, 'x' | 'X' | '*' | '.' | '-' | '_' | '•'));
    let lower = text.to_ascii_lowercase();
    let mut words = lower.split(|character: char| !character.is_ascii_alphanumeric());
    let says_so =
        words.any(|word| ["your", "changeme", "redacted", "placeholder", "replaceme"].contains(&word));
    let whole = normalized(text);
    let owned = whole.strip_prefix("your").unwrap_or(&whole);
    let is_stand_in = STAND_INS.contains(&owned.strip_suffix("here").unwrap_or(owned));
    is_enclosed || is_variable || is_crossed_out || says_so || is_stand_in || is_name_of_credential(text)
}

/// Returns true if a text is the name of a constant in capitals: `ACCESS_TOKEN`.
fn is_name_of_credential(text: &str) -> bool {
    const ENDS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "USER", "USERNAME"];
    text.contains('_')
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        && text.rsplit('_').next().is_some_and(|last| ENDS.contains(&last))
}

/// Returns true if a free text seems to contain a credential.
pub(super) fn in_text(text: &str) -> bool {
    let found = pieces(text);
    let [Piece::Plain(_)] = found.as_slice() else {
        // After a keyword follows the mark of a variable, or the credential itself.
        return found.iter().any(|piece| match piece {
            Piece::Plain(plain) => has_value_behind_word(&plain.to_ascii_lowercase()),
            Piece::Mark(..) => false,
        });
    };
    let lower = text.to_ascii_lowercase();
    IN_TEXTS.iter().any(|word| lower.contains(word))
}

fn has_value_behind_word(plain: &str) -> bool {
    // Values further away are unrelated.
    const NEAR: usize = 80;
    IN_TEXTS.iter().any(|word| {
        plain.match_indices(word).any(|(at, _)| {
            let rest = plain.get(at + word.len()..).unwrap_or_default();
            let end = rest.char_indices().nth(NEAR).map_or(rest.len(), |(end, _)| end);
            let rest = rest.get(..end).unwrap_or_default();
            let rest = rest.trim_start_matches(|character: char| {
                character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '"' | '\'' | ' ')
            });
            let value = rest.strip_prefix(['>', '=', ':']).unwrap_or_default();
            let value = value.trim_start_matches(['"', '\'', ' ', '\t']);
            value.starts_with(|first: char| first.is_alphanumeric())
        })
    })
}

fn is_sure(word: &str) -> bool {
    SURELY.iter().any(|end| word.ends_with(end))
}

fn is_session(word: &str) -> bool {
    SESSIONS.iter().any(|end| word.ends_with(end))
}

/// Pagination tokens are not credentials.
fn is_token_name(word: &str) -> bool {
    let is_of_list = OF_LISTS.iter().any(|part| word.contains(part));
    (word.ends_with("token") && !is_of_list) || word.ends_with("signature")
}

fn normalized(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// The name of a secret: the host, and the kind of credential.
pub(super) fn name_of(host: &str, what: &str) -> String {
    let word = match normalized(what).as_str() {
        "key" | "appid" | "apikey" | "xapikey" => "api_key".to_owned(),
        "auth" | "authorization" => "token".to_owned(),
        _ => snake(what),
    };
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let owner = format!("{}_", snake(label(name)));
    // `OPENAI_API_KEY` for openai.com contains the host already.
    let word = word.strip_prefix("x_").unwrap_or(&word);
    secret_name(host, &[word.strip_prefix(owner.as_str()).unwrap_or(word)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_detected_by_name_and_form() {
        for (name, value) in [
            ("api_key", "x"),
            ("key", "x"),
            ("appid", "x"),
            ("sig", "x"),
            ("X-Amz-Signature", "0af3c9d1e2b4"),
            ("session_id", "x"),
            ("PHPSESSID", "x"),
            ("sid", "x"),
        ] {
            assert!(in_query(name, value), "{name}");
        }
        for (name, value) in [
            ("key", "Abc123456789"),
            ("client_secret", "x"),
            ("token", "xoxb-1234567890ab"),
            ("note", "ghp_0123456789abcdef"),
            ("sessionId", "0af3c9d1e2b4"),
            ("token", "<token>"),
        ] {
            assert!(in_body(name, value), "{name}");
        }
        for (name, value) in [
            ("pageToken", "CAUQAA0123456"),
            ("max_tokens", "100"),
            ("sortKey", "Name1234"),
            ("key", ""),
            ("account_sid", "AC01234567"),
            ("sessions", "12345678A"),
        ] {
            assert!(!in_query(name, value) && !in_body(name, value), "{name}");
        }
        assert!(!in_body("key", "greeting") && !in_body("session", "morning"));
        for (name, expected) in [
            ("token", true),
            ("apiKey", true),
            ("tokenUrl", false),
            ("userId", false),
            ("NEXT_PAGE_TOKEN", false),
        ] {
            assert_eq!(is_secret_variable(name), expected, "{name}");
        }
    }

    #[test]
    fn placeholders_are_not_credentials() {
        for text in [
            "YOUR_TOKEN",
            "your-api-key-here",
            "<token>",
            "<your token>",
            "xxxxxxxx",
            "sk-xxxxxxxxxxxx",
            "...",
            "…",
            "sk-...",
            "$TOKEN",
            "${TOKEN}",
            "{{token}}",
            "{token}",
            "[API KEY]",
            "%TOKEN%",
            "API_KEY",
            "ACCESS_TOKEN",
            "changeme",
            "change-me",
            "sk-ant-REDACTED",
            "password",
            "",
        ] {
            assert!(is_placeholder(text), "{text}");
        }
        for text in [
            "sk-proj-0123456789abcdef",
            "hunter2hunter2",
            "correct-horse",
            "tok-12345678",
            "admin",
            "session=0a1b2c3d4e5f; theme=dark",
            "OmFiYzEyMw==",
            "eyJ0eXAiOiJKV1QifQ.e30.c2ln",
            "$2b$10$N9qo8uLOickgx2ZMRZoMye",
            "ABCDEFGHIJKL",
            "$ecret-word",
        ] {
            assert!(!is_placeholder(text), "{text}");
        }
    }

    #[test]
    fn credentials_in_texts_are_detected() {
        let id = mark(MarkKind::Text, "id");
        let password = mark(MarkKind::Secret, "password");
        for (text, expected) in [
            ("<a><password>hunter2</password></a>".to_owned(), true),
            ("api_key: x".to_owned(), true),
            ("<a>1</a>".to_owned(), false),
            (format!("<id>{id}</id><password>hunter2</password>"), true),
            (format!("<id>{id}</id><password>{password}</password><b>1</b>"), false),
            (format!("password={password}&id={id}"), false),
        ] {
            assert_eq!(in_text(&text), expected, "{text}");
        }
    }

    #[test]
    fn secrets_are_named_after_host_and_use() {
        for (host, what, name) in [
            ("api.openai.com", "X-Api-Key", "openai_com_api_key"),
            ("api.openai.com", "OPENAI_API_KEY", "openai_com_api_key"),
            ("api.openai.com", "Authorization", "openai_com_token"),
            ("api.cloudflare.com", "X-Auth-Key", "cloudflare_com_auth_key"),
            ("localhost:9200", "password", "localhost_9200_password"),
        ] {
            assert_eq!(name_of(host, what), name, "{host} {what}");
        }
    }
}

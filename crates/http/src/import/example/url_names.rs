//! Interprets words in URLs: names of resources, id segments, and the short name of a host.

use percent_encoding::percent_decode_str;

use super::credentials::is_token;
use super::marks::has_marks;

/// The name of a tool: its method and the last two meaningful words of its path.
pub(super) fn tool_name(method: &str, segments: &[String], label: &str) -> String {
    let is_word = |segment: &&String| is_meaningful(segment) && !looks_like_id(segment);
    let mut words: Vec<String> =
        segments.iter().rev().filter(is_word).take(2).map(|segment| snake(stem(segment))).collect();
    words.reverse();
    let words = if words.is_empty() { snake(label) } else { words.join("_") };
    format!("{}_{words}", method.to_ascii_lowercase())
}

/// The name of the id after a segment: `user_id` after `users`.
pub(super) fn id_name(before: Option<&str>) -> String {
    match before.map(|segment| snake(stem(segment))) {
        Some(word) if !word.is_empty() => format!("{}_id", singular(&word)),
        Some(_) | None => "id".to_owned(),
    }
}

/// Returns true if a segment is meaningful: not a variable, a version or a date.
pub(super) fn is_meaningful(segment: &str) -> bool {
    let is_version =
        segment.strip_prefix(['v', 'V']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let is_date = segment.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.'));
    let is_common = ["api", "rest"].contains(&segment.to_ascii_lowercase().as_str());
    let has_letters = segment.bytes().any(|byte| byte.is_ascii_alphanumeric());
    has_letters && !is_version && !is_date && !is_common && !has_marks(segment)
}

/// The path with ids unified, so that requests for different resources of a collection are equal.
pub(crate) fn path_shape(segments: &[String]) -> String {
    let decoded = |segment: &str| percent_decode_str(segment).decode_utf8_lossy().into_owned();
    let before = std::iter::once(None).chain(segments.iter().map(|segment| Some(segment.as_str())));
    let shape = |(segment, before): (&String, Option<&str>)| {
        let is_id = has_marks(segment) || is_id(&decoded(segment), before);
        if is_id { "/{id}".to_owned() } else { format!("/{segment}") }
    };
    segments.iter().zip(before).map(shape).collect()
}

/// Returns true if a decoded segment is an id. A short number is an id only after a word: `users/42`, but not
/// `api/2`.
pub(super) fn is_id(segment: &str, before: Option<&str>) -> bool {
    const NOT_COLLECTIONS: [&str; 5] = ["oauth", "page", "ver", "version", "versions"];
    let is_collection = |before: &str| {
        is_meaningful(before)
            && !looks_like_id(before)
            && !NOT_COLLECTIONS.contains(&before.to_ascii_lowercase().as_str())
    };
    looks_like_id(segment) || (is_number(segment) && before.is_some_and(is_collection))
}

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true if a decoded segment has the form of an id.
pub(super) fn looks_like_id(segment: &str) -> bool {
    let is_long_number = segment.len() >= 3 && is_number(segment);
    is_long_number || is_uuid(segment) || is_hex(segment) || is_email(segment) || looks_random(segment)
}

/// Returns true if an id might be a credential, so that it must not appear as an example.
pub(super) fn may_be_secret(segment: &str, before: Option<&str>) -> bool {
    const HOOKS: [&str; 6] = ["hook", "hooks", "webhook", "webhooks", "services", "bot"];
    let is_hook = before.is_some_and(|before| HOOKS.contains(&before.to_ascii_lowercase().as_str()));
    let is_plain = is_uuid(segment) || is_hex(segment) || is_email(segment) || !looks_random(segment);
    is_hook || is_token(segment) || !is_plain
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

fn is_hex(text: &str) -> bool {
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    text.len() >= 16 && has_digit && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_email(text: &str) -> bool {
    let domain = text.split_once('@').filter(|(name, _)| !name.is_empty()).map(|(_, domain)| domain);
    domain.is_some_and(|domain| domain.contains('.') && !domain.contains(['@', ' ']))
}

/// Returns true for twenty or more characters that mix letters and digits.
fn looks_random(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'=');
    let is_mixed = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        part.len() >= 8 && digits >= 2 && digits < part.len()
    };
    text.len() >= 20 && text.bytes().all(is_part) && text.split(['-', '_', ':', '=']).any(is_mixed)
}

/// Removes a file extension from a segment.
fn stem(segment: &str) -> &str {
    const ENDINGS: [&str; 6] = [".json", ".xml", ".php", ".aspx", ".do", ".html"];
    ENDINGS.iter().find_map(|ending| segment.strip_suffix(ending)).unwrap_or(segment)
}

/// The singular form: `company` for `companies`.
fn singular(word: &str) -> String {
    const AS_THEY_ARE: [&str; 5] = ["news", "series", "ss", "us", "is"];
    if AS_THEY_ARE.iter().any(|end| word.ends_with(end)) {
        return word.to_owned();
    }
    for (many, one) in [("movies", "movie"), ("cookies", "cookie"), ("statuses", "status"), ("ies", "y")] {
        if let Some(start) = word.strip_suffix(many) {
            return format!("{start}{one}");
        }
    }
    for many in ["sses", "xes", "ches", "shes"] {
        if word.ends_with(many) {
            return word.strip_suffix("es").unwrap_or(word).to_owned();
        }
    }
    word.strip_suffix('s').unwrap_or(word).to_owned()
}

/// Converts to snake case: `chat.postMessage` becomes `chat_post_message`.
pub(crate) fn snake(text: &str) -> String {
    let mut words = String::new();
    let mut was_lower = false;
    for character in text.chars() {
        if !character.is_ascii_alphanumeric() {
            was_lower = false;
            if !words.is_empty() && !words.ends_with('_') {
                words.push('_');
            }
            continue;
        }
        if was_lower && character.is_ascii_uppercase() {
            words.push('_');
        }
        was_lower = character.is_ascii_lowercase() || character.is_ascii_digit();
        words.push(character.to_ascii_lowercase());
    }
    words.trim_end_matches('_').to_owned()
}

/// The short name of a host: `openai` for `api.openai.com`.
pub(super) fn label(host: &str) -> &str {
    const SECOND: [&str; 7] = ["ac", "co", "com", "edu", "gov", "net", "org"];
    if host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok() {
        return host;
    }
    let mut labels = host.rsplit('.').skip(1);
    match (labels.next(), labels.next()) {
        (Some(second), Some(third)) if SECOND.contains(&second) => third,
        (Some(second), _) => second,
        (None, _) => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_a_one_word_label() {
        for (host, word) in [
            ("api.openai.com", "openai"),
            ("slack.com", "slack"),
            ("www.example.co.uk", "example"),
            ("localhost", "localhost"),
            ("127.0.0.1", "127.0.0.1"),
        ] {
            assert_eq!(label(host), word, "{host}");
        }
    }

    #[test]
    fn ids_are_distinguished_from_names() {
        for id in [
            "123",
            "6f9619ff-8b86-d011-b42d-00cf4fc964ff",
            "023e105f4ecef8ad9ca31a8372d0c353",
            "price_1MoBy5LkdIwHu7ixZhnattbh",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "ada@example.com",
            "bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
        ] {
            assert!(looks_like_id(id), "{id}");
        }
        for word in [
            "12",
            "users",
            "2010-04-01",
            "chat-completions-with-streaming",
            "claude-3-5-sonnet-20241022",
            "gpt-4o-mini-2024-07-18",
            "gemini-2-flash:generateContent",
            "deadbeef",
            "Hello-World",
        ] {
            assert!(!looks_like_id(word), "{word}");
        }
    }

    #[test]
    fn short_numbers_are_ids_only_after_a_word() {
        for (path, shape) in [
            ("users/42", "/users/{id}"),
            ("v1/users/7/posts/1", "/v1/users/{id}/posts/{id}"),
            ("rest/api/2/issue/10", "/rest/api/2/issue/{id}"),
            ("2/tweets", "/2/tweets"),
            ("version/2/users", "/version/2/users"),
            ("a/1/2", "/a/{id}/2"),
        ] {
            let segments: Vec<String> = path.split('/').map(str::to_owned).collect();
            assert_eq!(path_shape(&segments), shape, "{path}");
        }
    }

    #[test]
    fn ids_are_named_after_their_collection() {
        for (before, name) in [
            (Some("users"), "user_id"),
            (Some("companies"), "company_id"),
            (Some("addresses"), "address_id"),
            (Some("batches"), "batch_id"),
            (Some("dnsRecords"), "dns_record_id"),
            (Some("status"), "status_id"),
            (Some("Accounts.json"), "account_id"),
            (None, "id"),
        ] {
            assert_eq!(id_name(before), name, "{before:?}");
        }
        let name = |method: &str, path: &str| {
            let segments: Vec<String> = path.split('/').map(str::to_owned).collect();
            tool_name(method, &segments, "example")
        };
        for (method, path, expected) in [
            ("POST", "v1/chat/completions", "post_chat_completions"),
            ("GET", "users/123", "get_users"),
            ("POST", "api/chat.postMessage", "post_chat_post_message"),
            (
                "POST",
                "2010-04-01/Accounts/AC0123456789abcdef0123456789abcdef/Messages.json",
                "post_accounts_messages",
            ),
            ("GET", "", "get_example"),
        ] {
            assert_eq!(name(method, path), expected, "{path}");
        }
    }
}

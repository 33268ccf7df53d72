//! Splits the URL of an example request into origin, path and query.

use std::net::Ipv4Addr;

use haft_core::Message;
use percent_encoding::percent_decode_str;
use url::Url;

use super::credentials::mark_variable;
use super::marks::{Piece, first_mark, pieces};
use crate::query::encode;

haft_core::templates! {
    HOST_VARIABLE = "import.hostVariable",
        "the variable {name} is in the scheme, host or port of the URL, which must be fixed",
        "变量 {name} 出现在 URL 的协议、主机或端口中，这些部分必须写明";
    NOT_HTTP = "import.notHttp",
        "a URL that begins with {scheme}:// cannot be a tool; only http:// and https:// can",
        "以 {scheme}:// 开头的 URL 不能成为工具；只支持 http:// 和 https://";
    BAD_URL = "import.badUrl",
        "the URL cannot be read: {reason}",
        "无法读取 URL: {reason}";
}

/// A parsed URL.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Address {
    /// Scheme, host and port.
    pub(crate) origin: String,
    pub(crate) host: String,
    /// The user name, with the optional password.
    pub(crate) user: Option<(String, Option<String>)>,
    /// Path segments, percent-encoded as in the source.
    pub(crate) segments: Vec<String>,
    /// Decoded pairs. A name without `=` has no value.
    pub(crate) query: Vec<(String, Option<String>)>,
}

impl Address {
    pub(crate) fn parse(written: &str) -> Result<Self, Message> {
        let (scheme, rest) = split_scheme(written.trim())?;
        let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        if let Some(name) = first_mark(host) {
            return Err(Message::new(&HOST_VARIABLE).with("name", name));
        }
        // curl defaults to http, but most servers require https today.
        let scheme = scheme.unwrap_or(if is_local(host) { "http" } else { "https" });
        let unreadable = |error: url::ParseError| Message::new(&BAD_URL).with("reason", error);
        let url = Url::parse(&format!("{scheme}://{host}/")).map_err(unreadable)?;
        if url.path() != "/" {
            return Err(unreadable(url::ParseError::InvalidDomainCharacter));
        }
        let tail = tail.split('#').next().unwrap_or_default();
        let (path, query) = tail.split_once('?').unwrap_or((tail, ""));
        let segments: Option<Vec<String>> =
            path.strip_prefix('/').map(|path| path.split('/').map(str::to_owned).collect());
        Ok(Self {
            origin: url.origin().ascii_serialization(),
            host: url.host_str().unwrap_or_default().to_owned(),
            user: user.filter(|user| !user.is_empty()).map(split_user),
            segments: segments.unwrap_or_default(),
            query: pairs(query),
        })
    }

    /// The host, with the port unless it is the default one.
    pub(crate) fn authority(&self) -> &str {
        self.origin.split_once("://").map_or(&self.origin, |(_, authority)| authority)
    }

    /// Marks placeholders written as `:id`.
    pub(crate) fn mark_named_segments(&mut self) {
        for segment in &mut self.segments {
            if let Some(name) = segment.strip_prefix(':').filter(|name| is_name(name)) {
                *segment = mark_variable(name);
            }
        }
    }

    /// The path, with variables in braces.
    pub(crate) fn display_path(&self) -> String {
        let mut shown = String::new();
        for segment in &self.segments {
            shown.push('/');
            for piece in pieces(segment) {
                match piece {
                    Piece::Plain(plain) => shown.push_str(plain),
                    Piece::Mark(_, name) => shown.extend(["{", name, "}"]),
                }
            }
        }
        if shown.is_empty() { "/".to_owned() } else { shown }
    }
}

/// Returns true if a text can be the name of a variable in a URL.
fn is_name(text: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') && text.chars().all(is_part)
}

/// Splits off the scheme, if there is one.
fn split_scheme(text: &str) -> Result<(Option<&'static str>, &str), Message> {
    let Some((scheme, rest)) = text.split_once("://") else { return Ok((None, text)) };
    // A `://` after the host belongs to a URL inside the path or the query.
    if scheme.contains(['/', '?', '#']) {
        return Ok((None, text));
    }
    if let Some(name) = first_mark(scheme) {
        return Err(Message::new(&HOST_VARIABLE).with("name", name));
    }
    match scheme.to_ascii_lowercase().as_str() {
        "http" => Ok((Some("http"), rest)),
        "https" => Ok((Some("https"), rest)),
        other => Err(Message::new(&NOT_HTTP).with("scheme", other)),
    }
}

fn split_user(user: &str) -> (String, Option<String>) {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    match user.split_once(':') {
        Some((name, password)) => (decoded(name), Some(decoded(password))),
        None => (decoded(user), None),
    }
}

fn is_local(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let is_localhost = name.eq_ignore_ascii_case("localhost") || name.ends_with(".localhost");
    is_localhost || host.starts_with('[') || name.parse::<Ipv4Addr>().is_ok()
}

/// The path as written in the source, after the host or the leading variable.
pub(crate) fn written_path(url: &str) -> Option<String> {
    let rest = url.trim().split_once("://").map_or(url.trim(), |(_, rest)| rest);
    let path = rest.get(rest.find('/')?..)?;
    path.split(['?', '#']).next().map(str::to_owned)
}

/// Splits a query or a form into decoded pairs.
pub(crate) fn pairs(text: &str) -> Vec<(String, Option<String>)> {
    let pair = |piece: &str| match piece.split_once('=') {
        Some((name, value)) => (decode(name), Some(decode(value))),
        None => (decode(piece), None),
    };
    text.split('&').filter(|piece| !piece.is_empty()).map(pair).collect()
}

/// Decodes one side of a pair.
pub(crate) fn decode(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

/// Encodes a segment so that it is literal in the URL of a definition.
pub(crate) fn written(segment: &str) -> String {
    let mut written = String::with_capacity(segment.len());
    for (at, character) in segment.char_indices() {
        let next = segment.get(at + 1..at + 3);
        let is_escape = next.is_some_and(|two| two.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let is_odd = matches!(character, '{' | '}' | '\\') || character.is_control();
        if is_odd || (character == '%' && !is_escape) {
            written.push_str(&encode(character.encode_utf8(&mut [0; 4])));
        } else {
            written.push(character);
        }
    }
    written.replace("secret:", "secret%3A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_split_into_origin_path_and_query() {
        for (url, origin, segments) in [
            ("https://api.example.com", "https://api.example.com", Vec::<&str>::new()),
            ("HTTPS://API.Example.com:443/", "https://api.example.com", vec![""]),
            ("api.example.com/v1/users/", "https://api.example.com", vec!["v1", "users", ""]),
            ("localhost:3000/x", "http://localhost:3000", vec!["x"]),
            ("10.0.0.7:8080?u=http://x/y", "http://10.0.0.7:8080", vec![]),
            ("[::1]:9200/_search#part", "http://[::1]:9200", vec!["_search"]),
            ("http://example.com/a%20b/c d", "http://example.com", vec!["a%20b", "c d"]),
        ] {
            let address = Address::parse(url).expect(url);
            assert_eq!(address.origin, origin, "{url}");
            assert_eq!(address.segments, segments, "{url}");
        }
        let address = Address::parse("https://me:p%40ss@example.com/?a=1+2&b=%E4%BD%A0&c&d=").expect("a URL");
        assert_eq!(address.user, Some(("me".to_owned(), Some("p@ss".to_owned()))));
        let pair = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
        let expected = [pair("a", Some("1 2")), pair("b", Some("你")), pair("c", None), pair("d", Some(""))];
        assert_eq!(address.query, expected);
    }

    #[test]
    fn unusable_urls_are_rejected_with_a_reason() {
        use crate::import::example::marks::{MarkKind, mark};
        let host = mark(MarkKind::Text, "HOST");
        for (url, says) in [
            ("ftp://example.com/x".to_owned(), "begins with ftp://"),
            ("https:///x".to_owned(), "cannot be read"),
            ("https://exa mple.com/x".to_owned(), "cannot be read"),
            (format!("https://{host}/x"), "the variable HOST is in"),
            (format!("{host}/x?u=https://y"), "the variable HOST is in"),
        ] {
            let message = Address::parse(&url).expect_err(&url).to_string();
            assert!(message.contains(says), "{url}: {message}");
        }
    }

    #[test]
    fn paths_are_displayed_with_variables_in_braces() {
        for (url, path) in [
            ("https://api.example.com", "/"),
            ("https://api.example.com/", "/"),
            ("https://api.example.com/users/:id/:9/a:b?x", "/users/{id}/:9/a:b"),
        ] {
            let mut address = Address::parse(url).expect(url);
            address.mark_named_segments();
            assert_eq!(address.display_path(), path, "{url}");
        }
    }

    #[test]
    fn segments_are_escaped_to_be_literal() {
        assert_eq!(written("a%20b%zz{{c}}\\d"), "a%20b%25zz%7B%7Bc%7D%7D%5Cd");
        assert_eq!(written("secret:"), "secret%3A");
    }
}

//! Masks secrets in values: plain, escaped, percent-encoded, in hex, or in base64 at any offset.
//!
//! An upstream may echo a secret encoded twice, such as base64 within a URL. Every spelling is searched in
//! the text and in its decoded parts (`decoded.rs`).

mod decoded;

use std::borrow::Cow;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

/// Replacement of a masked secret.
pub const MASKED: &str = "***";

/// Minimum length of a secret that is searched within texts. Shorter secrets are masked only if they are
/// the whole text.
pub(crate) const SHORTEST_FOUND: usize = 4;

/// Minimum length of a secret's part. A shorter one could be any word.
const SHORTEST_PART: usize = 8;

/// Minimum length of base64. A shorter one could be any text.
const SHORTEST_BASE64: usize = 7;

/// The secrets of one call, prepared for searching.
pub struct Mask {
    patterns: Option<AhoCorasick>,
    short: Vec<String>,
    /// True if a secret could be written as a number.
    in_numbers: bool,
    /// Minimum length of an encoded secret that is encoded again.
    shortest: usize,
}

impl Mask {
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut patterns = Vec::new();
        let mut short = Vec::new();
        for secret in secrets {
            let secret = secret.trim();
            if secret.len() >= SHORTEST_FOUND {
                patterns.extend(spellings(secret));
            } else if !secret.is_empty() {
                short.push(secret.to_owned());
            }
        }
        // Base64 and hex of a secret are among its spellings, so a decoded text contains at least one of
        // them.
        let shortest = patterns.iter().map(String::len).min().unwrap_or_default();
        let could_be_number = |text: &String| text.bytes().all(|byte| b"0123456789+-.eE".contains(&byte));
        let in_numbers = patterns.iter().chain(&short).any(could_be_number);
        let build = || {
            // This kind's size grows with the patterns; secrets may be long.
            let kind = Some(AhoCorasickKind::ContiguousNFA);
            let built =
                AhoCorasick::builder().kind(kind).match_kind(MatchKind::LeftmostLongest).build(&patterns);
            // Too many patterns to build: the mask then matches everything.
            built.or_else(|_| AhoCorasick::new([""])).ok()
        };
        let patterns = (!patterns.is_empty()).then(build).flatten();
        Self { patterns, short, in_numbers, shortest: shortest.max(SHORTEST_BASE64) }
    }

    pub fn is_empty(&self) -> bool {
        self.patterns.is_none() && self.short.is_empty()
    }

    /// Returns true if a document may contain a secret. Texts without a backslash and without the zeros of
    /// UTF-16 are not escaped, so the raw bytes can be searched.
    pub fn may_be_in(&self, document: &[u8]) -> bool {
        let found = || {
            self.patterns.as_ref().is_some_and(|patterns| {
                patterns.is_match(document) || !decoded::find(patterns, document, self.shortest).is_empty()
            })
        };
        !self.short.is_empty() || memchr::memchr2(b'\\', 0, document).is_some() || found()
    }

    /// Returns the text with secrets masked.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.short.iter().any(|secret| secret == text) {
            return Cow::Borrowed(MASKED);
        }
        let found = self.find(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut clean = String::with_capacity(text.len());
        let mut from = 0;
        for Range { start, end } in found {
            clean.push_str(text.get(from..start).unwrap_or_default());
            clean.push_str(MASKED);
            from = end;
        }
        clean.push_str(text.get(from..).unwrap_or_default());
        Cow::Owned(clean)
    }

    /// Returns the ranges of secrets in a text, sorted and without overlaps.
    fn find(&self, text: &str) -> Vec<Range<usize>> {
        let Some(patterns) = &self.patterns else { return Vec::new() };
        let mut found = decoded::find(patterns, text.as_bytes(), self.shortest);
        if found.is_empty() {
            return patterns.find_iter(text).map(|found| found.range()).collect();
        }
        found.extend(patterns.find_iter(text).map(|found| found.range()));
        found.sort_unstable_by_key(|range| (range.start, range.end));
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(found.len());
        for range in found {
            match merged.last_mut().filter(|last| range.start < last.end) {
                Some(last) => last.end = last.end.max(range.end),
                None => merged.push(range),
            }
        }
        merged
    }

    /// Masks every text of a value, including field names.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                let clean = self.text(text);
                if clean != text.as_str() {
                    *text = clean.into_owned();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => self.fields(fields),
            Value::Number(number) if self.in_numbers => {
                let written = number.to_string();
                if self.text(&written) != written {
                    *value = Value::from(MASKED);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub fn fields(&self, fields: &mut Map<String, Value>) {
        if fields.keys().any(|name| self.text(name) != name.as_str()) {
            let renamed = std::mem::take(fields);
            for (name, value) in renamed {
                let clean = self.text(&name).into_owned();
                let numbered = (2..).map(|number| format!("{clean} {number}"));
                let free =
                    std::iter::once(clean.clone()).chain(numbered).find(|name| !fields.contains_key(name));
                fields.insert(free.unwrap_or(clean), value);
            }
        }
        fields.values_mut().for_each(|value| self.value(value));
    }
}

/// Returns the parts of a secret that an upstream may echo separately: the values of cookies, the password of
/// basic credentials.
pub fn parts(secret: &str) -> Vec<String> {
    let pairs = secret.split([';', '&']).filter_map(|pair| Some(pair.split_once('=')?.1.trim().to_owned()));
    let pairs = pairs.filter(|value| value.len() >= SHORTEST_PART);
    let decoded = STANDARD.decode(secret.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let password =
        decoded.as_deref().and_then(|text| text.split_once(':')).map(|(_, password)| password.to_owned());
    pairs.chain(password.filter(|password| password.len() >= SHORTEST_FOUND)).collect()
}

/// Returns the encodings in which an upstream may echo a secret.
pub(crate) fn spellings(secret: &str) -> Vec<String> {
    let mut spellings = vec![secret.to_owned()];
    let mut add = |spelling: String| {
        if !spellings.contains(&spelling) {
            spellings.push(spelling);
        }
    };
    // Percent-encoded as by RFC 3986, Python, Go, both JavaScript functions, Java and forms, in upper and
    // lower case.
    for unescaped in ["-_.~", "-_.~/", "-_.~$&+=:@", "-_.~!'()*", "-_.~!'()*;,/?:@&=+$#", "-_.*", "-_."] {
        for (space, is_lower) in [("%20", false), ("+", false), ("%20", true), ("+", true)] {
            add(percent_encoded(secret, unescaped, space, is_lower));
        }
    }
    let quoted = Value::from(secret).to_string();
    let quoted = quoted.trim_matches('"');
    let twice = Value::from(quoted).to_string();
    for escaped in [quoted, twice.trim_matches('"')] {
        add(escaped.to_owned());
        add(escaped.replace('/', "\\/"));
    }
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    add(hex.to_uppercase());
    add(hex);
    add(secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;"));
    for offset in 0..3 {
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let bytes: Vec<u8> = std::iter::repeat_n(0, offset).chain(secret.bytes()).collect();
            // Characters that share bits with the text before or after the secret are unknown.
            let first = (offset * 8).div_ceil(6);
            let end = bytes.len() * 8 / 6;
            let encoded = engine.encode(&bytes);
            if let Some(inner) = encoded.get(first..end).filter(|inner| inner.len() >= SHORTEST_BASE64) {
                add(inner.to_owned());
                add(inner.replace('/', "\\/"));
            }
        }
    }
    spellings
}

fn percent_encoded(text: &str, unescaped: &str, space: &str, is_lower: bool) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' => encoded.push_str(space),
            _ if byte.is_ascii_alphanumeric() || unescaped.as_bytes().contains(&byte) => {
                encoded.push(char::from(byte));
            }
            _ if is_lower => encoded.push_str(&format!("%{byte:02x}")),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_found_however_it_is_echoed() {
        let secret = "s3cr/t+k y\"ü?";
        let mask = Mask::new([secret]);
        let basic = |prefix: &str| STANDARD.encode(format!("{prefix}{secret}"));
        for (echo, clean) in [
            (format!("a {secret} b"), "a *** b".to_owned()),
            ("x=s3cr%2Ft%2Bk%20y%22%C3%BC%3F&y".to_owned(), "x=***&y".to_owned()),
            ("x=s3cr%2ft%2bk%20y%22%c3%bc%3f".to_owned(), "x=***".to_owned()),
            ("x=s3cr%2Ft%2Bk+y%22%C3%BC%3F".to_owned(), "x=***".to_owned()),
            (format!("{{\"a\": {}}}", json!(secret)), "{\"a\": \"***\"}".to_owned()),
            ("u=s3cr%2Ft%2Bk%20y%22%C3%BC%3F".to_owned(), "u=***".to_owned()),
            (r#"{"a": "s3cr\/t+k y\"ü?"}"#.to_owned(), r#"{"a": "***"}"#.to_owned()),
            ("nothing here".to_owned(), "nothing here".to_owned()),
        ] {
            assert_eq!(mask.text(&echo), clean, "{echo}");
        }
        for prefix in ["", "u", "us", "use", "user:"] {
            let echo = basic(prefix);
            let shown = mask.text(&echo);
            assert!(shown.contains(MASKED), "{prefix}: {echo} became {shown}");
            assert!(shown.len() < echo.len() / 2, "{prefix}: {shown}");
        }
    }

    #[test]
    fn secret_is_masked_however_it_is_encoded_twice() {
        let secret = "s3cr/t+k y\"ü?&=z~";
        let mask = Mask::new([secret]);
        let url = |text: &str| percent_encoded(text, "-_.~", "%20", false);
        let form = |text: &str| percent_encoded(text, "-_.*", "+", true);
        let base64 = |text: &str| STANDARD.encode(text);
        let unpadded = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let quoted = |text: &str| Value::from(text).to_string();
        let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
        type Encode<'e> = &'e dyn Fn(&str) -> String;
        let encodings: [(&str, Encode<'_>); 6] = [
            ("url", &url),
            ("form", &form),
            ("base64", &base64),
            ("base64url", &unpadded),
            ("json", &quoted),
            ("hex", &hex),
        ];
        for (first, inner) in encodings {
            for (second, outer) in encodings {
                for prefix in ["", "u", "us", "user:"] {
                    let echo = format!(
                        "https://h.example/a/b?q={}&n=1",
                        outer(&inner(&format!("{prefix}{secret}")))
                    );
                    let shown = mask.text(&echo);
                    assert!(shown.contains(MASKED), "{first} in {second}: {echo} became {shown}");
                    assert!(shown.starts_with("https://h.example/a"), "{first} in {second}: {shown}");
                    assert!(mask.may_be_in(echo.as_bytes()), "{first} in {second}: {echo}");
                    let left = shown.len() - "https://h.example/a/b?q=&n=1".len();
                    assert!(left < 40, "{first} in {second}: {echo} became {shown}");
                }
            }
        }
        let encoded = base64(&"harmless ".repeat(50));
        for harmless in
            ["100%25 of 5%", "%", "%2", "%zz%25", &"x/".repeat(500), &encoded, &hex(&"harmless ".repeat(50))]
        {
            assert_eq!(mask.text(harmless), harmless);
            assert!(!mask.may_be_in(harmless.as_bytes()), "{harmless}");
        }
    }

    #[test]
    fn values_are_masked_at_every_depth_and_in_names() {
        let mask = Mask::new(["hunter22", "abc", "123456789"]);
        let mut value = json!({
            "hunter22": [{"deep": "my hunter22"}], "a hunter22": 1, "*** ": 2, "n": 123456789, "m": 7, "exact": "abc", "in": "abcd",
        });
        mask.value(&mut value);
        assert_eq!(
            value,
            json!({"***": [{"deep": "my ***"}], "a ***": 1, "*** ": 2, "n": "***", "m": 7, "exact": "***", "in": "abcd"})
        );
        assert!(Mask::new([]).is_empty() && Mask::new(["", " "]).is_empty());
    }
}

//! Decodes a response or file as HTML or text. Other content types are rejected.

use encoding_rs::{Encoding, UTF_8};
use haft_core::artifact::UNKNOWN_TYPE;
use haft_core::{CallError, ErrorKind, Message};

use super::UNSUPPORTED;
use crate::html;

/// Number of bytes that are searched for a charset, as in browsers.
const BEGINNING: usize = 1024;

/// Maximum length of a content type in messages, in characters.
const LONGEST_CONTENT_TYPE: usize = 100;

/// A decoded page.
#[derive(Debug, PartialEq)]
pub(super) enum Document {
    Html(String),
    Text(String),
}

/// Decodes a body by its content type, or by its contents if there is none.
pub(super) fn document(header: &str, body: &[u8]) -> Result<Document, CallError> {
    decoded(header, body).ok_or_else(|| {
        // Without a content type, only binary data is rejected.
        let shown = if header.is_empty() { UNKNOWN_TYPE } else { header };
        let shown: String = shown.chars().take(LONGEST_CONTENT_TYPE).collect();
        CallError::new(ErrorKind::Execution, Message::new(&UNSUPPORTED).with("contentType", shown))
    })
}

fn decoded(header: &str, body: &[u8]) -> Option<Document> {
    let media = header.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let charset = html::named_in(header).and_then(|label| Encoding::for_label(label.as_bytes()));
    let is_html = match media.as_str() {
        "text/html" | "application/xhtml+xml" => true,
        "text/plain" => false,
        "" => looks_like_html(body)?,
        _ => return None,
    };
    if is_html {
        let named = || html::charset(body.get(..BEGINNING).unwrap_or(body));
        // A byte order mark takes precedence over both.
        let (page, ..) = charset.or_else(named).unwrap_or(UTF_8).decode(body);
        return Some(Document::Html(without_nul(page.into_owned())));
    }
    let (text, ..) = charset.unwrap_or(UTF_8).decode(body);
    Some(Document::Text(without_nul(text.into_owned())))
}

/// Removes NUL characters, which databases reject.
fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "") } else { text }
}

/// Returns true if a body without a content type is HTML. Returns `None` if it is binary.
fn looks_like_html(body: &[u8]) -> Option<bool> {
    let beginning = body.get(..BEGINNING).unwrap_or(body);
    let (text, ..) = UTF_8.decode(beginning);
    if text.trim_start().starts_with('<') {
        return Some(true);
    }
    let is_text =
        Encoding::for_bom(body).is_some() || (std::str::from_utf8(body).is_ok() && !body.contains(&0));
    is_text.then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_type_decides_unless_it_is_missing() {
        let html = |text: &str| Some(Document::Html(text.to_owned()));
        let text = |text: &str| Some(Document::Text(text.to_owned()));
        let gbk: &[u8] = b"<meta charset=gbk>\xd6\xd0";
        let cases: &[(&str, &[u8], Option<Document>)] = &[
            ("text/html", b"a", html("a")),
            ("TEXT/HTML; Charset=\"GBK\"", b"\xd6\xd0", html("中")),
            ("text/html", gbk, html("<meta charset=gbk>中")),
            ("text/html; charset=klingon", gbk, html("<meta charset=gbk>中")),
            ("text/html; charset=gbk", "\u{feff}中".as_bytes(), html("中")),
            ("application/xhtml+xml", b"<p/>", html("<p/>")),
            ("text/plain", gbk, text("<meta charset=gbk>\u{fffd}\u{fffd}")),
            ("text/plain;charset=gb18030", b"\xd6\xd0", text("中")),
            ("", b" \n<p>a", html(" \n<p>a")),
            ("", b"a < b", text("a < b")),
            ("", b"", text("")),
            ("", b"\xff\xfea\0", text("a")),
            ("", b"\x89PNG\r\n", None),
            ("", b"a\0b", None),
            ("text/plain", b"a\0b", text("ab")),
            ("application/json", b"{}", None),
            ("text/htmlx", b"a", None),
        ];
        for (header, body, expected) in cases {
            assert_eq!(&decoded(header, body), expected, "{header}: {body:?}");
        }
    }
}

//! Texts of a document on their way into a definition: cut to a length, and kept from meaning more than themselves.
//!
//! A definition reads `{{name}}` and `secret://NAME` in its texts. A document must not be
//! able to write either.

use haft_core::text::Text;

use crate::query::encode;

/// Whether a text means itself where templates are read.
pub(super) fn is_plain(text: &str) -> bool {
    matches!(Text::parse(text), Ok(text) if text.plain().is_some())
}

/// A piece of a path as the URL of a definition can hold it.
pub(super) fn written(piece: &str) -> String {
    let mut written = String::with_capacity(piece.len());
    for (at, character) in piece.char_indices() {
        let next = piece.get(at + 1..at + 3);
        let is_escape = next.is_some_and(|two| two.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let is_odd = matches!(character, '{' | '}' | '\\' | ' ') || character.is_control();
        if is_odd || (character == '%' && !is_escape) {
            written.push_str(&encode(character.encode_utf8(&mut [0; 4])));
        } else {
            written.push(character);
        }
    }
    written.replace("secret:", "secret%3A")
}

/// The beginning of a text, however long the rest is.
pub(super) fn beginning(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}

/// The beginning of a text, on one line.
pub(super) fn shortened(text: &str, most: usize) -> String {
    // Blanks are counted as one; what is mostly blanks is not worth reading on.
    let start = beginning(text, most.saturating_mul(4));
    let line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() <= most && start.len() == text.len() {
        return line;
    }
    format!("{}…", beginning(&line, most.saturating_sub(3)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_paths_mean_themselves() {
        for (piece, text) in [
            ("/a b", "/a%20b"),
            ("/{{x}}", "/%7B%7Bx%7D%7D"),
            ("/x?t=secret://tok", "/x?t=secret%3A//tok"),
            ("/100%/%20/%2", "/100%25/%20/%252"),
            ("/a\\b\u{7}", "/a%5Cb%07"),
        ] {
            assert_eq!(written(piece), text, "{piece}");
            assert!(is_plain(&written(piece)), "{piece}");
        }
        for text in ["{{x}}", "a {{", "secret://x", "secret://", "Bearer secret://x"] {
            assert!(!is_plain(text), "{text}");
        }
    }

    #[test]
    fn texts_are_cut_to_their_beginning() {
        assert_eq!(shortened(" a\n  b ", 10), "a b");
        assert_eq!(shortened("äöü äöü", 7), "äö…");
        assert_eq!(shortened(&"word ".repeat(100_000), 12), "word word…");
    }
}

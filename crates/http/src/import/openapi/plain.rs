//! Texts of a document in definitions: truncated, and prevented from acting as templates.
//!
//! Definitions interpret `{{name}}` and `secret://NAME`. A document must not be able to inject either.

use haft_core::text::Text;

use crate::query::encode;

/// Returns true if a text is literal in a definition.
pub(super) fn is_plain(text: &str) -> bool {
    matches!(Text::parse(text), Ok(text) if text.plain().is_some())
}

/// Encodes a piece of a path so that it is literal in the URL of a definition.
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

/// Truncates a text.
pub(super) fn beginning(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}

/// Truncates a text to one line.
pub(super) fn shortened(text: &str, most: usize) -> String {
    // Blanks are collapsed; the factor bounds the work for texts that are mostly blanks.
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
    fn pieces_of_paths_are_escaped_to_be_literal() {
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
    fn texts_are_truncated() {
        assert_eq!(shortened(" a\n  b ", 10), "a b");
        assert_eq!(shortened("äöü äöü", 7), "äö…");
        assert_eq!(shortened(&"word ".repeat(100_000), 12), "word word…");
    }
}

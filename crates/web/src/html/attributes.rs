//! Attributes of a sanitized page: a short allowlist, quoted, without `data:` and `javascript:` URLs.

use super::tokens::Tag;

/// Attributes that describe an element's purpose, target or content.
const ALLOWED: [&str; 17] = [
    "alt",
    "aria-hidden",
    "aria-modal",
    "class",
    "colspan",
    "data-lang",
    "data-language",
    "data-src",
    "hidden",
    "href",
    "id",
    "itemprop",
    "rel",
    "role",
    "src",
    "style",
    "summary",
];

/// Maximum length of a value. Attributes with longer values are dropped.
const LONGEST_VALUE: usize = 2_000;

/// Writes the allowed attributes of a tag, each once.
pub(super) fn push_allowed(html: &mut String, tag: &Tag<'_>) {
    let mut written = 0_u32;
    for (name, value) in tag.attributes() {
        let mut kept = ALLOWED.iter().enumerate();
        let Some((at, name)) = kept.find(|(_, kept)| kept.eq_ignore_ascii_case(name)) else { continue };
        let bit = 1 << at;
        let leads_nowhere = matches!(*name, "href" | "src" | "data-src") && is_no_address(value);
        if written & bit != 0 || value.len() > LONGEST_VALUE || leads_nowhere {
            continue;
        }
        written |= bit;
        html.push(' ');
        html.push_str(name);
        html.push_str("=\"");
        html.push_str(&value.replace('"', "&quot;"));
        html.push('"');
    }
}

/// Returns true for a URL that contains its own data or a script.
fn is_no_address(value: &str) -> bool {
    let value = value.trim_start();
    let starts = |with: &str| value.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    starts("data:") || starts("javascript:")
}

#[cfg(test)]
mod tests {
    use super::super::tokens::{Token, Tokens};
    use super::*;

    fn allowed(page: &str) -> String {
        let mut html = String::new();
        for token in Tokens::of(page) {
            if let Token::Open(tag) = token {
                push_allowed(&mut html, &tag);
            }
        }
        html
    }

    #[test]
    fn only_allowed_attributes_are_written_and_quoted() {
        for (tag, expected) in [
            ("<p class=a CLASS=b onclick='x' ID='c\"d'>", " class=\"a\" id=\"c&quot;d\""),
            ("<img src='data:image/png;base64,AAAA' data-src=a.png alt>", " data-src=\"a.png\" alt=\"\""),
            ("<a href=' JavaScript:x()'>", ""),
            ("<img src=a.png alt='JavaScript: the book'>", " src=\"a.png\" alt=\"JavaScript: the book\""),
            ("<a href=\"a>b\" >", " href=\"a>b\""),
        ] {
            assert_eq!(allowed(tag), expected, "{tag}");
        }
        assert_eq!(allowed(&format!("<p id={}>", "x".repeat(LONGEST_VALUE + 1))), "");
    }
}

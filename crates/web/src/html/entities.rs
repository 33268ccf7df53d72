//! Character references: numbers, and the names that pages really use. Others stay as they are written.

use std::borrow::Cow;

/// No reference is longer.
const LONGEST: usize = 12;

const NAMED: [(&str, char); 34] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", '\u{a0}'),
    ("ndash", '–'),
    ("mdash", '—'),
    ("hellip", '…'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("laquo", '«'),
    ("raquo", '»'),
    ("middot", '·'),
    ("bull", '•'),
    ("copy", '©'),
    ("reg", '®'),
    ("trade", '™'),
    ("deg", '°'),
    ("times", '×'),
    ("plusmn", '±'),
    ("euro", '€'),
    ("pound", '£'),
    ("yen", '¥'),
    ("cent", '¢'),
    ("sect", '§'),
    ("para", '¶'),
    ("larr", '←'),
    ("rarr", '→'),
    ("ensp", '\u{2002}'),
    ("emsp", '\u{2003}'),
    ("shy", '\u{ad}'),
];

/// The text that is meant. Nothing is decoded twice.
pub(super) fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        decoded.push_str(before);
        rest = match reference(after) {
            Some((character, left)) => {
                decoded.push(character);
                left
            }
            None => {
                decoded.push('&');
                after
            }
        };
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

/// The text as it is written between tags and in quotes.
pub(super) fn encode(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// The character that is meant by what stands after `&`, and what follows.
fn reference(text: &str) -> Option<(char, &str)> {
    let end = text.bytes().take(LONGEST).position(|byte| byte == b';')?;
    let (name, left) = text.split_at(end);
    let character = match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?).filter(|character| *character != '\0')?
        }
        None => NAMED.iter().find(|(known, _)| *known == name).map(|(_, character)| *character)?,
    };
    Some((character, left.get(1..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_decoded_once_and_only_where_they_are_known() {
        for (written, meant) in [
            ("a &amp; b &lt;c&gt; &quot;d&quot;", "a & b <c> \"d\""),
            ("&amp;lt;", "&lt;"),
            ("it&#39;s &#x4e2d;&#X6587;", "it's 中文"),
            ("AT&T &unknown; &; &#; &#x; &#xd800; &#0;", "AT&T &unknown; &; &#; &#x; &#xd800; &#0;"),
            ("&#99999999999;", "&#99999999999;"),
            ("&", "&"),
            ("中&中文中文中文中文;", "中&中文中文中文中文;"),
        ] {
            assert_eq!(decode(written), meant, "{written}");
        }
        assert_eq!(decode(&encode("a < \"b\" & c")), "a < \"b\" & c");
    }
}

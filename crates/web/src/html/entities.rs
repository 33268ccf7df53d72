//! Character references: numeric ones and commonly used names. Others stay unchanged.

use std::borrow::Cow;

/// Maximum length of a reference.
const LONGEST: usize = 12;

/// Named references, sorted by name: all of Latin-1, and other common characters.
const NAMED: [(&str, char); 161] = [
    ("AElig", 'Æ'),
    ("Aacute", 'Á'),
    ("Acirc", 'Â'),
    ("Agrave", 'À'),
    ("Aring", 'Å'),
    ("Atilde", 'Ã'),
    ("Auml", 'Ä'),
    ("Ccedil", 'Ç'),
    ("Dagger", '‡'),
    ("Delta", 'Δ'),
    ("ETH", 'Ð'),
    ("Eacute", 'É'),
    ("Ecirc", 'Ê'),
    ("Egrave", 'È'),
    ("Euml", 'Ë'),
    ("Iacute", 'Í'),
    ("Icirc", 'Î'),
    ("Igrave", 'Ì'),
    ("Iuml", 'Ï'),
    ("Ntilde", 'Ñ'),
    ("OElig", 'Œ'),
    ("Oacute", 'Ó'),
    ("Ocirc", 'Ô'),
    ("Ograve", 'Ò'),
    ("Omega", 'Ω'),
    ("Oslash", 'Ø'),
    ("Otilde", 'Õ'),
    ("Ouml", 'Ö'),
    ("Prime", '″'),
    ("Scaron", 'Š'),
    ("Sigma", 'Σ'),
    ("THORN", 'Þ'),
    ("Uacute", 'Ú'),
    ("Ucirc", 'Û'),
    ("Ugrave", 'Ù'),
    ("Uuml", 'Ü'),
    ("Yacute", 'Ý'),
    ("Yuml", 'Ÿ'),
    ("aacute", 'á'),
    ("acirc", 'â'),
    ("acute", '´'),
    ("aelig", 'æ'),
    ("agrave", 'à'),
    ("alpha", 'α'),
    ("amp", '&'),
    ("apos", '\''),
    ("aring", 'å'),
    ("asymp", '≈'),
    ("atilde", 'ã'),
    ("auml", 'ä'),
    ("bdquo", '„'),
    ("beta", 'β'),
    ("brvbar", '¦'),
    ("bull", '•'),
    ("ccedil", 'ç'),
    ("cedil", '¸'),
    ("cent", '¢'),
    ("circ", 'ˆ'),
    ("copy", '©'),
    ("curren", '¤'),
    ("dagger", '†'),
    ("darr", '↓'),
    ("deg", '°'),
    ("delta", 'δ'),
    ("divide", '÷'),
    ("eacute", 'é'),
    ("ecirc", 'ê'),
    ("egrave", 'è'),
    ("emsp", '\u{2003}'),
    ("ensp", '\u{2002}'),
    ("epsilon", 'ε'),
    ("eth", 'ð'),
    ("euml", 'ë'),
    ("euro", '€'),
    ("fnof", 'ƒ'),
    ("frac12", '½'),
    ("frac14", '¼'),
    ("frac34", '¾'),
    ("gamma", 'γ'),
    ("ge", '≥'),
    ("gt", '>'),
    ("harr", '↔'),
    ("hellip", '…'),
    ("iacute", 'í'),
    ("icirc", 'î'),
    ("iexcl", '¡'),
    ("igrave", 'ì'),
    ("infin", '∞'),
    ("iquest", '¿'),
    ("iuml", 'ï'),
    ("lambda", 'λ'),
    ("laquo", '«'),
    ("larr", '←'),
    ("ldquo", '“'),
    ("le", '≤'),
    ("lrm", '\u{200e}'),
    ("lsaquo", '‹'),
    ("lsquo", '‘'),
    ("lt", '<'),
    ("macr", '¯'),
    ("mdash", '—'),
    ("micro", 'µ'),
    ("middot", '·'),
    ("minus", '−'),
    ("mu", 'μ'),
    ("nbsp", '\u{a0}'),
    ("ndash", '–'),
    ("ne", '≠'),
    ("not", '¬'),
    ("ntilde", 'ñ'),
    ("oacute", 'ó'),
    ("ocirc", 'ô'),
    ("oelig", 'œ'),
    ("ograve", 'ò'),
    ("omega", 'ω'),
    ("ordf", 'ª'),
    ("ordm", 'º'),
    ("oslash", 'ø'),
    ("otilde", 'õ'),
    ("ouml", 'ö'),
    ("para", '¶'),
    ("permil", '‰'),
    ("pi", 'π'),
    ("plusmn", '±'),
    ("pound", '£'),
    ("prime", '′'),
    ("quot", '"'),
    ("radic", '√'),
    ("raquo", '»'),
    ("rarr", '→'),
    ("rdquo", '”'),
    ("reg", '®'),
    ("rlm", '\u{200f}'),
    ("rsaquo", '›'),
    ("rsquo", '’'),
    ("sbquo", '‚'),
    ("scaron", 'š'),
    ("sect", '§'),
    ("shy", '\u{ad}'),
    ("sigma", 'σ'),
    ("sum", '∑'),
    ("sup1", '¹'),
    ("sup2", '²'),
    ("sup3", '³'),
    ("szlig", 'ß'),
    ("thinsp", '\u{2009}'),
    ("thorn", 'þ'),
    ("tilde", '˜'),
    ("times", '×'),
    ("trade", '™'),
    ("uacute", 'ú'),
    ("uarr", '↑'),
    ("ucirc", 'û'),
    ("ugrave", 'ù'),
    ("uml", '¨'),
    ("uuml", 'ü'),
    ("yacute", 'ý'),
    ("yen", '¥'),
    ("yuml", 'ÿ'),
    ("zwj", '\u{200d}'),
    ("zwnj", '\u{200c}'),
];

/// Decodes character references, once.
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

/// Encodes a text for use between tags and in quotes.
pub(super) fn encode(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// Decodes the reference after `&`, and returns the remaining text.
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
        None => {
            let found = NAMED.binary_search_by(|(known, _)| known.cmp(&name)).ok()?;
            NAMED.get(found).map(|(_, character)| *character)?
        }
    };
    Some((character, left.get(1..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supported_references_are_decoded_once() {
        for (written, meant) in [
            ("a &amp; b &lt;c&gt; &quot;d&quot;", "a & b <c> \"d\""),
            ("&amp;lt;", "&lt;"),
            ("it&#39;s &#x4e2d;&#X6587;", "it's 中文"),
            (
                "&Uacute;jabb robban&aacute;sok, &Aring; l&rsquo;&eacute;t&eacute;",
                "Újabb robbanások, Å l’été",
            ),
            ("AT&T &unknown; &; &#; &#x; &#xd800; &#0;", "AT&T &unknown; &; &#; &#x; &#xd800; &#0;"),
            ("&#99999999999;", "&#99999999999;"),
            ("&", "&"),
            ("中&中文中文中文中文;", "中&中文中文中文中文;"),
        ] {
            assert_eq!(decode(written), meant, "{written}");
        }
        assert!(NAMED.is_sorted_by(|(one, _), (other, _)| one < other));
        for (name, character) in NAMED {
            assert_eq!(decode(&format!("&{name};")), character.to_string(), "{name}");
        }
        assert_eq!(decode(&encode("a < \"b\" & c")), "a < \"b\" & c");
    }
}

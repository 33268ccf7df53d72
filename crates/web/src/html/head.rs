//! Metadata of a page: title, description, base URL, charset.

use encoding_rs::Encoding;

use super::entities::decode;
use super::tokens::{Tag, Token, Tokens};

/// Maximum lengths of titles and descriptions, in characters.
const LONGEST_TITLE: usize = 300;
const LONGEST_DESCRIPTION: usize = 1_000;

/// Maximum length of a base URL.
const LONGEST_BASE: usize = 2_000;

/// Decoded metadata of a page; empty fields are absent.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Head {
    /// The content of `<title>`, often with the name of the site.
    pub(super) window_title: String,
    /// The title for sharing (`og:title`).
    pub(super) shared_title: String,
    pub(crate) description: String,
    pub(super) base: String,
}

impl Head {
    pub(crate) fn read(page: &str) -> Self {
        let mut head = Self::default();
        for token in Tokens::of(page) {
            match token {
                Token::Title(text) => store_first(&mut head.window_title, text, LONGEST_TITLE),
                Token::Open(tag) if tag.name.eq_ignore_ascii_case("meta") => head.meta(&tag),
                Token::Open(tag) if tag.name.eq_ignore_ascii_case("base") && head.base.is_empty() => {
                    let base = decode(attribute(&tag, "href")).trim().to_owned();
                    if base.len() <= LONGEST_BASE {
                        head.base = base;
                    }
                }
                Token::Open(_) | Token::Close(_) | Token::Text(_) => {}
            }
        }
        head
    }

    pub(crate) fn title(&self) -> &str {
        if self.shared_title.is_empty() { &self.window_title } else { &self.shared_title }
    }

    fn meta(&mut self, tag: &Tag<'_>) {
        let (mut name, mut content) = ("", "");
        for (attribute, value) in tag.attributes() {
            if attribute.eq_ignore_ascii_case("property") || attribute.eq_ignore_ascii_case("name") {
                name = value;
            } else if attribute.eq_ignore_ascii_case("content") {
                content = value;
            }
        }
        let is_one_of = |names: [&str; 3]| names.iter().any(|known| known.eq_ignore_ascii_case(name.trim()));
        if is_one_of(["og:title", "twitter:title", "dc.title"]) {
            store_first(&mut self.shared_title, content, LONGEST_TITLE);
        } else if is_one_of(["description", "og:description", "twitter:description"]) {
            store_first(&mut self.description, content, LONGEST_DESCRIPTION);
        }
    }
}

/// Stores the first non-empty text, with white space collapsed.
fn store_first(place: &mut String, written: &str, longest: usize) {
    if !place.is_empty() {
        return;
    }
    // The text may be huge, so only its beginning is processed.
    let start = written.get(..written.floor_char_boundary(longest * 16)).unwrap_or_default();
    let words: Vec<&str> = start.split_whitespace().collect();
    *place = decode(&words.join(" ")).chars().take(longest).collect();
}

fn attribute<'a>(tag: &Tag<'a>, wanted: &str) -> &'a str {
    let mut found = tag.attributes().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
    found.next().map(|(_, value)| value).unwrap_or_default()
}

/// The charset declared at the beginning of a page, if it is supported.
pub(crate) fn charset(beginning: &[u8]) -> Option<&'static Encoding> {
    let beginning = String::from_utf8_lossy(beginning);
    let named = Tokens::of(&beginning).find_map(|token| match token {
        Token::Open(tag) if tag.name.eq_ignore_ascii_case("meta") => {
            let direct = attribute(&tag, "charset");
            let is_type = attribute(&tag, "http-equiv").eq_ignore_ascii_case("content-type");
            let label = if !direct.is_empty() {
                Some(direct)
            } else if is_type {
                named_in(attribute(&tag, "content"))
            } else {
                None
            };
            label.and_then(|label| Encoding::for_label(label.as_bytes()))
        }
        Token::Open(_) | Token::Close(_) | Token::Text(_) | Token::Title(_) => None,
    })?;
    // A declaration that is readable as ASCII cannot be in UTF-16.
    let is_wide = named == encoding_rs::UTF_16LE || named == encoding_rs::UTF_16BE;
    Some(if is_wide { encoding_rs::UTF_8 } else { named })
}

/// The charset in a media type such as `text/html; charset=gbk`.
pub(crate) fn named_in(media_type: &str) -> Option<&str> {
    media_type.split(';').skip(1).find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_of_each_field_wins() {
        let page = "<title> A\n page </title><svg><title>icon</title></svg><title>other</title>
            <META NAME=description CONTENT='It&#39;s  short'><meta property='og:description' content=longer>
            <meta content='A &amp; B' property=og:title><base href='/docs/'><base href=/other/>";
        let head = Head::read(page);
        let expected = Head {
            window_title: "A page".to_owned(),
            shared_title: "A & B".to_owned(),
            description: "It's short".to_owned(),
            base: "/docs/".to_owned(),
        };
        assert_eq!((head.title(), &head), ("A & B", &expected));
        assert_eq!(Head::read("<p>no head"), Head::default());
        let endless = format!("<title>{}</title>", "长".repeat(100_000));
        assert_eq!(Head::read(&endless).title().chars().count(), LONGEST_TITLE);
    }

    #[test]
    fn the_charset_is_read_from_the_page() {
        for (page, name) in [
            ("<meta charset=gbk>", Some("GBK")),
            ("<!-- <meta charset=big5> --><META CharSet=\"GB2312\">", Some("GBK")),
            ("<meta http-equiv=Content-Type content='text/html; charset=Shift_JIS'>", Some("Shift_JIS")),
            ("<meta http-equiv=refresh content='5; charset=gbk'>", None),
            ("<meta charset=utf-16>", Some("UTF-8")),
            ("<meta charset=klingon><meta charset=euc-kr>", Some("EUC-KR")),
            ("<p>none</p>", None),
        ] {
            assert_eq!(charset(page.as_bytes()).map(Encoding::name), name, "{page}");
        }
    }
}

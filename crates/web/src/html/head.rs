//! What a page says of itself: its title, its description, its base address, its charset.

use encoding_rs::Encoding;

use super::entities::decode;
use super::tokens::{Tag, Token, Tokens};

/// Longer titles and descriptions are cut, in characters.
const LONGEST_TITLE: usize = 300;
const LONGEST_DESCRIPTION: usize = 1_000;

/// A base address longer than this is none.
const LONGEST_BASE: usize = 2_000;

/// What a page says of itself, decoded; empty where it says nothing.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Head {
    /// What stands in the window's title, often with the name of the site.
    pub(super) window_title: String,
    /// What it wants to be called where it is shared.
    pub(super) shared_title: String,
    pub(crate) description: String,
    pub(super) base: String,
}

impl Head {
    pub(crate) fn read(page: &str) -> Self {
        let mut head = Self::default();
        for token in Tokens::of(page) {
            match token {
                Token::Title(text) => keep(&mut head.window_title, text, LONGEST_TITLE),
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
            keep(&mut self.shared_title, content, LONGEST_TITLE);
        } else if is_one_of(["description", "og:description", "twitter:description"]) {
            keep(&mut self.description, content, LONGEST_DESCRIPTION);
        }
    }
}

/// Keeps the first text that is one, its white space made one space each.
fn keep(place: &mut String, written: &str, longest: usize) {
    if !place.is_empty() {
        return;
    }
    // Of a text without end only the beginning is looked at.
    let start = written.get(..written.floor_char_boundary(longest * 16)).unwrap_or_default();
    let words: Vec<&str> = start.split_whitespace().collect();
    *place = decode(&words.join(" ")).chars().take(longest).collect();
}

fn attribute<'a>(tag: &Tag<'a>, wanted: &str) -> &'a str {
    let mut found = tag.attributes().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
    found.next().map(|(_, value)| value).unwrap_or_default()
}

/// The charset that the beginning of a page names, where it names one that is known.
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
    // Whoever could read this far is not reading UTF-16.
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
    fn the_first_of_each_is_kept() {
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
    fn a_page_names_its_charset() {
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

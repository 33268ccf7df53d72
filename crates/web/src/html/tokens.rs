//! Tokenizes HTML into tags and text in one pass, without building a tree or decoding entities.

use super::elements::{Role, lookup};

/// A token of a page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'a> {
    /// Unmodified text. A `<` that starts no tag is a separate token.
    Text(&'a str),
    /// The content of a title.
    Title(&'a str),
    Open(Tag<'a>),
    Close(&'a str),
}

/// A start tag.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tag<'a> {
    pub(super) name: &'a str,
    attributes: &'a str,
}

impl<'a> Tag<'a> {
    /// Names and unmodified values.
    pub(super) fn attributes(&self) -> Attributes<'a> {
        Attributes(self.attributes)
    }
}

/// The tokens of a page, without invisible content: comments, scripts, styles, drawings.
pub(super) struct Tokens<'a> {
    rest: &'a str,
    /// Names without a further end tag. Searching again would scan the rest of the page each time.
    endless: Vec<&'static str>,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(page: &'a str) -> Self {
        Self { rest: page, endless: Vec::new() }
    }

    /// Returns the text before an element's end tag and skips the tag. Returns `None` if there is no end tag.
    fn until_end_of(&mut self, name: &'static str) -> Option<&'a str> {
        if self.endless.contains(&name) {
            return None;
        }
        let rest = self.rest;
        let is_end = |at: usize| {
            let after = rest.get(at + 2..).unwrap_or_default();
            let named = after.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name));
            let next = after.as_bytes().get(name.len());
            named && next.is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-')
        };
        let Some((end, _)) = rest.match_indices("</").find(|(at, _)| is_end(*at)) else {
            self.endless.push(name);
            return None;
        };
        let (inside, tag) = rest.split_at(end);
        self.rest = tag.split_once('>').map_or("", |(_, after)| after);
        Some(inside)
    }

    /// Parses a start tag after its `<`.
    fn open(&mut self, after: &'a str) -> Option<Token<'a>> {
        let is_end = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
        let end = after.bytes().position(is_end)?;
        let (name, inside) = after.split_at(end);
        let (attributes, after) = inside.split_at(end_of_attributes(inside.as_bytes())?);
        self.rest = after.strip_prefix('>').unwrap_or(after);
        let tag = Tag { name, attributes };
        let Some(element) = lookup(name) else { return Some(Token::Open(tag)) };
        let is_empty = attributes.ends_with('/');
        match element.role {
            Role::Title if !is_empty => self.until_end_of(element.name).map(Token::Title),
            Role::Skipped if !is_empty => {
                self.until_end_of(element.name);
                None
            }
            Role::Title
            | Role::Skipped
            | Role::Void
            | Role::Inline
            | Role::Formatting
            | Role::Link
            | Role::Paragraph
            | Role::Block
            | Role::List
            | Role::Item
            | Role::Form
            | Role::Table
            | Role::Caption
            | Role::RowGroup
            | Role::Row
            | Role::Cell
            | Role::Navigation => Some(Token::Open(tag)),
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        while !self.rest.is_empty() {
            let (text, markup) = self.rest.split_at(self.rest.find('<').unwrap_or(self.rest.len()));
            if !text.is_empty() {
                self.rest = markup;
                return Some(Token::Text(text));
            }
            let (bracket, after) = markup.split_at(1);
            let mut next = after.bytes();
            match (next.next(), next.next()) {
                (Some(first), _) if first.is_ascii_alphabetic() => {
                    // An unterminated tag hides the rest, as in browsers.
                    self.rest = "";
                    if let Some(token) = self.open(after) {
                        return Some(token);
                    }
                }
                (Some(b'/'), Some(first)) if first.is_ascii_alphabetic() => {
                    let (tag, rest) = after.split_once('>').unwrap_or((after, ""));
                    self.rest = rest;
                    let name = tag.split(|c: char| c.is_ascii_whitespace() || c == '/').nth(1);
                    return Some(Token::Close(name.unwrap_or_default()));
                }
                (Some(b'!'), _) if after.starts_with("!--") => {
                    // `<!-->` is a complete comment.
                    let inside = after.get(1..).unwrap_or_default();
                    self.rest = inside.split_once("-->").map_or("", |(_, rest)| rest);
                }
                (Some(b'!' | b'?' | b'/'), _) => {
                    self.rest = after.split_once('>').map_or("", |(_, rest)| rest);
                }
                _ => {
                    self.rest = after;
                    return Some(Token::Text(bracket));
                }
            }
        }
        None
    }
}

/// The end of a tag: the first `>` outside of quoted values.
fn end_of_attributes(bytes: &[u8]) -> Option<usize> {
    enum State {
        Name,
        BeforeValue,
        Bare,
        Quoted(u8),
    }
    let mut state = State::Name;
    for (at, byte) in bytes.iter().copied().enumerate() {
        state = match (state, byte) {
            (State::Quoted(quote), byte) if byte == quote => State::Name,
            (State::Quoted(quote), _) => State::Quoted(quote),
            (_, b'>') => return Some(at),
            (State::Name, b'=') => State::BeforeValue,
            (State::Name, _) => State::Name,
            (State::BeforeValue, quote @ (b'"' | b'\'')) => State::Quoted(quote),
            (State::BeforeValue, byte) if byte.is_ascii_whitespace() => State::BeforeValue,
            (State::Bare, byte) if byte.is_ascii_whitespace() => State::Name,
            (State::BeforeValue | State::Bare, _) => State::Bare,
        };
    }
    None
}

/// The attributes of a tag.
pub(super) struct Attributes<'a>(&'a str);

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<(&'a str, &'a str)> {
        let is_space = |c: char| c.is_ascii_whitespace();
        let written = self.0.trim_start_matches(|c: char| is_space(c) || matches!(c, '/' | '='));
        if written.is_empty() {
            self.0 = "";
            return None;
        }
        let end = written.find(|c: char| is_space(c) || matches!(c, '/' | '=')).unwrap_or(written.len());
        let (name, after) = written.split_at(end);
        let Some(value) = after.trim_start_matches(is_space).strip_prefix('=') else {
            self.0 = after;
            return Some((name, ""));
        };
        let value = value.trim_start_matches(is_space);
        let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''));
        let (value, rest) = match quote {
            Some(quote) => {
                let (_, inside) = value.split_at(1);
                inside.split_once(quote).unwrap_or((inside, ""))
            }
            None => value.split_at(value.find(is_space).unwrap_or(value.len())),
        };
        self.0 = rest;
        Some((name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(page: &str) -> Vec<String> {
        let tokens = Tokens::of(page).map(|token| match token {
            Token::Text(text) => format!("={text}"),
            Token::Title(text) => format!("title={text}"),
            Token::Open(tag) => {
                let attributes: String =
                    tag.attributes().map(|(name, value)| format!(" {name}:{value}")).collect();
                format!("<{}{attributes}", tag.name)
            }
            Token::Close(name) => format!("/{name}"),
        });
        tokens.collect()
    }

    #[test]
    fn tags_and_text_are_distinguished() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("a", &["=a"]),
            ("<P>a</P >b", &["<P", "=a", "/P", "=b"]),
            ("1 < 2 <3", &["=1 ", "=<", "= 2 ", "=<", "=3"]),
            ("<a href=x title='a > b' hidden>", &["<a href:x title:a > b hidden:"]),
            ("<a href = \"x\"id=y>z", &["<a href:x id:y", "=z"]),
            ("<a =\"x\">", &["<a \"x\":"]),
            ("<br/>x<img src=a/>", &["<br", "=x", "<img src:a/"]),
            ("<!doctype html><?xml ?><!-- <b> --> x<!-->y", &["= x", "=y"]),
            ("<!-- never ends <b>", &[]),
            ("</>a</ x>b</1>c", &["=a", "=b", "=c"]),
            ("<a href=\"never ends>b", &[]),
            ("a<b", &["=a"]),
            ("<title>a <b> &amp; c</TITLE>d", &["title=a <b> &amp; c", "=d"]),
            ("<title>never ends<p>d", &["=never ends", "<p", "=d"]),
            ("<script>if (a</b) '<p>'</script>d<style>p > a</style>", &["=d"]),
            ("<script>a</scripts></script-x></script>d", &["=d"]),
            ("<svg><title>no</title></svg>d<svg/>e", &["=d", "<svg", "=e"]),
            ("<script>never ends<p>d", &["=never ends", "<p", "=d"]),
            ("<中文>a<h1中>b", &["=<", "=中文>a", "<h1中", "=b"]),
        ];
        for (page, expected) in cases {
            assert_eq!(&rendered(page), expected, "{page}");
        }
    }
}

//! Extracts the text of a page without building a tree: removes tags and puts blocks on separate lines. Used
//! for pages that exceed the parser's limits, and for texts with a few tags.

use super::elements::{Role, lookup};
use super::entities::decode;
use super::tokens::{Token, Tokens};

/// The gap between two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    Nothing,
    Space,
    Line,
    Paragraph,
}

/// Extracts the text of a page or fragment.
pub(crate) fn plain(page: &str) -> String {
    let mut text = Text { written: String::new(), gap: Gap::Nothing, preformatted: 0 };
    for token in Tokens::of(page) {
        match token {
            Token::Text(words) => text.push(&decode(words)),
            Token::Title(_) => {}
            Token::Open(tag) => {
                let Some(element) = lookup(tag.name) else { continue };
                text.gap = text.gap.max(gap(element.role, element.name));
                if element.name == "pre" {
                    text.preformatted += 1;
                }
            }
            Token::Close(name) => {
                let Some(element) = lookup(name) else { continue };
                text.gap = text.gap.max(gap(element.role, element.name));
                if element.name == "pre" {
                    text.preformatted = text.preformatted.saturating_sub(1);
                }
            }
        }
    }
    text.written
}

/// The gap that an element's tags create.
fn gap(role: Role, name: &str) -> Gap {
    match role {
        Role::Void if matches!(name, "br" | "hr") => Gap::Line,
        Role::Inline | Role::Formatting | Role::Link | Role::Skipped | Role::Title | Role::Void => {
            Gap::Nothing
        }
        Role::Cell => Gap::Space,
        Role::Item | Role::Row | Role::RowGroup | Role::Caption => Gap::Line,
        Role::Paragraph | Role::Block | Role::List | Role::Form | Role::Table | Role::Navigation => {
            Gap::Paragraph
        }
    }
}

struct Text {
    written: String,
    /// The gap before the next word.
    gap: Gap,
    preformatted: usize,
}

impl Text {
    fn push(&mut self, text: &str) {
        if self.preformatted > 0 {
            self.fill();
            self.written.push_str(text);
            return;
        }
        if text.starts_with(char::is_whitespace) {
            self.gap = self.gap.max(Gap::Space);
        }
        for word in text.split_whitespace() {
            self.fill();
            self.written.push_str(word);
            self.gap = Gap::Space;
        }
        if !text.ends_with(char::is_whitespace) && self.gap == Gap::Space {
            self.gap = Gap::Nothing;
        }
    }

    fn fill(&mut self) {
        if !self.written.is_empty() {
            self.written.push_str(match self.gap {
                Gap::Nothing => "",
                Gap::Space => " ",
                Gap::Line => "\n",
                Gap::Paragraph => "\n\n",
            });
        }
        self.gap = Gap::Nothing;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_separated_and_inline_elements_are_not() {
        for (page, text) in [
            ("", ""),
            ("  a  <b>b</b>c\n d ", "a bc d"),
            ("<title>no</title><p>one<p>two<br>three", "one\n\ntwo\nthree"),
            ("<ul><li>a<li>b</ul>c", "a\nb\n\nc"),
            ("<table><tr><td>a<td>b<tr><td>c</table>", "a b\nc"),
            ("a<script>b</script>c", "ac"),
            ("x<pre>  a\n  b</pre>y", "x\n\n  a\n  b\n\ny"),
            ("<strong>Rust</strong> &amp; &#x27;web&#x27;", "Rust & 'web'"),
            ("<p> </p><p></p><p>a", "a"),
            ("1 < 2", "1 < 2"),
        ] {
            assert_eq!(plain(page), text, "{page}");
        }
    }
}

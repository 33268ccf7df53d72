//! Finds the ends of sections beside the main text: navigation, headers, footers, asides.
//!
//! Pages omit end tags. An unclosed menu would extend to the next closing tag, often in the footer, and hide
//! the article.

use std::collections::HashMap;

use super::elements::{Element, Role, lookup};
use super::tokens::{Token, Tokens};

/// Maximum depth of a page. Beyond it, sections count as unclosed.
const DEEPEST: usize = 10_000;

/// The end of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Its own end tag.
    Tag,
    /// No end tag: the section ends before main text, or with its parent.
    Around,
    /// The end of the page.
    Page,
}

/// The ends of all sections of a page, in the order of their start tags.
pub(super) fn ends(page: &str) -> Vec<End> {
    let mut ends = Vec::new();
    let mut open = Open::default();
    // Number of sections that started before the last main text.
    let mut before_main = 0;
    for token in Tokens::of(page) {
        match token {
            Token::Open(tag) => {
                let Some(element) = lookup(tag.name).filter(|element| needs_end(element.role)) else {
                    continue;
                };
                if open.elements.len() >= DEEPEST {
                    break;
                }
                if element.is_main() {
                    before_main = ends.len();
                }
                let section = element.is_beside().then_some(ends.len());
                if section.is_some() {
                    ends.push(End::Page);
                }
                open.push(element, section);
            }
            Token::Close(name) => {
                if let Some(element) = lookup(name) {
                    open.close(element, &mut ends);
                }
            }
            Token::Text(_) | Token::Title(_) => {}
        }
    }
    for (_, section) in open.elements {
        if let Some(end) = section.filter(|at| *at < before_main).and_then(|at| ends.get_mut(at)) {
            *end = End::Around;
        }
    }
    ends
}

/// Returns true if pages usually close such elements. Items, cells and paragraphs often have no end tag.
fn needs_end(role: Role) -> bool {
    matches!(role, Role::Block | Role::List | Role::Form | Role::Table | Role::Navigation)
}

/// The open elements at one position of a page.
#[derive(Default)]
struct Open {
    /// Names of the elements, with the index of the section, if it is one.
    elements: Vec<(&'static str, Option<usize>)>,
    /// Number of open elements by name, so that a stray end tag costs nothing.
    counts: HashMap<&'static str, usize>,
}

impl Open {
    fn push(&mut self, element: Element, section: Option<usize>) {
        self.elements.push((element.name, section));
        *self.counts.entry(element.name).or_default() += 1;
    }

    /// Closes the innermost element with a name, and everything inside it.
    fn close(&mut self, element: Element, ends: &mut [End]) {
        if self.counts.get(element.name).is_none_or(|count| *count == 0) {
            return;
        }
        while let Some((name, section)) = self.elements.pop() {
            if let Some(count) = self.counts.get_mut(name) {
                *count -= 1;
            }
            let is_its_own = name == element.name;
            if let Some(end) = section.and_then(|at| ends.get_mut(at)) {
                *end = if is_its_own { End::Tag } else { End::Around };
            }
            if is_its_own {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_ends_at_its_own_tag_or_with_its_parent() {
        use End::{Around, Page, Tag};
        let cases: &[(&str, &[End])] = &[
            ("<p>a", &[]),
            ("<nav>a</nav><HEADER>b</header>", &[Tag, Tag]),
            ("<nav>a<nav>b</nav>c</nav>", &[Tag, Tag]),
            ("<nav>a<main>b</main><footer><nav>c</nav></footer>", &[Around, Tag, Tag]),
            ("<div><nav>a</div><nav>b</nav>", &[Around, Tag]),
            ("<header><nav>a</header>", &[Tag, Around]),
            ("<nav>a<main>b</main></nav>", &[Tag]),
            ("<nav>a</div></ul>b</nav>", &[Tag]),
            ("<ul><li><aside>a</li></ul>", &[Around]),
            ("<article>a</article><aside>b", &[Page]),
            ("<nav>a<p>b", &[Page]),
            ("<header>a<nav>b<article>c", &[Around, Around]),
        ];
        for (page, expected) in cases {
            assert_eq!(&ends(page), expected, "{page}");
        }
        let deep = format!("{}<nav></nav>", "<div>".repeat(DEEPEST));
        assert!(ends(&deep).is_empty());
    }
}

//! Where the sections beside a page's main text end: navigation, headers, footers, asides.
//!
//! Pages forget end tags. A menu without one would reach as far as the next end of a menu, which is
//! often in the footer, and take the article with it.

use std::collections::HashMap;

use super::elements::{Element, Role, known};
use super::tokens::{Token, Tokens};

/// No honest page is deeper. Of one that is, the rest is taken to have no ends.
const DEEPEST: usize = 10_000;

/// Where a section ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// At its own end tag.
    Tag,
    /// It has none: where main text begins, or where what it is in ends.
    Around,
    /// Nothing ends it before the page does.
    Page,
}

/// The ends of all sections of a page, in the order in which they begin.
pub(super) fn ends(page: &str) -> Vec<End> {
    let mut ends = Vec::new();
    let mut open = Open::default();
    // So many sections had begun when main text last did.
    let mut before_main = 0;
    for token in Tokens::of(page) {
        match token {
            Token::Open(tag) => {
                let Some(element) = known(tag.name).filter(|element| needs_end(element.role)) else {
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
                if let Some(element) = known(name) {
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

/// Whether pages end it by a tag. Items, cells and paragraphs mostly go without.
fn needs_end(role: Role) -> bool {
    matches!(role, Role::Block | Role::List | Role::Form | Role::Table | Role::Navigation)
}

/// What is open at one place of a page.
#[derive(Default)]
struct Open {
    /// Names, and which of the sections each one is.
    elements: Vec<(&'static str, Option<usize>)>,
    /// How many there are of a name, so that an end tag of nothing costs nothing.
    counts: HashMap<&'static str, usize>,
}

impl Open {
    fn push(&mut self, element: Element, section: Option<usize>) {
        self.elements.push((element.name, section));
        *self.counts.entry(element.name).or_default() += 1;
    }

    /// Ends the innermost element of a name, and with it all that is in it.
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
    fn a_section_ends_by_its_own_tag_or_by_what_is_around_it() {
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

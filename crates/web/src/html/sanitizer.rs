//! Sanitizes a page for the HTML parser: known elements and attributes only, all tags closed, limited depth
//! and size.
//!
//! Parsers repair malformed nesting by rules that can turn a small page into a huge tree: unclosed formatting
//! is reopened in every block. The output of this module needs no repair.

use super::attributes::push_allowed;
use super::elements::{Element, Role, lookup};
use super::entities::encode;
use super::head::Head;
use super::sections::{End, ends};
use super::tokens::{Tag, Token, Tokens};

/// Maximum depth of elements. Deeper ones are dropped, but their text stays. Code that walks the tree may
/// recurse.
const MOST_DEPTH: usize = 100;

/// Maximum depth of nested formatting.
const MOST_FORMATTING: usize = 8;

/// Maximum number of elements.
pub(crate) const MOST_ELEMENTS: usize = 50_000;

/// Maximum work for the parser. The article detection reads the text of every element, so each byte counts
/// once per enclosing element.
const MOST_WORK: usize = 64 << 20;

/// The cost of an element, in bytes of text.
const ELEMENT: usize = 32;

/// Sanitizes a page. Returns `None` if it exceeds the limits.
pub(crate) fn sanitize(page: &str, head: &Head) -> Option<String> {
    let mut writer = Writer::begin(head);
    let mut ends = ends(page).into_iter();
    for token in Tokens::of(page) {
        match token {
            Token::Title(_) => {}
            Token::Text(text) => writer.text(text),
            Token::Open(tag) => {
                if let Some(element) = lookup(tag.name) {
                    let end = if element.is_beside() { ends.next().unwrap_or(End::Page) } else { End::Tag };
                    writer.open(element, &tag, end);
                }
            }
            Token::Close(name) => {
                if let Some(element) = lookup(name) {
                    writer.close(element);
                }
            }
        }
        if writer.elements > MOST_ELEMENTS || writer.work > MOST_WORK {
            return None;
        }
    }
    writer.end(0);
    writer.html.push_str("</body></html>");
    Some(writer.html)
}

struct Writer {
    html: String,
    open: Vec<Element>,
    /// Number of start tags dropped for their depth whose end tags are still to come.
    beyond: usize,
    /// Index of the open navigation element. Nothing inside it is written, since its links are no part of an
    /// article.
    hidden: Option<usize>,
    /// Indexes of open sections without an end tag.
    endless: Vec<usize>,
    elements: usize,
    work: usize,
}

impl Writer {
    fn begin(head: &Head) -> Self {
        let mut html = String::from("<!DOCTYPE html><html><head>");
        for (start, text, end) in [
            ("<base href=\"", &head.base, "\">"),
            ("<title>", &head.window_title, "</title>"),
            ("<meta property=\"og:title\" content=\"", &head.shared_title, "\">"),
            ("<meta name=\"description\" content=\"", &head.description, "\">"),
        ] {
            if !text.is_empty() {
                html.push_str(start);
                html.push_str(&encode(text));
                html.push_str(end);
            }
        }
        html.push_str("</head><body>");
        Self { html, open: Vec::new(), beyond: 0, hidden: None, endless: Vec::new(), elements: 0, work: 0 }
    }

    fn text(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        self.work += text.len() * (self.open.len() + 1);
        // The parser treats each character reference as a separate text.
        self.elements += text.bytes().filter(|byte| *byte == b'&').count();
        self.html.push_str(if text == "<" { "&lt;" } else { text });
    }

    fn open(&mut self, element: Element, tag: &Tag<'_>, end: End) {
        let is_navigation = element.role == Role::Navigation;
        if element.is_main() {
            self.end_sections();
        }
        // Unclosed navigation would hide the rest of the page.
        if (is_navigation && end == End::Page) || !self.makes_room_for(element) {
            return;
        }
        let is_void = element.role == Role::Void;
        if !is_void && self.open.len() >= MOST_DEPTH {
            self.beyond += 1;
            return;
        }
        if is_navigation && self.hidden.is_none() {
            self.hidden = Some(self.open.len());
        }
        if self.hidden.is_none() {
            self.elements += 1;
            self.work += ELEMENT * (self.open.len() + 1);
            self.html.push('<');
            self.html.push_str(element.name);
            push_allowed(&mut self.html, tag);
            self.html.push('>');
        }
        if end == End::Around {
            self.endless.push(self.open.len());
        }
        if !is_void {
            self.open.push(element);
        }
    }

    /// Closes unclosed sections before the main text.
    fn end_sections(&mut self) {
        if let Some(outermost) = self.endless.first().copied() {
            self.beyond = 0;
            self.end(outermost);
        }
    }

    /// Closes the elements that a new element ends, and returns true if the element is allowed at this
    /// position.
    fn makes_room_for(&mut self, element: Element) -> bool {
        match element.role {
            Role::Void if element.name == "hr" => self.end_paragraph(),
            Role::Void | Role::Inline => {}
            Role::Formatting => {
                let open = self.open.iter().filter(|open| open.role == Role::Formatting).count();
                if open >= MOST_FORMATTING {
                    return false;
                }
            }
            Role::Link => {
                if !self.ends_link() {
                    return false;
                }
            }
            Role::Paragraph | Role::Block | Role::List | Role::Table => self.end_paragraph(),
            Role::Form => {
                self.end_paragraph();
                if self.open.iter().any(|open| open.role == Role::Form) {
                    return false;
                }
            }
            Role::Item => {
                self.end_item(element);
                self.end_paragraph();
            }
            Role::Caption | Role::RowGroup => return self.ends_up_to(&[Role::Table]),
            Role::Row => return self.ends_up_to(&[Role::Table, Role::RowGroup]),
            Role::Cell => return self.ends_up_to(&[Role::Table, Role::RowGroup, Role::Row]),
            Role::Navigation => {
                self.end_paragraph();
                return true;
            }
            Role::Skipped | Role::Title => return false,
        }
        // Parsers move content between cells to before the table.
        !self.open.last().is_some_and(|open| open.role.holds_only_parts())
    }

    /// Closes the open paragraph, with all formatting in it, before a block.
    fn end_paragraph(&mut self) {
        let inner = self.open.iter().rposition(|open| !open.role.is_inline());
        if let Some(at) =
            inner.filter(|at| self.open.get(*at).is_some_and(|open| open.role == Role::Paragraph))
        {
            self.end(at);
        }
    }

    /// Closes the previous item of the list.
    fn end_item(&mut self, element: Element) {
        let is_same = |open: &Element| (open.name == "li") == (element.name == "li");
        for (at, open) in self.open.iter().enumerate().rev() {
            if open.role == Role::Item && is_same(open) {
                return self.end(at);
            }
            let is_passed = open.role.is_inline() || matches!(open.name, "p" | "div" | "address");
            if !is_passed {
                return;
            }
        }
    }

    /// Closes the open link. Returns false if a block in between makes a new link invalid.
    fn ends_link(&mut self) -> bool {
        let mut is_near = true;
        for (at, open) in self.open.iter().enumerate().rev() {
            match open.role {
                Role::Link if is_near => {
                    self.end(at);
                    return true;
                }
                Role::Link => return false,
                Role::Cell | Role::Caption => return true,
                Role::Inline | Role::Formatting => {}
                Role::Void
                | Role::Paragraph
                | Role::Block
                | Role::List
                | Role::Item
                | Role::Form
                | Role::Table
                | Role::RowGroup
                | Role::Row
                | Role::Navigation
                | Role::Skipped
                | Role::Title => is_near = false,
            }
        }
        true
    }

    /// Closes everything inside the innermost of these elements. Returns false if none is open: the table
    /// part is invalid.
    fn ends_up_to(&mut self, holders: &[Role]) -> bool {
        let holder = self.open.iter().rposition(|open| holders.contains(&open.role));
        if let Some(at) = holder {
            self.end(at + 1);
        }
        holder.is_some()
    }

    fn close(&mut self, element: Element) {
        let role = element.role;
        if role == Role::Void {
            return;
        }
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        for (at, open) in self.open.iter().enumerate().rev() {
            if open.name == element.name {
                return self.end(at);
            }
            // An end tag does not close elements beyond the enclosing structure.
            let is_border = match role {
                Role::Inline | Role::Formatting | Role::Link | Role::Paragraph => !open.role.is_inline(),
                Role::Caption | Role::RowGroup | Role::Row | Role::Cell => open.role == Role::Table,
                Role::Table => false,
                Role::Void
                | Role::Block
                | Role::List
                | Role::Item
                | Role::Form
                | Role::Navigation
                | Role::Skipped
                | Role::Title => {
                    open.role.holds_only_parts() || matches!(open.role, Role::Cell | Role::Caption)
                }
            };
            if is_border {
                return;
            }
        }
    }

    /// Closes all elements from an index on.
    fn end(&mut self, from: usize) {
        while self.open.len() > from
            && let Some(element) = self.open.pop()
        {
            let is_hidden = self.hidden.is_some_and(|hidden| self.open.len() >= hidden);
            if !is_hidden {
                self.html.push_str("</");
                self.html.push_str(element.name);
                self.html.push('>');
            }
        }
        self.hidden = self.hidden.filter(|hidden| *hidden < from);
        self.endless.retain(|at| *at < from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(page: &str) -> String {
        let whole = sanitize(page, &Head::default()).expect("not too much");
        let inner = whole.strip_prefix("<!DOCTYPE html><html><head></head><body>");
        inner.and_then(|inner| inner.strip_suffix("</body></html>")).expect("a whole page").to_owned()
    }

    #[test]
    fn every_tag_is_closed_and_at_a_valid_position() {
        for (page, expected) in [
            ("<div>a<p>b<p>c</div>d", "<div>a<p>b</p><p>c</p></div>d"),
            ("<p><b>a<div>b</div></b>c", "<p><b>a</b></p><div>b</div>c"),
            ("<b>a<div>b</b>c</div>d", "<b>a<div>bc</div>d</b>"),
            (
                "<ul><li>a<li><p>b<ul><li>c</ul><li>d</ul>",
                "<ul><li>a</li><li><p>b</p><ul><li>c</li></ul></li><li>d</li></ul>",
            ),
            ("<dl><dt>a<dd>b<dt>c</dl>", "<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>"),
            (
                "<table><tr><td>a<td><b>b<tr><th>c</table>d",
                "<table><tr><td>a</td><td><b>b</b></td></tr><tr><th>c</th></tr></table>d",
            ),
            ("<table><b>a<tr><i>b<td>c", "<table>a<tr>b<td>c</td></tr></table>"),
            ("<td>a</td><tr>b", "ab"),
            (
                "<div><table><tr><td>a</div>b</table>c</div>",
                "<div><table><tr><td>ab</td></tr></table>c</div>",
            ),
            (
                "<a href=x>a<a href=y>b</a><a href=z><div><a href=w>c",
                "<a href=\"x\">a</a><a href=\"y\">b</a><a href=\"z\"><div>c</div></a>",
            ),
            ("</p></div>a</b><x-y>b</x-y><font>c", "abc"),
            ("a < b &amp; c<!-- d --><script>e</script>", "a &lt; b &amp; c"),
            ("<p>a<hr>b", "<p>a</p><hr>b"),
            ("<form>a<form>b</form>c", "<form>ab</form>c"),
        ] {
            assert_eq!(body(page), expected, "{page}");
        }
    }

    #[test]
    fn navigation_is_dropped_without_the_main_text() {
        for (page, expected) in [
            ("<nav>x<br><img src=a>y</nav>m", "m"),
            ("<nav>a<nav>b</nav>c</nav>m", "m"),
            ("<p>a<nav>x</nav>b", "<p>a</p>b"),
            ("<nav>x</div></p>y</nav>m", "m"),
            ("<nav>x<main>y</main></nav>m", "m"),
            ("<nav><a>x</a><main>m</main><footer>f<nav>y</nav></footer>", "<main>m</main><footer>f</footer>"),
            ("<nav><ul><li>x<article>m</article>n<nav>y</nav>", "<article>m</article>n"),
            (
                "<header><nav>x</header><p>m</p><footer><nav>y</nav></footer>",
                "<header></header><p>m</p><footer></footer>",
            ),
            ("<div><nav>x</div>m<nav>y</nav>n", "<div></div>mn"),
            ("<ul><li><nav>x</li><li>m</ul>", "<ul><li></li><li>m</li></ul>"),
            ("<table><nav>x<tr><td>m</table>", "<table><tr><td>m</td></tr></table>"),
            ("<nav>x<p>m</p>", "x<p>m</p>"),
            ("<header><nav>x<main>m</main>n", "<header></header><main>m</main>n"),
            ("<aside>x<div>y<main>m</main>", "<aside>x<div>y</div></aside><main>m</main>"),
            ("<footer>x<p>y<article>m", "<footer>x<p>y</p></footer><article>m</article>"),
            ("<aside>x<article>y</article></aside>m", "<aside>x<article>y</article></aside>m"),
            ("<main>a<aside>b<nav>c</main>d<nav>e</nav>f", "<main>a<aside>b</aside></main>df"),
        ] {
            assert_eq!(body(page), expected, "{page}");
        }
    }

    #[test]
    fn head_data_is_written_again() {
        let head = Head::read(
            "<base href=/a/><title>A &lt;b&gt; \"c\"</title><meta name=description content='d & e'>",
        );
        let whole = sanitize("x", &head).expect("not too much");
        assert_eq!(
            whole,
            "<!DOCTYPE html><html><head><base href=\"/a/\"><title>A &lt;b> &quot;c&quot;</title>\
             <meta name=\"description\" content=\"d &amp; e\"></head><body>x</body></html>"
        );
    }

    #[test]
    fn deep_pages_are_flattened_and_huge_ones_rejected() {
        let deep = format!("{}deep{}", "<div>".repeat(100_000), "</div>".repeat(100_000));
        let cleaned = body(&deep);
        assert_eq!(cleaned.matches("<div>").count(), MOST_DEPTH);
        assert_eq!(cleaned.matches("</div>").count(), MOST_DEPTH);
        assert!(cleaned.contains("deep"));
        assert_eq!(body(&"<b>".repeat(100_000)).matches("<b>").count(), MOST_FORMATTING);
        // Unclosed formatting would be reopened in each block.
        let reopened: String = (0..1_000).map(|number| format!("<b id={number}>")).collect();
        let reopened = body(&format!("<p>{reopened}{}", "<p>x".repeat(1_000)));
        assert_eq!(reopened.matches("<b ").count(), MOST_FORMATTING);
        assert_eq!(sanitize(&"<p>x".repeat(MOST_ELEMENTS + 1), &Head::default()), None);
        assert_eq!(sanitize(&"&amp;".repeat(MOST_ELEMENTS + 1), &Head::default()), None);
        let heavy = format!("{}{}", "<div>".repeat(MOST_DEPTH), "x".repeat(1 << 20));
        assert_eq!(sanitize(&heavy, &Head::default()), None);
    }
}

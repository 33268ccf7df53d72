//! A page made safe for a parser: known elements and attributes only, every tag ended, and neither deep nor large.
//!
//! Parsers repair what is not well nested, by rules with which a small page makes a tree of any size:
//! formatting left open is opened again in every block. What is written here needs no repair.

use super::attributes::push_kept;
use super::elements::{Element, Role, known};
use super::entities::encode;
use super::head::Head;
use super::sections::{End, ends};
use super::tokens::{Tag, Token, Tokens};

/// Elements deeper than this are left out; their text stays. What walks the tree may recurse.
const MOST_DEPTH: usize = 100;

/// Formatting within formatting, likewise.
const MOST_FORMATTING: usize = 8;

/// A page of more elements is too much.
pub(crate) const MOST_ELEMENTS: usize = 50_000;

/// And so is one of more work. Whoever looks for an article reads the text of every element, so
/// that each byte counts as often as there are elements around it.
const MOST_WORK: usize = 64 << 20;

/// What an element costs, in bytes of text.
const ELEMENT: usize = 32;

/// The page that a parser may have; nothing where it would be too much for one.
pub(crate) fn clean(page: &str, head: &Head) -> Option<String> {
    let mut writer = Writer::begin(head);
    let mut ends = ends(page).into_iter();
    for token in Tokens::of(page) {
        match token {
            Token::Title(_) => {}
            Token::Text(text) => writer.text(text),
            Token::Open(tag) => {
                if let Some(element) = known(tag.name) {
                    let end = if element.is_beside() { ends.next().unwrap_or(End::Page) } else { End::Tag };
                    writer.open(element, &tag, end);
                }
            }
            Token::Close(name) => {
                if let Some(element) = known(name) {
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
    /// Start tags that were left out for their depth, and whose end tags are to come.
    beyond: usize,
    /// Where navigation begins among what is open. Links to elsewhere are no part of any article, so
    /// that nothing in it is written.
    hidden: Option<usize>,
    /// Where sections begin that have no end tag of their own.
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
        // Each reference is a text of its own to the parser.
        self.elements += text.bytes().filter(|byte| *byte == b'&').count();
        self.html.push_str(if text == "<" { "&lt;" } else { text });
    }

    fn open(&mut self, element: Element, tag: &Tag<'_>, end: End) {
        let is_navigation = element.role == Role::Navigation;
        if element.is_main() {
            self.end_sections();
        }
        // Navigation that nothing ends would take all the rest with it.
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
            push_kept(&mut self.html, tag);
            self.html.push('>');
        }
        if end == End::Around {
            self.endless.push(self.open.len());
        }
        if !is_void {
            self.open.push(element);
        }
    }

    /// Main text is in no section beside it that was left open.
    fn end_sections(&mut self) {
        if let Some(outermost) = self.endless.first().copied() {
            self.beyond = 0;
            self.end(outermost);
        }
    }

    /// Ends what an element ends by beginning, and tells whether it may stand where it then is.
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
        // Parsers move what stands between cells to before the table.
        !self.open.last().is_some_and(|open| open.role.holds_only_parts())
    }

    /// A paragraph ends where a block begins, and with it all formatting in it.
    fn end_paragraph(&mut self) {
        let inner = self.open.iter().rposition(|open| !open.role.is_inline());
        if let Some(at) =
            inner.filter(|at| self.open.get(*at).is_some_and(|open| open.role == Role::Paragraph))
        {
            self.end(at);
        }
    }

    /// An item ends where its list's next one begins.
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

    /// A link ends where another begins; where a block between them forbids that, the other is none.
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

    /// Ends all within the innermost of these; a part of a table that is in none is not one.
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
            // What ends further in does not end what is around it.
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

    /// Ends all that is open from a place on.
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
        let whole = clean(page, &Head::default()).expect("not too much");
        let inner = whole.strip_prefix("<!DOCTYPE html><html><head></head><body>");
        inner.and_then(|inner| inner.strip_suffix("</body></html>")).expect("a whole page").to_owned()
    }

    #[test]
    fn every_tag_is_ended_and_stands_where_it_may() {
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
    fn navigation_is_left_out_and_no_section_takes_the_main_text_with_it() {
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
    fn what_the_head_says_is_written_again() {
        let head = Head::read(
            "<base href=/a/><title>A &lt;b&gt; \"c\"</title><meta name=description content='d & e'>",
        );
        let whole = clean("x", &head).expect("not too much");
        assert_eq!(
            whole,
            "<!DOCTYPE html><html><head><base href=\"/a/\"><title>A &lt;b> &quot;c&quot;</title>\
             <meta name=\"description\" content=\"d &amp; e\"></head><body>x</body></html>"
        );
    }

    #[test]
    fn deep_pages_become_shallow_and_endless_ones_are_refused() {
        let deep = format!("{}deep{}", "<div>".repeat(100_000), "</div>".repeat(100_000));
        let cleaned = body(&deep);
        assert_eq!(cleaned.matches("<div>").count(), MOST_DEPTH);
        assert_eq!(cleaned.matches("</div>").count(), MOST_DEPTH);
        assert!(cleaned.contains("deep"));
        assert_eq!(body(&"<b>".repeat(100_000)).matches("<b>").count(), MOST_FORMATTING);
        // Formatting that is left open would be opened again in each of the blocks.
        let reopened: String = (0..1_000).map(|number| format!("<b id={number}>")).collect();
        let reopened = body(&format!("<p>{reopened}{}", "<p>x".repeat(1_000)));
        assert_eq!(reopened.matches("<b ").count(), MOST_FORMATTING);
        assert_eq!(clean(&"<p>x".repeat(MOST_ELEMENTS + 1), &Head::default()), None);
        assert_eq!(clean(&"&amp;".repeat(MOST_ELEMENTS + 1), &Head::default()), None);
        let heavy = format!("{}{}", "<div>".repeat(MOST_DEPTH), "x".repeat(1 << 20));
        assert_eq!(clean(&heavy, &Head::default()), None);
    }
}

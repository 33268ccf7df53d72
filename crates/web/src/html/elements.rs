//! The known HTML elements and their structural roles. Other elements are ignored.

/// The structural role of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Has no content and no end tag.
    Void,
    /// Inline content.
    Inline,
    /// Inline formatting, which parsers reopen automatically if it was left open.
    Formatting,
    /// A link: formatting that cannot be nested.
    Link,
    Paragraph,
    /// A block, which ends a paragraph.
    Block,
    List,
    Item,
    /// A block that cannot be nested.
    Form,
    Table,
    Caption,
    RowGroup,
    Row,
    Cell,
    /// A block of navigation links.
    Navigation,
    /// Dropped with its content.
    Skipped,
    /// Contains only text.
    Title,
}

impl Role {
    /// Returns true for inline elements.
    pub(super) fn is_inline(self) -> bool {
        matches!(self, Self::Inline | Self::Formatting | Self::Link)
    }

    /// Returns true if only table parts are allowed as direct children.
    pub(super) fn holds_only_parts(self) -> bool {
        matches!(self, Self::Table | Self::RowGroup | Self::Row)
    }
}

/// A known element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) name: &'static str,
    pub(super) role: Role,
}

impl Element {
    /// Returns true for sections that are not part of the main text.
    pub(super) fn is_beside(self) -> bool {
        matches!(self.name, "aside" | "footer" | "header" | "nav")
    }

    /// Returns true for elements that mark the main text.
    pub(super) fn is_main(self) -> bool {
        matches!(self.name, "article" | "main")
    }
}

/// Known elements, sorted by name.
const ELEMENTS: [(&str, Role); 87] = [
    ("a", Role::Link),
    ("abbr", Role::Inline),
    ("address", Role::Block),
    ("article", Role::Block),
    ("aside", Role::Block),
    ("audio", Role::Skipped),
    ("b", Role::Formatting),
    ("big", Role::Formatting),
    ("blockquote", Role::Block),
    ("br", Role::Void),
    ("button", Role::Skipped),
    ("canvas", Role::Skipped),
    ("caption", Role::Caption),
    ("center", Role::Block),
    ("cite", Role::Inline),
    ("code", Role::Formatting),
    ("dd", Role::Item),
    ("del", Role::Inline),
    ("details", Role::Block),
    ("dfn", Role::Inline),
    ("dialog", Role::Block),
    ("div", Role::Block),
    ("dl", Role::List),
    ("dt", Role::Item),
    ("em", Role::Formatting),
    ("fieldset", Role::Block),
    ("figcaption", Role::Block),
    ("figure", Role::Block),
    ("footer", Role::Block),
    ("form", Role::Form),
    ("h1", Role::Block),
    ("h2", Role::Block),
    ("h3", Role::Block),
    ("h4", Role::Block),
    ("h5", Role::Block),
    ("h6", Role::Block),
    ("header", Role::Block),
    ("hgroup", Role::Block),
    ("hr", Role::Void),
    ("i", Role::Formatting),
    ("iframe", Role::Skipped),
    ("img", Role::Void),
    ("input", Role::Void),
    ("ins", Role::Inline),
    ("kbd", Role::Inline),
    ("label", Role::Inline),
    ("li", Role::Item),
    ("main", Role::Block),
    ("mark", Role::Inline),
    ("nav", Role::Navigation),
    ("noembed", Role::Skipped),
    ("noframes", Role::Skipped),
    ("noscript", Role::Skipped),
    ("object", Role::Skipped),
    ("ol", Role::List),
    ("p", Role::Paragraph),
    ("pre", Role::Block),
    ("q", Role::Inline),
    ("s", Role::Formatting),
    ("samp", Role::Inline),
    ("script", Role::Skipped),
    ("section", Role::Block),
    ("select", Role::Skipped),
    ("small", Role::Formatting),
    ("span", Role::Inline),
    ("strike", Role::Formatting),
    ("strong", Role::Formatting),
    ("style", Role::Skipped),
    ("sub", Role::Inline),
    ("summary", Role::Block),
    ("sup", Role::Inline),
    ("svg", Role::Skipped),
    ("table", Role::Table),
    ("tbody", Role::RowGroup),
    ("td", Role::Cell),
    ("template", Role::Skipped),
    ("textarea", Role::Skipped),
    ("tfoot", Role::RowGroup),
    ("th", Role::Cell),
    ("thead", Role::RowGroup),
    ("time", Role::Inline),
    ("title", Role::Title),
    ("tr", Role::Row),
    ("tt", Role::Formatting),
    ("u", Role::Formatting),
    ("ul", Role::List),
    ("video", Role::Skipped),
];

const LONGEST_NAME: usize = 10;

/// Looks up an element by name, ignoring case.
pub(super) fn lookup(name: &str) -> Option<Element> {
    let mut buffer = [0; LONGEST_NAME];
    let lower = buffer.get_mut(..name.len())?;
    lower.copy_from_slice(name.as_bytes());
    lower.make_ascii_lowercase();
    let lower: &[u8] = lower;
    let found = ELEMENTS.binary_search_by(|(known, _)| known.as_bytes().cmp(lower)).ok()?;
    ELEMENTS.get(found).map(|&(name, role)| Element { name, role })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_found_in_any_case() {
        assert!(ELEMENTS.is_sorted_by(|(one, _), (other, _)| one < other));
        for (name, role) in ELEMENTS {
            assert_eq!(lookup(&name.to_uppercase()), Some(Element { name, role }));
        }
        for unknown in ["", "x", "font", "blockquotes", "h7", "é"] {
            assert_eq!(lookup(unknown), None, "{unknown}");
        }
    }
}

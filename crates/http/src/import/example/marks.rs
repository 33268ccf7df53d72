//! Marks for variables in example texts, kept until the importer decides how to replace each.
//!
//! A mark is enclosed in private-use characters, which are removed from all input texts. Texts with marks can
//! be cut, joined, encoded and parsed as JSON like any other.

const TEXT: char = '\u{E000}';
const ANY: char = '\u{E001}';
const SECRET: char = '\u{E002}';
const CLOSE: char = '\u{E003}';

const OPENERS: [char; 3] = [TEXT, ANY, SECRET];

/// The kind of a variable, as far as its position shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkKind {
    Text,
    /// Unquoted in JSON: any value.
    Any,
    /// Becomes a secret wherever secrets are allowed.
    Secret,
}

impl MarkKind {
    fn of(opener: char) -> Option<Self> {
        match opener {
            TEXT => Some(Self::Text),
            ANY => Some(Self::Any),
            SECRET => Some(Self::Secret),
            _ => None,
        }
    }

    fn opener(self) -> char {
        match self {
            Self::Text => TEXT,
            Self::Any => ANY,
            Self::Secret => SECRET,
        }
    }
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Plain(&'a str),
    Mark(MarkKind, &'a str),
}

/// Removes the mark characters from input text.
pub(crate) fn sanitize(text: &str) -> String {
    text.replace([TEXT, ANY, SECRET, CLOSE], "\u{FFFD}")
}

pub(crate) fn mark(kind: MarkKind, name: &str) -> String {
    format!("{}{name}{CLOSE}", kind.opener())
}

pub(crate) fn has_marks(text: &str) -> bool {
    text.contains(OPENERS)
}

pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(OPENERS) {
        let (plain, from) = rest.split_at(at);
        let mut characters = from.chars();
        let Some(kind) = characters.next().and_then(MarkKind::of) else { break };
        let Some((name, after)) = characters.as_str().split_once(CLOSE) else { break };
        if !plain.is_empty() {
            pieces.push(Piece::Plain(plain));
        }
        pieces.push(Piece::Mark(kind, name));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Plain(rest));
    }
    pieces
}

/// The variable, if the whole text is exactly one mark.
pub(crate) fn only_mark(text: &str) -> Option<&str> {
    match pieces(text).as_slice() {
        [Piece::Mark(_, name)] => Some(*name),
        _ => None,
    }
}

pub(crate) fn first_mark(text: &str) -> Option<&str> {
    pieces(text).into_iter().find_map(|piece| match piece {
        Piece::Mark(_, name) => Some(name),
        Piece::Plain(_) => None,
    })
}

/// The text after the mark at its start.
pub(crate) fn behind_mark(text: &str) -> Option<&str> {
    let (_, behind) = text.strip_prefix(OPENERS)?.split_once(CLOSE)?;
    Some(behind)
}

/// Quotes unquoted variables in JSON, so that each is a value.
pub(crate) fn quoted(json: &str) -> String {
    let mut quoted = String::with_capacity(json.len());
    let (mut in_text, mut is_escaped, mut is_bare) = (false, false, false);
    for character in json.chars() {
        if OPENERS.contains(&character) && !in_text {
            is_bare = true;
            quoted.push('"');
            quoted.push(if character == TEXT { ANY } else { character });
            continue;
        }
        quoted.push(character);
        if is_bare {
            if character == CLOSE {
                is_bare = false;
                quoted.push('"');
            }
        } else if is_escaped {
            is_escaped = false;
        } else if character == '"' {
            in_text = !in_text;
        } else if character == '\\' {
            is_escaped = in_text;
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_into_plain_parts_and_marks() {
        let (a, b) = (mark(MarkKind::Text, "a"), mark(MarkKind::Secret, "b"));
        let text = format!("x{a}{b}y");
        let expected = [
            Piece::Plain("x"),
            Piece::Mark(MarkKind::Text, "a"),
            Piece::Mark(MarkKind::Secret, "b"),
            Piece::Plain("y"),
        ];
        assert_eq!(pieces(&text), expected);
        assert_eq!((only_mark(&a), only_mark(&text), first_mark(&text)), (Some("a"), None, Some("a")));
        assert_eq!((behind_mark(&a), behind_mark(&text)), (Some(""), None));
        assert!(has_marks(&text) && !has_marks(&sanitize(&text)));
        assert_eq!(pieces("").len(), 0);
    }

    #[test]
    fn unquoted_variables_in_json_are_quoted() {
        let (text, any) = (mark(MarkKind::Text, "id"), mark(MarkKind::Any, "id"));
        let json = format!(r#"{{"a": {text}, "b": "x\"{text}", "c": [{text}]}}"#);
        let expected = format!(r#"{{"a": "{any}", "b": "x\"{text}", "c": ["{any}"]}}"#);
        assert_eq!(quoted(&json), expected);
    }
}

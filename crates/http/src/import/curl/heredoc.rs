//! Heredocs, `<<EOF`: the lines after a command, up to the terminator.

use std::iter::Peekable;
use std::str::Chars;

use haft_core::Message;

haft_core::templates! {
    UNENDED = "import.curl.unendedText",
        "the heredoc <<{word} is not terminated by a line {word}",
        "<<{word} 之后的文本没有以 {word} 单独成行结束";
}

/// A heredoc that starts on the next line.
pub(super) struct Heredoc {
    end: String,
    /// The terminator is quoted, so that variables are not expanded.
    pub(super) is_literal: bool,
    /// Leading tabs are removed from its lines (`<<-`).
    strips_tabs: bool,
}

impl Heredoc {
    /// Reads the terminator after `<<`. Returns `None` if there is none.
    pub(super) fn open(rest: &mut Peekable<Chars<'_>>) -> Option<Self> {
        let strips_tabs = rest.next_if_eq(&'-').is_some();
        while rest.next_if(|next| matches!(next, ' ' | '\t')).is_some() {}
        let (mut end, mut is_literal) = (String::new(), false);
        let is_part = |next: &char| !next.is_whitespace() && !matches!(next, ';' | '&' | '|' | '<' | '>');
        while let Some(next) = rest.next_if(is_part) {
            match next {
                '\'' | '"' | '\\' => is_literal = true,
                other => end.push(other),
            }
        }
        (!end.is_empty()).then_some(Self { end, is_literal, strips_tabs })
    }

    /// Reads the lines of the heredoc, from the start of a line.
    pub(super) fn read(&self, rest: &mut Peekable<Chars<'_>>) -> Result<String, Message> {
        let mut text = String::new();
        while rest.peek().is_some() {
            let mut line = String::new();
            while let Some(next) = rest.next_if(|next| *next != '\n') {
                line.push(next);
            }
            // Pasting may add blanks around the terminator.
            if line.trim() == self.end {
                rest.next();
                return Ok(text);
            }
            let kept = if self.strips_tabs { line.trim_start_matches('\t') } else { line.as_str() };
            text.push_str(kept);
            text.extend(rest.next());
        }
        let shown: String = self.end.chars().take(20).collect();
        Err(Message::new(&UNENDED).with("word", shown))
    }
}

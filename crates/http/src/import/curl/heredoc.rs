//! Texts that stand behind a command, `<<EOF`: read up to the line that ends them.

use std::iter::Peekable;
use std::str::Chars;

use haft_core::Message;

haft_core::templates! {
    UNENDED = "import.curl.unendedText",
        "the text behind <<{word} has no line {word} that ends it",
        "<<{word} 之后的文本没有以 {word} 单独成行结束";
}

/// A text that begins with the next line.
pub(super) struct Heredoc {
    end: String,
    /// Variables in it are no variables: its word has quotes.
    pub(super) is_literal: bool,
    /// Tabs that begin its lines do not count.
    strips_tabs: bool,
}

impl Heredoc {
    /// Reads the word behind `<<`; nothing where there is none.
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

    /// Reads the text itself, from the start of a line.
    pub(super) fn read(&self, rest: &mut Peekable<Chars<'_>>) -> Result<String, Message> {
        let mut text = String::new();
        while rest.peek().is_some() {
            let mut line = String::new();
            while let Some(next) = rest.next_if(|next| *next != '\n') {
                line.push(next);
            }
            // Blanks around the last line come from pasting.
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

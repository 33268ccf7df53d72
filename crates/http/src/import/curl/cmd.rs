//! Commands that browsers copy for the Windows command line, with `^` as escape character.

use std::iter::Peekable;
use std::str::Chars;

use haft_core::Message;

use super::shell::{Command, UNCLOSED};

/// Returns true if a text is written for the Windows command line.
pub(super) fn is_meant(text: &str) -> bool {
    let mut lines = text.trim_end().lines().peekable();
    let goes_on = |line: &str| line.trim_end().ends_with('^');
    let mut has_line_end = false;
    while let Some(line) = lines.next() {
        has_line_end |= lines.peek().is_some() && goes_on(line);
    }
    has_line_end || text.contains(" ^\"")
}

/// Splits a text into commands.
pub(super) fn commands(text: &str) -> Result<Vec<Command>, Message> {
    let text = without_carets(text);
    let mut rest = text.chars().peekable();
    let (mut commands, mut command, mut word) = (Vec::new(), Command::default(), None::<String>);
    let (mut in_quotes, mut is_piped) = (false, false);
    while let Some(character) = rest.next() {
        match character {
            '"' => {
                word.get_or_insert_default();
                if in_quotes && rest.next_if_eq(&'"').is_some() {
                    word.get_or_insert_default().push('"');
                } else {
                    in_quotes = !in_quotes;
                }
            }
            '\\' => word.get_or_insert_default().push(unescaped(&mut rest)),
            ' ' | '\t' | '\r' | '\n' | '&' | '|' if !in_quotes => {
                command.words.extend(word.take().filter(|_| !is_piped));
                if matches!(character, '\n' | '&') {
                    is_piped = false;
                    if !command.words.is_empty() {
                        std::mem::take(&mut command).push_to(&mut commands)?;
                    }
                }
                is_piped |= character == '|';
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    if in_quotes {
        return Err(Message::new(&UNCLOSED).with("quote", "\""));
    }
    command.words.extend(word.filter(|_| !is_piped));
    if !command.words.is_empty() {
        command.push_to(&mut commands)?;
    }
    Ok(commands)
}

/// Browsers double every backslash and escape each quote.
fn unescaped(rest: &mut Peekable<Chars<'_>>) -> char {
    rest.next_if(|next| matches!(next, '\\' | '"')).unwrap_or('\\')
}

/// Removes caret escapes. Inside quotes a caret is literal.
fn without_carets(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut in_quotes = false;
    while let Some(character) = rest.next() {
        match character {
            '^' if !in_quotes => match rest.next() {
                // An escaped line end is removed; the next is literal.
                Some('\n') => plain.extend(rest.next_if_eq(&'\n')),
                Some(escaped) => plain.push(escaped),
                None => {}
            },
            '"' => {
                in_quotes = !in_quotes;
                plain.push('"');
            }
            other => plain.push(other),
        }
    }
    plain
}

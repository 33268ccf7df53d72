//! What is asked at a terminal, and read from standard input where nobody sits at one.
//!
//! What is secret is not shown while it is typed, and the terminal is as before afterwards.

use std::io::{BufRead, IsTerminal, Read as _};

use haft_core::{ErrorKind, Message};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use secrecy::SecretString;

use crate::messages;
use crate::refusal::{OrFail as _, Refused};

/// What Ctrl-C sends.
const INTERRUPT: u8 = 3;

/// Whether somebody is there to ask.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal()
}

/// One line that may be seen.
pub(crate) fn line(question: &str) -> anyhow::Result<String> {
    eprint!("{question}");
    Ok(next_line()?.trim().to_owned())
}

/// One line that may not.
pub(crate) fn hidden(question: &str) -> anyhow::Result<SecretString> {
    if !can_ask() {
        return Ok(next_line()?.into());
    }
    eprint!("{question}");
    let silence = Silence::begin()?;
    let typed = typed(&mut std::io::stdin().lock());
    drop(silence);
    eprintln!();
    typed
}

/// One hidden line from a person; from a program all there is, without the last line break.
pub(crate) fn hidden_text(question: &str) -> anyhow::Result<SecretString> {
    if can_ask() {
        return hidden(question);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).or_fail(|| Message::new(&messages::NO_TEXT_STDIN))?;
    Ok(without_break(&text).into())
}

fn next_line() -> anyhow::Result<String> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).or_fail(|| Message::new(&messages::NO_TEXT_STDIN))?;
    Ok(without_break(&line).to_owned())
}

fn without_break(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

/// A terminal that shows nothing of what is typed, until this is dropped.
struct Silence {
    before: Termios,
}

impl Silence {
    fn begin() -> anyhow::Result<Self> {
        let before = tcgetattr(std::io::stdin()).or_fail(|| Message::new(&messages::CANNOT_HIDE))?;
        let mut silent = before.clone();
        // Ctrl-C must not end us here, or the terminal would stay silent: it ends the line instead.
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
        silent.special_codes[SpecialCodeIndex::VEOL] = INTERRUPT;
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &silent)
            .or_fail(|| Message::new(&messages::CANNOT_HIDE))?;
        Ok(Self { before })
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// One line as a terminal gives it, unless it was broken off.
fn typed(input: &mut impl BufRead) -> anyhow::Result<SecretString> {
    let mut line = Vec::new();
    loop {
        let part = input.fill_buf().or_fail(|| Message::new(&messages::NO_TERMINAL))?;
        let end = part.iter().position(|byte| matches!(*byte, b'\n' | INTERRUPT));
        let length = end.unwrap_or(part.len());
        if part.get(length) == Some(&INTERRUPT) {
            return Err(Refused::new(ErrorKind::Cancelled, Message::new(&messages::CANCELLED)).into());
        }
        let is_over = end.is_some() || part.is_empty();
        line.extend_from_slice(&part[..length]);
        input.consume(if end.is_some() { length + 1 } else { length });
        if is_over {
            let line = String::from_utf8(line).or_fail(|| Message::new(&messages::NOT_TEXT))?;
            return Ok(without_break(&line).into());
        }
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[track_caller]
    fn check(input: &str, expected: Option<&str>) {
        let line = typed(&mut input.as_bytes()).ok();
        assert_eq!(line.as_ref().map(|line| line.expose_secret()), expected, "{input:?}");
    }

    #[test]
    fn a_typed_line_ends_where_it_should() {
        check("pass word\n", Some("pass word"));
        check("first\nsecond\n", Some("first"));
        check("dos\r\n", Some("dos"));
        check("天气", Some("天气"));
        check("", Some(""));
        check("pass\u{3}", None);
    }
}

//! Prompts at a terminal. If standard input is not a terminal, the input is read without a prompt.
//!
//! Secrets are not echoed while they are typed; the settings of the terminal are restored afterwards.

use std::io::{BufRead, IsTerminal, Read as _};

use haft_core::{ErrorKind, Message};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use secrecy::SecretString;

use crate::cli_error::{CliError, OrFail as _};
use crate::messages;

/// The byte that Ctrl-C sends.
const INTERRUPT: u8 = 3;

/// Returns true if standard input is a terminal, so that a prompt is useful.
pub(crate) fn is_terminal() -> bool {
    std::io::stdin().is_terminal()
}

/// Prompts for one line, which is echoed.
pub(crate) fn read_line(question: &str) -> anyhow::Result<String> {
    eprint!("{question}");
    Ok(next_line()?.trim().to_owned())
}

/// Prompts for one line, which is not echoed. If standard input is not a terminal, reads one line of it.
pub(crate) fn read_hidden_line(question: &str) -> anyhow::Result<SecretString> {
    if !is_terminal() {
        return Ok(next_line()?.into());
    }
    eprint!("{question}");
    let echo_off = EchoOff::start()?;
    let typed = read_typed(&mut std::io::stdin().lock());
    drop(echo_off);
    eprintln!();
    typed
}

/// Prompts for one line, which is not echoed. If standard input is not a terminal, reads all of it, without
/// the last line break.
pub(crate) fn read_hidden_text(question: &str) -> anyhow::Result<SecretString> {
    if is_terminal() {
        return read_hidden_line(question);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).or_fail(|| Message::new(&messages::NO_TEXT_STDIN))?;
    Ok(without_line_break(&text).into())
}

fn next_line() -> anyhow::Result<String> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).or_fail(|| Message::new(&messages::NO_TEXT_STDIN))?;
    Ok(without_line_break(&line).to_owned())
}

fn without_line_break(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

/// Switches the echo of the terminal off until it is dropped.
struct EchoOff {
    before: Termios,
}

impl EchoOff {
    fn start() -> anyhow::Result<Self> {
        let before = tcgetattr(std::io::stdin()).or_fail(|| Message::new(&messages::CANNOT_HIDE))?;
        let mut silent = before.clone();
        // Ctrl-C ends the line instead of the process, which would leave the terminal without echo.
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
        silent.special_codes[SpecialCodeIndex::VEOL] = INTERRUPT;
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &silent)
            .or_fail(|| Message::new(&messages::CANNOT_HIDE))?;
        Ok(Self { before })
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// Reads one line as a terminal sends it. Returns an error of the kind `Cancelled` if Ctrl-C ends it.
fn read_typed(input: &mut impl BufRead) -> anyhow::Result<SecretString> {
    let mut line = Vec::new();
    loop {
        let part = input.fill_buf().or_fail(|| Message::new(&messages::NO_TERMINAL))?;
        let end = part.iter().position(|byte| matches!(*byte, b'\n' | INTERRUPT));
        let length = end.unwrap_or(part.len());
        if part.get(length) == Some(&INTERRUPT) {
            return Err(CliError::new(ErrorKind::Cancelled, Message::new(&messages::CANCELLED)).into());
        }
        let is_over = end.is_some() || part.is_empty();
        line.extend_from_slice(&part[..length]);
        input.consume(if end.is_some() { length + 1 } else { length });
        if is_over {
            let line = String::from_utf8(line).or_fail(|| Message::new(&messages::NOT_TEXT))?;
            return Ok(without_line_break(&line).into());
        }
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[track_caller]
    fn check(input: &str, expected: Option<&str>) {
        let line = read_typed(&mut input.as_bytes()).ok();
        assert_eq!(line.as_ref().map(|line| line.expose_secret()), expected, "{input:?}");
    }

    #[test]
    fn typed_line_ends_at_the_line_break_or_interrupt() {
        check("pass word\n", Some("pass word"));
        check("first\nsecond\n", Some("first"));
        check("dos\r\n", Some("dos"));
        check("天气", Some("天气"));
        check("", Some(""));
        check("pass\u{3}", None);
    }
}

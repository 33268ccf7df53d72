//! Commands for a POSIX shell, quoted for pasting. Words are taken literally, except for variables.
//!
//! Nothing is executed here.

use std::fmt::Write as _;

/// A part of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellPart<'a> {
    /// Literal text.
    Plain(&'a str),
    /// The value of the shell variable with this name.
    Variable(&'a str),
}

/// A command that is being built.
#[derive(Debug, Default)]
pub struct Command {
    text: String,
    has_nul: bool,
}

impl Command {
    /// Adds a constant word, such as `curl`, `-H` or `|`. Quoted only if necessary.
    pub fn bare(&mut self, word: &str) -> &mut Self {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./|%@".contains(&byte);
        if word.is_empty() || !word.bytes().all(is_plain) {
            return self.word(&[ShellPart::Plain(word)]);
        }
        self.separate();
        self.text.push_str(word);
        self
    }

    /// Adds a word of literal and variable pieces.
    pub fn word(&mut self, pieces: &[ShellPart<'_>]) -> &mut Self {
        self.separate();
        let start = self.text.len();
        for piece in pieces {
            match piece {
                ShellPart::Plain(text) => {
                    self.has_nul |= text.contains('\0');
                    quote(text, &mut self.text);
                }
                ShellPart::Variable(name) => {
                    self.text.push_str("\"$");
                    self.text.push_str(name);
                    self.text.push('"');
                }
            }
        }
        if self.text.len() == start {
            self.text.push_str("''");
        }
        self
    }

    /// Adds an option and its value.
    pub fn option(&mut self, name: &str, value: &[ShellPart<'_>]) -> &mut Self {
        self.bare(name).word(value)
    }

    /// Returns the command. Returns `None` if a word contains NUL, which no command can.
    pub fn finish(self) -> Option<String> {
        (!self.has_nul).then_some(self.text)
    }

    fn separate(&mut self) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
    }
}

/// Quotes a text. Within single quotes, only the quote itself is special. Control characters are written as
/// numbers: a terminal would interpret them as keys, and could end the quotes or the line.
fn quote(text: &str, into: &mut String) {
    let mut is_open = false;
    for character in text.chars() {
        if character.is_control() && !matches!(character, '\n' | '\t') {
            if std::mem::take(&mut is_open) {
                into.push('\'');
            }
            into.push_str("\"$(printf '");
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a string cannot fail.
                let _ = write!(into, "\\{byte:03o}");
            }
            into.push_str("')\"");
            continue;
        }
        if !std::mem::replace(&mut is_open, true) {
            into.push('\'');
        }
        match character {
            '\'' => into.push_str("'\\''"),
            other => into.push(other),
        }
    }
    if is_open {
        into.push('\'');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pieces: &[ShellPart<'_>]) -> Option<String> {
        let mut command = Command::default();
        command.bare("a").word(pieces);
        command.finish()
    }

    #[test]
    fn a_word_is_literal() {
        for (text, quoted) in [
            ("", "''"),
            ("b c", "'b c'"),
            ("it's", r"'it'\''s'"),
            ("'", r"''\'''"),
            ("$(x) `y` \\ \"z\" !", "'$(x) `y` \\ \"z\" !'"),
            ("-x\n@y\tz", "'-x\n@y\tz'"),
            ("a\rb", r#"'a'"$(printf '\015')"'b'"#),
            ("\u{3}", r#""$(printf '\003')""#),
            ("\u{9b}", r#""$(printf '\302\233')""#),
            ("汉", "'汉'"),
        ] {
            assert_eq!(written(&[ShellPart::Plain(text)]), Some(format!("a {quoted}")), "{text:?}");
        }
        assert_eq!(written(&[ShellPart::Plain("a\0b")]), None);
    }

    #[test]
    fn variables_are_expanded() {
        let word = [
            ShellPart::Plain("X-Key: "),
            ShellPart::Variable("KEY"),
            ShellPart::Plain("'"),
            ShellPart::Variable("B"),
        ];
        assert_eq!(written(&word).as_deref(), Some(r#"a 'X-Key: '"$KEY"''\'''"$B""#));
        assert_eq!(written(&[]).as_deref(), Some("a ''"));
    }

    #[test]
    fn constants_are_quoted_only_if_necessary() {
        let mut command = Command::default();
        command
            .bare("curl")
            .bare("-X")
            .bare("PUT")
            .bare("a b")
            .bare("")
            .option("-H", &[ShellPart::Plain("x")]);
        assert_eq!(command.finish().as_deref(), Some("curl -X PUT 'a b' '' -H 'x'"));
    }
}

//! Splits commands for a POSIX shell into words, without executing anything.
//!
//! Variables become marks. Syntax that only a shell can evaluate is rejected.

use std::iter::Peekable;
use std::str::Chars;

use haft_core::Message;

use super::ansi_c;
use super::heredoc::Heredoc;
use crate::import::example::{MOST_REQUESTS, mark_variable, too_many_requests};

haft_core::templates! {
    UNCLOSED = "import.curl.unclosed",
        "a quote ({quote}) is never closed",
        "引号（{quote}）没有闭合";
    SUBSTITUTION = "import.curl.substitution",
        "{text} would be run by a shell; write its result instead",
        "{text} 需要由 shell 执行；请直接写出结果";
    INPUT = "import.curl.input",
        "< outside of quotes reads from a file; write the value itself, or put quotes around it",
        "引号外的 < 会从文件读取；请直接写出内容，或加上引号";
}

/// Maximum length of a placeholder name.
const LONGEST_NAME: usize = 64;

/// One command: its words and its standard input.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) words: Vec<String>,
    pub(super) input: Option<String>,
}

impl Command {
    /// Appends a command. Returns an error at the limit.
    pub(super) fn push_to(self, commands: &mut Vec<Self>) -> Result<(), Message> {
        if commands.len() >= MOST_REQUESTS {
            return Err(too_many_requests());
        }
        commands.push(self);
        Ok(())
    }
}

/// Splits a text into commands.
pub(super) fn commands(text: &str) -> Result<Vec<Command>, Message> {
    Reader::new(text).read()
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    commands: Vec<Command>,
    /// The command that is being read.
    command: Command,
    word: Option<String>,
    /// True while the word has no quoted part.
    is_bare: bool,
    /// True after a pipe: the words are not part of the curl command.
    is_piped: bool,
    /// The next word is the file of a redirection.
    skips_word: bool,
    /// The next word is the command's standard input (`<<<`).
    takes_input: bool,
    /// Heredocs that start on the next line, with the index of their command.
    waiting: Vec<(usize, Heredoc)>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text.chars().peekable(),
            commands: Vec::new(),
            command: Command::default(),
            word: None,
            is_bare: true,
            is_piped: false,
            skips_word: false,
            takes_input: false,
            waiting: Vec::new(),
        }
    }

    fn read(mut self) -> Result<Vec<Command>, Message> {
        while let Some(character) = self.rest.next() {
            match character {
                ' ' | '\t' | '\r' => self.end_word(),
                '\n' => self.end_line()?,
                ';' => self.end_command()?,
                '&' => self.ampersand()?,
                '|' => self.pipe()?,
                '>' => self.redirect(),
                '<' if !self.is_piped => self.input()?,
                '#' if self.word.is_none() => while self.rest.next_if(|next| *next != '\n').is_some() {},
                '\'' => self.single()?,
                '"' => self.double()?,
                '$' => self.dollar()?,
                '`' if !self.is_piped => return Err(substitution("`…`")),
                '\\' => self.backslash(),
                other => self.push(other),
            }
        }
        self.end_line()?;
        Ok(self.commands)
    }

    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    fn push(&mut self, character: char) {
        self.word().push(character);
    }

    fn end_word(&mut self) {
        self.is_bare = true;
        let Some(word) = self.word.take() else { return };
        if std::mem::take(&mut self.skips_word) {
            return;
        }
        if std::mem::take(&mut self.takes_input) {
            self.command.input = Some(word);
        } else if !self.is_piped {
            self.command.words.push(word);
        }
    }

    /// Ends a command. A line that starts with an option continues the previous command, whose backslash was
    /// lost.
    fn end_command(&mut self) -> Result<(), Message> {
        self.end_word();
        (self.is_piped, self.skips_word, self.takes_input) = (false, false, false);
        let command = std::mem::take(&mut self.command);
        let goes_on = command.words.first().is_some_and(|first| first.starts_with('-'));
        if goes_on && let Some(before) = self.commands.last_mut() {
            before.words.extend(command.words);
            before.input = command.input.or(before.input.take());
        } else if !command.words.is_empty() {
            command.push_to(&mut self.commands)?;
        }
        Ok(())
    }

    /// Ends a line, and reads the heredocs that it opened.
    fn end_line(&mut self) -> Result<(), Message> {
        self.end_command()?;
        for (place, heredoc) in std::mem::take(&mut self.waiting) {
            let text = heredoc.read(&mut self.rest)?;
            let text = if heredoc.is_literal { text } else { expanded(&text)? };
            let last = self.commands.len().saturating_sub(1);
            if let Some(command) = self.commands.get_mut(place.min(last)) {
                command.input = Some(text);
            }
        }
        Ok(())
    }

    /// Parses `<`: a heredoc, a here-string, or a placeholder such as `<id>`.
    fn input(&mut self) -> Result<(), Message> {
        if self.rest.next_if_eq(&'<').is_some() {
            self.end_word();
            if self.rest.next_if_eq(&'<').is_some() {
                self.takes_input = true;
                return Ok(());
            }
            let heredoc = Heredoc::open(&mut self.rest).ok_or_else(|| Message::new(&INPUT))?;
            self.waiting.push((self.commands.len(), heredoc));
            return Ok(());
        }
        let mut ahead = self.rest.clone();
        let is_part = |next: &char| next.is_ascii_alphanumeric() || matches!(next, '_' | '-');
        let mut name = String::new();
        while name.len() <= LONGEST_NAME
            && let Some(next) = ahead.next_if(is_part)
        {
            name.push(next);
        }
        if name.is_empty() || ahead.next() != Some('>') {
            return Err(Message::new(&INPUT));
        }
        self.rest = ahead;
        self.word().push_str(&format!("<{name}>"));
        Ok(())
    }

    fn ampersand(&mut self) -> Result<(), Message> {
        let next = self.rest.peek().copied();
        let is_glued = next.is_some_and(|next| !next.is_whitespace() && !matches!(next, '&' | '>'));
        if self.word.is_some() && is_glued {
            // An unquoted URL with several query parameters.
            self.push('&');
            return Ok(());
        }
        self.rest.next_if_eq(&'&');
        self.end_command()
    }

    fn pipe(&mut self) -> Result<(), Message> {
        if self.rest.next_if_eq(&'|').is_some() {
            return self.end_command();
        }
        self.end_word();
        self.is_piped = true;
        Ok(())
    }

    fn redirect(&mut self) {
        let is_number = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
        if self.is_bare && self.word.as_ref().is_some_and(is_number) {
            self.word = None;
        }
        self.end_word();
        while self.rest.next_if(|next| matches!(next, '>' | '&' | '|')).is_some() {}
        // Before an option, `>` is the prompt of a continued line, not a redirection.
        let mut ahead = self.rest.clone();
        let mut has_blank = false;
        while ahead.next_if_eq(&' ').is_some() {
            has_blank = true;
        }
        self.skips_word = !(has_blank && ahead.peek() == Some(&'-'));
    }

    fn single(&mut self) -> Result<(), Message> {
        self.open_quotes();
        for character in self.rest.by_ref() {
            if character == '\'' {
                return Ok(());
            }
            self.word.get_or_insert_default().push(character);
        }
        Err(unclosed("'"))
    }

    fn double(&mut self) -> Result<(), Message> {
        self.open_quotes();
        while let Some(character) = self.rest.next() {
            match character {
                '"' => return Ok(()),
                '\\' => match self.rest.next() {
                    Some('\n') => {}
                    Some(escaped @ ('$' | '`' | '"' | '\\')) => self.push(escaped),
                    Some(other) => {
                        self.push('\\');
                        self.push(other);
                    }
                    None => break,
                },
                '$' => self.variable()?,
                '`' if !self.is_piped => return Err(substitution("`…`")),
                other => self.push(other),
            }
        }
        Err(unclosed("\""))
    }

    fn open_quotes(&mut self) {
        self.is_bare = false;
        self.word();
    }

    fn dollar(&mut self) -> Result<(), Message> {
        match self.rest.peek().copied() {
            Some('\'') => {
                self.rest.next();
                self.open_quotes();
                let text = ansi_c::read(&mut self.rest).ok_or_else(|| unclosed("$'"))?;
                self.word().push_str(&text);
                Ok(())
            }
            Some('"') => {
                self.rest.next();
                self.double()
            }
            // A shell prompt before the command.
            Some(' ') | None if self.command.words.is_empty() && self.word.is_none() => Ok(()),
            Some(_) | None => self.variable(),
        }
    }

    /// Parses `$`: the name of a variable, or a literal dollar sign.
    fn variable(&mut self) -> Result<(), Message> {
        let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let is_name = |name: &str| {
            !name.is_empty()
                && !name.starts_with(|first: char| first.is_ascii_digit())
                && name.chars().all(is_part)
        };
        match self.rest.peek().copied() {
            Some('(') if !self.is_piped => Err(substitution("$(…)")),
            Some('{') => {
                self.rest.next();
                let mut name = String::new();
                while let Some(next) = self.rest.next_if(|next| *next != '}') {
                    name.push(next);
                }
                self.rest.next();
                if !is_name(&name) {
                    let shown: String = name.chars().take(20).filter(|next| !next.is_control()).collect();
                    return Err(substitution(&format!("${{{shown}}}")));
                }
                self.word().push_str(&mark_variable(&name));
                Ok(())
            }
            Some(first) if is_part(first) && !first.is_ascii_digit() => {
                let mut name = String::new();
                while let Some(next) = self.rest.next_if(|next| is_part(*next)) {
                    name.push(next);
                }
                self.word().push_str(&mark_variable(&name));
                Ok(())
            }
            Some(_) | None => {
                self.push('$');
                Ok(())
            }
        }
    }

    /// Removes an escaped line end, even with blanks before it.
    fn backslash(&mut self) {
        let mut ahead = self.rest.clone();
        while ahead.next_if(|next| matches!(next, ' ' | '\t' | '\r')).is_some() {}
        if matches!(ahead.peek(), Some('\n') | None) {
            ahead.next();
            self.rest = ahead;
        } else if let Some(escaped) = self.rest.next() {
            self.is_bare = false;
            self.push(escaped);
        }
    }
}

/// Expands a heredoc, in which only variables and a few escapes are special.
fn expanded(text: &str) -> Result<String, Message> {
    let mut reader = Reader::new(text);
    while let Some(character) = reader.rest.next() {
        match character {
            '\\' => match reader.rest.next() {
                Some('\n') => {}
                Some(escaped @ ('$' | '`' | '\\')) => reader.push(escaped),
                Some(other) => reader.word().extend(['\\', other]),
                None => reader.push('\\'),
            },
            '$' => reader.variable()?,
            '`' => return Err(substitution("`…`")),
            other => reader.push(other),
        }
    }
    Ok(reader.word.unwrap_or_default())
}

fn unclosed(quote: &str) -> Message {
    Message::new(&UNCLOSED).with("quote", quote)
}

fn substitution(text: &str) -> Message {
    Message::new(&SUBSTITUTION).with("text", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split_commands(text: &str) -> Vec<Vec<String>> {
        commands(text).expect(text).into_iter().map(|command| command.words).collect()
    }

    #[test]
    fn commands_are_split_like_in_a_shell() {
        let name = mark_variable("A");
        for (text, expected) in [
            (r#"a 'b c' "d\"e\x" f\ g ''"#, vec![vec!["a", "b c", r#"d"e\x"#, "f g", ""]]),
            ("a \\\n b \\  \n c", vec![vec!["a", "b", "c"]]),
            ("a # b\nc;d&&e &f", vec![vec!["a"], vec!["c"], vec!["d"], vec!["e"], vec!["f"]]),
            ("a?x=1&y=2 2>&1 >out | b 'c d' || e", vec![vec!["a?x=1&y=2"], vec!["e"]]),
            ("$ a $A\"${A}\"'$A' $5 $", vec![vec!["a", &format!("{name}{name}$A"), "$5", "$"]]),
            (r"a $'\x41\101\t\'' b", vec![vec!["a", "AA\t'", "b"]]),
            ("a\n -b\n\n-c d", vec![vec!["a", "-b", "-c", "d"]]),
            ("a \\\n> -b c", vec![vec!["a", "-b", "c"]]),
            ("u@h:~$ a x/<id>/<b-c>", vec![vec!["u@h:~$", "a", "x/<id>/<b-c>"]]),
        ] {
            assert_eq!(split_commands(text), expected, "{text}");
        }
    }

    #[test]
    fn heredocs_belong_to_their_command() {
        let marked = mark_variable("A") + "\n";
        for (text, expected) in [
            ("a -d @- <<EOF\n{\"x\": 1}\nEOF\nb", vec![("a", Some("{\"x\": 1}\n")), ("b", None)]),
            ("a <<'E' | jq .\n$A `b`\n E \nb", vec![("a", Some("$A `b`\n")), ("b", None)]),
            ("a <<-E && b\n\t\tx\\$y\n\tE", vec![("a", Some("x$y\n")), ("b", None)]),
            ("a <<E\n$A\nE", vec![("a", Some(marked.as_str()))]),
            ("a <<< 'x y' -b", vec![("a", Some("x y"))]),
            ("a <<E\nx\nE\n-b", vec![("a", Some("x\n"))]),
        ] {
            let read = commands(text).expect(text);
            let found: Vec<(&str, Option<&str>)> =
                read.iter().map(|command| (command.words[0].as_str(), command.input.as_deref())).collect();
            assert_eq!(found, expected, "{text}");
        }
        for text in ["a <<E\nx", "a <<E\n`x`\nE", "a << \nx", "a <file", "a <>"] {
            assert!(commands(text).is_err(), "{text}");
        }
    }
}

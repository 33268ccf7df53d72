//! Commands as people paste them for a POSIX shell: split into words, nothing executed.
//!
//! Variables become marks. What only a shell could know the meaning of is refused in words.

use std::iter::Peekable;
use std::str::Chars;

use haft_core::Message;

use super::ansi_c;
use crate::import::example::{MarkKind, mark};

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

/// The words of each command.
pub(super) fn commands(text: &str) -> Result<Vec<Vec<String>>, Message> {
    let reader = Reader {
        rest: text.chars().peekable(),
        commands: Vec::new(),
        words: Vec::new(),
        word: None,
        is_bare: true,
        is_piped: false,
        skips_word: false,
    };
    reader.read()
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    word: Option<String>,
    /// Whether the word has no quotes so far.
    is_bare: bool,
    /// Behind a pipe stands what becomes of the answer.
    is_piped: bool,
    /// The next word is the file of a redirection.
    skips_word: bool,
}

impl Reader<'_> {
    fn read(mut self) -> Result<Vec<Vec<String>>, Message> {
        while let Some(character) = self.rest.next() {
            match character {
                ' ' | '\t' | '\r' => self.end_word(),
                '\n' | ';' => self.end_command(),
                '&' => self.ampersand(),
                '|' => self.pipe(),
                '>' => self.redirect(),
                '<' if !self.is_piped => return Err(Message::new(&INPUT)),
                '#' if self.word.is_none() => while self.rest.next_if(|next| *next != '\n').is_some() {},
                '\'' => self.single()?,
                '"' => self.double()?,
                '$' => self.dollar()?,
                '`' if !self.is_piped => return Err(substitution("`…`")),
                '\\' => self.backslash(),
                other => self.push(other),
            }
        }
        self.end_command();
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
        if self.skips_word {
            self.skips_word = false;
        } else if !self.is_piped {
            self.words.push(word);
        }
    }

    /// A line that begins with an option goes on with the command before it: its backslash was lost on the way.
    fn end_command(&mut self) {
        self.end_word();
        (self.is_piped, self.skips_word) = (false, false);
        let words = std::mem::take(&mut self.words);
        let goes_on = words.first().is_some_and(|first| first.starts_with('-'));
        if goes_on && let Some(before) = self.commands.last_mut() {
            before.extend(words);
        } else if !words.is_empty() {
            self.commands.push(words);
        }
    }

    fn ampersand(&mut self) {
        let next = self.rest.peek().copied();
        let is_glued = next.is_some_and(|next| !next.is_whitespace() && !matches!(next, '&' | '>'));
        if self.word.is_some() && is_glued {
            // A URL that should have had quotes.
            self.push('&');
            return;
        }
        self.rest.next_if_eq(&'&');
        self.end_command();
    }

    fn pipe(&mut self) {
        if self.rest.next_if_eq(&'|').is_some() {
            self.end_command();
        } else {
            self.end_word();
            self.is_piped = true;
        }
    }

    fn redirect(&mut self) {
        let is_number = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
        if self.is_bare && self.word.as_ref().is_some_and(is_number) {
            self.word = None;
        }
        self.end_word();
        while self.rest.next_if(|next| matches!(next, '>' | '&' | '|')).is_some() {}
        self.skips_word = true;
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
            // A prompt before the command.
            Some(' ') | None if self.words.is_empty() && self.word.is_none() => Ok(()),
            Some(_) | None => self.variable(),
        }
    }

    /// What stands behind a `$`: the name of a variable, or only the sign.
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
                self.word().push_str(&mark(MarkKind::Text, &name));
                Ok(())
            }
            Some(first) if is_part(first) && !first.is_ascii_digit() => {
                let mut name = String::new();
                while let Some(next) = self.rest.next_if(|next| is_part(*next)) {
                    name.push(next);
                }
                self.word().push_str(&mark(MarkKind::Text, &name));
                Ok(())
            }
            Some(_) | None => {
                self.push('$');
                Ok(())
            }
        }
    }

    /// The end of a line is swallowed, also when blanks were pasted before it.
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

fn unclosed(quote: &str) -> Message {
    Message::new(&UNCLOSED).with("quote", quote)
}

fn substitution(text: &str) -> Message {
    Message::new(&SUBSTITUTION).with("text", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_as_a_shell_does() {
        let name = mark(MarkKind::Text, "A");
        for (text, words) in [
            (r#"a 'b c' "d\"e\x" f\ g ''"#, vec![vec!["a", "b c", r#"d"e\x"#, "f g", ""]]),
            ("a \\\n b \\  \n c", vec![vec!["a", "b", "c"]]),
            ("a # b\nc;d&&e &f", vec![vec!["a"], vec!["c"], vec!["d"], vec!["e"], vec!["f"]]),
            ("a?x=1&y=2 2>&1 >out | b 'c d' || e", vec![vec!["a?x=1&y=2"], vec!["e"]]),
            ("$ a $A\"${A}\"'$A' $5 $", vec![vec!["a", &format!("{name}{name}$A"), "$5", "$"]]),
            (r"a $'\x41\101\t\'' b", vec![vec!["a", "AA\t'", "b"]]),
            ("a\n -b\n\n-c d", vec![vec!["a", "-b", "-c", "d"]]),
        ] {
            assert_eq!(commands(text).expect(text), words, "{text}");
        }
    }
}

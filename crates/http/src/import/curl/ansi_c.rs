//! ANSI-C quoting, `$'…'`: decodes backslash escapes as bash and browsers write them.

use std::iter::Peekable;
use std::str::Chars;

/// Reads up to the closing quote. Returns `None` if there is none.
pub(super) fn read(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    let mut text = Escaped::default();
    loop {
        match rest.next()? {
            '\'' => return Some(text.finish()),
            '\\' => escape(rest, &mut text)?,
            other => text.push(other),
        }
    }
}

fn escape(rest: &mut Peekable<Chars<'_>>, text: &mut Escaped) -> Option<()> {
    let escaped = rest.next()?;
    match escaped {
        'n' => text.push('\n'),
        't' => text.push('\t'),
        'r' => text.push('\r'),
        'a' => text.push('\u{7}'),
        'b' => text.push('\u{8}'),
        'e' | 'E' => text.push('\u{1b}'),
        'f' => text.push('\u{c}'),
        'v' => text.push('\u{b}'),
        '\\' | '\'' | '"' | '?' => text.push(escaped),
        'x' => match digits(rest, 16, 2) {
            Some(code) => text.push_byte(code),
            None => text.push_both(escaped),
        },
        'u' => match digits(rest, 16, 4) {
            Some(code) => text.push_unit(code),
            None => text.push_both(escaped),
        },
        'U' => match digits(rest, 16, 8) {
            Some(code) => text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)),
            None => text.push_both(escaped),
        },
        '0'..='7' => {
            let mut code = escaped.to_digit(8).unwrap_or_default();
            for _ in 0..2 {
                let Some(digit) = rest.peek().and_then(|next| next.to_digit(8)) else { break };
                rest.next();
                code = code * 8 + digit;
            }
            text.push_byte(code);
        }
        other => text.push_both(other),
    }
    Some(())
}

/// Reads at most `most` digits.
fn digits(rest: &mut Peekable<Chars<'_>>, radix: u32, most: usize) -> Option<u32> {
    let mut number = None;
    for _ in 0..most {
        let Some(digit) = rest.peek().and_then(|next| next.to_digit(radix)) else { break };
        rest.next();
        number = Some(number.unwrap_or(0_u32).wrapping_mul(radix).wrapping_add(digit));
    }
    number
}

/// Decoded text, with incomplete UTF-8 bytes and UTF-16 surrogates pending.
#[derive(Default)]
struct Escaped {
    text: String,
    bytes: Vec<u8>,
    units: Vec<u16>,
}

impl Escaped {
    fn push(&mut self, character: char) {
        self.settle();
        // An argument cannot contain NUL.
        if character != '\0' {
            self.text.push(character);
        }
    }

    /// Pushes an unknown escape unchanged, with its backslash.
    fn push_both(&mut self, character: char) {
        self.push('\\');
        self.push(character);
    }

    fn push_byte(&mut self, code: u32) {
        if !self.units.is_empty() {
            self.settle();
        }
        self.bytes.extend(u8::try_from(code & 0xff));
    }

    fn push_unit(&mut self, code: u32) {
        if !self.bytes.is_empty() {
            self.settle();
        }
        self.units.extend(u16::try_from(code));
    }

    fn settle(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        match String::from_utf8(bytes) {
            Ok(text) => self.text.push_str(&text),
            // Some browsers escape characters as Latin-1 bytes.
            Err(error) => self.text.extend(error.into_bytes().into_iter().map(char::from)),
        }
        let units = std::mem::take(&mut self.units);
        self.text.push_str(&String::from_utf16_lossy(&units));
    }

    fn finish(mut self) -> String {
        self.settle();
        self.text.replace('\0', "")
    }
}

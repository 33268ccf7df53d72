//! Tests of the parser's work: characters visited, and values and bytes counted by the budget.

use std::cell::Cell;
use std::iter::repeat_n;

use granit_parser::{BorrowedInput, Input, StrInput};

use super::super::CancelFlag;
use super::super::source::Budget;
use super::read_input;

/// A text that counts the characters that the parser reads, visits and skips.
struct CountingInput<'text, 'count> {
    text: StrInput<'text>,
    work: &'count Cell<usize>,
}

impl CountingInput<'_, '_> {
    fn count(&self, characters: usize) {
        self.work.set(self.work.get() + characters);
    }
}

impl Input for CountingInput<'_, '_> {
    fn lookahead(&mut self, count: usize) {
        self.text.lookahead(count);
    }

    fn buflen(&self) -> usize {
        self.text.buflen()
    }

    fn bufmaxlen(&self) -> usize {
        self.text.bufmaxlen()
    }

    fn raw_read_ch(&mut self) -> char {
        self.count(1);
        self.text.raw_read_ch()
    }

    fn raw_read_non_breakz_ch(&mut self) -> Option<char> {
        self.count(1);
        self.text.raw_read_non_breakz_ch()
    }

    fn skip(&mut self) {
        self.count(1);
        self.text.skip();
    }

    fn skip_n(&mut self, count: usize) {
        self.count(count);
        self.text.skip_n(count);
    }

    fn peek(&self) -> char {
        self.count(1);
        self.text.peek()
    }

    fn peek_nth(&self, n: usize) -> char {
        self.count(1);
        self.text.peek_nth(n)
    }

    fn byte_offset(&self) -> Option<usize> {
        self.text.byte_offset()
    }

    fn slice_bytes(&self, start: usize, end: usize) -> Option<&str> {
        self.count(end - start);
        self.text.slice_bytes(start, end)
    }
}

impl<'text> BorrowedInput<'text> for CountingInput<'text, '_> {
    fn slice_borrowed(&self, start: usize, end: usize) -> Option<&'text str> {
        self.count(end - start);
        self.text.slice_borrowed(start, end)
    }
}

/// Work for one text: characters visited, and values and bytes built, also if the text is rejected.
fn work(text: &str) -> usize {
    let characters = Cell::new(0);
    let budget = Budget::new(text, &CancelFlag::default());
    // Rejected texts count as well.
    let _ = read_input(CountingInput { text: StrInput::new(text), work: &characters }, &budget);
    characters.get() + budget.spent()
}

/// Repeats `part`.
fn many(part: &str, count: usize) -> String {
    repeat_n(part, count).collect()
}

#[test]
fn parsing_takes_linear_work() {
    type Shape = fn(usize) -> String;
    let shapes: [(&str, Shape); 9] = [
        ("flow pairs", |n| format!("a: [{}]", many("b: c, ", n))),
        ("flow lists side by side", |n| format!("a: [{}]", many("[x], ", n))),
        ("open brackets", |n| format!("a: {}", many("[", n))),
        ("keys that never come", |n| many("? ", n)),
        ("lines of a plain text", |n| format!("a: x\n{}", many("  word\n", n))),
        ("lines of a block text", |n| format!("a: |\n{}", many("  word\n", n))),
        ("anchors and aliases", |n| format!("a: &a [1, 2]\nb: [{}]", many("*a, ", n))),
        ("anchors within each other", |n| format!("a: {}x", many("&a\n - ", n))),
        ("objects", |n| many("- {x: 1, y: 'two'}\n", n)),
    ];
    for (name, text) in shapes {
        let once = work(&text(2_000));
        for times in [2, 4] {
            let more = work(&text(2_000 * times));
            assert!(more <= once * times * 11 / 10 + 1_000, "{name}: {once} becomes {more} at {times} times");
        }
    }
}

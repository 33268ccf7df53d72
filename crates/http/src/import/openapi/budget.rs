//! What one import may cost: counted, never timed.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use regex::RegexBuilder;

/// Parts of schemas that are looked at, for all operations and in all attempts.
const MOST_PARTS: usize = 20_000_000;

/// All converted schemas together, as JSON.
const MOST_BYTES: usize = 64 << 20;

/// Arguments of all operations together.
const MOST_ARGUMENTS: usize = 50_000;

/// Patterns in all schemas together; each is compiled again with its schema.
const MOST_PATTERNS: usize = 20_000;

/// Different patterns, and how large one may become when it is compiled.
const MOST_DIFFERENT_PATTERNS: usize = 2_000;
const PATTERN_BYTES: usize = 1 << 18;
const LONGEST_PATTERN: usize = 1_000;

/// What is left of it.
pub(super) struct Budget {
    parts: Cell<usize>,
    bytes: Cell<usize>,
    arguments: Cell<usize>,
    patterns: Cell<usize>,
    known_patterns: RefCell<HashMap<String, bool>>,
    is_spent: Cell<bool>,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self {
            parts: Cell::new(MOST_PARTS),
            bytes: Cell::new(MOST_BYTES),
            arguments: Cell::new(MOST_ARGUMENTS),
            patterns: Cell::new(MOST_PATTERNS),
            known_patterns: RefCell::default(),
            is_spent: Cell::new(false),
        }
    }

    /// Whether so much was taken that no more operations are read.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent.get()
    }

    pub(super) fn take_parts(&self, parts: usize) {
        self.take(&self.parts, parts);
    }

    pub(super) fn take_bytes(&self, bytes: usize) {
        self.take(&self.bytes, bytes);
    }

    pub(super) fn take_arguments(&self, arguments: usize) {
        self.take(&self.arguments, arguments);
    }

    fn take(&self, left: &Cell<usize>, wanted: usize) {
        match left.get().checked_sub(wanted) {
            Some(rest) => left.set(rest),
            None => self.is_spent.set(true),
        }
    }

    /// Whether a pattern can be used. One that cannot is left out, and the schema allows more.
    pub(super) fn takes_pattern(&self, pattern: &str) -> bool {
        let Some(rest) = self.patterns.get().checked_sub(1) else { return false };
        self.patterns.set(rest);
        let mut known = self.known_patterns.borrow_mut();
        if let Some(is_usable) = known.get(pattern) {
            return *is_usable;
        }
        if pattern.len() > LONGEST_PATTERN || known.len() >= MOST_DIFFERENT_PATTERNS {
            return false;
        }
        let is_usable = RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).build().is_ok();
        known.insert(pattern.to_owned(), is_usable);
        is_usable
    }
}

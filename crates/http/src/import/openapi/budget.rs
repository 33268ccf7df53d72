//! The budget of one import: counted in work, never in time.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use regex::RegexBuilder;
use serde_json::Value;

/// Maximum number of schema parts visited, for all operations and attempts.
const MOST_PARTS: usize = 20_000_000;

/// Maximum size of all input schemas and configs as JSON: a multiple of the document's size, within an
/// absolute maximum. References copy one part of a document into each operation, so a small document could
/// produce huge definitions.
const BYTES_PER_BYTE: usize = 4;
const LEAST_BYTES: usize = 8 << 20;
const MOST_BYTES: usize = 32 << 20;

/// Maximum number of arguments of all operations.
const MOST_ARGUMENTS: usize = 50_000;

/// Maximum number of patterns in all schemas; each is compiled again with its schema.
const MOST_PATTERNS: usize = 20_000;

/// Maximum number of distinct patterns, and the maximum size of a compiled one.
const MOST_DIFFERENT_PATTERNS: usize = 2_000;
const PATTERN_BYTES: usize = 1 << 18;
const LONGEST_PATTERN: usize = 1_000;

/// The approximate length of a value as JSON: punctuation counts three bytes.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(bytes_of).sum::<usize>() + 3,
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + bytes_of(value) + 3).sum(),
        Value::String(text) => text.len() + 3,
        Value::Null | Value::Bool(_) | Value::Number(_) => 5,
    }
}

/// The remaining budget.
pub(super) struct Budget {
    parts: Cell<usize>,
    bytes: Cell<usize>,
    arguments: Cell<usize>,
    patterns: Cell<usize>,
    known_patterns: RefCell<HashMap<String, bool>>,
    is_spent: Cell<bool>,
}

impl Budget {
    pub(super) fn new(document: &Value) -> Self {
        let bytes = bytes_of(document).saturating_mul(BYTES_PER_BYTE).clamp(LEAST_BYTES, MOST_BYTES);
        Self {
            parts: Cell::new(MOST_PARTS),
            bytes: Cell::new(bytes),
            arguments: Cell::new(MOST_ARGUMENTS),
            patterns: Cell::new(MOST_PATTERNS),
            known_patterns: RefCell::default(),
            is_spent: Cell::new(false),
        }
    }

    /// Returns true if the budget is used up and no more operations are read.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent.get()
    }

    pub(super) fn take_parts(&self, parts: usize) {
        self.take(&self.parts, parts);
    }

    /// The number of bytes left.
    pub(super) fn bytes_left(&self) -> usize {
        self.bytes.get()
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

    /// Returns true if a pattern can be used. An unusable pattern is dropped, so that the schema accepts
    /// more.
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

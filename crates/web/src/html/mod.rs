//! Processes untrusted HTML in linear time: tokens, metadata, plain text, and a sanitized page for the HTML
//! parser.
//!
//! A page of a few megabytes can make a parser build a tree of a thousand times its size, or one deep enough
//! to overflow the stack. This module builds no trees, and the output of [`sanitize()`] is small and shallow.

mod attributes;
mod elements;
mod entities;
mod head;
mod sanitizer;
mod sections;
mod text;
mod tokens;

pub(crate) use head::{Head, charset, named_in};
pub(crate) use sanitizer::{MOST_ELEMENTS, sanitize};
pub(crate) use text::plain;

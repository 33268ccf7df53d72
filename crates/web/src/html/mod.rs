//! HTML of strangers, read in linear time: tags and text, what its head says, its text, and a
//! cleaned page that a real parser may have.
//!
//! A page of a few megabytes can make a parser build a tree a thousand times its size, or one so deep
//! that the stack ends. Nothing here builds trees, and what [`clean()`] writes is small and shallow.

mod attributes;
mod clean;
mod elements;
mod entities;
mod head;
mod sections;
mod text;
mod tokens;

pub(crate) use clean::{MOST_ELEMENTS, clean};
pub(crate) use head::{Head, charset, named_in};
pub(crate) use text::plain;

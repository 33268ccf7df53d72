//! The built-in tools in an engine, as callers use them.

#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and ends its tasks itself"
)]

mod array;
mod datetime;
mod languages;
mod object;
mod string;
mod string_patterns;
mod support;

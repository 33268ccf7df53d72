//! The calculator in an engine: results of mathjs, limits, and isolation of expressions.

#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and ends its tasks itself"
)]

mod golden;
mod limits;
mod support;

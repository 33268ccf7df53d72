//! The built-in tools through the pipeline, as every caller meets them.

#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and ends its tasks itself"
)]

mod datetime;
mod string;
mod support;

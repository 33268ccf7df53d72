//! The calculator through the pipeline: mathjs's own answers, limits, and what one expression leaves for the next.

#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and ends its tasks itself"
)]

mod golden;
mod limits;
mod support;

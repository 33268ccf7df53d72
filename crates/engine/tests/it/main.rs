//! The pipeline as programs use it: each rule of a call, shown from outside.

#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and ends its tasks itself"
)]

mod answers;
mod attempts;
mod catalogue;
mod context;
mod events;
mod guards;
mod native;
mod operations;
mod records;
mod source;
mod support;

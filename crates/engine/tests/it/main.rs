//! The engine as programs use it: each rule of a call, tested through the public API.

#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and ends its tasks itself"
)]

mod attempts;
mod catalog;
mod context;
mod events;
mod guards;
mod native;
mod operations;
mod records;
mod results;
mod source;
mod support;

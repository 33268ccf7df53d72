//! The API over real HTTP: every route, and every way to get it wrong.

#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and ends its tasks itself"
)]

mod events;
mod execute;
mod models;
mod protocol;
mod support;
mod tools;

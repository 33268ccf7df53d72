//! What tests of several crates share: a client for the API, and a running `haft`.
//!
//! A dev-dependency only. Nothing here knows how Haft works inside.

#![allow(clippy::expect_used, reason = "a test that cannot be set up should say so at once")]

mod client;
mod process;

pub use client::{Client, Reply};
pub use process::{Finished, HaftProcess, run};

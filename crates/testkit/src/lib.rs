//! What tests of several crates share: a client for the API, and a running `haft`.
//!
//! A dev-dependency only. Nothing here knows how Haft works inside.

#![allow(clippy::expect_used, reason = "a test that cannot be set up should say so at once")]

mod client;
mod node;
mod process;

pub use client::{Client, Reply};
pub use node::{node, node_modules};
pub use process::{Finished, HaftProcess, run};

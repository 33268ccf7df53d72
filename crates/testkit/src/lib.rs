//! What tests of several crates share: a client for the API, a running `haft`, and servers for tools to call.
//!
//! A dev-dependency only. Nothing here knows how Haft works inside.

#![allow(clippy::expect_used, reason = "a test that cannot be set up should say so at once")]

mod client;
mod node;
mod process;
mod upstream;

pub use client::{Client, Reply};
pub use node::{node, node_modules};
pub use process::{Finished, HaftProcess, run};
pub use upstream::{Seen, Upstream, json_reply, reply};

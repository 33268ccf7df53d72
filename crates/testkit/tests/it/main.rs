//! The server of models, asked by the client that it is there to test, and by requests that break rules.
#![allow(clippy::expect_used, clippy::disallowed_methods, reason = "tests fail by panicking")]

mod answers;
mod events;
mod misbehaviour;
mod refusals;
mod support;

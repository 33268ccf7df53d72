//! Tests of the fake model server, with Haft's own model client and with invalid requests.
#![allow(clippy::expect_used, clippy::disallowed_methods, reason = "tests fail by panicking")]

mod events;
mod misbehaviour;
mod refusals;
mod responses;
mod support;

//! Black-box tests of egress: dialed addresses, sent requests, and limits of responses.
#![allow(clippy::expect_used, clippy::disallowed_methods, reason = "tests fail by panicking")]

mod addresses;
mod authority;
mod bodies;
mod hosts;
mod pools;
mod rebinding;
mod redirect_refusals;
mod redirects;
mod streams;
mod support;
mod tls;
mod wire;

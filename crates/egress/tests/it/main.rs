//! The guard, from outside: what may be dialled, what is sent on, how much comes back.
#![allow(clippy::expect_used, clippy::disallowed_methods, reason = "tests fail by panicking")]

mod addresses;
mod authority;
mod bodies;
mod hosts;
mod opened;
mod pools;
mod rebinding;
mod redirect_refusals;
mod redirects;
mod support;
mod tls;
mod wire;

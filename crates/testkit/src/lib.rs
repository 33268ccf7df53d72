//! What tests of several crates share: a client for the API, a running `haft`, servers for tools to call,
//! and one of models.
//!
//! A dev-dependency only. Nothing here knows how Haft works inside.

#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test that cannot be set up should say so at once, and is set up by its environment"
)]

mod client;
mod model;
mod node;
mod place;
mod process;
mod sse;
mod upstream;
mod wait;

pub use client::{Client, Reply};
pub use model::{
    AskedCall, AskedMessage, AskedModel, AskedResult, AskedTool, Dialect, ModelReply, ModelServer,
    OLLAMA_CONTEXT, Role,
};
pub use node::{node, node_modules};
pub use place::Place;
pub use process::{Finished, HaftProcess, run};
pub use sse::{Event, EventStream};
pub use upstream::{Seen, Upstream, json_reply, reply};
pub use wait::eventually;

//! Test helpers shared by several crates: an API client, a running `haft` process, fake servers for tools,
//! and a fake model server.
//!
//! A dev-dependency only. Nothing here may depend on Haft's internals.

#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a failed setup must stop the test, and the environment configures the setup"
)]

mod client;
mod model;
mod node;
mod process;
mod sse;
mod storage;
mod upstream;
mod wait;

pub use client::{Client, TestResponse};
pub use model::{
    FakeDialect, MessageRole, ModelReply, ModelServer, OLLAMA_CONTEXT, RecordedCall, RecordedMessage,
    RecordedModelRequest, RecordedResult, RecordedTool,
};
pub use node::{node, node_modules};
pub use process::{CommandOutput, HaftProcess, run};
pub use sse::{EventStream, SseEvent};
pub use storage::TestStorage;
pub use upstream::{RecordedRequest, Upstream, http_response, json_reply};
pub use wait::eventually;

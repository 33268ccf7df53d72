//! A server of models on loopback, for tests: it speaks four dialects as their makers do, refuses what they
//! would refuse, and answers what a test says.

mod anthropic;
mod asked;
mod dialect;
mod flow;
mod gemini;
mod ollama;
mod openai;
mod reply;
mod rules;
mod server;

pub use asked::{AskedCall, AskedMessage, AskedModel, AskedResult, AskedTool, Role};
pub use dialect::Dialect;
pub use ollama::OLLAMA_CONTEXT;
pub use reply::ModelReply;
pub use server::ModelServer;

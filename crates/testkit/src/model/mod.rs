//! A fake model server on loopback. It implements four dialects, rejects the requests that the real servers
//! reject, and sends the responses that a test defines.

mod anthropic;
mod dialect;
mod gemini;
mod model_reply;
mod ollama;
mod openai;
mod request;
mod response_body;
mod rules;
mod server;

pub use dialect::FakeDialect;
pub use model_reply::ModelReply;
pub use ollama::OLLAMA_CONTEXT;
pub use request::{
    MessageRole, RecordedCall, RecordedMessage, RecordedModelRequest, RecordedResult, RecordedTool,
};
pub use server::ModelServer;

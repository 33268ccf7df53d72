//! The server side of Ollama's chat API.

mod model_info;
mod request;
mod response;

pub use model_info::OLLAMA_CONTEXT;
pub(super) use model_info::show_model;
pub(super) use request::read;
pub(super) use response::{frames, whole};

//! Ollama's chat, from the side of the server.

mod asked;
mod shown;
mod told;

pub(super) use asked::read;
pub use shown::OLLAMA_CONTEXT;
pub(super) use shown::shown;
pub(super) use told::{frames, whole};

//! Chat completions: OpenAI's own, and what everybody else made of them.

mod request;
mod stream;

pub(crate) use request::body;
pub(crate) use stream::Chunks;

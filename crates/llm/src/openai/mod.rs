//! The dialect of OpenAI's chat completions and compatible servers.

mod request;
mod stream;

pub(crate) use request::body;
pub(crate) use stream::Chunks;

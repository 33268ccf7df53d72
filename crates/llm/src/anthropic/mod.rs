//! Anthropic's messages.

mod request;
mod stream;

pub(crate) use request::body;
pub(crate) use stream::Message;

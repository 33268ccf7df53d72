//! The dialect of Anthropic's Messages API.

mod request;
mod stream;

pub(crate) use request::body;
pub(crate) use stream::Message;

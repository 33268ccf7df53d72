//! Gemini's generated content.

mod request;
mod stream;

pub(crate) use request::body;
pub(crate) use stream::Candidates;

//! The dialect of Gemini's `generateContent`.

mod request;
mod stream;

pub(crate) use request::body;
pub(crate) use stream::Candidates;

//! The server side of Gemini's generateContent API.

mod request;
mod response;
mod schema;

pub(super) use request::read;
pub(super) use response::{frames, whole};

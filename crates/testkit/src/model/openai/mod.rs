//! The server side of OpenAI's chat completions.

mod request;
mod response;

pub(super) use request::read;
pub(super) use response::{frames, whole};

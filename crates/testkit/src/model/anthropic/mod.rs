//! The server side of Anthropic's messages API.

mod request;
mod response;

pub(super) use request::read;
pub(super) use response::{frames, whole};

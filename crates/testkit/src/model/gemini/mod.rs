//! Gemini's generated content, from the side of the server.

mod asked;
mod schema;
mod told;

pub(super) use asked::read;
pub(super) use told::{frames, whole};

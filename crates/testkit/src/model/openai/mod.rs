//! OpenAI's chat completions, from the side of the server.

mod asked;
mod told;

pub(super) use asked::read;
pub(super) use told::{frames, whole};

//! The chat loop: a model is asked, its calls are carried out, and it is asked again, until it has its answer.
//!
//! A conversation is a run, so that it goes on after any crash. Models are `llm`'s, tools the engine's; nothing here
//! knows of HTTP or SQL.

mod models;

pub use models::{Asker, Chosen, Models, Wanted};

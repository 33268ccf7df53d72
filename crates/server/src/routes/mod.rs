//! The routes, one file per noun or verb. Wire types stand beside their handler.

pub(crate) mod execute;
pub(crate) mod health;
pub(crate) mod import;
pub(crate) mod schema_preview;
pub(crate) mod tools;

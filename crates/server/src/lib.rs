//! Haft's HTTP doors: routes, envelope, identity. Nothing here runs a tool; the engine does.

mod app;
mod auth;
mod body;
mod envelope;
mod error;
mod listen;
mod query;
mod request;
mod routes;

pub use app::{SecretKeeper, Settings, router};
pub use auth::SOURCE;
pub use listen::serve;

use haft_core::Template;

/// Every message of this crate.
pub fn all_templates() -> Vec<&'static Template> {
    let own = [
        auth::TEMPLATES,
        body::TEMPLATES,
        error::TEMPLATES,
        query::TEMPLATES,
        routes::tools::TEMPLATES,
        routes::execute::TEMPLATES,
    ];
    own.into_iter().flatten().copied().chain(routes::import::all_templates()).collect()
}

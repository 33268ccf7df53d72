//! HTTP tools without code: a templated request, described by `config`, becomes a tool.
//!
//! What is sent is built here and what comes back is read here. Connections,
//! addresses and redirects belong to the egress guard, retries and deadlines to the engine.

mod auth;
mod body;
mod config;
mod cookies;
mod curl;
mod files;
mod fill;
mod generic;
mod headers;
pub mod import;
mod json;
mod kind;
mod later;
mod lift;
mod markers;
mod multipart;
mod oauth;
mod query;
mod request;
mod response;
mod schema;
mod status;
mod tool;
mod url;

pub use headers::is_harmless_header;
pub use kind::HttpKind;
pub use lift::lift_credentials;

/// Every message of this crate.
pub fn all_templates() -> Vec<&'static haft_core::Template> {
    [
        auth::TEMPLATES,
        body::TEMPLATES,
        config::TEMPLATES,
        cookies::TEMPLATES,
        curl::TEMPLATES,
        fill::TEMPLATES,
        generic::TEMPLATES,
        kind::TEMPLATES,
        headers::TEMPLATES,
        oauth::TEMPLATES,
        query::TEMPLATES,
        request::TEMPLATES,
        response::TEMPLATES,
        status::TEMPLATES,
        url::TEMPLATES,
    ]
    .into_iter()
    .flatten()
    .copied()
    .chain(import::all_templates())
    .chain(later::all_templates())
    .collect()
}

//! The `http` kind: tools defined by a templated HTTP request in `config`, without code.
//!
//! This crate builds requests and interprets responses. Connections, addresses and redirects belong to the
//! egress guard; retries and deadlines belong to the engine.

mod auth;
mod body;
mod config;
mod cookies;
mod credentials;
mod curl;
mod deferred;
mod files;
mod fill;
mod generic;
mod headers;
pub mod import;
mod json;
mod kind;
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

/// All message templates of this crate.
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
    .chain(deferred::all_templates())
    .collect()
}

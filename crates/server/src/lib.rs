//! Haft's HTTP doors: routes, envelope, identity. Nothing here runs a tool; the engine does.

mod alerts;
mod api;
mod app;
mod auth;
mod body;
mod call_log;
mod callbacks;
mod chat;
mod clearing;
mod connection;
mod connection_limits;
mod console;
mod decode_error;
mod difference;
mod door;
mod envelope;
mod error;
mod events;
mod feed;
mod form;
mod listen;
mod login_throttle;
mod metrics;
mod models;
mod openapi;
mod origin;
mod query;
mod request;
mod routes;
mod stored_artifacts;
mod stored_secrets;
mod stored_tools;
mod tasks;
mod traces;
mod visitors;

pub use app::{App, Settings};
pub use auth::SOURCE;
pub use call_log::{LoggedCalls, keep_up};
pub use callbacks::SignedCallbacks;
pub use chat::StoredHost;
pub use listen::{ConnectionSettings, serve};
pub use metrics::Metrics;
pub use models::{EnvironmentProvider, ModelSettings, Speaks, StoredModels};
pub use stored_artifacts::StoredArtifacts;
pub use stored_secrets::StoredSecrets;
pub use stored_tools::StoredTools;
pub use tasks::{LoggedCallHistory, Tasks};
pub use traces::{TraceSettings, Traces};

use haft_core::Template;

/// Every message of this crate.
pub fn all_templates() -> Vec<&'static Template> {
    let own = [
        alerts::TEMPLATES,
        auth::TEMPLATES,
        body::TEMPLATES,
        callbacks::TEMPLATES,
        console::TEMPLATES,
        decode_error::TEMPLATES,
        decode_error::JSON_TEMPLATES,
        error::TEMPLATES,
        form::TEMPLATES,
        query::TEMPLATES,
        tasks::TEMPLATES,
        visitors::TEMPLATES,
    ];
    let own = own.into_iter().flatten().copied();
    own.chain(events::all_templates()).chain(models::all_templates()).chain(routes::all_templates()).collect()
}

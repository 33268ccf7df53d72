//! The only way out of the process: an HTTP client that looks at every address it dials.
//!
//! Everything that leaves — http tools, imports, tokens, callbacks, the command
//! line's own requests — goes through [`Egress::send`] or, where the body is read as it
//! comes, [`Egress::open`], under one of two policies.
//! Templates, credentials and what an answer means never live here.

mod address;
mod answer;
mod client;
mod connect;
mod decode;
mod destination;
mod egress;
mod failure;
mod hosts;
mod opened;
mod redirect;
mod request;
mod resolve;
mod status;
mod stream;
mod tls;

pub use address::{BadNetworks, Networks};
pub use answer::Answer;
pub use destination::Destination;
pub use egress::{Builder, Egress};
pub use hosts::{BadHost, Hosts};
pub use opened::Opened;
pub use request::{Limits, Policy, Request, ToolPolicy};
pub use resolve::{Resolver, SystemResolver};
pub use tls::BadRoots;

/// Every message of this crate.
pub fn all_templates() -> Vec<&'static haft_core::Template> {
    [failure::TEMPLATES, redirect::TEMPLATES].into_iter().flatten().copied().collect()
}

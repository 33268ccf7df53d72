//! Egress: the only HTTP client of the process, which checks every address that it dials.
//!
//! All outgoing requests (http tools, imports, tokens, callbacks, and those of the command line) use
//! [`Egress::send`], or [`Egress::open`] for streamed bodies, under one of two policies. Templates,
//! credentials and the meaning of responses do not belong here.

mod address;
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
mod response;
mod status;
mod stream;
mod tls;

pub use address::{BadNetworks, Networks};
pub use destination::Destination;
pub use egress::{Egress, EgressBuilder};
pub use hosts::{BadHost, Hosts};
pub use opened::StreamedResponse;
pub use request::{Limits, Request, RequestPolicy, ToolPolicy};
pub use resolve::{Resolver, SystemResolver};
pub use response::EgressResponse;
pub use tls::BadRoots;

/// Returns all message templates of this crate.
pub fn all_templates() -> Vec<&'static haft_core::Template> {
    [failure::TEMPLATES, redirect::TEMPLATES].into_iter().flatten().copied().collect()
}

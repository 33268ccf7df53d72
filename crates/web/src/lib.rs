//! The built-in tools for the web: `url_reader` and `web_search`.
//!
//! Pages and responses are untrusted and processed within limits. Connections, addresses and redirects belong
//! to the egress guard; retries and deadlines belong to the engine.

mod html;
mod reader;
mod search;
mod status;

use haft_core::Template;
use haft_core::builtin::Builtin;
use haft_egress::Egress;

pub use search::{Brave, SearXng, SearchProviders, Tavily};

/// The built-in tool `url_reader`.
pub fn url_reader(egress: Egress) -> impl Builtin {
    reader::UrlReader::new(egress)
}

/// The built-in tool `web_search`. Without a provider, calls fail with a message that names the variable to
/// set.
pub fn web_search(egress: Egress, providers: SearchProviders) -> impl Builtin {
    search::WebSearch::new(egress, providers)
}

/// All message templates of this crate.
pub fn all_templates() -> Vec<&'static Template> {
    [reader::TEMPLATES, search::TEMPLATES].into_iter().flatten().copied().collect()
}

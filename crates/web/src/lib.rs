//! The built-in tools that read the web: `url_reader` and `web_search`.
//!
//! Pages and answers are hostile, and are read within bounds. Connections,
//! addresses and redirects belong to the egress guard, retries and deadlines to
//! the engine; neither lives here.

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

/// The built-in tool `web_search`. It is there without any provider too, and then says what to configure.
pub fn web_search(egress: Egress, providers: SearchProviders) -> impl Builtin {
    search::WebSearch::new(egress, providers)
}

/// Every message of this crate.
pub fn all_templates() -> Vec<&'static Template> {
    [reader::TEMPLATES, search::TEMPLATES].into_iter().flatten().copied().collect()
}

//! SearXNG: a search engine run by the operator, queried without a key.

use haft_core::{CallError, Template};
use haft_egress::Request;
use http::Method;
use serde_json::Value;
use url::Url;

use super::SEARXNG_FAILED;
use super::provider::{Found, Provider, below};

/// The provider SearXNG. The instance's settings must allow the format `json`.
#[derive(Debug, Clone)]
pub struct SearXng {
    pub base: Url,
}

impl Provider for SearXng {
    fn name(&self) -> &'static str {
        "SearXNG"
    }

    fn base(&self) -> &Url {
        &self.base
    }

    fn failed(&self) -> &'static Template {
        &SEARXNG_FAILED
    }

    /// SearXNG has no parameter for the number of results; the list is truncated.
    fn request(&self, query: &str, _: usize) -> Result<Request, CallError> {
        let mut url = below(&self.base, &["search"]);
        url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
        Request::new(Method::GET, &url)
    }

    fn results(&self, answer: &Value) -> Option<Vec<Found>> {
        Found::list(answer.get("results")?, "content")
    }
}

//! Brave Search: one GET request with the key in a separate header.

use haft_core::{CallError, Template};
use haft_egress::Request;
use http::{HeaderName, Method};
use secrecy::SecretString;
use serde_json::Value;
use url::Url;

use super::BRAVE_FAILED;
use super::provider::{Found, Provider, below, header};
use crate::html::plain;

const TOKEN: HeaderName = HeaderName::from_static("x-subscription-token");

/// The provider Brave Search.
#[derive(Debug, Clone)]
pub struct Brave {
    pub key: SecretString,
    pub base: Url,
}

impl Brave {
    /// The default base URL.
    pub const BASE: &'static str = "https://api.search.brave.com";
}

impl Provider for Brave {
    fn name(&self) -> &'static str {
        "Brave"
    }

    fn base(&self) -> &Url {
        &self.base
    }

    fn failed(&self) -> &'static Template {
        &BRAVE_FAILED
    }

    fn request(&self, query: &str, most: usize) -> Result<Request, CallError> {
        let mut url = below(&self.base, &["res", "v1", "web", "search"]);
        url.query_pairs_mut().append_pair("q", query).append_pair("count", &most.to_string());
        let mut request = Request::new(Method::GET, &url)?;
        request.headers.insert(TOKEN, header("", &self.key, self.name(), "BRAVE_API_KEY")?);
        Ok(request)
    }

    fn results(&self, answer: &Value) -> Option<Vec<Found>> {
        let Some(web) = answer.get("web") else {
            // Brave omits `web` if there are no results.
            return (answer.get("type")?.as_str()? == "search").then(Vec::new);
        };
        let found = Found::list(web.get("results")?, "description")?;
        // Brave marks the words of the query with tags.
        let unmarked = |found: Found| Found {
            title: plain(&found.title),
            content: plain(&found.content),
            url: found.url,
        };
        Some(found.into_iter().map(unmarked).collect())
    }
}

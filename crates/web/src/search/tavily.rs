//! Tavily: one POST request with the key as a bearer token.

use bytes::Bytes;
use haft_core::{CallError, Template};
use haft_egress::Request;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Method};
use secrecy::SecretString;
use serde_json::{Value, json};
use url::Url;

use super::TAVILY_FAILED;
use super::provider::{Found, Provider, below, header};

/// The provider Tavily.
#[derive(Debug, Clone)]
pub struct Tavily {
    pub key: SecretString,
    pub base: Url,
}

impl Tavily {
    /// The default base URL.
    pub const BASE: &'static str = "https://api.tavily.com";
}

impl Provider for Tavily {
    fn name(&self) -> &'static str {
        "Tavily"
    }

    fn base(&self) -> &Url {
        &self.base
    }

    fn failed(&self) -> &'static Template {
        &TAVILY_FAILED
    }

    fn request(&self, query: &str, most: usize) -> Result<Request, CallError> {
        let mut request = Request::new(Method::POST, &below(&self.base, &["search"]))?;
        let token = header("Bearer ", &self.key, self.name(), "TAVILY_API_KEY")?;
        request.headers.insert(AUTHORIZATION, token);
        let body = json!({"query": query, "max_results": most, "search_depth": "basic"});
        request.body = Bytes::from(body.to_string());
        request.content_type = Some(HeaderValue::from_static("application/json"));
        Ok(request)
    }

    fn results(&self, answer: &Value) -> Option<Vec<Found>> {
        Found::list(answer.get("results")?, "content")
    }
}

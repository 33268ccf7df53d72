//! Requests, their policies and limits.

use bytes::Bytes;
use haft_core::{CallError, SpaceId};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method};
use tokio::time::Instant;
use url::Url;

use crate::destination::Destination;
use crate::failure;
use crate::hosts::Hosts;

/// One request, before any redirect.
#[derive(Debug, Clone)]
pub struct Request {
    pub(crate) method: Method,
    pub(crate) to: Destination,
    pub(crate) path: PathAndQuery,
    /// Sent to this origin only: a redirect to another origin drops them.
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The content type of the body; a header with that name takes precedence.
    pub content_type: Option<HeaderValue>,
    /// The body contains a secret, so it must not be sent to another origin.
    pub body_is_secret: bool,
}

impl Request {
    /// Creates a request for a URL.
    pub fn new(method: Method, url: &Url) -> Result<Self, CallError> {
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        Self::to(method, Destination::of(url)?, path)
    }

    /// Creates a request for an encoded path and query at a destination.
    pub fn to(method: Method, to: Destination, path: String) -> Result<Self, CallError> {
        let path = PathAndQuery::from_maybe_shared(Bytes::from(path)).map_err(|_| failure::url(to.url()))?;
        Ok(Self {
            method,
            to,
            path,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            content_type: None,
            body_is_secret: false,
        })
    }

    /// Returns the whole URL.
    pub fn url(&self) -> Url {
        self.to.join(&self.path)
    }
}

/// The limits of a response.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Deadline for everything: connection, headers, body and all redirects. `None` if the caller drops the
    /// request in time, as the engine does with every attempt.
    pub deadline: Option<Instant>,
    /// Maximum size of the decoded body.
    pub bytes: usize,
}

/// The policy for the address of a request, by its author.
#[derive(Debug, Clone, Copy)]
pub enum RequestPolicy<'a> {
    /// Chosen by a tool's author or a model: everything is checked, and connections are pooled per space.
    Tool(SpaceId, &'a ToolPolicy),
    /// Chosen by the operator in the configuration: any address and port, and no redirect to another origin.
    Operator,
}

/// The destinations that one tool's requests may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPolicy {
    hosts: Hosts,
    own: Hosts,
    within: Option<Url>,
}

impl ToolPolicy {
    /// Creates the policy of a tool with this URL. An empty list allows the URL's own host.
    pub fn new(url: &Url, allowed: Hosts) -> Self {
        let own = Hosts::of_url(url);
        Self { hosts: if allowed.is_empty() { own.clone() } else { allowed }, own, within: None }
    }

    /// Restricts requests, including redirects, to this URL's origin and path.
    #[must_use]
    pub fn within(mut self, base: Url) -> Self {
        self.within = Some(base);
        self
    }

    pub(crate) fn check_within(&self, request: &Request) -> Result<(), CallError> {
        let Some(base) = &self.within else { return Ok(()) };
        let stays =
            request.to.url().origin() == base.origin() && request.path.path().starts_with(base.path());
        if stays { Ok(()) } else { Err(failure::outside(base)) }
    }

    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Returns true if the port may be used at any address: 80 and 443, the tool's own, and listed ones.
    pub(crate) fn allows_port(&self, to: &Destination) -> bool {
        let (host, port) = (to.host(), to.port());
        matches!(port, 80 | 443) || self.own.allow_port(host, port) || self.hosts.allow_port(host, port)
    }
}

//! What is sent, under which policy, and how much may come back.

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
    /// Sent to this origin only: a redirect to another leaves all of them behind.
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Of the body; a header of that name wins.
    pub content_type: Option<HeaderValue>,
    /// The body holds a secret, and no other origin may see it.
    pub body_is_secret: bool,
}

impl Request {
    /// A request for a URL.
    pub fn new(method: Method, url: &Url) -> Result<Self, CallError> {
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        Self::to(method, Destination::of(url)?, path)
    }

    /// A request for a path and query, encoded, at a destination that is known already.
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

    /// The whole URL.
    pub fn url(&self) -> Url {
        self.to.join(&self.path)
    }
}

/// How long an answer may take and how large it may be.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Over everything: connection, headers, body and all redirects. None where the caller
    /// drops the request in time, as the engine does with every attempt.
    pub deadline: Option<Instant>,
    /// Of the body, counted after it is decoded.
    pub bytes: usize,
}

/// Who chose the address.
#[derive(Debug, Clone, Copy)]
pub enum Policy<'a> {
    /// A tool's author, or a model: everything is checked, and connections are kept for one space.
    Tool(SpaceId, &'a ToolPolicy),
    /// The operator, in the configuration: any address and port, and no redirect to another origin.
    Operator,
}

/// Where one tool's requests may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPolicy {
    hosts: Hosts,
    own: Hosts,
    within: Option<Url>,
}

impl ToolPolicy {
    /// For a tool with this URL; an empty list means the URL's own host.
    pub fn new(url: &Url, allowed: Hosts) -> Self {
        let own = Hosts::only(url);
        Self { hosts: if allowed.is_empty() { own.clone() } else { allowed }, own, within: None }
    }

    /// Nothing may leave this URL's origin and path, not even by a redirect.
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

    /// Whether the port may be used at any address: the usual two, the tool's own, and listed ones.
    pub(crate) fn allows_port(&self, to: &Destination) -> bool {
        let (host, port) = (to.host(), to.port());
        matches!(port, 80 | 443) || self.own.allow_port(host, port) || self.hosts.allow_port(host, port)
    }
}

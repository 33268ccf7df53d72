//! The guard itself: every request is checked, sent, followed and read here.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use haft_core::CallError;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Uri};
use http_body_util::Full;
use tokio::time::timeout_at;
use url::{Host, Url};

use crate::address::Networks;
use crate::answer::Answer;
use crate::client::{Clients, Http};
use crate::connect::Guard;
use crate::hosts::is_inner_name;
use crate::request::{Limits, Policy, Request, ToolPolicy};
use crate::resolve::{Resolver, SystemResolver};
use crate::tls::{BadRoots, Trust};
use crate::{failure, redirect};

const AGENT: HeaderValue = HeaderValue::from_static(concat!("haft/", env!("CARGO_PKG_VERSION")));
const CODINGS: HeaderValue = HeaderValue::from_static("gzip, deflate, br, zstd");
const ANYTHING: HeaderValue = HeaderValue::from_static("*/*");

/// The only way out of the process. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Egress(Arc<Clients>);

/// Puts an [`Egress`] together.
#[must_use]
pub struct Builder {
    opened: Networks,
    resolver: Arc<dyn Resolver>,
    trust: Trust,
}

impl Builder {
    /// Networks that tools may reach besides the public internet.
    pub fn open(mut self, networks: Networks) -> Self {
        self.opened = networks;
        self
    }

    /// Looks names up in another way than the system does.
    pub fn resolver(mut self, resolver: impl Resolver + 'static) -> Self {
        self.resolver = Arc::new(resolver);
        self
    }

    /// Certificates to trust beside the system's, in PEM form.
    pub fn trust(mut self, pem: &[u8]) -> Result<Self, BadRoots> {
        self.trust = Trust::parse(pem)?;
        Ok(self)
    }

    #[must_use]
    pub fn build(self) -> Egress {
        let guard = Guard { resolver: self.resolver, opened: self.opened, own: OnceLock::new() };
        Egress(Arc::new(Clients::new(Arc::new(guard), self.trust)))
    }
}

impl Default for Egress {
    fn default() -> Self {
        Self::builder().build()
    }
}

impl Egress {
    pub fn builder() -> Builder {
        Builder { opened: Networks::default(), resolver: Arc::new(SystemResolver), trust: Trust::default() }
    }

    /// Says where this process listens: no tool may call it, even in an opened network. Said once.
    pub fn never_dial(&self, own: SocketAddr) {
        let _ = self.0.guard().own.set(own);
    }

    /// Sends a request, follows its redirects and reads the answer, all within the limits.
    pub async fn send(
        &self,
        policy: Policy<'_>,
        request: Request,
        limits: Limits,
    ) -> Result<Answer, CallError> {
        let first = request.url.clone();
        let sent = timeout_at(limits.deadline, self.follow(policy, request, limits.bytes)).await;
        sent.unwrap_or_else(|_| Err(failure::too_slow(&first)))
    }

    async fn follow(&self, policy: Policy<'_>, request: Request, limit: usize) -> Result<Answer, CallError> {
        let mut request = request;
        for _ in 0..=redirect::MOST {
            let client = self.client(policy, &request.url)?;
            let url = request.url.clone();
            let sent = client.request(outgoing(&request)?).await;
            let response = sent.map_err(|error| failure::of_request(&url, &error))?;
            match redirect::next(response.status(), response.headers(), &request)? {
                None => return Answer::read(response, url, limit).await,
                Some(next) => {
                    if matches!(policy, Policy::Operator) && !redirect::same_origin(&url, &next.url) {
                        return Err(redirect::other_origin(&url));
                    }
                    request = next;
                }
            }
        }
        Err(redirect::too_many(&request.url))
    }

    /// Checks all that can be told from a URL, and gives the client whose connector checks the rest.
    fn client(&self, policy: Policy<'_>, url: &Url) -> Result<Http, CallError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(failure::scheme(url));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(failure::userinfo(url));
        }
        match policy {
            Policy::Operator => Ok(self.0.of_operator()),
            Policy::Tool(space, rules) => {
                let only_opened = self.is_only_for_opened(rules, url)?;
                Ok(self.0.of_space(space, only_opened))
            }
        }
    }

    /// A port that nothing allows, and names of inner services, are left to networks that the operator opened.
    fn is_only_for_opened(&self, rules: &ToolPolicy, url: &Url) -> Result<bool, CallError> {
        if !rules.hosts().allow(url) {
            return Err(failure::domain(url, rules.hosts()));
        }
        let is_inner = matches!(url.host(), Some(Host::Domain(name)) if is_inner_name(name));
        let is_odd = !rules.allows_port(url);
        if is_odd && self.0.guard().opened.is_empty() {
            return Err(failure::port(url));
        }
        Ok(is_inner || is_odd)
    }
}

/// The request on the wire, with what every request carries.
fn outgoing(request: &Request) -> Result<http::Request<Full<bytes::Bytes>>, CallError> {
    let uri: Uri = request.url.as_str().parse().map_err(|_| failure::url(&request.url))?;
    let mut outgoing = http::Request::new(Full::new(request.body.clone()));
    *outgoing.method_mut() = request.method.clone();
    *outgoing.uri_mut() = uri;
    let headers = outgoing.headers_mut();
    *headers = request.headers.clone();
    headers.entry(USER_AGENT).or_insert(AGENT);
    headers.entry(ACCEPT).or_insert(ANYTHING);
    headers.entry(ACCEPT_ENCODING).or_insert(CODINGS);
    if let Some(kind) = &request.content_type {
        headers.entry(CONTENT_TYPE).or_insert_with(|| kind.clone());
    }
    Ok(outgoing)
}

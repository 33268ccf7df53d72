//! The egress guard: checks, sends and redirects every request, and reads its response.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

use haft_core::{CallError, Message};
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderValue, Method, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::time::timeout_at;
use url::{Host, Url};

use crate::address::{Networks, is_public};
use crate::client::{Clients, Http};
use crate::connect::Guard;
use crate::destination::Destination;
use crate::hosts::{is_inner_name, is_localhost};
use crate::opened::StreamedResponse;
use crate::request::{Limits, Request, RequestPolicy, ToolPolicy};
use crate::resolve::{Resolver, SystemResolver};
use crate::response::EgressResponse;
use crate::tls::{BadRoots, Trust};
use crate::{failure, redirect};

const AGENT: HeaderValue = HeaderValue::from_static(concat!("haft/", env!("CARGO_PKG_VERSION")));
const CODINGS: HeaderValue = HeaderValue::from_static("gzip, deflate, br, zstd");
/// A placeholder for the address of an internal name that is not resolved.
const UNRESOLVED: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0));
const ANYTHING: HeaderValue = HeaderValue::from_static("*/*");

/// The only outgoing HTTP client of the process. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Egress(Arc<Clients>);

/// Builds an [`Egress`].
#[must_use]
pub struct EgressBuilder {
    opened: Networks,
    resolver: Arc<dyn Resolver>,
    trust: Trust,
}

impl EgressBuilder {
    /// Opens networks to tools, in addition to the public internet.
    pub fn open(mut self, networks: Networks) -> Self {
        self.opened = networks;
        self
    }

    /// Replaces the system's resolver.
    pub fn resolver(mut self, resolver: impl Resolver + 'static) -> Self {
        self.resolver = Arc::new(resolver);
        self
    }

    /// Adds trusted certificates to those of the system, in PEM form.
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
    pub fn builder() -> EgressBuilder {
        EgressBuilder {
            opened: Networks::default(),
            resolver: Arc::new(SystemResolver::default()),
            trust: Trust::default(),
        }
    }

    /// Returns the reason for which a tool's request to a URL will be rejected, as far as that is known
    /// without resolving its host.
    pub fn preflight_refusal(&self, url: &Url) -> Option<Message> {
        let opened = &self.0.guard().opened;
        let may_reach = |address: IpAddr| is_public(address) || opened.contain(address);
        let (address, is_allowed): (IpAddr, bool) = match url.host()? {
            Host::Ipv4(address) => (address.into(), may_reach(address.into())),
            Host::Ipv6(address) => (address.into(), may_reach(address.into())),
            Host::Domain(name) if is_localhost(name) => {
                let (usual, other) = (Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into());
                (usual, may_reach(usual) || may_reach(other))
            }
            Host::Domain(name) => (UNRESOLVED, !is_inner_name(name) || !opened.is_empty()),
        };
        (!is_allowed).then(|| failure::private(url, address))
    }

    /// Sets the listening address of this process: no tool may call it, even in an opened network. Later
    /// calls have no effect.
    pub fn never_dial(&self, own: SocketAddr) {
        let _ = self.0.guard().own.set(own);
    }

    /// Sends a request, follows its redirects and reads the response, all within the limits.
    pub async fn send(
        &self,
        policy: RequestPolicy<'_>,
        mut request: Request,
        limits: Limits,
    ) -> Result<EgressResponse, CallError> {
        let Some(deadline) = limits.deadline else {
            return self.follow(policy, &mut request, limits.bytes).await;
        };
        let first = request.to.clone();
        let sent = timeout_at(deadline, Box::pin(self.follow(policy, &mut request, limits.bytes))).await;
        sent.unwrap_or_else(|_| Err(failure::too_slow(&first)))
    }

    /// Sends a request and follows its redirects. The body is streamed, within the same limits.
    pub async fn open(
        &self,
        policy: RequestPolicy<'_>,
        mut request: Request,
        limits: Limits,
    ) -> Result<StreamedResponse, CallError> {
        let reached = match limits.deadline {
            None => self.reach(policy, &mut request).await,
            Some(deadline) => {
                let first = request.to.clone();
                let reached = timeout_at(deadline, Box::pin(self.reach(policy, &mut request))).await;
                reached.unwrap_or_else(|_| Err(failure::too_slow(&first)))
            }
        };
        let (response, was_redirected) = reached?;
        Ok(StreamedResponse::new(response, request, was_redirected, limits))
    }

    async fn follow(
        &self,
        policy: RequestPolicy<'_>,
        request: &mut Request,
        limit: usize,
    ) -> Result<EgressResponse, CallError> {
        let (response, was_redirected) = self.reach(policy, request).await?;
        EgressResponse::read(response, request, was_redirected, limit).await
    }

    /// Follows redirects. Returns the final response, and true if there was a redirect.
    async fn reach(
        &self,
        policy: RequestPolicy<'_>,
        request: &mut Request,
    ) -> Result<(Response<Incoming>, bool), CallError> {
        let mut response = self.send_one(policy, request).await?;
        let mut redirects = 0;
        loop {
            let next = redirect::next(response.status(), response.headers(), request);
            // The redirecting server has received the request, and may have acted on it.
            let Some(mut next) = next.map_err(CallError::that_may_have_acted)? else {
                return Ok((response, redirects > 0));
            };
            if redirects == redirect::MAX_REDIRECTS {
                return Err(redirect::too_many(&request.to));
            }
            if matches!(policy, RequestPolicy::Operator) && !request.to.is(&next.to) {
                return Err(redirect::other_origin(&request.to));
            }
            let sent = self.send_one(policy, &mut next).await;
            // A redirecting upstream is reachable, whatever the host that it redirects to.
            response = sent.map_err(|error| error.that_may_have_acted().about_another_host())?;
            *request = next;
            redirects += 1;
        }
    }

    async fn send_one(
        &self,
        policy: RequestPolicy<'_>,
        request: &mut Request,
    ) -> Result<Response<Incoming>, CallError> {
        let client = self.client(policy, request)?;
        let sent = client.request(outgoing(request)).await;
        sent.map_err(|error| failure::of_request(&request.to, &error))
    }

    /// Checks everything known from the destination, and returns the client whose connector checks the rest.
    fn client(&self, policy: RequestPolicy<'_>, request: &Request) -> Result<Arc<Http>, CallError> {
        match policy {
            RequestPolicy::Operator => Ok(self.0.of_operator()),
            RequestPolicy::Tool(space, rules) => {
                let only_opened = self.is_only_for_opened(rules, &request.to)?;
                rules.check_within(request)?;
                Ok(self.0.of_space(space, only_opened))
            }
        }
    }

    /// Returns true if a request may only reach opened networks: its port is not allowed elsewhere, or its
    /// name is internal.
    fn is_only_for_opened(&self, rules: &ToolPolicy, to: &Destination) -> Result<bool, CallError> {
        if !rules.hosts().allow(to.host()) {
            return Err(failure::domain(to, rules.hosts()));
        }
        let is_unusual = !rules.allows_port(to);
        if is_unusual && self.0.guard().opened.is_empty() {
            return Err(failure::port(to));
        }
        Ok(to.is_inner() || is_unusual)
    }
}

/// Builds the HTTP request, with the headers that every request has.
fn outgoing(request: &mut Request) -> http::Request<Full<bytes::Bytes>> {
    let headers = &mut request.headers;
    if let Some(host) = request.to.host_header() {
        headers.entry(HOST).or_insert_with(|| host.clone());
    }
    headers.entry(USER_AGENT).or_insert(AGENT);
    headers.entry(ACCEPT).or_insert(ANYTHING);
    headers.entry(ACCEPT_ENCODING).or_insert(CODINGS);
    if let Some(kind) = &request.content_type {
        headers.entry(CONTENT_TYPE).or_insert_with(|| kind.clone());
    }
    // Some servers require the header even for an empty body.
    if request.body.is_empty() && matches!(request.method, Method::POST | Method::PUT | Method::PATCH) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    let mut outgoing = http::Request::new(Full::new(request.body.clone()));
    *outgoing.method_mut() = request.method.clone();
    *outgoing.uri_mut() = request.to.uri(&request.path);
    *outgoing.headers_mut() = request.headers.clone();
    outgoing
}

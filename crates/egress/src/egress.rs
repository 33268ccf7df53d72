//! The guard itself: every request is checked, sent, followed and read here.

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
use crate::answer::Answer;
use crate::client::{Clients, Http};
use crate::connect::Guard;
use crate::destination::Destination;
use crate::hosts::{is_inner_name, is_localhost};
use crate::opened::Opened;
use crate::request::{Limits, Policy, Request, ToolPolicy};
use crate::resolve::{Resolver, SystemResolver};
use crate::tls::{BadRoots, Trust};
use crate::{failure, redirect};

const AGENT: HeaderValue = HeaderValue::from_static(concat!("haft/", env!("CARGO_PKG_VERSION")));
const CODINGS: HeaderValue = HeaderValue::from_static("gzip, deflate, br, zstd");
/// The address that stands for a name of an inner service where names are not looked up.
const NOT_LOOKED_UP: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0));
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
        Builder {
            opened: Networks::default(),
            resolver: Arc::new(SystemResolver::default()),
            trust: Trust::default(),
        }
    }

    /// Why a tool's request to a URL will be refused, as far as its host says without being looked up.
    pub fn foreseen_refusal(&self, url: &Url) -> Option<Message> {
        let opened = &self.0.guard().opened;
        let may_reach = |address: IpAddr| is_public(address) || opened.contain(address);
        let (address, is_allowed): (IpAddr, bool) = match url.host()? {
            Host::Ipv4(address) => (address.into(), may_reach(address.into())),
            Host::Ipv6(address) => (address.into(), may_reach(address.into())),
            Host::Domain(name) if is_localhost(name) => {
                let (usual, other) = (Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into());
                (usual, may_reach(usual) || may_reach(other))
            }
            Host::Domain(name) => (NOT_LOOKED_UP, !is_inner_name(name) || !opened.is_empty()),
        };
        (!is_allowed).then(|| failure::private(url, address))
    }

    /// Says where this process listens: no tool may call it, even in an opened network. Said once.
    pub fn never_dial(&self, own: SocketAddr) {
        let _ = self.0.guard().own.set(own);
    }

    /// Sends a request, follows its redirects and reads the answer, all within the limits.
    pub async fn send(
        &self,
        policy: Policy<'_>,
        mut request: Request,
        limits: Limits,
    ) -> Result<Answer, CallError> {
        let Some(deadline) = limits.deadline else {
            return self.follow(policy, &mut request, limits.bytes).await;
        };
        let first = request.to.clone();
        let sent = timeout_at(deadline, Box::pin(self.follow(policy, &mut request, limits.bytes))).await;
        sent.unwrap_or_else(|_| Err(failure::too_slow(&first)))
    }

    /// Sends a request and follows its redirects, and leaves the body to be read as it comes. The
    /// limits hold for that too.
    pub async fn open(
        &self,
        policy: Policy<'_>,
        mut request: Request,
        limits: Limits,
    ) -> Result<Opened, CallError> {
        let reached = match limits.deadline {
            None => self.reach(policy, &mut request).await,
            Some(deadline) => {
                let first = request.to.clone();
                let reached = timeout_at(deadline, Box::pin(self.reach(policy, &mut request))).await;
                reached.unwrap_or_else(|_| Err(failure::too_slow(&first)))
            }
        };
        let (response, was_redirected) = reached?;
        Ok(Opened::new(response, request, was_redirected, limits))
    }

    async fn follow(
        &self,
        policy: Policy<'_>,
        request: &mut Request,
        limit: usize,
    ) -> Result<Answer, CallError> {
        let (response, was_redirected) = self.reach(policy, request).await?;
        Answer::read(response, request, was_redirected, limit).await
    }

    /// Whoever answers in the end, and whether somebody sent us there.
    async fn reach(
        &self,
        policy: Policy<'_>,
        request: &mut Request,
    ) -> Result<(Response<Incoming>, bool), CallError> {
        let mut response = self.send_one(policy, request).await?;
        let mut redirects = 0;
        loop {
            let next = redirect::next(response.status(), response.headers(), request);
            // Whoever redirected has taken the request, and may have done something with it.
            let Some(mut next) = next.map_err(CallError::that_may_have_acted)? else {
                return Ok((response, redirects > 0));
            };
            if redirects == redirect::MOST {
                return Err(redirect::too_many(&request.to));
            }
            if matches!(policy, Policy::Operator) && !request.to.is(&next.to) {
                return Err(redirect::other_origin(&request.to));
            }
            let sent = self.send_one(policy, &mut next).await;
            // An upstream that redirects can be reached, whatever the host it redirects to.
            response = sent.map_err(|error| error.that_may_have_acted().about_another_host())?;
            *request = next;
            redirects += 1;
        }
    }

    async fn send_one(
        &self,
        policy: Policy<'_>,
        request: &mut Request,
    ) -> Result<Response<Incoming>, CallError> {
        let client = self.client(policy, request)?;
        let sent = client.request(outgoing(request)).await;
        sent.map_err(|error| failure::of_request(&request.to, &error))
    }

    /// Checks all that can be told from a destination, and gives the client whose connector checks the rest.
    fn client(&self, policy: Policy<'_>, request: &Request) -> Result<Arc<Http>, CallError> {
        match policy {
            Policy::Operator => Ok(self.0.of_operator()),
            Policy::Tool(space, rules) => {
                let only_opened = self.is_only_for_opened(rules, &request.to)?;
                rules.check_within(request)?;
                Ok(self.0.of_space(space, only_opened))
            }
        }
    }

    /// A port that nothing allows, and names of inner services, are left to networks that the operator opened.
    fn is_only_for_opened(&self, rules: &ToolPolicy, to: &Destination) -> Result<bool, CallError> {
        if !rules.hosts().allow(to.host()) {
            return Err(failure::domain(to, rules.hosts()));
        }
        let is_odd = !rules.allows_port(to);
        if is_odd && self.0.guard().opened.is_empty() {
            return Err(failure::port(to));
        }
        Ok(to.is_inner() || is_odd)
    }
}

/// The request on the wire, with what every request carries.
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
    // Some servers want to be told even that there is nothing.
    if request.body.is_empty() && matches!(request.method, Method::POST | Method::PUT | Method::PATCH) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    let mut outgoing = http::Request::new(Full::new(request.body.clone()));
    *outgoing.method_mut() = request.method.clone();
    *outgoing.uri_mut() = request.to.uri(&request.path);
    *outgoing.headers_mut() = request.headers.clone();
    outgoing
}

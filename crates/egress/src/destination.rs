//! Where a request goes: an origin, read once, and a path for each request.

use std::sync::Arc;

use haft_core::CallError;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Uri};
use url::{Host, Url};

use crate::failure;
use crate::hosts::{canonical, is_inner_name};

/// A scheme, host and port. Cheap to clone; a tool makes its own once.
#[derive(Debug, Clone)]
pub struct Destination(Arc<Origin>);

#[derive(Debug)]
struct Origin {
    /// With nothing behind it.
    url: Url,
    host: Host<String>,
    scheme: Scheme,
    authority: Authority,
    is_inner: bool,
    host_header: Option<HeaderValue>,
}

impl Destination {
    /// The origin of a URL, whatever its path. What no tool may call is refused here.
    pub fn of(url: &Url) -> Result<Self, CallError> {
        let scheme = match url.scheme() {
            "http" => Scheme::HTTP,
            "https" => Scheme::HTTPS,
            _ => return Err(failure::scheme(url)),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(failure::userinfo(url));
        }
        let mut origin = url.clone();
        origin.set_path("/");
        origin.set_query(None);
        origin.set_fragment(None);
        let (Some(host), Ok(authority)) = (url.host(), url.authority().parse()) else {
            return Err(failure::url(url));
        };
        let is_inner = matches!(host, Host::Domain(name) if is_inner_name(name));
        let host = canonical(host);
        // With TLS the other version of HTTP may be spoken, which has no such header.
        let host_header =
            (scheme == Scheme::HTTP).then(|| HeaderValue::from_str(url.authority()).ok()).flatten();
        Ok(Self(Arc::new(Origin { url: origin, host, scheme, authority, is_inner, host_header })))
    }

    /// The origin as a URL, with nothing behind it.
    pub fn url(&self) -> &Url {
        &self.0.url
    }

    /// The host as people read it.
    pub fn host_str(&self) -> &str {
        self.0.url.host_str().unwrap_or_default()
    }

    pub(crate) fn host(&self) -> &Host<String> {
        &self.0.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.url.port_or_known_default().unwrap_or_default()
    }

    /// The `Host` of requests, where it is the same in all of them.
    pub(crate) fn host_header(&self) -> Option<&HeaderValue> {
        self.0.host_header.as_ref()
    }

    /// A name that may only lead into networks that the operator opened.
    pub(crate) fn is_inner(&self) -> bool {
        self.0.is_inner
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.0.scheme == Scheme::HTTPS
    }

    /// The whole URL of a path at this origin.
    pub(crate) fn join(&self, path: &PathAndQuery) -> Url {
        let mut url = self.0.url.clone();
        url.set_path(path.path());
        url.set_query(path.query());
        url
    }

    pub(crate) fn uri(&self, path: &PathAndQuery) -> Uri {
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.0.scheme.clone());
        parts.authority = Some(self.0.authority.clone());
        parts.path_and_query = Some(path.clone());
        // All three are there, so the parts always make a whole.
        Uri::from_parts(parts).unwrap_or_default()
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.scheme == other.0.scheme && self.0.host == other.0.host && self.port() == other.port())
    }
}

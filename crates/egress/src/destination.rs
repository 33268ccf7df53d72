//! The destination of requests: an origin, parsed once. Paths belong to each request.

use std::sync::Arc;

use haft_core::CallError;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Uri};
use url::{Host, Url};

use crate::failure;
use crate::hosts::{canonical, is_inner_name};

/// A scheme, host and port. Cheap to clone; a tool creates its own once.
#[derive(Debug, Clone)]
pub struct Destination(Arc<Origin>);

#[derive(Debug)]
struct Origin {
    /// Without a path.
    url: Url,
    host: Host<String>,
    scheme: Scheme,
    authority: Authority,
    is_inner: bool,
    host_header: Option<HeaderValue>,
}

impl Destination {
    /// Returns the origin of a URL. Rejects URLs that no tool may call.
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
        // TLS may negotiate HTTP/2, which has no `Host` header.
        let host_header =
            (scheme == Scheme::HTTP).then(|| HeaderValue::from_str(url.authority()).ok()).flatten();
        Ok(Self(Arc::new(Origin { url: origin, host, scheme, authority, is_inner, host_header })))
    }

    /// Returns the origin as a URL without a path.
    pub fn url(&self) -> &Url {
        &self.0.url
    }

    /// Returns the host in readable form.
    pub fn host_str(&self) -> &str {
        self.0.url.host_str().unwrap_or_default()
    }

    pub(crate) fn host(&self) -> &Host<String> {
        &self.0.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.url.port_or_known_default().unwrap_or_default()
    }

    /// Returns the `Host` header, if all requests have the same one.
    pub(crate) fn host_header(&self) -> Option<&HeaderValue> {
        self.0.host_header.as_ref()
    }

    /// Returns true if the name may only lead into networks opened by the operator.
    pub(crate) fn is_inner(&self) -> bool {
        self.0.is_inner
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.0.scheme == Scheme::HTTPS
    }

    /// Returns the URL of a path at this origin.
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
        // All three parts are present, so this cannot fail.
        Uri::from_parts(parts).unwrap_or_default()
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.scheme == other.0.scheme && self.0.host == other.0.host && self.port() == other.port())
    }
}

//! The guarded connector: resolves names, checks addresses and dials connections in one place.
//!
//! DNS rebinding has no effect, because the checked addresses are the dialed ones.

use std::error::Error as StdError;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use haft_core::BoxFuture;
use hyper::Uri;
use tokio::net::TcpStream;
use tower_service::Service;
use url::Host;

use crate::address::{Networks, is_public};
use crate::hosts::{is_inner_name, is_localhost};
use crate::resolve::Resolver;
use crate::stream::Stream;

/// Timeout of resolving and dialing together, whatever the deadline of the request.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Delay before the next address is dialed in parallel.
const NEXT_ADDRESS_DELAY: Duration = Duration::from_millis(250);

/// State shared by all connectors: the resolver and the opened networks.
pub(crate) struct Guard {
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) opened: Networks,
    /// The listening address of this process; no tool may call it.
    pub(crate) own: OnceLock<SocketAddr>,
}

/// The addresses that a connection may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The public internet, and networks opened by the operator.
    Public,
    /// Only networks opened by the operator.
    Opened,
    /// Any address: the operator configured it.
    Anywhere,
}

/// Why a connection was not established. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// The name, and its private address.
    #[error("{0} resolves to a private address")]
    Private(String, IpAddr),
    #[error("{0} is not in a network where every port is open")]
    Port(String),
    #[error("{0} is this server")]
    Own(String),
    #[error("the name {0} cannot be resolved: {1}")]
    Unresolved(String, io::Error),
    #[error("{0}")]
    Failed(io::Error),
    #[error("no connection within {} s", CONNECT_TIMEOUT.as_secs())]
    TooSlow,
}

#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) guard: Arc<Guard>,
    pub(crate) reach: Reach,
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<Self::Response, ConnectError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move {
            let connected = tokio::time::timeout(CONNECT_TIMEOUT, connector.connect(&uri)).await;
            connected.unwrap_or(Err(ConnectError::TooSlow)).map(Stream::new)
        })
    }
}

impl Connector {
    async fn connect(&self, uri: &Uri) -> Result<TcpStream, ConnectError> {
        let name = uri.host().unwrap_or_default();
        let is_tls = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let failed = |error: &dyn StdError| ConnectError::Failed(io::Error::other(error.to_string()));
        // Any spelling that a parser accepts as an address is checked as an address.
        let addresses = match Host::parse(name).map_err(|error| failed(&error))? {
            Host::Ipv4(address) => vec![address.into()],
            Host::Ipv6(address) => vec![address.into()],
            Host::Domain(domain) => {
                let unresolved = |error| ConnectError::Unresolved(name.to_owned(), error);
                let found = self.guard.resolver.resolve(&domain).await.map_err(unresolved)?;
                if found.is_empty() {
                    return Err(unresolved(io::Error::other("it has no address")));
                }
                found
            }
        };
        dial(self.judged(name, addresses, port)?).await.map_err(ConnectError::Failed)
    }

    /// Returns the addresses to dial. One forbidden address among them rejects all.
    fn judged(&self, name: &str, addresses: Vec<IpAddr>, port: u16) -> Result<Vec<SocketAddr>, ConnectError> {
        let with_port = |addresses: Vec<IpAddr>| {
            addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect()
        };
        if self.reach == Reach::Anywhere {
            return Ok(with_port(addresses));
        }
        let only_opened = self.reach == Reach::Opened || is_inner_name(name);
        let is_open =
            |address: &IpAddr| self.guard.opened.contain(*address) || (!only_opened && is_public(*address));
        // If both families have a forbidden address, the error names the IPv4 one, which most networks have.
        let refused =
            addresses.iter().copied().filter(|address| !is_open(address)).min_by_key(IpAddr::is_ipv6);
        let mut addresses = addresses;
        if is_localhost(name) {
            // The name always means this machine, so one opened address of the two is enough.
            addresses.retain(is_open);
        }
        if addresses.is_empty() || !addresses.iter().all(is_open) {
            // A public address is forbidden here only because of its port.
            let is_public = !addresses.is_empty()
                && !is_inner_name(name)
                && addresses.iter().all(|address| is_public(*address));
            return Err(match refused.filter(|_| !is_public) {
                Some(address) => ConnectError::Private(name.to_owned(), address),
                None => ConnectError::Port(name.to_owned()),
            });
        }
        if addresses.iter().any(|address| self.guard.is_own(*address, port)) {
            return Err(ConnectError::Own(name.to_owned()));
        }
        Ok(with_port(addresses))
    }
}

impl Guard {
    fn is_own(&self, address: IpAddr, port: u16) -> bool {
        let Some(own) = self.own.get().filter(|own| own.port() == port) else { return false };
        let address = address.to_canonical();
        own.ip().to_canonical() == address
            || address.is_unspecified()
            // A server that listens on all addresses is reachable at every address of the machine.
            || (own.ip().is_unspecified() && UdpSocket::bind((address, 0)).is_ok())
    }
}

/// Dials addresses in order, each with a short delay after the previous one, until a connection is
/// established.
async fn dial(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut waiting = alternating(addresses).into_iter();
    let mut dialling = FuturesUnordered::new();
    let mut last_error = io::Error::other("there is no address to dial");
    dialling.extend(waiting.next().map(TcpStream::connect));
    loop {
        tokio::select! {
            outcome = dialling.next() => match outcome {
                Some(Ok(stream)) => {
                    stream.set_nodelay(true)?;
                    return Ok(stream);
                }
                Some(Err(error)) => last_error = error,
                None => return Err(last_error),
            },
            () = tokio::time::sleep(NEXT_ADDRESS_DELAY), if waiting.len() > 0 => {}
        }
        dialling.extend(waiting.next().map(TcpStream::connect));
    }
}

/// Alternates between both families, so that a broken one costs little time.
fn alternating(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|address| address.is_ipv6() == first_is_v6);
    let mut mixed = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    loop {
        let pair = (first.next(), second.next());
        if pair == (None, None) {
            return mixed;
        }
        mixed.extend(pair.0.into_iter().chain(pair.1));
    }
}

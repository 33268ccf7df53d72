//! Shared test code: controlled resolvers, requests under a policy, traps, and misbehaving servers.

use std::io;
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft_core::{BoxFuture, CallError, ErrorKind, SpaceId};
use haft_egress::{
    Egress, EgressResponse, Hosts, Limits, Networks, Request, RequestPolicy, Resolver, ToolPolicy,
};
use haft_testkit::Upstream;
use http::Method;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;
use url::Url;

pub(crate) type Outcome = Result<EgressResponse, CallError>;

type LookupFunction = dyn Fn(&str, usize) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// A resolver that calls a function with the name and the number of earlier lookups. Clones share the count.
#[derive(Clone)]
pub(crate) struct Lookup {
    lookup: Arc<LookupFunction>,
    count: Arc<AtomicUsize>,
}

impl Lookup {
    pub(crate) fn by<F>(lookup: F) -> Self
    where
        F: Fn(&str, usize) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static,
    {
        Self { lookup: Arc::new(lookup), count: Arc::default() }
    }

    /// Resolves every name to these addresses.
    pub(crate) fn always(written: &[&str]) -> Self {
        let found = addresses(written);
        Self::by(move |_, _| Ok(found.clone()))
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

impl Resolver for Lookup {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let before = self.count.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready((self.lookup)(name, before)))
    }
}

pub(crate) fn addresses(written: &[&str]) -> Vec<IpAddr> {
    written.iter().map(|address| address.parse().expect("an address")).collect()
}

pub(crate) fn networks(written: &str) -> Networks {
    written.parse().expect("networks")
}

/// A client with loopback opened, and every name resolving to it.
pub(crate) fn open_loopback() -> Egress {
    Egress::builder().open(networks("127.0.0.0/8")).resolver(Lookup::always(&["127.0.0.1"])).build()
}

pub(crate) fn space(number: u8) -> SpaceId {
    format!("00000000-0000-7000-8000-0000000000{number:02x}").parse().expect("an id")
}

#[track_caller]
pub(crate) fn url(written: &str) -> Url {
    Url::parse(written).unwrap_or_else(|error| panic!("{written}: {error}"))
}

/// One mebibyte, within five seconds.
pub(crate) fn limits() -> Limits {
    limits_of(Duration::from_secs(5), 1 << 20)
}

pub(crate) fn limits_of(time: Duration, bytes: usize) -> Limits {
    Limits { deadline: Some(Instant::now() + time), bytes }
}

/// Sends a request of a tool with this URL, restricted to the listed hosts.
pub(crate) async fn send(egress: &Egress, allowed: &[&str], request: Request) -> Outcome {
    let hosts = Hosts::parse(allowed.iter().copied()).expect("hosts");
    let policy = ToolPolicy::new(&request.url(), hosts);
    egress.send(RequestPolicy::Tool(space(1), &policy), request, limits()).await
}

/// Sends a request of a tool that is configured with another URL.
pub(crate) async fn get_as(egress: &Egress, own: &str, allowed: &[&str], target: &str) -> Outcome {
    let hosts = Hosts::parse(allowed.iter().copied()).expect("hosts");
    let policy = ToolPolicy::new(&url(own), hosts);
    egress
        .send(RequestPolicy::Tool(space(1), &policy), Request::new(Method::GET, &url(target))?, limits())
        .await
}

pub(crate) async fn get(egress: &Egress, target: &str) -> Outcome {
    get_within(egress, target, limits()).await
}

pub(crate) async fn get_within(egress: &Egress, target: &str, limits: Limits) -> Outcome {
    get_in(egress, 1, target, limits).await
}

/// Sends a request of one space.
pub(crate) async fn get_in(egress: &Egress, from: u8, target: &str, limits: Limits) -> Outcome {
    let request = Request::new(Method::GET, &url(target))?;
    let policy = ToolPolicy::new(&request.url(), Hosts::of_url(&request.url()));
    egress.send(RequestPolicy::Tool(space(from), &policy), request, limits).await
}

#[track_caller]
pub(crate) fn error(outcome: Outcome) -> CallError {
    match outcome {
        Ok(answer) => panic!("{} answered {}", answer.url(), answer.status),
        Err(error) => error,
    }
}

/// The kind and message of a failure, without the hint on opening networks.
#[track_caller]
pub(crate) fn failed(outcome: Outcome) -> (ErrorKind, String) {
    described(&error(outcome))
}

/// The kind and message of an error, without the hint on opening networks.
pub(crate) fn described(error: &CallError) -> (ErrorKind, String) {
    let words = error.message().to_string();
    (error.kind(), words.split(" To allow it, ").next().unwrap_or_default().to_owned())
}

/// The error for an address in a private network.
pub(crate) fn private(host: &str) -> (ErrorKind, String) {
    (ErrorKind::Permission, format!("Address not allowed: {host} resolves to a private address."))
}

/// A connection is returned to its pool by a separate task, shortly after its response.
pub(crate) async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// A port that must not be called. Records whether it was.
pub(crate) struct Trap(TcpListener);

impl Trap {
    /// Listens at an address such as `127.0.0.2`; port 0 selects any port.
    pub(crate) fn listen(address: &str, port: u16) -> Self {
        let listener = TcpListener::bind((address, port)).expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        Self(listener)
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.local_addr().expect("an address").port()
    }

    pub(crate) fn was_called(&self) -> bool {
        self.0.accept().is_ok()
    }
}

/// A port without a listener.
pub(crate) fn closed_port() -> u16 {
    Trap::listen("127.0.0.1", 0).port()
}

/// The action of a raw server after its bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Then {
    Close,
    Wait,
    Reset,
    /// Sends one more byte at intervals, without end.
    Drip,
}

/// A server that responds to the first request of every connection with these bytes.
pub(crate) async fn raw(bytes: impl Into<Vec<u8>>, then: Then) -> Upstream {
    let bytes = Arc::new(bytes.into());
    Upstream::raw(move |mut stream| {
        let bytes = bytes.clone();
        async move {
            read_head(&mut stream).await;
            let mut written = stream.write_all(&bytes).await;
            match then {
                Then::Close => {}
                Then::Wait => std::future::pending::<()>().await,
                Then::Reset => stream.set_zero_linger().expect("a socket"),
                Then::Drip => {
                    while written.is_ok() {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        written = stream.write_all(b"a").await;
                    }
                }
            }
        }
    })
    .await
}

/// Reads the head of a request.
pub(crate) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
}

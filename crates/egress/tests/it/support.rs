//! What the tests share: resolvers that obey, requests under a policy, traps, and servers that misbehave.

use std::io;
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft_core::{BoxFuture, CallError, ErrorKind, SpaceId};
use haft_egress::{Answer, Egress, Hosts, Limits, Networks, Policy, Request, Resolver, ToolPolicy};
use haft_testkit::Upstream;
use http::Method;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;
use url::Url;

pub(crate) type Outcome = Result<Answer, CallError>;

type Answers = dyn Fn(&str, usize) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// Looks names up by a function of the name and of how many lookups there were before. Clones count together.
#[derive(Clone)]
pub(crate) struct Lookup {
    answers: Arc<Answers>,
    count: Arc<AtomicUsize>,
}

impl Lookup {
    pub(crate) fn by<F>(answers: F) -> Self
    where
        F: Fn(&str, usize) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static,
    {
        Self { answers: Arc::new(answers), count: Arc::default() }
    }

    /// Every name has these addresses.
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
        Box::pin(std::future::ready((self.answers)(name, before)))
    }
}

pub(crate) fn addresses(written: &[&str]) -> Vec<IpAddr> {
    written.iter().map(|address| address.parse().expect("an address")).collect()
}

pub(crate) fn networks(written: &str) -> Networks {
    written.parse().expect("networks")
}

/// A guard with loopback opened and every name leading there.
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

/// A mebibyte, within five seconds.
pub(crate) fn limits() -> Limits {
    limits_of(Duration::from_secs(5), 1 << 20)
}

pub(crate) fn limits_of(time: Duration, bytes: usize) -> Limits {
    Limits { deadline: Some(Instant::now() + time), bytes }
}

/// A request of a tool whose own URL it is, to the listed hosts.
pub(crate) async fn send(egress: &Egress, allowed: &[&str], request: Request) -> Outcome {
    let hosts = Hosts::parse(allowed.iter().copied()).expect("hosts");
    let policy = ToolPolicy::new(&request.url(), hosts);
    egress.send(Policy::Tool(space(1), &policy), request, limits()).await
}

/// A request of a tool whose own URL is another one.
pub(crate) async fn get_as(egress: &Egress, own: &str, allowed: &[&str], target: &str) -> Outcome {
    let hosts = Hosts::parse(allowed.iter().copied()).expect("hosts");
    let policy = ToolPolicy::new(&url(own), hosts);
    egress.send(Policy::Tool(space(1), &policy), Request::new(Method::GET, &url(target))?, limits()).await
}

pub(crate) async fn get(egress: &Egress, target: &str) -> Outcome {
    get_within(egress, target, limits()).await
}

pub(crate) async fn get_within(egress: &Egress, target: &str, limits: Limits) -> Outcome {
    get_in(egress, 1, target, limits).await
}

/// A request of one space.
pub(crate) async fn get_in(egress: &Egress, from: u8, target: &str, limits: Limits) -> Outcome {
    let request = Request::new(Method::GET, &url(target))?;
    let policy = ToolPolicy::new(&request.url(), Hosts::only(&request.url()));
    egress.send(Policy::Tool(space(from), &policy), request, limits).await
}

#[track_caller]
pub(crate) fn error(outcome: Outcome) -> CallError {
    match outcome {
        Ok(answer) => panic!("{} answered {}", answer.url(), answer.status),
        Err(error) => error,
    }
}

/// The kind and the words of a failure, without the hint how to allow an address.
#[track_caller]
pub(crate) fn failed(outcome: Outcome) -> (ErrorKind, String) {
    described(&error(outcome))
}

/// The same of an error.
pub(crate) fn described(error: &CallError) -> (ErrorKind, String) {
    let words = error.message().to_string();
    (error.kind(), words.split(" To allow it, ").next().unwrap_or_default().to_owned())
}

/// What is said of an address that may not be dialled.
pub(crate) fn private(host: &str) -> (ErrorKind, String) {
    (ErrorKind::Permission, format!("Address not allowed: {host} resolves to a private address."))
}

/// A connection goes back to its pool in a task of its own, a moment after its answer.
pub(crate) async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// A port that nobody may call; it only tells whether somebody did.
pub(crate) struct Trap(TcpListener);

impl Trap {
    /// At an address such as `127.0.0.2`, with any port where 0 is given.
    pub(crate) fn at(address: &str, port: u16) -> Self {
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

/// A port where nobody listens.
pub(crate) fn closed_port() -> u16 {
    Trap::at("127.0.0.1", 0).port()
}

/// What a raw server does after its bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Then {
    Close,
    Wait,
    Reset,
    /// One more byte every now and then, without end.
    Drip,
}

/// A server that answers every connection's first request with these bytes.
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

/// Reads a request up to its body.
pub(crate) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
}

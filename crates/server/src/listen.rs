//! The HTTP server: connections within limits and timeouts, HTTP/1.1 only, and a graceful stop.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service as _;

use crate::app::App;
use crate::body::BODY_TIMEOUT;
use crate::connection::{TimedStream, Timeouts};
use crate::connection_limits::{ConnectionLimits, Refused};
use crate::metrics::Metrics;

/// The answer to a connection beyond a limit.
const REFUSAL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// The pause after a connection could not be accepted: mostly there are no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// Refused connections are logged at most this often.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// The maximum size of a request's head, in bytes. Larger ones get 431.
const MAX_HEAD: usize = 64 << 10;

/// What an operator may set for connections.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionSettings {
    /// The maximum number of connections at a time.
    pub total: usize,
    /// The maximum number from one address. Without it, it is an eighth of the total, from 8 to 256, and loopback is
    /// exempt.
    pub per_address: Option<usize>,
    /// The maximum time from the first byte of a request to the end of its head. For the first request it begins with
    /// the connection.
    pub header_timeout: Duration,
    /// The maximum time between two requests.
    pub idle_timeout: Duration,
    /// The maximum time for the body of a request.
    pub body_timeout: Duration,
}

impl Default for ConnectionSettings {
    fn default() -> Self {
        Self {
            total: 8192,
            per_address: None,
            header_timeout: Duration::from_secs(10),
            // Longer than proxies keep a connection that they do not use.
            idle_timeout: Duration::from_secs(75),
            body_timeout: BODY_TIMEOUT,
        }
    }
}

impl ConnectionSettings {
    fn timeouts(&self) -> Timeouts {
        Timeouts { header: self.header_timeout, idle: self.idle_timeout, body: self.body_timeout }
    }
}

/// Serves until `stop` is cancelled, then takes no more connections and gives requests in progress the grace time
/// to finish.
pub async fn serve(
    listener: TcpListener,
    app: App,
    settings: ConnectionSettings,
    stop: CancellationToken,
    grace: Duration,
) {
    let listener = LimitedListener {
        listener: Arc::new(listener),
        limits: ConnectionLimits::new(
            settings.total,
            settings.per_address,
            app.settings.trusted_proxies.clone(),
        ),
        timeouts: settings.timeouts(),
        metrics: app.metrics.clone(),
        logged: None,
    };
    // Cloned for each start, and dropped when the stop begins: then the socket closes and refuses connections.
    let listener = Mutex::new(Some(listener));
    let kept = || listener.lock().unwrap_or_else(PoisonError::into_inner);
    let router = app.router();
    let connections = TaskTracker::new();
    let start = || {
        let listener = kept().clone();
        accept_connections(listener, &router, &connections, &stop)
    };
    app.store.supervisor().run("http server", &stop, start).await;
    drop(kept().take());
    connections.close();
    tokio::select! {
        () = connections.wait() => {}
        () = sleep(grace) => {
            tracing::warn!(grace = ?grace, "Requests were still in progress when the grace time ended");
        }
    }
}

/// Accepts connections until the stop.
async fn accept_connections(
    listener: Option<LimitedListener>,
    router: &Router,
    connections: &TaskTracker,
    stop: &CancellationToken,
) {
    let Some(mut listener) = listener else { return };
    loop {
        tokio::select! {
            stream = listener.accept() => {
                connections.spawn(serve_connection(stream, router.clone(), stop.child_token()));
            }
            () = stop.cancelled() => return,
        }
    }
}

/// Serves the requests of one connection. HTTP/2 is refused: its streams would multiply what the limits on
/// connections allow.
async fn serve_connection(stream: TimedStream<TcpStream>, router: Router, stop: CancellationToken) {
    let connection = stream.connection().clone();
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request: Request = request.map(Body::new);
        request.extensions_mut().insert(connection.clone());
        router.clone().call(request)
    });
    let mut http = http1::Builder::new();
    // Small answers are copied behind their head: one piece is written faster than two.
    http.max_buf_size(MAX_HEAD).header_read_timeout(None).writev(false);
    let mut serving = pin!(http.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = stop.cancelled() => {
            // The request in progress is answered, and no further one is read.
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "A connection ended");
    }
}

/// A listener that admits connections within limits. Clones share the socket and the counts.
#[derive(Clone)]
struct LimitedListener {
    listener: Arc<TcpListener>,
    limits: Arc<ConnectionLimits>,
    timeouts: Timeouts,
    metrics: Arc<Metrics>,
    /// The moment at which a refused connection was last logged.
    logged: Option<Instant>,
}

impl LimitedListener {
    async fn accept(&mut self) -> TimedStream<TcpStream> {
        loop {
            let (stream, address) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) if is_of_peer(&error) => continue,
                Err(error) => {
                    tracing::error!(%error, "A connection cannot be accepted; retrying in a second");
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            match self.limits.admit(address.ip()) {
                Ok(slot) => {
                    // Small answers leave at once: otherwise each one waits 40 ms for company.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "TCP_NODELAY cannot be set on a connection");
                    }
                    return TimedStream::new(stream, address, self.timeouts, Some(slot));
                }
                Err(refused) => self.refuse(&stream, address, &refused),
            }
        }
    }

    /// Says so, as far as that takes no time.
    fn refuse(&mut self, stream: &TcpStream, address: SocketAddr, refused: &Refused) {
        let _ = stream.try_write(REFUSAL);
        self.metrics.connection_refused();
        let now = Instant::now();
        if self.logged.is_some_and(|logged| now.duration_since(logged) < LOG_INTERVAL) {
            return;
        }
        self.logged = Some(now);
        match refused {
            Refused::Total => {
                tracing::warn!("Too many connections: the limit HAFT_MAX_CONNECTIONS is reached")
            }
            Refused::Address => tracing::warn!(
                client.address = %address.ip(),
                "Too many connections from one address: the limit HAFT_MAX_CONNECTIONS_PER_ADDRESS is reached; HAFT_TRUSTED_PROXIES are exempt"
            ),
        }
    }
}

/// Whether the peer ended a connection before it was accepted.
fn is_of_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}

#[cfg(test)]
mod tests {
    use haft_egress::Networks;
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn listener(total: usize) -> (LimitedListener, SocketAddr) {
        let settings = ConnectionSettings::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let limited = LimitedListener {
            listener: Arc::new(listener),
            limits: ConnectionLimits::new(total, None, Networks::default()),
            timeouts: settings.timeouts(),
            metrics: Arc::default(),
            logged: None,
        };
        (limited, address)
    }

    #[tokio::test]
    async fn connections_do_not_hold_small_answers_back() {
        let (mut listener, address) = listener(10).await;
        let (accepted, client) = tokio::join!(listener.accept(), TcpStream::connect(address));
        client.expect("connected");
        assert!(accepted.stream().nodelay().expect("an option"));
    }

    #[tokio::test]
    async fn connection_beyond_the_limit_is_told_and_closed() {
        let (mut listener, address) = listener(1).await;
        let (first, client) = tokio::join!(listener.accept(), TcpStream::connect(address));
        let _client = client.expect("connected");
        let refused = async {
            let mut second = TcpStream::connect(address).await.expect("connected");
            let mut answer = String::new();
            second.read_to_string(&mut answer).await.expect("an answer");
            answer
        };
        let answer = tokio::select! {
            answer = refused => answer,
            _ = listener.accept() => String::new(),
        };
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        drop(first);
        let (_third, client) = tokio::join!(listener.accept(), TcpStream::connect(address));
        client.expect("connected");
    }
}

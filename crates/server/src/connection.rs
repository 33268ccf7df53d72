//! Timeouts of a connection: for the head of a request, between requests, and for a peer that takes nothing of
//! what it is sent.
//!
//! While a request is in progress nothing is limited here but writing: bodies have a deadline of their own
//! (`body.rs`), and answers may take as long as they like.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::connection_limits::Slot;

/// The time for which a peer may take nothing of what it is sent.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    /// From the first byte of a request, or from the start of its connection, to the end of its head.
    pub(crate) header: Duration,
    /// Without a request.
    pub(crate) idle: Duration,
    /// For a whole body.
    pub(crate) body: Duration,
}

/// The requests of one connection.
#[derive(Default)]
pub(crate) struct Activity {
    in_progress: AtomicUsize,
    begun: AtomicU64,
}

/// A request in progress, until it is dropped.
pub(crate) struct RequestGuard(Arc<Activity>);

impl RequestGuard {
    pub(crate) fn begin(activity: &Arc<Activity>) -> Self {
        activity.in_progress.fetch_add(1, Ordering::Relaxed);
        activity.begun.fetch_add(1, Ordering::Relaxed);
        Self(activity.clone())
    }

    /// Keeps the request in progress until the end of its response's body, if that is a stream. A body of known
    /// length is written at once, and each write proves that the connection is used.
    pub(crate) fn until_end_of(self, body: Body) -> Body {
        if body.size_hint().exact().is_some() {
            return body;
        }
        Body::new(body.map_frame(move |frame| {
            let _ = &self;
            frame
        }))
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.in_progress.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a request knows of its connection.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) address: SocketAddr,
    pub(crate) activity: Arc<Activity>,
    /// The time in which a whole body must arrive.
    pub(crate) body_timeout: Duration,
}

/// A stream that fails when a timeout passes.
pub(crate) struct TimedStream<S> {
    stream: S,
    timeouts: Timeouts,
    connection: Connection,
    /// The count of requests that were begun when the head of the next one was last looked at.
    begun: u64,
    /// The moment since which the head of a request is due: that of its first byte, and for the first request of a
    /// connection that of its start. Connections that never send a request would hold slots of others.
    head_since: Option<Instant>,
    last_used: Instant,
    /// Fires at the next read deadline or earlier, and also while a request is in progress: after a response hyper
    /// waits for the next request without reading, so that a timer which is not armed by then is never armed again.
    /// It is reset lazily, when it fires, and not for every request.
    read_timer: Pin<Box<Sleep>>,
    /// Runs while a write waits.
    write_timer: Option<Pin<Box<Sleep>>>,
    _slot: Option<Slot>,
}

impl<S> TimedStream<S> {
    pub(crate) fn new(stream: S, address: SocketAddr, timeouts: Timeouts, slot: Option<Slot>) -> Self {
        let now = Instant::now();
        Self {
            stream,
            timeouts,
            connection: Connection { address, activity: Arc::default(), body_timeout: timeouts.body },
            begun: 0,
            head_since: Some(now),
            last_used: now,
            read_timer: Box::pin(sleep_until(now + timeouts.header.min(timeouts.idle))),
            write_timer: None,
            _slot: slot,
        }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    #[cfg(test)]
    pub(crate) fn stream(&self) -> &S {
        &self.stream
    }

    /// The moment at which reading fails; none while a request is in progress.
    fn read_deadline(&mut self) -> Option<Instant> {
        let begun = self.connection.activity.begun.load(Ordering::Relaxed);
        let is_busy = self.connection.activity.in_progress.load(Ordering::Relaxed) > 0;
        if is_busy || begun != self.begun {
            (self.begun, self.head_since) = (begun, None);
        }
        if is_busy {
            return None;
        }
        Some(match self.head_since {
            Some(since) => since + self.timeouts.header,
            None => self.last_used + self.timeouts.idle,
        })
    }

    /// Ready once the deadline for reading has passed. Until then the task is woken to look again.
    fn poll_read_timeout(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = self.read_deadline();
        if let Some(deadline) = deadline
            && deadline < self.read_timer.deadline()
        {
            self.read_timer.as_mut().reset(deadline);
        }
        while self.read_timer.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Poll::Ready(());
            }
            let idle = self.timeouts.idle;
            self.read_timer.as_mut().reset(deadline.unwrap_or(now + idle));
        }
        Poll::Pending
    }

    fn after_write(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.last_used = Instant::now();
            self.write_timer = None;
            return written;
        }
        let timer =
            self.write_timer.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + WRITE_TIMEOUT)));
        timer.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let is_late = match &read {
            Poll::Ready(Ok(())) if buffer.filled().len() > before => {
                // The deadline for the head holds however many bytes keep coming.
                let deadline = self.read_deadline();
                let now = Instant::now();
                self.last_used = now;
                let is_late = self.head_since.is_some() && deadline.is_some_and(|deadline| deadline <= now);
                if deadline.is_some() {
                    self.head_since.get_or_insert(now);
                }
                is_late
            }
            Poll::Ready(_) => false,
            Poll::Pending => self.poll_read_timeout(cx).is_ready(),
        };
        if is_late { Poll::Ready(Err(io::ErrorKind::TimedOut.into())) } else { read }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.after_write(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.after_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// hyper flushes whenever it has nothing else to do, also where it does not read.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.poll_read_timeout(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A request's body that knows whether it was read to its end.
pub(crate) struct WatchedBody {
    body: Body,
    is_read: Arc<AtomicBool>,
}

impl WatchedBody {
    /// Returns the body, and whether it has been read by then.
    pub(crate) fn watch(body: Body) -> (Body, Arc<AtomicBool>) {
        let is_read = Arc::<AtomicBool>::default();
        (Body::new(Self { body, is_read: is_read.clone() }), is_read)
    }
}

impl HttpBody for WatchedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(frame, Poll::Ready(None)) || self.body.is_end_stream() {
            self.is_read.store(true, Ordering::Relaxed);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::time::{sleep, timeout};

    use super::*;

    const TIMEOUTS: Timeouts = Timeouts {
        header: Duration::from_secs(10),
        idle: Duration::from_secs(75),
        body: Duration::from_secs(120),
    };
    const LONG: Duration = Duration::from_secs(3600);

    fn connection() -> (TimedStream<DuplexStream>, DuplexStream) {
        let (near, far) = duplex(1000);
        (TimedStream::new(near, SocketAddr::from(([127, 0, 0, 1], 1)), TIMEOUTS, None), far)
    }

    /// Reads until it fails, and returns the time that took, in seconds.
    async fn seconds_until_timeout(near: &mut TimedStream<DuplexStream>) -> u64 {
        let start = Instant::now();
        let error = loop {
            match near.read(&mut [0; 100]).await {
                Ok(read) => assert!(read > 0, "the peer is there"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        start.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn silent_connection_ends_after_the_header_timeout_and_a_used_one_after_the_idle_timeout() {
        let (mut near, mut far) = connection();
        assert_eq!(seconds_until_timeout(&mut near).await, 10);
        let (mut near, mut other) = connection();
        for pause in [0, 60, 60] {
            sleep(Duration::from_secs(pause)).await;
            other.write_all(b"GET").await.expect("written");
            assert_eq!(near.read(&mut [0; 100]).await.expect("read"), 3);
            drop(RequestGuard::begin(&near.connection.activity));
            near.write_all(b"HTTP").await.expect("written");
        }
        assert_eq!(seconds_until_timeout(&mut near).await, 75);
        far.write_all(b"late").await.expect("buffered");
    }

    #[tokio::test(start_paused = true)]
    async fn idle_timeout_holds_where_the_connection_is_not_read() {
        let (mut near, mut far) = connection();
        far.write_all(b"GET").await.expect("written");
        // The bytes are there at the first read, so that no read ever waits.
        near.read_exact(&mut [0; 3]).await.expect("read");
        let guard = RequestGuard::begin(&near.connection.activity);
        // As hyper polls the connection: with a flush whenever its task is woken.
        let start = Instant::now();
        let closed = std::future::poll_fn(|cx| match Pin::new(&mut near).poll_flush(cx) {
            Poll::Ready(Ok(())) => Poll::Pending,
            Poll::Ready(Err(error)) => Poll::Ready(error.kind()),
            Poll::Pending => panic!("nothing is buffered"),
        });
        tokio::pin!(closed);
        timeout(LONG, &mut closed).await.expect_err("a request is in progress");
        drop(guard);
        assert_eq!(closed.await, io::ErrorKind::TimedOut);
        assert!(start.elapsed() <= LONG + 2 * TIMEOUTS.idle);
    }

    #[tokio::test(start_paused = true)]
    async fn head_that_does_not_end_is_given_up_however_its_bytes_come() {
        let (mut near, mut far) = connection();
        let dripping = async {
            loop {
                far.write_all(b"x").await.expect("written");
                sleep(Duration::from_secs(1)).await;
            }
        };
        let seconds = tokio::select! {
            seconds = seconds_until_timeout(&mut near) => seconds,
            () = dripping => 0,
        };
        assert_eq!(seconds, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn connection_with_a_request_in_progress_may_be_silent() {
        let (mut near, mut far) = connection();
        far.write_all(b"GET").await.expect("written");
        near.read_exact(&mut [0; 3]).await.expect("read");
        let guard = RequestGuard::begin(&near.connection.activity);
        timeout(LONG, near.read_u8()).await.expect_err("nothing came, and nothing ended");
        // A stream is in progress until it is dropped.
        let frames = futures_util::stream::pending::<Result<Bytes, io::Error>>();
        let body = guard.until_end_of(Body::from_stream(frames));
        timeout(LONG, near.read_u8()).await.expect_err("nothing came, and nothing ended");
        drop(body);
        near.write_all(b"0").await.expect("written");
        assert_eq!(seconds_until_timeout(&mut near).await, 75);
        let guard = RequestGuard::begin(&near.connection.activity);
        drop(guard.until_end_of(Body::from("all of it")));
        assert_eq!(near.connection.activity.in_progress.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn peer_that_takes_nothing_is_given_up() {
        let (mut near, _far) = connection();
        let error = near.write_all(&[0; 2000]).await.expect_err("the peer does not read");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn peer_that_takes_a_little_now_and_then_is_served() {
        let (mut near, mut far) = connection();
        let reading = async {
            let mut read = 0;
            while read < 4000 {
                sleep(WRITE_TIMEOUT / 2).await;
                read += far.read(&mut [0; 1000]).await.expect("readable");
            }
        };
        let (written, ()) = tokio::join!(near.write_all(&[0; 4000]), reading);
        written.expect("all of it was taken");
        drop(far);
        assert_eq!(near.read(&mut [0; 1]).await.expect("the end"), 0);
    }

    #[tokio::test]
    async fn body_is_read_at_its_end_and_not_before() {
        let (body, is_read) = WatchedBody::watch(Body::from("all of it"));
        assert!(!is_read.load(Ordering::Relaxed));
        assert_eq!(body.collect().await.expect("read").to_bytes(), "all of it");
        assert!(is_read.load(Ordering::Relaxed));
        let (body, is_read) = WatchedBody::watch(Body::from("dropped"));
        drop(body);
        assert!(!is_read.load(Ordering::Relaxed));
    }
}

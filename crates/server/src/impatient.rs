//! Connections that end when the other side takes nothing of what it is sent for too long.
//!
//! Without it, whoever asks and then does not read keeps our memory full for as long as it likes.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Sleep, sleep};

/// So long the other side may take nothing at all.
const PATIENCE: Duration = Duration::from_secs(30);

/// A listener whose connections are impatient.
pub(crate) struct ImpatientListener(pub(crate) TcpListener);

impl Listener for ImpatientListener {
    type Io = Impatient<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (stream, address) = <TcpListener as Listener>::accept(&mut self.0).await;
        (Impatient::new(stream), address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// A connection whose writes fail once they have waited for too long.
pub(crate) struct Impatient<S> {
    stream: S,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> Impatient<S> {
    fn new(stream: S) -> Self {
        Self { stream, waiting: None }
    }

    pub(crate) fn stream(&self) -> &S {
        &self.stream
    }

    /// What became of a write, unless it waits for too long.
    fn judged(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(PATIENCE)));
        waiting.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judged(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.judged(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_is_given_up() {
        let (near, _far) = tokio::io::duplex(1000);
        let mut near = Impatient::new(near);
        let error = near.write_all(&[0; 2000]).await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_a_little_now_and_then_is_not() {
        let (near, mut far) = tokio::io::duplex(1000);
        let mut near = Impatient::new(near);
        let reading = async {
            let mut read = 0;
            while read < 4000 {
                tokio::time::sleep(PATIENCE / 2).await;
                read += far.read(&mut [0; 1000]).await.expect("readable");
            }
        };
        let (written, ()) = tokio::join!(near.write_all(&[0; 4000]), reading);
        written.expect("all of it was taken");
        // And a connection with nothing to write may be silent for as long as it likes.
        timeout(PATIENCE * 10, near.read_u8()).await.expect_err("nothing came");
        drop(far);
        assert_eq!(near.read(&mut [0; 1]).await.expect("the end"), 0);
    }
}

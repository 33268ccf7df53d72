//! A subscriber to `GET /api/events`, which counts the received bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::haft::TOKEN;

/// Subscribes until it is dropped.
pub(crate) struct Subscriber {
    received: Arc<Received>,
    tasks: JoinSet<anyhow::Result<()>>,
}

#[derive(Default)]
struct Received {
    bytes: AtomicU64,
    disconnects: AtomicU64,
}

impl Subscriber {
    /// Subscribes to the events of a server. Returns `None` if the server has no event stream.
    pub(crate) async fn start(address: &str) -> anyhow::Result<Option<Self>> {
        let Some(stream) = subscribe(address).await? else { return Ok(None) };
        let received = Arc::new(Received::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(receive(stream, address.to_owned(), received.clone()));
        Ok(Some(Self { received, tasks }))
    }

    /// Describes the received data. Fails if the subscriber has failed.
    pub(crate) fn summary(&mut self) -> anyhow::Result<String> {
        if let Some(ended) = self.tasks.try_join_next() {
            ended??;
        }
        let megabytes = self.received.bytes.load(Ordering::Relaxed) as f64 / 1e6;
        let disconnects = self.received.disconnects.load(Ordering::Relaxed);
        Ok(format!(
            "one subscriber received {megabytes:.0} MB of events and was disconnected {disconnects} times"
        ))
    }
}

async fn subscribe(address: &str) -> anyhow::Result<Option<TcpStream>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "GET /api/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\nAccept: text/event-stream\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut buffer = [0; 4096];
    let read = stream.read(&mut buffer).await?;
    let head = String::from_utf8_lossy(buffer.get(..read).unwrap_or_default());
    if head.starts_with("HTTP/1.1 404") {
        return Ok(None);
    }
    ensure!(head.starts_with("HTTP/1.1 200"), "the server answered {head}");
    Ok(Some(stream))
}

/// Reads events. A server disconnects a subscriber that is too slow, which then subscribes again.
async fn receive(mut stream: TcpStream, address: String, received: Arc<Received>) -> anyhow::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => {
                received.bytes.fetch_add(read as u64, Ordering::Relaxed);
            }
            Ok(_) | Err(_) => {
                received.disconnects.fetch_add(1, Ordering::Relaxed);
                stream = subscribe(&address).await?.context("an event stream")?;
            }
        }
    }
}

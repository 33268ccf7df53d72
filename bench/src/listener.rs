//! Somebody who listens to `GET /api/events` while calls are made, and forgets what comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::haft::TOKEN;

/// Listens until it is dropped.
pub(crate) struct Listener {
    heard: Arc<Heard>,
    listening: JoinSet<anyhow::Result<()>>,
}

#[derive(Default)]
struct Heard {
    bytes: AtomicU64,
    cuts: AtomicU64,
}

impl Listener {
    /// None where there are no events to listen to.
    pub(crate) async fn start(address: &str) -> anyhow::Result<Option<Self>> {
        let Some(stream) = subscribe(address).await? else { return Ok(None) };
        let heard = Arc::new(Heard::default());
        let mut listening = JoinSet::new();
        listening.spawn(listen(stream, address.to_owned(), heard.clone()));
        Ok(Some(Self { heard, listening }))
    }

    /// What came of it, in words.
    pub(crate) fn tell(&mut self) -> anyhow::Result<String> {
        if let Some(ended) = self.listening.try_join_next() {
            ended??;
        }
        let megabytes = self.heard.bytes.load(Ordering::Relaxed) as f64 / 1e6;
        let cuts = self.heard.cuts.load(Ordering::Relaxed);
        Ok(format!("one listener got {megabytes:.0} MB of haft's events and was cut off {cuts} times"))
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

/// Whoever is too slow is cut off, and comes back.
async fn listen(mut stream: TcpStream, address: String, heard: Arc<Heard>) -> anyhow::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => {
                heard.bytes.fetch_add(read as u64, Ordering::Relaxed);
            }
            Ok(_) | Err(_) => {
                heard.cuts.fetch_add(1, Ordering::Relaxed);
                stream = subscribe(&address).await?.context("events to listen to")?;
            }
        }
    }
}

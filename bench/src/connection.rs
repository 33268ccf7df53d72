//! A connection that is kept alive, on which requests are answered one after the other.

use std::net::SocketAddr;

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::haft::TOKEN;

/// Room for an ordinary answer; a larger one makes more.
const ROOM: usize = 16 * 1024;

pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    pub(crate) body: &'a [u8],
}

impl Connection {
    pub(crate) async fn open(address: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address.parse::<SocketAddr>()?).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; ROOM] })
    }

    /// Sends a request and reads its answer to the end, by its content length.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> anyhow::Result<Answer<'_>> {
        self.stream.write_all(request).await?;
        let mut filled = 0;
        let (status, body, end) = loop {
            if filled == self.buffer.len() {
                self.buffer.resize(filled * 2, 0);
            }
            let read = self.stream.read(self.buffer.get_mut(filled..).unwrap_or_default()).await?;
            if read == 0 {
                bail!("the server closed the connection");
            }
            filled += read;
            let seen = self.buffer.get(..filled).unwrap_or_default();
            let Some(head_end) = seen.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
            let head = std::str::from_utf8(seen.get(..head_end).unwrap_or_default())?;
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned)
                })
                .and_then(|length| length.parse::<usize>().ok())
                .with_context(|| format!("an answer with a length, not {head}"))?;
            let (body, end) = (head_end + 4, head_end + 4 + length);
            if filled >= end {
                let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
                break (status.context("a status")?.parse()?, body, end);
            }
        };
        Ok(Answer { status, body: self.buffer.get(body..end).unwrap_or_default() })
    }

    /// The `data` of an answer with this status.
    pub(crate) async fn data(&mut self, request: &[u8], status: u16) -> anyhow::Result<Value> {
        let answer = self.ask(request).await?;
        answer.expect(status)?;
        let mut body: Value = serde_json::from_slice(answer.body)?;
        Ok(body["data"].take())
    }
}

impl Answer<'_> {
    /// Any other status ends the benchmark with what was answered.
    pub(crate) fn expect(&self, status: u16) -> anyhow::Result<()> {
        let said = || format!("the server answered {}: {}", self.status, String::from_utf8_lossy(self.body));
        ensure!(self.status == status, said());
        Ok(())
    }
}

/// A request as it is sent; `head` has further lines, each with its end.
pub(crate) fn request(method: &str, address: &str, path: &str, head: &str, body: &str) -> Vec<u8> {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n{head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

//! A keep-alive HTTP/1.1 connection that sends one request at a time.

use std::iter;
use std::net::SocketAddr;
use std::ops::Range;

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::haft::TOKEN;

/// The initial size of the buffer, which grows for larger responses.
const BUFFER_SIZE: usize = 16 * 1024;

pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

pub(crate) struct Response<'a> {
    pub(crate) status: u16,
    pub(crate) body: &'a [u8],
}

impl Connection {
    pub(crate) async fn open(address: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address.parse::<SocketAddr>()?).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; BUFFER_SIZE] })
    }

    /// Sends a request and reads the whole response, by its content length or up to its last chunk.
    pub(crate) async fn send(&mut self, request: &[u8]) -> anyhow::Result<Response<'_>> {
        self.stream.write_all(request).await?;
        let mut filled = 0;
        let (status, start, pieces) = loop {
            if filled == self.buffer.len() {
                self.buffer.resize(filled * 2, 0);
            }
            let read = self.stream.read(self.buffer.get_mut(filled..).unwrap_or_default()).await?;
            if read == 0 {
                bail!("the server closed the connection");
            }
            filled += read;
            let received = self.buffer.get(..filled).unwrap_or_default();
            let Some(head_end) = received.windows(4).position(|window| window == b"\r\n\r\n") else {
                continue;
            };
            let head =
                std::str::from_utf8(received.get(..head_end).unwrap_or_default())?.to_ascii_lowercase();
            let field = |name| head.lines().find_map(|line| line.strip_prefix(name));
            let start = head_end + 4;
            let length = field("content-length: ").and_then(|length| length.parse::<usize>().ok());
            let pieces = match (length, field("transfer-encoding: ")) {
                (Some(length), _) => {
                    (filled >= start + length).then(|| iter::once(start..start + length).collect())
                }
                (None, Some("chunked")) => chunks(received, start)?,
                (None, _) => bail!("the response has no length: {head}"),
            };
            if let Some(pieces) = pieces {
                let status = head.strip_prefix("http/1.1 ").and_then(|rest| rest.get(..3));
                break (status.context("a status")?.parse()?, start, pieces);
            }
        };
        let mut end = start;
        for piece in pieces {
            let length = piece.len();
            self.buffer.copy_within(piece, end);
            end += length;
        }
        Ok(Response { status, body: self.buffer.get(start..end).unwrap_or_default() })
    }

    /// Sends a request and returns the `data` of the response. Fails if the response has another status.
    pub(crate) async fn data(&mut self, request: &[u8], status: u16) -> anyhow::Result<Value> {
        let response = self.send(request).await?;
        response.expect(status)?;
        let mut body: Value = serde_json::from_slice(response.body)?;
        Ok(body["data"].take())
    }
}

/// Returns the ranges of the chunks of a body. Returns `None` until the last chunk has arrived.
fn chunks(received: &[u8], start: usize) -> anyhow::Result<Option<Vec<Range<usize>>>> {
    let mut pieces = Vec::new();
    let mut position = start;
    loop {
        let rest = received.get(position..).unwrap_or_default();
        let Some(line) = rest.windows(2).position(|window| window == b"\r\n") else { return Ok(None) };
        let size = std::str::from_utf8(rest.get(..line).unwrap_or_default())?;
        let size = usize::from_str_radix(size, 16).with_context(|| format!("a chunk of size {size:?}"))?;
        let first = position + line + 2;
        position = first + size + 2;
        if received.len() < position {
            return Ok(None);
        }
        if size == 0 {
            return Ok(Some(pieces));
        }
        pieces.push(first..first + size);
    }
}

impl Response<'_> {
    /// Fails with the response body if the response has another status.
    pub(crate) fn expect(&self, status: u16) -> anyhow::Result<()> {
        let message =
            || format!("the server answered {}: {}", self.status, String::from_utf8_lossy(self.body));
        ensure!(self.status == status, message());
        Ok(())
    }
}

/// Returns the bytes of a request. `head` contains further header lines, each with its line break.
pub(crate) fn request(method: &str, address: &str, path: &str, head: &str, body: &str) -> Vec<u8> {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n{head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

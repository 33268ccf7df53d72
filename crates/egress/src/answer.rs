//! What came back, read within limits.

use bytes::Bytes;
use haft_core::CallError;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use url::Url;

use crate::decode::Decoder;
use crate::destination::Destination;
use crate::failure;
use crate::request::Request;

/// So much is read of an answer that is a failure.
const FAILURE_BYTES: usize = 64 << 10;

/// An answer with its body decoded.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Somebody else answered first, and sent us on.
    pub was_redirected: bool,
    /// Where it came from, after redirects.
    pub from: Destination,
    path: PathAndQuery,
}

impl Answer {
    /// What was brought to us, in place of an answer that we asked for.
    pub fn brought(headers: HeaderMap, body: Bytes, from: Destination) -> Self {
        let path = PathAndQuery::from_static("/");
        Self { status: StatusCode::OK, headers, body, was_redirected: false, from, path }
    }

    /// The whole URL it came from, after redirects.
    pub fn url(&self) -> Url {
        self.from.join(&self.path)
    }

    /// Reads the body to its end, or to the limit. Dropping what is left ends the connection.
    pub(crate) async fn read(
        response: Response<Incoming>,
        request: &Request,
        was_redirected: bool,
        limit: usize,
    ) -> Result<Self, CallError> {
        let (head, body) = response.into_parts();
        let has_body = request.method != Method::HEAD && !matches!(head.status.as_u16(), 204 | 304);
        let is_failure = head.status.is_client_error() || head.status.is_server_error();
        let body = if !has_body {
            Bytes::new()
        } else if is_failure {
            // Of a failure the beginning is enough; nothing about its body may hide that there was one.
            read_some(&head.headers, body, &request.to, limit.min(FAILURE_BYTES)).await
        } else {
            read_all(&head.headers, body, &request.to, limit).await?
        };
        let (from, path) = (request.to.clone(), request.path.clone());
        Ok(Self { status: head.status, headers: head.headers, body, was_redirected, from, path })
    }
}

async fn read_all(
    headers: &HeaderMap,
    mut body: Incoming,
    from: &Destination,
    limit: usize,
) -> Result<Bytes, CallError> {
    refuse_announced(headers, limit)?;
    let mut decoder = Decoder::new(headers, limit)?;
    read_into(&mut decoder, &mut body, from).await?;
    decoder.finish()
}

/// As much as can be had.
async fn read_some(headers: &HeaderMap, mut body: Incoming, from: &Destination, limit: usize) -> Bytes {
    let Ok(mut decoder) = Decoder::new(headers, limit) else { return Bytes::new() };
    if read_into(&mut decoder, &mut body, from).await.is_err() {
        return decoder.so_far();
    }
    decoder.finish().unwrap_or_default()
}

async fn read_into(decoder: &mut Decoder, body: &mut Incoming, from: &Destination) -> Result<(), CallError> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| failure::of_transfer(from, &error))?;
        if let Ok(chunk) = frame.into_data() {
            decoder.write(chunk)?;
        }
    }
    Ok(())
}

/// Refuses a body that says itself that it is too large.
pub(crate) fn refuse_announced(headers: &HeaderMap, limit: usize) -> Result<(), CallError> {
    let is_plain = !headers.contains_key(CONTENT_ENCODING);
    let is_too_large = is_plain && announced(headers).is_some_and(|length| length > limit as u64);
    if is_too_large { Err(failure::too_large(limit)) } else { Ok(()) }
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

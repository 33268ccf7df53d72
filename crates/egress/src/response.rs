//! HTTP responses, read within limits.

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

/// Maximum size of the body of a failed response.
const FAILURE_BYTES: usize = 64 << 10;

/// A response with its decoded body.
#[derive(Debug, Clone)]
pub struct EgressResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// True if an earlier server redirected the request.
    pub was_redirected: bool,
    /// The origin that sent the response, after redirects.
    pub from: Destination,
    path: PathAndQuery,
}

impl EgressResponse {
    /// Wraps a delivered body, such as that of a callback, as a successful response.
    pub fn delivered(headers: HeaderMap, body: Bytes, from: Destination) -> Self {
        let path = PathAndQuery::from_static("/");
        Self { status: StatusCode::OK, headers, body, was_redirected: false, from, path }
    }

    /// Returns the URL that sent the response, after redirects.
    pub fn url(&self) -> Url {
        self.from.join(&self.path)
    }

    /// Reads the body to its end, or to the limit. Dropping the unread rest closes the connection.
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
            // The beginning of a failed response is enough, and an error in its body must not hide the
            // failure.
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

/// Reads as much as possible, ignoring errors.
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

/// Rejects a body whose announced length exceeds the limit.
pub(crate) fn refuse_announced(headers: &HeaderMap, limit: usize) -> Result<(), CallError> {
    let is_plain = !headers.contains_key(CONTENT_ENCODING);
    let is_too_large = is_plain && announced(headers).is_some_and(|length| length > limit as u64);
    if is_too_large { Err(failure::too_large(limit)) } else { Ok(()) }
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

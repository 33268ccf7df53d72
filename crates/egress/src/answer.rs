//! What came back, read within limits.

use bytes::Bytes;
use haft_core::{CallError, ErrorKind};
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

/// An answer with its body decoded.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Where it came from, after redirects.
    pub from: Destination,
    path: PathAndQuery,
}

impl Answer {
    /// The whole URL it came from, after redirects.
    pub fn url(&self) -> Url {
        self.from.join(&self.path)
    }

    /// Reads the body to its end, or to the limit. Dropping what is left ends the connection.
    pub(crate) async fn read(
        response: Response<Incoming>,
        request: Request,
        limit: usize,
    ) -> Result<Self, CallError> {
        let (head, mut body) = response.into_parts();
        let has_body = request.method != Method::HEAD && !matches!(head.status.as_u16(), 204 | 304);
        let is_plain = !head.headers.contains_key(CONTENT_ENCODING);
        // Of a failure the beginning is enough; it must not hide that there was one.
        let is_failure = head.status.is_client_error() || head.status.is_server_error();
        let limit = if is_failure { limit.min(FAILURE_BYTES) } else { limit };
        if has_body
            && is_plain
            && !is_failure
            && announced(&head.headers).is_some_and(|length| length > limit as u64)
        {
            return Err(failure::too_large(limit));
        }
        let mut decoder = Decoder::new(&head.headers, limit)?;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| failure::of_transfer(&request.to, &error))?;
            let Ok(chunk) = frame.into_data() else { continue };
            match decoder.write(chunk) {
                Ok(()) => {}
                Err(error) if is_failure && error.kind() == ErrorKind::ResponseTooLarge => {
                    decoder.give_up();
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Self {
            status: head.status,
            headers: head.headers,
            body: decoder.finish()?,
            from: request.to,
            path: request.path,
        })
    }
}

/// So much is read of an answer that is a failure.
const FAILURE_BYTES: usize = 64 << 10;

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

//! What came back, read within limits.

use bytes::Bytes;
use haft_core::CallError;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use url::Url;

use crate::decode::Decoder;
use crate::failure;

/// An answer with its body decoded.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// Where it came from, after redirects.
    pub url: Url,
    pub body: Bytes,
}

impl Answer {
    /// Reads the body to its end, or to the limit. Dropping what is left ends the connection.
    pub(crate) async fn read(
        response: Response<Incoming>,
        url: Url,
        limit: usize,
    ) -> Result<Self, CallError> {
        let (head, mut body) = response.into_parts();
        let encoded = head.headers.contains_key(CONTENT_ENCODING);
        if !encoded && announced(&head.headers).is_some_and(|length| length > limit as u64) {
            return Err(failure::too_large(limit));
        }
        let mut decoder = Decoder::new(&head.headers, limit)?;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| failure::of_transfer(&url, &error))?;
            if let Ok(chunk) = frame.into_data() {
                decoder.write(chunk)?;
            }
        }
        Ok(Self { status: head.status, headers: head.headers, url, body: decoder.finish()? })
    }
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
